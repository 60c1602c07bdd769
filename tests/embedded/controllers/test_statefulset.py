"""Stateful sets in a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated.workloads import created, events_of, history, in_world, made, writes
from vacate.api.kinds import CONTROLLERREVISIONS, PODS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.sim.cluster import World
from vacate.testing import pod, statefulset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]


async def members(world: World, count: int, **parts: Any) -> None:
    await world.client.create(STATEFULSETS, statefulset("db", replicas=count, **parts), "default")
    await settled(world, count)


async def settled(world: World, count: int) -> None:
    await world.until(lambda: _settled(world, count), what=f"{count} ready members")


def _settled(world: World, count: int) -> bool:
    found = created(world, STATEFULSETS, "db")
    status = found.get("status", {})
    seen = status.get("observedGeneration", 0) >= found["metadata"]["generation"]
    return bool(
        seen
        and status.get("readyReplicas", 0) == status["replicas"] == count == len(world.objects(PODS))
        and status.get("updateRevision") == status.get("currentRevision")
    )


def status(world: World) -> Obj:
    found: Obj = created(world, STATEFULSETS, "db")["status"]
    return found


def names(world: World) -> list[str]:
    return sorted(one["metadata"]["name"] for one in world.objects(PODS))


def order(world: World, *, deleted: bool) -> list[str]:
    """The names of all pods in the order in which they were created, or were gone."""
    seen: dict[str, str] = {}
    for gone, obj in history(world, PODS):
        if gone or not deleted:
            seen.setdefault(obj["metadata"]["uid"], obj["metadata"]["name"])
    return list(seen.values())


def most_terminating(world: World) -> int:
    """How many pods were terminating at the same time."""
    terminating: set[str] = set()
    most = 0
    for gone, obj in history(world, PODS):
        if gone:
            terminating.discard(obj["metadata"]["name"])
        elif obj["metadata"].get("deletionTimestamp"):
            terminating.add(obj["metadata"]["name"])
        most = max(most, len(terminating))
    return most


async def patch(world: World, **spec: Any) -> None:
    await world.client.patch(STATEFULSETS, "db", {"spec": spec}, "default")


NEW_IMAGE: Obj = {"spec": {"containers": [{"name": "main", "image": "registry.example/app:2"}]}}


def test_members_come_one_after_another_with_names_of_their_own() -> None:
    async def body(world: World) -> None:
        await members(world, 3)
        assert order(world, deleted=False) == ["db-0", "db-1", "db-2"]
        for before, after in (("db-0", "db-1"), ("db-1", "db-2")):
            ready = created(world, PODS, before)["status"]["conditions"]
            since = next(one["lastTransitionTime"] for one in ready if one["type"] == "Ready")
            assert since <= created(world, PODS, after)["metadata"]["creationTimestamp"]
        second = created(world, PODS, "db-1")
        labels = second["metadata"]["labels"]
        labels.pop("topology.kubernetes.io/zone")  # the node's
        assert labels == {
            "app": "db",
            "apps.kubernetes.io/pod-index": "1",
            "statefulset.kubernetes.io/pod-name": "db-1",
            "controller-revision-hash": status(world)["updateRevision"],
        }
        assert (second["spec"]["hostname"], second["spec"]["subdomain"]) == ("db-1", "db")
        messages = sorted(events_of(world, "db", "SuccessfulCreate"))
        assert messages[0] == "create Pod db-0 in StatefulSet db successful"
        await world.settle(10)
        before_rest = writes(world)
        await world.sim.clock.sleep(900)
        assert writes(world) == before_rest

    in_world(body)


def test_parallel_members_do_not_wait() -> None:
    async def body(world: World) -> None:
        await members(world, 4, spec={"podManagementPolicy": "Parallel", "ordinals": {"start": 5}})
        assert names(world) == ["db-5", "db-6", "db-7", "db-8"]
        born = {one["metadata"]["creationTimestamp"] for one in world.objects(PODS)}
        assert len(born) == 1
        await patch(world, replicas=1)
        await settled(world, 1)
        assert names(world) == ["db-5"]

    in_world(body)


def test_scaling_down_takes_the_highest_first_and_one_at_a_time() -> None:
    async def body(world: World) -> None:
        await members(world, 4)
        await patch(world, replicas=1)
        await settled(world, 1)
        assert order(world, deleted=True) == ["db-3", "db-2", "db-1"]
        terminating: set[str] = set()
        for gone, obj in history(world, PODS):
            name, leaving = obj["metadata"]["name"], obj["metadata"].get("deletionTimestamp")
            terminating = terminating - {name} if gone else terminating | ({name} if leaving else set())
            assert len(terminating) <= 1

    in_world(body)


def test_no_replacement_while_the_old_pod_object_exists() -> None:
    async def body(world: World) -> None:
        await members(world, 2)
        old = created(world, PODS, "db-1")
        world.pool.isolate(old["spec"]["nodeName"])
        await world.client.delete(PODS, "db-1", "default")
        await world.sim.clock.sleep(3600)
        assert created(world, PODS, "db-1")["metadata"]["uid"] == old["metadata"]["uid"]
        assert made(world, PODS) == 2
        world.pool.rejoin(old["spec"]["nodeName"])
        await world.until(lambda: made(world, PODS) == 3)
        await settled(world, 2)
        assert order(world, deleted=True) == ["db-1"]

    in_world(body)


def test_an_unready_lower_ordinal_keeps_a_deleted_higher_one_from_returning_in_order_only() -> None:
    for policy, returns in (("OrderedReady", False), ("Parallel", True)):

        async def body(world: World, policy: str = policy, returns: bool = returns) -> None:
            await members(world, 2, spec={"podManagementPolicy": policy})
            lower = created(world, PODS, "db-0")
            world.pool.isolate(lower["spec"]["nodeName"])
            await world.client.delete(PODS, "db-0", "default")
            await world.client.delete(PODS, "db-1", "default")
            await world.sim.clock.sleep(300)
            assert (world.find(PODS, "db-1", "default") is not None) is returns

        in_world(body, nodes=4)


def test_an_update_goes_from_the_highest_ordinal_down_to_the_partition() -> None:
    async def body(world: World) -> None:
        await members(world, 3)
        first = status(world)["currentRevision"]
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        await patch(world, template=NEW_IMAGE, updateStrategy=strategy)
        await world.until(lambda: status(world).get("updatedReplicas") == 2)
        await world.settle(30)
        assert order(world, deleted=True) == ["db-2", "db-1"]
        assert status(world)["currentRevision"] == first
        # A member below the partition returns with the template that it had.
        await world.client.delete(PODS, "db-0", "default")
        await world.until(lambda: made(world, PODS) == 6 and status(world).get("readyReplicas") == 3)
        assert created(world, PODS, "db-0")["metadata"]["labels"]["controller-revision-hash"] == first
        await patch(world, updateStrategy={"rollingUpdate": {"partition": 0}})
        await settled(world, 3)
        assert [one["spec"]["containers"][0]["image"] for one in world.objects(PODS)] == [
            "registry.example/app:2"
        ] * 3
        assert status(world)["currentRevision"] != first

    in_world(body)


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_an_update_takes_down_as_many_members_as_the_strategy_allows(policy: str) -> None:
    async def body(world: World) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}}
        await members(world, 5, spec={"podManagementPolicy": policy, "updateStrategy": strategy})
        await patch(world, template=NEW_IMAGE)
        await settled(world, 5)
        assert most_terminating(world) == 2
        assert sorted(order(world, deleted=True)[:2]) == ["db-3", "db-4"]

    in_world(body)


def test_parallel_members_that_are_down_anyway_are_updated_at_once() -> None:
    async def body(world: World) -> None:
        never: Obj = {"metadata": {"annotations": {"sim.vacate.dev/ready-seconds": "never"}}}
        db = statefulset("db", replicas=3, spec={"podManagementPolicy": "Parallel"})
        await world.client.create(STATEFULSETS, db, "default")
        await settled(world, 3)
        await patch(world, template=never)
        await world.until(lambda: status(world).get("updatedReplicas") == 1, what="one that is never ready")
        await patch(world, template={"metadata": {"annotations": None}, **NEW_IMAGE})
        await settled(world, 3)
        assert order(world, deleted=True)[:2] == ["db-2", "db-2"]  # and only then the next
        assert most_terminating(world) == 1

    in_world(body)


def test_on_delete_updates_nobody_who_was_not_deleted() -> None:
    async def body(world: World) -> None:
        await members(world, 2, spec={"updateStrategy": {"type": "OnDelete"}})
        first = status(world)["currentRevision"]
        await patch(world, template=NEW_IMAGE)
        await world.settle(60)
        assert made(world, PODS) == 2
        await world.client.delete(PODS, "db-0", "default")
        await world.until(lambda: made(world, PODS) == 3 and status(world).get("readyReplicas") == 2)
        images = [one["spec"]["containers"][0]["image"] for one in world.objects(PODS)]
        assert images == ["registry.example/app:2", "registry.example/app:1"]
        assert status(world)["currentRevision"] == first

    in_world(body)


def test_revisions_are_numbered_reused_and_forgotten() -> None:
    async def body(world: World) -> None:
        await members(world, 1, spec={"revisionHistoryLimit": 1})
        for tag in ("2", "1", "3", "4"):
            image = {"name": "main", "image": f"registry.example/app:{tag}"}
            await patch(world, template={"spec": {"containers": [image]}})
            await settled(world, 1)
            if tag == "1":
                assert sorted(one["revision"] for one in world.objects(CONTROLLERREVISIONS)) == [2, 3]
        await world.settle(10)
        assert sorted(one["revision"] for one in world.objects(CONTROLLERREVISIONS)) == [4, 5]

    in_world(body)


def test_a_failed_member_is_replaced_and_a_stranger_with_its_name_is_left_alone() -> None:
    async def body(world: World) -> None:
        stranger = pod("db-1", labels={"app": "other"})
        await world.client.create(PODS, stranger, "default")
        await world.client.create(STATEFULSETS, statefulset("db", replicas=2), "default")
        await world.until(lambda: events_of(world, "db", "FailedCreate"))
        uid = created(world, PODS, "db-1")["metadata"]["uid"]
        await world.settle(200)
        assert created(world, PODS, "db-1")["metadata"]["uid"] == uid
        await world.client.delete(PODS, "db-1", "default")
        await settled(world, 2)
        await world.client.patch(
            PODS, "db-1", {"status": {"phase": "Failed"}}, "default", subresource="status"
        )
        await world.until(lambda: order(world, deleted=True).count("db-1") == 2)
        await settled(world, 2)

    in_world(body)


def test_an_orphan_with_a_members_name_is_adopted_and_gets_its_labels() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODS, pod("db-0", labels={"app": "db"}), "default")
        await world.client.create(STATEFULSETS, statefulset("db", replicas=1), "default")
        await world.until(
            lambda: created(world, PODS, "db-0")["metadata"]["labels"].get("apps.kubernetes.io/pod-index")
        )
        assert created(world, PODS, "db-0")["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet"

    in_world(body)
