"""DeschedulingPolicies in a simulated cluster: report, eviction within limits, withdrawal, restart."""

from __future__ import annotations

from typing import Any

import pytest

from support.matrix.place import Refusal
from support.matrix.simulated import Refusals
from support.simulated.clusters import in_world
from support.simulated.evictions import A
from support.simulated.maintenances import on_node, open_requests, web
from support.simulated.workloads import created, events_of
from vacate.api.kinds import DESCHEDULINGPOLICIES, EVACUATIONS, EVICTIONREQUESTS, NODES, PODS
from vacate.api.kinds import LIFECYCLE_EVICTIONS as EVICTIONS
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.client.codec import codec_for
from vacate.descheduling.names import requester_of
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

TAINT = {"key": "gpu", "effect": "NoSchedule"}
NAME = "tidy"


async def policy(world: World, **spec: Any) -> None:
    body = {
        "apiVersion": DESCHEDULINGPOLICIES.api_version,
        "kind": DESCHEDULINGPOLICIES.kind,
        "metadata": {"name": NAME},
        "spec": {"rules": ["NodeTaints", "NodeAffinity", "TopologySpread"], "mode": "Evict", **spec},
    }
    await world.client.create(DESCHEDULINGPOLICIES, body)


def status(world: World) -> Obj:
    found: Obj = created(world, DESCHEDULINGPOLICIES, NAME, "").get("status", {})
    return found


async def taint(world: World, node: str, taints: list[Obj]) -> None:
    await world.client.patch(NODES, node, {"spec": {"taints": taints or None}})


async def _requested(world: World, count: int) -> None:
    await world.until(lambda: len(open_requests(world)) == count)


@pytest.mark.thorough
def test_a_report_evicts_nothing() -> None:
    async def body(world: World) -> None:
        await web(world)
        there = on_node(world, "node-1")
        await taint(world, "node-1", [TAINT])
        await policy(world, mode="Report")
        await world.until(lambda: status(world).get("violations") == len(there))
        wanted = f"{len(there)} pods are misplaced; nothing is evicted, as the mode is Report"
        assert (status(world).get("requested", 0), status(world)["message"]) == (0, wanted)
        assert {one["state"] for one in status(world)["pods"]} == {"Reported", "Waiting"}
        await world.sim.clock.sleep(600)
        assert on_node(world, "node-1") == there
        assert world.objects(EVICTIONREQUESTS) == []

    in_world(body)


def test_pods_move_off_a_tainted_node_no_more_at_once_than_allowed() -> None:
    async def body(world: World) -> None:
        await web(world)
        count = len(on_node(world, "node-1"))
        assert count >= 2
        most = 0

        def watch() -> bool:
            nonlocal most
            most = max(most, len(open_requests(world)))
            return not on_node(world, "node-1")

        await policy(world)
        await world.until(lambda: status(world).get("message") == "every pod is where it should be")
        await taint(world, "node-1", [TAINT])
        await world.until(watch)
        assert most == 1
        await world.until(lambda: status(world).get("violations", 0) == 0)
        assert len(events_of(world, NAME, "EvictionRequested")) == count

    in_world(body)


def test_a_refused_request_is_tried_again_long_before_the_next_interval() -> None:
    async def body(world: World) -> None:
        refusals = Refusals()
        world.network.audit = refusals
        refusals.active.append(Refusal("policy", "POST", EVICTIONREQUESTS))
        await web(world)
        await policy(world, intervalSeconds=3600)
        await taint(world, "node-1", [TAINT])
        await world.until(lambda: "Refused" in {one["state"] for one in status(world).get("pods", [])})
        await world.sim.clock.sleep(60)
        refusals.active.clear()
        await world.until(lambda: open_requests(world) or not on_node(world, "node-1"), 20.0)

    in_world(body)


def test_what_is_no_longer_wrong_is_withdrawn_and_so_is_all_of_a_deleted_policy() -> None:
    async def body(world: World) -> None:
        template = {"spec": {"evictionInterceptors": [{"name": A}]}}
        await web(world, template=template)
        await policy(world, maxPerNode=5, maxPerNamespace=5)
        for end in ("the taint goes", "the policy goes"):
            await taint(world, "node-1", [TAINT])
            there = on_node(world, "node-1")
            await _requested(world, len(there))
            found = world.objects(EVICTIONREQUESTS)
            assert {one["name"] for each in found for one in each["spec"].get("requesters", [])} <= {
                requester_of(NAME, EVICTION_REQUEST)
            }
            if end == "the taint goes":
                await taint(world, "node-1", [])
            else:
                await world.client.delete(DESCHEDULINGPOLICIES, NAME)
            await world.until(lambda: open_requests(world) == [])
            assert on_node(world, "node-1") == there

    in_world(body)


