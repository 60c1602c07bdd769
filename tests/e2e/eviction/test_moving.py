"""Deployments that move before they are evicted, with embedded and with real workload controllers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from support.evictions.moving import annotated, moving, pods, quiet
from support.evictions.namespace import TIMEOUT, EvictionNamespace, is_ready
from support.kubectl import Kubectl
from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS, NAMESPACES, NODEMAINTENANCES, NODES, PODS
from vacate.api.objects import Obj
from vacate.api.options import WatchOptions
from vacate.api.workloads import OPT_IN
from vacate.eviction.registration import PREFIXES, resolve
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.evictionbatches import MAX_UNAVAILABLE, STRATEGY
from vacate.kube.surge import MARKED
from vacate.testing import deployment


@contextlib.asynccontextmanager
async def counting(place: EvictionNamespace) -> AsyncIterator[list[int]]:
    """How many pods were healthy after each change of a pod, from now on."""
    listing = await place.client.list(PODS, place.namespace)
    known = {one["metadata"]["uid"]: one for one in listing.items}
    counts: list[int] = []

    async def follow() -> None:
        async with contextlib.aclosing(
            place.client.watch(PODS, place.namespace, WatchOptions(resource_version=listing.resource_version))
        ) as watch:
            async for event in watch:
                if event.object is None:
                    continue  # a bookmark
                uid = event.object["metadata"]["uid"]
                known.pop(uid, None)
                if event.type != "DELETED":
                    known[uid] = event.object
                healthy = [
                    one
                    for one in known.values()
                    if is_ready(one) and not one["metadata"].get("deletionTimestamp")
                ]
                counts.append(len(healthy))

    task = asyncio.create_task(follow())
    try:
        yield counts
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.mark.both_dialects
async def test_a_single_replica_is_evicted_after_its_replacement_is_ready(place: EvictionNamespace) -> None:
    (old,) = await moving(place, 1, metadata={"annotations": {OPT_IN: "true"}})
    async with counting(place) as counts:
        api = place.dialect.kind.singular
        done = await place.vacate("evict", old["metadata"]["name"], "--api", api, "--wait")
        assert done.code == 0, done
        await quiet(place, 1)
    assert min(counts) == 1
    assert old["metadata"]["uid"] not in {one["metadata"]["uid"] for one in await pods(place)}


async def test_a_drain_moves_a_single_replica(place: EvictionNamespace) -> None:
    label = {"metadata": {"labels": {OPT_IN: "true"}}}
    await place.client.patch(NAMESPACES, place.namespace, label)
    (old,) = await moving(place, 1, labels={"app": "web"})
    name = f"move-{place.namespace}"
    spec = {
        "nodes": [old["spec"]["nodeName"]],
        "pods": {
            "selector": {"matchLabels": {"app": "web"}},
            "daemonSetPods": "Ignore",
            "unmanagedPods": "Evict",
        },
    }
    identity = {"apiVersion": NODEMAINTENANCES.api_version, "kind": NODEMAINTENANCES.kind}
    async with counting(place) as counts:
        await place.client.create(NODEMAINTENANCES, {**identity, "metadata": {"name": name}, "spec": spec})
        try:

            async def drained() -> bool:
                found = await place.client.get(NODEMAINTENANCES, name)
                return bool(found.get("status", {}).get("phase") == "Drained")

            await place.until(drained, "the node is drained")
            await quiet(place, 1)
        finally:
            await place.client.delete(NODEMAINTENANCES, name)
    assert min(counts) == 1
    (new,) = await pods(place)
    assert new["spec"]["nodeName"] != old["spec"]["nodeName"]


@pytest.mark.thorough
async def test_cancelling_leaves_the_pods_that_there_were(place: EvictionNamespace) -> None:
    # The new pod is ready at once and available only later: else the move may be over before it is cancelled.
    later = {"minReadySeconds": 10}
    old = await moving(place, 3, metadata={"annotations": {OPT_IN: "true"}}, spec=later)
    before = {one["metadata"]["uid"] for one in old}
    request = await place.ask(old[0])

    async def raised() -> bool:
        return len(await pods(place)) == 4

    await place.until(raised, "the Deployment is raised")
    await place.client.delete(EVICTIONREQUESTS, request.metadata.name, place.namespace)
    await quiet(place, 3)
    after = {one["metadata"]["uid"] for one in await pods(place)}
    assert after == before


async def test_a_scale_down_by_the_user_takes_the_pods_under_request_first(
    place: EvictionNamespace, kubectl: Kubectl
) -> None:
    """Before any turn of ours: the application's own interceptor has the first, and takes its time."""
    first = {"annotations": {f"{PREFIXES[0]}/priority_backup.example.com": "20000"}}
    old = await moving(place, 4, metadata={"annotations": {OPT_IN: "true"}}, template={"metadata": first})
    going = [old[0], old[2]]
    cost = {"metadata": {"annotations": {DELETION_COST: "-5"}}}
    await place.client.patch(PODS, old[1]["metadata"]["name"], cost, place.namespace)
    for one in going:
        await place.ask(one)
        await place.until_active(one, "backup.example.com")

    async def marked() -> bool:
        here = {one["metadata"]["uid"]: one for one in await pods(place)}
        return all(MARKED in annotated(here[one["metadata"]["uid"]]) for one in going)

    await place.until(marked, "both pods are marked")
    scaled = kubectl("scale deployment/web --replicas=2")
    assert scaled.code == 0, scaled
    for one in going:
        await place.until_complete(one)

    async def left() -> bool:
        found = {one["metadata"]["uid"] for one in await pods(place)}
        return found == {one["metadata"]["uid"] for one in (old[1], old[3])}

    await place.until(left, "the pods without a request are left")


