"""Requests for pods without interceptors: evicted at once, in three writes."""

from __future__ import annotations

import pytest

from support.simulated.evictions import (
    DRAIN,
    active,
    completed,
    event_count,
    events_of,
    evictions_heard,
    failed,
    found,
    history,
    in_eviction_cluster,
    put_past_admission,
    request_eviction,
    requested,
    running_pod,
    stage,
    status,
)
from vacate.api.kinds import DAEMONSETS, EVICTIONREQUESTS, NODES, PODS
from vacate.api.options import DeleteOptions
from vacate.client.requests import STRATEGIC_PATCH
from vacate.embedded.cluster.controlplane import CONTROLLERS
from vacate.sim.cluster import World
from vacate.testing import daemonset, pod

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

GONE = ("PodDeleted", "PodTerminated")
"""How evictions end: a node says that the containers ended a moment before it removes the pod."""


def test_a_plain_eviction_takes_three_writes_and_two_events() -> None:
    async def body(world: World) -> None:
        name = await requested(world)
        assert await completed(world, name) in GONE
        await world.settle()
        writes = [one for _, one in history(world, EVICTIONREQUESTS)]
        assert len(writes) == 2  # created, completed
        assert evictions_heard(world) == 1
        assert world.find(PODS, "p", "default") is None
        assert stage(world, name) == "Complete"
        assert status(world, name)["message"] in ("The pod is deleted.", "The pod has terminated.")
        assert "podEvictionStatus" not in status(world, name)
        assert event_count(world) == 2
        assert events_of(world, "p", "EvictedByRequest") == [f"The pod is evicted, requested by {DRAIN}."]
        assert events_of(world, name) in (["Pod p is deleted."], ["Pod p has terminated."])

    in_eviction_cluster(body)


def test_what_interceptors_write_is_left_alone_where_there_are_none() -> None:
    async def body(world: World) -> None:
        name = await requested(world)
        await completed(world, name)
        assert active(world, name) == ""
        assert "heartbeatTime" not in status(world, name)

    in_eviction_cluster(body)


def test_a_terminating_pod_is_not_evicted_and_costs_no_write_while_its_grace_lasts() -> None:
    async def body(world: World) -> None:
        target = await running_pod(
            world,
            metadata={"annotations": {"sim.vacate.dev/stop-seconds": "20"}},
            interceptors=["a.example.com"],
        )
        await world.client.delete(PODS, "p", "default")
        name = await request_eviction(world, target)
        await world.until(lambda: stage(world, name) == "Terminating")
        assert active(world, name) == ""
        assert await completed(world, name) in GONE
        assert evictions_heard(world) == 0

    in_eviction_cluster(body)


def test_a_pod_that_overstays_names_its_finalizers() -> None:
    async def body(world: World) -> None:
        made = pod("p", metadata={"finalizers": ["example.com/hold"]}, spec={"schedulerName": "nobody"})
        target = await world.client.create(PODS, made, "default")
        name = await request_eviction(world, target)
        await world.until(lambda: stage(world, name) == "Terminating", timeout=60)
        assert "its finalizers keep it: example.com/hold" in status(world, name)["message"]
        await world.settle(10)
        assert len(events_of(world, name, "TerminationOverdue")) == 1
        await world.client.patch(PODS, "p", {"metadata": {"finalizers": None}}, "default")
        assert await completed(world, name) == "PodDeleted"
        assert evictions_heard(world) == 1

    # Pod GC would say that the pod has failed, since it never had a node.
    others = [one for one in CONTROLLERS if one.component != "pod-garbage-collector"]
    in_eviction_cluster(body, controllers=others)


def test_a_pod_that_overstays_names_the_node_that_does_not_answer() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, spec={"terminationGracePeriodSeconds": 5})
        node = target["spec"]["nodeName"]
        world.pool.crash(node)
        name = await request_eviction(world, target)
        await world.until(lambda: stage(world, name) == "Terminating", timeout=60)
        assert f"node {node} has not yet confirmed" in status(world, name)["message"]
        world.pool.start(node)
        assert await completed(world, name) in GONE
        assert evictions_heard(world) == 1

    in_eviction_cluster(body)