@pytest.mark.parametrize("kind", ["Evacuation", "Lifecycle"])
def test_evictions_are_requested_by_the_api_of_the_policy(kind: str) -> None:
    async def body(world: World) -> None:
        responders = [{"name": "backup.example.com/backup", "priority": 20_000}]
        template = {"spec": {"evictionResponders": responders, "evictionInterceptors": [{"name": A}]}}
        await web(world, template=template)
        await policy(world, requestKind=kind)

        def requesters() -> list[str]:
            """Of all that goes on, as each API has it."""
            found = [one["metadata"].get("finalizers", []) for one in world.objects(EVACUATIONS)]
            names = [name.rpartition("_")[2] for each in found for name in each]
            evictions = [one.get("status", {}).get("requesters", []) for one in world.objects(EVICTIONS)]
            return names + [one["name"] for each in evictions for one in each if one["intent"] == "Eviction"]

        for end in ("the taint goes", "the policy goes"):
            await taint(world, "node-1", [TAINT])
            await world.until(lambda: bool(requesters()))
            await world.sim.clock.sleep(120)
            own = {"Evacuation": "tidy.descheduling.vacate.dev", "Lifecycle": "descheduling.vacate.dev/tidy"}
            assert requesters() == [own[kind]]  # one of the node at a time
            assert status(world)["requested"] == 1
            if end == "the taint goes":
                await taint(world, "node-1", [])
            else:
                await world.client.delete(DESCHEDULINGPOLICIES, NAME)
            await world.until(lambda: not requesters())
        assert not world.objects(EVICTIONREQUESTS)

    in_world(body, gates=parse_feature_gates("EvacuationAPI=true,LifecycleAPI=true"))


def test_uneven_racks_are_evened_out() -> None:
    async def body(world: World) -> None:
        constraint = {
            "maxSkew": 1,
            "topologyKey": "rack",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        nodes = ("node-1", "node-2", "node-3")
        for name in nodes:
            await world.client.patch(NODES, name, {"metadata": {"labels": {"rack": "a"}}})
        await web(world, template={"spec": {"topologySpreadConstraints": [constraint]}})
        before = {name: set(on_node(world, name)) for name in nodes}
        assert [len(one) for one in before.values()] == [2, 2, 2]
        await policy(world)
        await world.client.patch(NODES, "node-3", {"metadata": {"labels": {"rack": "b"}}})
        await world.until(lambda: len(on_node(world, "node-3")) == 3 and len(world.healthy_pods()) == 6)
        assert before["node-3"] < set(on_node(world, "node-3"))  # one moved there, and no other did
        await world.sim.clock.sleep(600)
        assert len(events_of(world, NAME, "EvictionRequested")) == 1
        assert status(world)["message"] == "every pod is where it should be"

    in_world(body)


def test_a_manager_that_starts_in_the_middle_goes_on_and_makes_no_second_request() -> None:
    async def body(world: World) -> None:
        await web(world, template={"spec": {"evictionInterceptors": [{"name": A}]}})
        await policy(world)
        await taint(world, "node-1", [TAINT])
        await world.until(lambda: len(open_requests(world)) == 1)
        (first,) = open_requests(world)
        await world.restart(world.evictions, 1.0)
        await world.sim.clock.sleep(300)
        assert [one["metadata"]["uid"] for one in open_requests(world)] == [first["metadata"]["uid"]]

    in_world(body)


def test_pods_that_leave_by_the_other_api_count() -> None:
    """The limits are there for the applications, whichever API is used. A pod is requested by one only."""

    async def body(world: World) -> None:
        registered = {f"evacuation.coordination.k8s.io/priority_{A}": "11000/knowledgeable"}
        await web(world, template={"metadata": {"labels": {"app": "web"}, "annotations": registered}})
        there = on_node(world, "node-1")
        assert len(there) >= 2
        first = codec_for(Pod).convert(created(world, PODS, there[0]))
        await world.client.create(EVACUATIONS, EVACUATION.new_request(first, "drain.example.com", "", None))
        await taint(world, "node-1", [TAINT])
        await policy(world)
        await world.until(lambda: status(world).get("violations", 0) == len(there))
        states = {one["pod"]: one["state"] for one in status(world)["pods"]}
        assert states.pop(there[0]) == "Requested"
        assert set(states.values()) == {"Waiting"}
        assert world.objects(EVICTIONREQUESTS) == []

    in_world(body, gates=parse_feature_gates("EvacuationAPI=true"))
