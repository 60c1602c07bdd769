"""The eviction bridge of a stock cluster: while its webhook is away, past pinned requests, and its cost."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from support.evictions.namespace import EvictionNamespace, run_vacate
from support.realcluster.audit import calls
from support.realcluster.evictions import RealCluster
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objects import Obj
from vacate.errors import NotFound, TooManyRequests

FIRST = "first.example.com"
PODS_OF_A_NODE = 40


async def refused(place: EvictionNamespace, pod: Obj) -> str:
    with pytest.raises(TooManyRequests) as caught:
        await place.client.evict(pod["metadata"]["name"], place.namespace)
    return caught.value.message


async def test_with_the_webhook_killed_evictions_pass_as_without_the_bridge(
    real: RealCluster, place: EvictionNamespace
) -> None:
    pod = await place.pod("db-0", FIRST)
    prefix = 'admission webhook "evictions.validate.vacate.dev" denied the request: Intercepting: '
    assert (await refused(place, pod)).startswith(prefix)
    await place.until_active(pod, FIRST)
    real.webhook.kill()
    try:
        await place.client.evict("db-0", place.namespace)
        await place.gone(pod)
    finally:
        real.start_webhook()
    # What was remembered survives the restart: the next pod of the name is not meant.
    again = await place.pod("db-0", FIRST)

    async def answered() -> Any:
        """The API server may pass over a webhook that has just begun to answer."""
        other = await place.pod(f"other-{len(await place.requests())}", FIRST)
        with contextlib.suppress(TooManyRequests):
            await place.client.evict(other["metadata"]["name"], place.namespace)
            return False
        return True

    await place.until(answered, "the webhook is asked again")
    with pytest.raises(NotFound, match="another pod of the same name"):
        await place.client.evict("db-0", place.namespace)
    await place.stays(again)


PIN = "acme.example.com/hold"


async def _pinned(place: EvictionNamespace, name: str) -> Obj:
    """A pod with an interceptor whose request is cancelled, deleted, and kept by somebody's finalizer."""
    pod = await place.pod(name, FIRST, labels={"app": f"{place.namespace}-{name}"})
    await place.ask(pod)
    await place.until_active(pod, FIRST)
    uid = pod["metadata"]["uid"]
    await place.client.patch(EVICTIONREQUESTS, uid, {"metadata": {"finalizers": [PIN]}}, place.namespace)
    await place.client.delete(EVICTIONREQUESTS, uid, place.namespace)
    request = await place.until_complete(pod)
    assert request.metadata.finalizers == [PIN]
    return pod


async def test_a_request_that_a_foreign_finalizer_keeps_holds_neither_the_bridge_nor_a_drain(
    real: RealCluster, place: EvictionNamespace
) -> None:
    """No other can be made for the pod, which has the request's name: it is evicted past it."""
    called, drained = await _pinned(place, "called"), await _pinned(place, "drained")

    async def evicted() -> bool:
        with contextlib.suppress(TooManyRequests):
            await place.client.evict("called", place.namespace)
            return True
        return False

    try:
        await place.until(evicted, "the bridge lets the eviction pass")
        await place.gone(called)
        await place.stays(drained)
        chosen = ("--pod-selector", f"app={drained['metadata']['labels']['app']}", "--timeout", "60s")
        node = drained["spec"]["nodeName"]
        for command in (("drain", node, "--force", "--ignore-daemonsets", *chosen), ("uncordon", node)):
            done = await run_vacate(str(real.kubeconfig), *command)
            assert done.code == 0, (command, done)
        await place.gone(drained)
    finally:
        for pod in (called, drained):
            uid = pod["metadata"]["uid"]
            await place.client.patch(
                EVICTIONREQUESTS, uid, {"metadata": {"finalizers": None}}, place.namespace
            )


async def test_a_node_full_of_pods_asked_for_at_once_waits_without_a_gap(
    real: RealCluster, place: EvictionNamespace
) -> None:
    """As kubectl does it, all at once: none slips past its interceptor because the webhook is busy."""
    pods = await asyncio.gather(*(place.pod(f"p-{i}", FIRST) for i in range(PODS_OF_A_NODE)))
    rounds = 1
    await asyncio.gather(*(refused(place, pod) for pod in pods))

    async def all_made() -> bool:
        """A busy webhook makes requests behind its answers, and callers try again."""
        nonlocal rounds
        rounds += 1
        await asyncio.gather(*(refused(place, pod) for pod in pods))
        made = await place.requests()
        return sorted(one.metadata.name for one in made) == sorted(pod["metadata"]["uid"] for pod in pods)

    await place.until(all_made, "every pod has its request")
    for pod in pods:
        await place.stays(pod)
    written = [
        one
        for one in calls(real.audit_log)
        if (one.resource, one.namespace) == ("evictionrequests", place.namespace) and one.code < 300
    ]
    verbs = [one.verb for one in written if one.user.endswith(":vacate-webhook")]
    # Where rounds take longer than callers are waited for, requests of the round before may have ended.
    deleted = sum(one.verb == "delete" for one in written)
    assert PODS_OF_A_NODE <= verbs.count("create") <= PODS_OF_A_NODE + deleted
    # Later rounds were recorded only where they came a second later, a tenth of the waiting time here.
    assert len([verb for verb in verbs if verb in ("create", "patch", "update")]) <= rounds * PODS_OF_A_NODE
