"""Termination reasons on a stock cluster: what the webhook writes when others end pods, and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.evictions.namespace import EvictionNamespace, is_ready
from support.realcluster.evictions import HOME, RealCluster
from vacate.api.installednames import WEBHOOK
from vacate.api.kinds import DEPLOYMENTS, NODES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.options import DeleteOptions
from vacate.api.terminationreason import ANNOTATION
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.errors import Forbidden, TooManyRequests
from vacate.testing import deployment

HOLD = "vacate.dev/test"  # a finalizer: what is deleted can still be read


@pytest.fixture
async def reasons(real: RealCluster) -> AsyncIterator[None]:
    """The installation with the option, for one test."""
    real.install("--termination-reasons")
    assert real.webhook.stop() == 0, real.webhook.output
    real.start_webhook("--termination-reasons")
    try:
        yield
    finally:
        real.install()
        assert real.webhook.stop() == 0, real.webhook.output
        real.start_webhook()


async def ready_pods(place: EvictionNamespace, count: int) -> list[Obj]:
    async def look() -> list[Obj]:
        found = [one for one in await living(place) if is_ready(one)]
        return found if len(found) == count else []

    return await place.until(look, f"{count} pods are ready")


async def living(place: EvictionNamespace) -> list[Obj]:
    found = (await place.client.list(PODS, place.namespace)).items
    return [one for one in found if "deletionTimestamp" not in one["metadata"]]


async def ended_reasons(place: EvictionNamespace, count: int = 1) -> list[str | None]:
    """The reasons of the pods that are terminating, which are let go."""

    async def look() -> list[Obj]:
        found = (await place.client.list(PODS, place.namespace)).items
        ending = [one for one in found if "deletionTimestamp" in one["metadata"]]
        return ending if len(ending) == count else []

    ending = await place.until(look, f"{count} pods are terminating")
    for pod in ending:
        await place.client.patch(
            PODS, pod["metadata"]["name"], {"metadata": {"finalizers": None}}, place.namespace
        )
        await place.gone(pod)
    return [dig(one, "metadata", "annotations", ANNOTATION) for one in ending]


async def held_pod(place: EvictionNamespace, name: str, **more: Any) -> Obj:
    made = await place.pod(name, **more)
    await place.client.patch(PODS, name, {"metadata": {"finalizers": [HOLD]}}, place.namespace)
    return made


async def test_workload_controllers_end_pods_with_their_reason(
    real: RealCluster, place: EvictionNamespace, reasons: None
) -> None:
    body = deployment("web", namespace=place.namespace, replicas=2)
    body["spec"]["template"]["metadata"]["finalizers"] = [HOLD]
    await place.client.create(DEPLOYMENTS, body, place.namespace)
    await ready_pods(place, 2)
    await place.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 1}}, place.namespace)
    assert await ended_reasons(place) == ["Decommissioned"]
    await ready_pods(place, 1)
    changed: Obj = {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}
    await place.client.patch(DEPLOYMENTS, "web", changed, place.namespace)
    assert await ended_reasons(place) == ["Update"]
    await ready_pods(place, 1)
    recreate = {"strategy": {"type": "Recreate", "rollingUpdate": None}}
    changed = {"spec": {**recreate, "template": {"metadata": {"labels": {"version": "3"}}}}}
    await place.client.patch(DEPLOYMENTS, "web", changed, place.namespace)
    assert await ended_reasons(place) == ["Update"]
    (pod,) = await ready_pods(place, 1)
    taint = {"key": "vacate.dev/test", "effect": "NoExecute"}
    node = pod["spec"]["nodeName"]
    before = (await place.client.get(NODES, node))["spec"].get("taints") or []
    await place.client.patch(NODES, node, {"spec": {"taints": [*before, taint]}})
    try:
        assert await ended_reasons(place) == ["IntolerableTaint"]
    finally:
        await place.client.patch(NODES, node, {"spec": {"taints": before}})
    await place.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}}, place.namespace)
    assert await ended_reasons(place) == ["Decommissioned"]


async def test_evictions_and_deletions_of_people(
    real: RealCluster, place: EvictionNamespace, reasons: None
) -> None:
    await held_pod(place, "evicted")
    await place.client.evict("evicted", place.namespace)
    assert await ended_reasons(place) == ["Eviction"]
    pod = await held_pod(place, "deleted")
    version = (await place.client.get(PODS, "deleted", place.namespace))["metadata"]["resourceVersion"]
    await place.client.delete(
        PODS, "deleted", place.namespace, DeleteOptions(uid=pod["metadata"]["uid"], resource_version=version)
    )
    assert await ended_reasons(place) == [None]

    # An eviction that is refused leaves its reason; the next deletion has another one.
    await place.budget("kept", minAvailable=1)
    await held_pod(place, "kept", labels={"app": "kept"})
    with pytest.raises(TooManyRequests):
        await place.client.evict("kept", place.namespace)
    await place.client.delete(PODS, "kept", place.namespace)
    assert await ended_reasons(place) == [None]


async def test_the_webhook_may_change_nothing_else_of_a_pod(
    real: RealCluster, place: EvictionNamespace, reasons: None
) -> None:
    await place.pod("victim")
    transport = HttpTransport(load_cluster([real.account(HOME, WEBHOOK)]), SystemClock())
    try:
        client = Client(transport)
        for change in (
            {"metadata": {"labels": {"app": "x"}}},
            {"metadata": {"annotations": {"other": "x"}}},
            {"metadata": {"finalizers": ["x.example.com/y"]}},
            {"spec": {"activeDeadlineSeconds": 1}},
        ):
            with pytest.raises(Forbidden, match="vacate-confine-webhook-pods"):
                await client.patch(PODS, "victim", change, place.namespace)
        reason = {"metadata": {"annotations": {ANNOTATION: "Eviction"}}}
        await client.patch(PODS, "victim", reason, place.namespace)
    finally:
        await transport.aclose()