async def test_new_pods_are_registered_when_they_are_created(place: EvictionNamespace) -> None:
    """Not a moment later, by the controller: the very first version of the pod has it."""
    name = f"{place.namespace}-new"
    await place.client.create(NAMESPACES, {"metadata": {"name": name, "labels": {OPT_IN: "true"}}})
    listing = await place.client.list(PODS, name)
    await place.client.create(DEPLOYMENTS, deployment("web", namespace=name, replicas=1), name)
    async with contextlib.aclosing(
        place.client.watch(PODS, name, WatchOptions(resource_version=listing.resource_version))
    ) as watch:
        event = await asyncio.wait_for(anext(aiter(watch)), TIMEOUT)
    await place.client.delete(NAMESPACES, name)
    assert event.object is not None
    assert resolve(event.object).interceptors == ("replicaset.apps.k8s.io", "deployment.apps.k8s.io")


async def test_without_a_surge_pods_go_in_batches(place: EvictionNamespace) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}}
    annotations = {OPT_IN: "true", STRATEGY: MAX_UNAVAILABLE}
    old = await moving(place, 4, metadata={"annotations": annotations}, spec={"strategy": strategy})
    async with counting(place) as counts:
        for one in old:
            await place.ask(one)
        for one in old:
            await place.until_complete(one)
        await quiet(place, 4, surged=False)
    assert min(counts) >= 2
    assert not {one["metadata"]["uid"] for one in old} & {one["metadata"]["uid"] for one in await pods(place)}


async def test_a_scale_down_keeps_the_spread_over_domains(place: EvictionNamespace) -> None:
    """Two domains, of which one has two nodes: left to itself a ReplicaSet empties the other one first."""
    key = "test.vacate.dev/rack"
    names = sorted(one["metadata"]["name"] for one in (await place.client.list(NODES)).items)
    racks = {name: "b" if name == names[-1] else "a" for name in names}
    for name, rack in racks.items():
        await place.client.patch(NODES, name, {"metadata": {"labels": {key: rack}}})
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    parts: Obj = {"metadata": {"annotations": {OPT_IN: "true"}}, "labels": {"app": "web"}}
    await moving(place, 6, **parts, template={"spec": {"topologySpreadConstraints": [constraint]}})

    async def costs_are_set() -> bool:
        found = [one["metadata"]["annotations"].get(DELETION_COST, "0") for one in await pods(place)]
        return sorted(found) == ["-1", "-1", "-2", "-2", "0", "0"]

    await place.until(costs_are_set, "the costs follow the domains")
    for count in (4, 2):
        await place.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": count}}, place.namespace)

        async def scaled(count: int = count) -> list[Obj]:
            found = await pods(place)
            return found if len(found) == count else []

        left = [racks[one["spec"]["nodeName"]] for one in await place.until(scaled, "it is scaled down")]
        assert sorted(left) == sorted("ab" * (count // 2))
