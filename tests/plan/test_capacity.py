"""How full zones are while a drain runs."""

from __future__ import annotations

import pytest

from vacate.api.objects import Obj
from vacate.plan.capacity import Capacity, Room, Share
from vacate.testing.builders import node, pod

pytestmark = pytest.mark.unit

GIB = 2**30


def cordoned(one: Obj) -> Obj:
    return {**one, "spec": {"unschedulable": True}}


def placed(name: str, on: str, cpu: str, memory: str) -> Obj:
    one = pod(name, node=on, stored=True)
    one["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu, "memory": memory}}
    return one


def test_a_zone_is_fullest_while_its_nodes_are_cordoned() -> None:
    nodes = {name: node(name, zone=f"zone-{name[0]}", cpu="8", memory="32Gi") for name in ("a1", "a2", "b1")}
    pods = [placed("web", "a1", "4", "8Gi"), placed("db", "a2", "2", "4Gi")]
    capacity = Capacity()
    for name, one in nodes.items():
        capacity.node(name, one)
    for one in pods:
        capacity.pod(("default", one["metadata"]["name"]), one)
    capacity.begin()
    capacity.node("a1", cordoned(nodes["a1"]))
    capacity.pod(("default", "web-new"), placed("web-new", "a2", "4", "8Gi"))  # 6 of 8 cores
    capacity.pod(("default", "web"), None)
    capacity.node("a1", nodes["a1"])
    done = placed("db", "a2", "2", "4Gi")
    done["metadata"]["uid"] = pods[1]["metadata"]["uid"]
    done["status"] = {"phase": "Succeeded"}
    capacity.pod(("default", "db"), done)
    assert capacity.rooms() == (
        Room("zone-a", Share(38, 75, 25), Share(19, 38, 12), 8.0, 32 * GIB),
        Room("zone-b", Share(0, 0, 0), Share(0, 0, 0), 8.0, 32 * GIB),
    )


def test_a_node_that_has_its_number_of_pods_fits_no_more() -> None:
    capacity = Capacity()
    capacity.node("a1", node("a1", zone="zone-a", pods="1"))
    capacity.pod(("default", "web"), placed("web", "a1", "1", "1Gi"))
    (room,) = capacity.rooms()
    assert (room.largest_cpu, room.largest_memory) == (0, 0)


def test_a_pod_of_the_same_name_counts_anew_and_a_node_that_is_gone_offers_nothing() -> None:
    capacity = Capacity()
    for name in ("a1", "a2"):
        capacity.node(name, node(name, zone="zone-a", cpu="10"))
    capacity.pod(("default", "db-0"), placed("db-0", "a1", "5", "1Gi"))
    capacity.begin()
    capacity.pod(("default", "db-0"), placed("db-0", "a2", "1", "1Gi"))
    capacity.node("a1", None)
    (room,) = capacity.rooms()
    assert room.cpu == Share(25, 25, 10)
