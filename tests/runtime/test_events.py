"""Events: names, repeats, chatter, pressure."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from support.tiny_server import TinyServer
from vacate.api.events import NORMAL, WARNING, EventNote, Regarding, regarding
from vacate.api.kinds import EVENTS, NODES, PODS
from vacate.api.types import ObjectMeta, Pod
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.entropy import seeded_entropy
from vacate.runtime.eventcorrelator import Correlator, LruMap
from vacate.runtime.recorder import BUFFER, EventRecorder
from vacate.sim.faults.transport import Fault, FaultyTransport, Script
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.sim

POD = Pod(metadata=ObjectMeta(name="web", namespace="shop", uid="u", resource_version="7"))
NOTE = EventNote(regarding(PODS, POD), NORMAL, "Scheduled", "assigned to n1")
NOW = dt.datetime(2026, 1, 1, 12, 0, 0, 250000, tzinfo=dt.UTC)


def correlator() -> Correlator:
    return Correlator("vacate", "host", seeded_entropy(1))


def test_an_event_as_kubernetes_makes_it() -> None:
    written = correlator().observe(NOTE, NOW, 0.0)
    assert written is not None
    assert written.body == {
        "metadata": {"name": f"web.{1767268800250000000:x}", "namespace": "shop"},
        "involvedObject": {
            "kind": "Pod",
            "namespace": "shop",
            "name": "web",
            "uid": "u",
            "apiVersion": "v1",
            "resourceVersion": "7",
        },
        "reason": "Scheduled",
        "message": "assigned to n1",
        "source": {"component": "vacate", "host": "host"},
        "firstTimestamp": "2026-01-01T12:00:00Z",
        "lastTimestamp": "2026-01-01T12:00:00Z",
        "count": 1,
        "type": "Normal",
        "reportingComponent": "vacate",
        "reportingInstance": "host",
    }


def test_cluster_wide_objects_and_names_that_fit_no_event() -> None:
    one = correlator()
    node = one.observe(EventNote(Regarding("v1", "Node", "n1"), WARNING, "NotReady", "gone"), NOW, 0.0)
    odd = one.observe(EventNote(Regarding("v1", "Thing", "a:B"), NORMAL, "Odd", "name"), NOW, 0.0)
    assert node is not None
    assert node.namespace == "default"
    assert odd is not None
    assert len(odd.name) == 36
    assert NODES.kind == "Node"


def test_two_events_of_one_instant_have_two_names() -> None:
    one = correlator()
    names = [
        written.name
        for reason in ("A", "B", "C")
        if (written := one.observe(EventNote(NOTE.regarding, NORMAL, reason, ""), NOW, 0.0))
    ]
    assert len(set(names)) == 3


def test_chatter_about_one_object_is_held_back_and_others_are_not() -> None:
    one = correlator()

    def passes(reason: str, at: float, name: str = "web") -> bool:
        note = EventNote(Regarding("v1", "Pod", name, "shop"), WARNING, reason, "")
        return one.observe(note, NOW, at) is not None

    assert [passes(f"R{n}", 0.0) for n in range(27)] == [True] * 25 + [False] * 2
    assert passes("R", 0.0, name="other")
    assert (passes("S", 299.0), passes("S", 301.0), passes("S", 302.0)) == (False, True, False)


def test_the_memory_is_bounded() -> None:
    recent: LruMap[int] = LruMap(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert [recent.get(key) for key in "abc"] == [1, None, 3]


def recorder(sim: Sim, server: TinyServer, *faults: Fault) -> EventRecorder:
    transport = FaultyTransport(InProcessTransport(server), Script(faults), sim.clock)
    return EventRecorder(Client(transport), sim.clock, sim.entropy, component="vacate")


def events(server: TinyServer) -> list[tuple[str, int]]:
    return [(obj["reason"], obj["count"]) for key, obj in server.objects.items() if key[0] == EVENTS.resource]


def test_repeats_are_counted_by_a_patch_and_made_anew_when_the_event_is_gone() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        one = recorder(sim, server)
        running = asyncio.create_task(one.run())
        for _ in range(3):
            one.record(NOTE)
            await sim.clock.sleep(60)
        assert events(server) == [("Scheduled", 3)]
        assert [request.method for request in server.requests] == ["POST", "PATCH", "PATCH"]
        (event,) = server.objects.values()
        assert (event["firstTimestamp"], event["lastTimestamp"]) == (
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:02:00Z",
        )
        server.remove(EVENTS, event["metadata"]["name"], "shop")
        one.record(NOTE)
        await sim.clock.sleep(1)
        assert events(server) == [("Scheduled", 4)]
        at_rest = len(server.requests)
        await sim.clock.sleep(86400)
        assert len(server.requests) == at_rest
        assert one.dropped == 0
        running.cancel()
        await asyncio.wait([running])

    run_sim(main)


def test_trouble_that_passes_loses_nothing_and_writes_nothing_twice() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        one = recorder(sim, server, Fault(lost=True), Fault(status=503), Fault(unanswered=True))
        one.record(NOTE)
        await one.flush()
        assert events(server) == [("Scheduled", 1)]
        assert one.dropped == 0

    run_sim(main)


def test_a_refusal_loses_the_note_and_the_next_goes_on() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        one = recorder(sim, server, Fault(status=403))
        one.record(NOTE)
        one.record(EventNote(NOTE.regarding, NORMAL, "Next", ""))
        await one.flush()
        assert events(server) == [("Next", 1)]
        assert one.dropped == 1

    run_sim(main)


def test_under_pressure_notes_are_dropped_and_counted() -> None:
    async def main(sim: Sim) -> None:
        one = recorder(sim, TinyServer())
        for _ in range(BUFFER + 7):
            one.record(NOTE)
        assert (one.pending, one.dropped) == (BUFFER, 7)

    run_sim(main)
