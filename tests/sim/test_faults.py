"""Faults for scenarios: plans that end, a wire that stops a process, an audit, skewed clocks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from multidict import MultiDict

from support.simulated.clusters import in_world
from vacate.api.kinds import CONFIGMAPS
from vacate.client.client import Client
from vacate.entropy import seeded_entropy
from vacate.errors import ApiError, Conflict, TooManyRequests, TransportError
from vacate.sim.auditlog import Audit
from vacate.sim.cluster import World
from vacate.sim.faults.crashpoints import CrashPoint
from vacate.sim.faults.plan import FaultPlan, FaultRates
from vacate.sim.faults.transport import NO_FAULT, Fault, FaultyTransport, Script
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.sim

STORM = FaultRates(requests=1.0, watches=1.0)


class Server:
    """Remembers what it was asked and answers with an empty object, or with a stream of two chunks."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.asked.append(request)
        return Response(200, Chunks() if "watch" in request.query else b"{}")

    async def aclose(self) -> None:
        pass


class Chunks:
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"1\n"
        yield b"2\n"

    async def aclose(self) -> None:
        pass


def watch(version: str = "100", **query: str) -> Request:
    found = MultiDict({"watch": "true", "resourceVersion": version, **query})
    return Request("GET", "/api/v1/pods", found)


def drawn(fault_rates: FaultRates, request: Request, count: int = 400, seed: int = 1) -> list[Fault]:
    fault_plan = FaultPlan(fault_rates, seeded_entropy(seed))
    return [fault_plan.fault(request) for _ in range(count)]


def test_a_storm_has_every_fault_of_requests_and_is_the_same_for_a_seed() -> None:
    faults = drawn(STORM, Request("PATCH", "/x"))
    assert faults == drawn(STORM, Request("PATCH", "/x"))
    assert {fault.status for fault in faults} >= {0, 409, 429, 500, 502, 503, 504}
    assert {fault.status_after for fault in faults} == {0, 500, 502, 504}
    assert any(fault.lost for fault in faults)
    assert any(fault.unanswered for fault in faults)
    assert all(fault.cut_after is None and not fault.rewind for fault in faults)


def test_only_writes_of_known_objects_are_answered_with_a_conflict() -> None:
    assert not any(fault.status == 409 for fault in drawn(STORM, Request("GET", "/x")))
    assert not any(fault.status == 409 for fault in drawn(STORM, Request("POST", "/x")))


def test_a_storm_has_every_fault_of_watches() -> None:
    faults = drawn(STORM, watch())
    assert {fault.status for fault in faults} >= {0, 410, 503}
    for name in ("lost", "lag", "rewind", "repeat"):
        assert any(getattr(fault, name) for fault in faults), name
    assert any(fault.stall_after is not None for fault in faults)
    assert any(fault.cut_after == 0 for fault in faults)
    assert not any(fault.unanswered or fault.status_after for fault in faults)


def test_a_fault_plan_can_be_switched_off_and_keeps_to_its_rates() -> None:
    fault_plan = FaultPlan(STORM, seeded_entropy(1))
    fault_plan.active = False
    assert fault_plan.fault(Request("GET", "/x")) is NO_FAULT
    mild = drawn(FaultRates(requests=0.1), Request("GET", "/x"), 1000)
    assert 50 < sum(fault is not NO_FAULT for fault in mild) < 200
    assert all(fault is NO_FAULT for fault in drawn(FaultRates(requests=1.0), watch()))


def faulty(sim: Sim, server: Server, *faults: Fault) -> FaultyTransport:
    return FaultyTransport(server, Script(faults), sim.clock)


def test_a_server_may_fail_after_it_has_done_its_work() -> None:
    async def main(sim: Sim) -> None:
        server = Server()
        client = Client(faulty(sim, server, Fault(status_after=504), Fault(status=429), Fault(status=409)))
        with pytest.raises(ApiError) as caught:
            await client.get(CONFIGMAPS, "c", "default")
        assert caught.value.status_code == 504
        assert len(server.asked) == 1
        with pytest.raises(TooManyRequests) as busy:
            await client.get(CONFIGMAPS, "c", "default")
        assert busy.value.retry_after_seconds == 1
        with pytest.raises(Conflict):
            await client.get(CONFIGMAPS, "c", "default")
        assert len(server.asked) == 1

    run_sim(main)


def test_a_watch_lags_and_repeats_events() -> None:
    async def main(sim: Sim) -> None:
        server = Server()
        lines = faulty(sim, server, Fault(lag=20.0), *[Fault(rewind=30)] * 4)
        response = await lines.send(watch())
        assert not isinstance(response.body, bytes)
        seen = [sim.loop.time() async for _ in response.body]
        assert seen == [20.0, 40.0]
        for request in (watch(), watch("7"), watch("", sendInitialEvents="true"), watch("odd")):
            await lines.send(request)
        versions = [request.query["resourceVersion"] for request in server.asked]
        assert versions == ["100", "70", "1", "", "odd"]

    run_sim(main)


@pytest.mark.parametrize("after", [False, True])
def test_a_wire_stops_a_process_at_one_request_and_its_next_life_goes_on(after: bool) -> None:
    async def main(sim: Sim) -> None:
        server, wire = Server(), CrashPoint(2, after=after)
        first = wire.around(server)
        await first.send(Request("GET", "/1"))
        hanging = [sim.loop.create_task(_send(first, f"/{n}")) for n in (2, 3)]
        await asyncio.wait_for(wire.tripped.wait(), 1)
        await sim.clock.sleep(1000)
        assert not any(task.done() for task in hanging)
        for task in hanging:
            task.cancel()
        second = wire.around(server)
        await second.send(Request("GET", "/4"))
        assert [request.path for request in server.asked] == ["/1", *(["/2"] if after else []), "/4"]
        assert wire.count == 3

    run_sim(main)


async def _send(transport: Any, path: str) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await transport.send(Request("GET", path))


def test_an_audit_knows_what_reached_no_client() -> None:
    async def body(world: World) -> None:
        audit = world.network.audit = Audit(
            world.sim.loop.time, lambda request: request.method == "POST" and "configmaps" in request.path
        )
        admin = world.client
        await admin.create(CONFIGMAPS, {"metadata": {"name": "a"}}, "default")
        world.sim.loop.call_later(0.2, world.network.cut, "admin")  # between the request and its answer
        with pytest.raises(TransportError, match="the answer was lost"):
            await admin.create(CONFIGMAPS, {"metadata": {"name": "b"}}, "default")
        world.network.mend("admin")
        with pytest.raises(ApiError):
            await admin.create(CONFIGMAPS, {"metadata": {"name": "b"}}, "default")
        heard = [(one.link, one.status, one.accepted) for one in audit.heard]
        assert heard == [("admin", 201, True), ("admin", 201, True), ("admin", 409, False)]
        assert all(one.at <= one.answered for one in audit.heard)
        kept = [(at, record.name) for at, record in world.server.history if record.resource == "configmaps"]
        assert [name for _, name in kept] == ["a", "b"]
        assert audit.heard[0].at < kept[0][0] <= audit.heard[0].answered

    in_world(body, controllers=(), nodes=0, latency=(0.15, 0.15))


def test_every_process_may_have_a_clock_of_its_own() -> None:
    async def body(world: World) -> None:
        made = await world.client.create(CONFIGMAPS, {"metadata": {"name": "a"}}, "default")
        assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:00:10Z"

    in_world(body, controllers=(), nodes=0, latency=(0.0, 0.0), skews={"server": 10.0})