def test_a_pod_that_ends_by_itself_completes_the_request() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=["a.example.com"])
        name = await request_eviction(world, target)
        await world.until(lambda: active(world, name))
        change = {"status": {"phase": "Succeeded"}}
        await world.client.patch(
            PODS, "p", change, "default", patch_type=STRATEGIC_PATCH, subresource="status"
        )
        assert await completed(world, name) == "PodTerminated"
        assert active(world, name) == ""
        assert evictions_heard(world) == 0
        assert world.find(PODS, "p", "default") is not None

    in_eviction_cluster(body)


def test_a_pod_of_the_same_name_and_another_uid_is_left_alone() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=["a.example.com"])
        name = await request_eviction(world, target)
        await world.until(lambda: active(world, name))
        await world.evictions.crash()
        await world.client.delete(PODS, "p", "default", DeleteOptions(grace_period_seconds=0))
        await world.client.create(PODS, pod("p"), "default")
        await world.until(world.healthy_pods)
        await world.evictions.start()
        assert await completed(world, name) == "PodDeleted"
        await world.settle()
        assert evictions_heard(world) == 0
        assert len(world.healthy_pods()) == 1

    in_eviction_cluster(body)


def test_daemon_set_and_mirror_pods_are_never_evicted() -> None:
    async def body(world: World) -> None:
        owner = await world.client.create(DAEMONSETS, daemonset("agent"), "default")
        daemon = await running_pod(world, "d", node="node-1", owner=owner)
        uid = (await world.client.get(NODES, "node-1"))["metadata"]["uid"]
        node = {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": uid, "controller": True}
        mark = {"annotations": {"kubernetes.io/config.mirror": "h"}, "ownerReferences": [node]}
        mirror = await running_pod(world, "m", node="node-1", metadata=mark)
        names = [await request_eviction(world, one) for one in (daemon, mirror)]
        await world.settle()
        for name, word in zip(names, ("DaemonSet agent", "mirrors a static pod"), strict=True):
            assert stage(world, name) == "Blocked"
            assert word in status(world, name)["message"]
            assert failed(world, name) == 0
            assert len(events_of(world, name, "NotEvictable")) == 1
        assert evictions_heard(world) == 0
        for one in ("d", "m"):
            await world.client.delete(PODS, one, "default", DeleteOptions(grace_period_seconds=0))
        assert [await completed(world, name) for name in names] == ["PodDeleted"] * 2

    in_eviction_cluster(body, controllers=())


def test_a_pod_whose_author_made_up_its_node_is_evicted() -> None:
    """The mark of a mirror pod and a reference to its node, with a UID that is not the node's."""

    async def body(world: World) -> None:
        node = {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "made-up", "controller": True}
        mark = {"annotations": {"kubernetes.io/config.mirror": "h"}, "ownerReferences": [node]}
        name = await request_eviction(world, await running_pod(world, "m", node="node-1", metadata=mark))
        assert await completed(world, name) in ("PodDeleted", "PodTerminated")
        assert events_of(world, name, "NotEvictable") == []

    in_eviction_cluster(body, controllers=())


def test_a_request_that_did_not_pass_admission_is_never_processed() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world)
        await world.evictions.crash()
        name = await request_eviction(world, target)
        request = found(world, name)
        del request["metadata"]["annotations"]["vacate.dev/admitted"]
        await put_past_admission(world, request)
        await world.evictions.start()
        await world.settle()
        conditions = found(world, name)["status"]["conditions"]
        assert [(one["type"], one["status"], one["reason"]) for one in conditions] == [
            ("Admitted", "False", "NotAdmitted")
        ]
        assert evictions_heard(world) == 0
        assert len(events_of(world, name, "NotAdmitted")) == 1

    in_eviction_cluster(body)
