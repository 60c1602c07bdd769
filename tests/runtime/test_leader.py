"""Leader election over real bytes and virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.tiny_server import TinyServer
from vacate.api.kinds import CONFIGMAPS, LEASES
from vacate.api.times import after, format_time
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import ConfigError, TransportError
from vacate.metrics import Metrics
from vacate.runtime.leaderelection import LeaderElector, LeadershipLost, LeaseTimings
from vacate.runtime.leaderwrites import LeaderTransport
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.sim


class Line:
    """A connection that can be cut, hang, or lose answers."""

    def __init__(self, server: TinyServer, clock: Clock) -> None:
        self._inner = InProcessTransport(server)
        self._clock = clock
        self.state = "up"
        self.writes: list[float] = []
        self.delayed: Request | None = None

    async def send(self, request: Request) -> Response:
        if self.state == "cut":
            raise TransportError("cut")
        if self.state == "hangs":
            await self._clock.sleep(1e6)
        if self.state == "delays writes" and request.method != "GET":
            self.delayed = request
            await self._clock.sleep(1e6)
        if request.method != "GET":
            self.writes.append(self._clock.monotonic())
        response = await self._inner.send(request)
        if self.delayed is not None:  # it comes through behind the first request that is answered
            delayed, self.delayed = self.delayed, None
            await self._inner.send(delayed)
        if self.state == "deaf":
            raise TransportError("the answer was lost")
        return response

    async def aclose(self) -> None:
        """Nothing is held."""


class Candidate:
    """A process: an elector, its line, and the moments at which it led."""

    def __init__(self, sim: Sim, server: TinyServer, name: str, skew: float = 0.0) -> None:
        clock = sim.skewed_clock(skew)
        self.line = Line(server, clock)
        self.metrics = Metrics()
        self.elector = LeaderElector(
            Client(self.line),
            clock,
            sim.stream(name),
            self.metrics,
            name="vacate",
            namespace="kube-system",
            identity=name,
        )
        self.task = asyncio.create_task(self._run())
        self.lost: BaseException | None = None

    async def _run(self) -> None:
        await self.elector.acquire()
        try:
            await self.elector.hold()
        except LeadershipLost as error:
            self.lost = error

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


def simulate(main: Callable[[Sim], Awaitable[None]], seed: int = 0) -> None:
    run_sim(main, seed, limit=86400.0)


def record(holder: str, renewed: str = "1999-01-01T00:00:00.000000Z") -> dict[str, Any]:
    return {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}


def spec(server: TinyServer) -> dict[str, Any]:
    found: dict[str, Any] = server.objects[LEASES.resource, "kube-system", "vacate"]["spec"]
    return found


def test_a_renewal_that_comes_through_late_does_not_keep_the_lease_from_being_given_back() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        a = Candidate(sim, server, "a")
        await sim.clock.sleep(0.1)
        before = spec(server)
        a.line.state = "delays writes"
        await sim.clock.sleep(3)  # a renewal is on its way
        a.line.state = "up"
        await a.stop()
        assert spec(server)["renewTime"] > before["renewTime"]
        assert spec(server)["holderIdentity"] == ""

    simulate(main)


def test_one_leads_and_the_other_takes_over_at_once_when_it_is_given_back() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        a = Candidate(sim, server, "a")
        await sim.clock.sleep(0.1)
        b = Candidate(sim, server, "b")
        await sim.clock.sleep(60)
        assert (a.elector.leading, b.elector.leading) == (True, False)
        assert b.elector.leader == "a"
        assert (spec(server)["holderIdentity"], spec(server)["leaseTransitions"]) == ("a", 0)
        assert len(a.line.writes) == pytest.approx(30, abs=2)
        assert b.line.writes == []
        await a.stop()
        assert not a.elector.leading
        assert spec(server)["holderIdentity"] == ""
        await sim.clock.sleep(5)
        assert b.elector.leading
        assert spec(server)["leaseTransitions"] == 1
        await b.stop()

    simulate(main)


@pytest.mark.parametrize("trouble", ["cut", "hangs", "deaf"])
@pytest.mark.parametrize("skew", [-3600.0, 0.0, 3600.0])
def test_a_leader_without_a_line_stops_before_the_other_starts(trouble: str, skew: float) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        a = Candidate(sim, server, "a")
        await sim.clock.sleep(0.1)
        b = Candidate(sim, server, "b", skew)
        await sim.clock.sleep(20)
        a.line.state = trouble
        last = max(a.line.writes)
        stopped = started = None
        while started is None:
            await sim.clock.sleep(0.05)
            now = sim.clock.monotonic()
            assert not (a.elector.leading and b.elector.leading)
            if stopped is None and not a.elector.leading:
                stopped = now
                a.line.state = "cut" if trouble == "deaf" else trouble
            started = now if b.elector.leading else None
        assert stopped is not None
        assert stopped == pytest.approx(last + 10.0, abs=0.2)
        assert isinstance(a.lost, LeadershipLost), "the leader must learn it at once"
        assert started - last >= 15.0
        assert started - last <= 15.0 + 10.0 + 2 * 2 * 2.2
        await b.stop()

    simulate(main)


def test_one_attempt_that_hangs_does_not_cost_the_lead() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        a = Candidate(sim, server, "a")
        await sim.clock.sleep(20.5)
        a.line.state = "hangs"
        await sim.clock.sleep(2)
        a.line.state = "up"  # for new requests; the one under way got no answer
        for _ in range(100):
            await sim.clock.sleep(0.5)
            assert a.elector.leading
        await a.stop()

    simulate(main)


def test_a_lease_whose_record_changes_is_never_taken_whatever_its_time_says() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        b = Candidate(sim, server, "b")
        server.put(LEASES, "vacate", "kube-system", spec=record("a"))
        for turn in range(20):
            await sim.clock.sleep(5)
            server.put(LEASES, "vacate", "kube-system", spec=record("a", f"1999-01-01T00:00:{turn:02}Z"))
            assert not b.elector.leading
        await sim.clock.sleep(15 + 2 * 2 * 2.2)
        assert b.elector.leading
        await b.stop()

    simulate(main)


def test_a_candidate_logs_once_for_whom_it_waits_and_until_when(caplog: pytest.LogCaptureFixture) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        body = {"metadata": {"name": "vacate", "namespace": "kube-system"}, "spec": record("killed")}
        await Client(InProcessTransport(server)).create(LEASES, body)
        began = sim.clock.now()
        a = Candidate(sim, server, "a")
        with caplog.at_level("INFO", "vacate.runtime.leaderelection"):
            await sim.clock.sleep(30)
        assert a.elector.leading
        waits, leads = [one.getMessage() for one in caplog.records]
        until = format_time(after(began, 15))
        assert "Lease kube-system/vacate is held by killed, renewed at 1999" in waits
        assert f"works from {until} on" in waits
        assert leads == "vacate: leads as a"
        await a.stop()

    simulate(main)


def test_a_leader_that_sees_another_holder_stops_at_once() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        a = Candidate(sim, server, "a")
        await sim.clock.sleep(5)
        server.put(LEASES, "vacate", "kube-system", spec=record("thief"))
        await sim.clock.sleep(5)
        assert isinstance(a.lost, LeadershipLost)
        assert "thief" in str(a.lost)
        assert spec(server)["holderIdentity"] == "thief"

    simulate(main)


@pytest.mark.thorough(beyond=3)
@pytest.mark.parametrize("sim_seed", range(6))
def test_never_two_leaders_over_bad_lines(sim_seed: int) -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        entropy = sim.stream("states")
        candidates = [
            Candidate(sim, server, name, skew) for name, skew in (("a", 0), ("b", 500), ("c", -500))
        ]
        led: dict[str, None] = {}
        for _ in range(400):
            await sim.clock.sleep(0.5)
            for number, one in enumerate(candidates):
                if entropy.uniform(0, 1) < 0.1:
                    one.line.state = ["up", "cut", "deaf", "hangs"][int(entropy.uniform(0, 4))]
                if one.task.done():
                    candidates[number] = Candidate(sim, server, one.elector._identity + "'")
            leading = [one.elector._identity for one in candidates if one.elector.leading]
            assert len(leading) <= 1
            led.update(dict.fromkeys(leading))
        assert len(led) > 1, "nobody ever took over: the test shows nothing"
        for one in candidates:
            one.line.state = "cut"
            await one.stop()

    simulate(main, sim_seed)


def test_a_fence_lets_no_write_begin_after_the_lease_is_lost() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        a = Candidate(sim, server, "a")
        controllers = Client(LeaderTransport(InProcessTransport(server), lambda: a.elector.seconds_left))
        with pytest.raises(LeadershipLost):
            await controllers.create(CONFIGMAPS, {"metadata": {"name": "x"}}, "default")
        await sim.clock.sleep(1)
        await controllers.create(CONFIGMAPS, {"metadata": {"name": "x"}}, "default")
        a.line.state = "cut"
        await sim.clock.sleep(11)
        with pytest.raises(LeadershipLost):
            await controllers.delete(CONFIGMAPS, "x", "default")
        assert (await controllers.get(CONFIGMAPS, "x", "default"))["metadata"]["name"] == "x"

    simulate(main)


def test_a_write_under_way_is_given_up_when_the_lease_runs_out_and_not_before() -> None:
    async def main(sim: Sim) -> None:
        server = TinyServer()
        a = Candidate(sim, server, "a")
        await sim.clock.sleep(1)
        slow = Line(server, sim.clock)
        slow.state = "hangs"
        controllers = Client(LeaderTransport(slow, lambda: a.elector.seconds_left))
        writing = asyncio.create_task(controllers.create(CONFIGMAPS, {"metadata": {"name": "x"}}, "default"))
        await sim.clock.sleep(60)
        assert not writing.done(), "the lease was renewed all the time"
        a.line.state, last = "cut", max(a.line.writes)
        await asyncio.wait([writing])
        assert isinstance(writing.exception(), LeadershipLost)
        assert sim.clock.monotonic() == pytest.approx(last + 10.0, abs=0.1)
        assert slow.writes == []

    simulate(main)


def test_timings_that_allow_two_leaders_are_refused() -> None:
    with pytest.raises(ConfigError):
        LeaseTimings(duration=10.0, renew_deadline=10.0)
    with pytest.raises(ConfigError):
        LeaseTimings(retry=11.0)
