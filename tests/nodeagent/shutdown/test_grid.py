"""A node goes down in virtual time while its agent is killed, frozen or well, and the API server may be away.

The real agent and its real records on a simulated machine, for each combination of disturbance, stage, bucket
and API server, with random pods and times: no hook is skipped or repeated, SIGTERM is sent once and after it,
interceptors have their time, buckets keep their order, and no status is lost, at the latest after a boot.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.effort import THOROUGH
from support.simulated.shutdown import SimLogind
from vacate.api.kinds import CLUSTERROLEBINDINGS, EVICTIONREQUESTS, PODS, PRIORITYCLASSES
from vacate.api.objectnames import SHUTDOWN_REQUESTER
from vacate.api.objects import Obj, dig
from vacate.api.times import parse_time
from vacate.api.types.evictionrequest import SHUTDOWN_DEADLINE
from vacate.client.transport import Transport
from vacate.clock import Clock
from vacate.embedded.bootstrap.identities import node
from vacate.nodeagent.adopt import POD
from vacate.nodeagent.runtime.protocol import ContainerState, ExecResult, Held
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.transport import NO_FAULT, Fault, Plan, Script
from vacate.sim.machines.agent import AgentProgram
from vacate.sim.machines.machine import Machine
from vacate.sim.machines.network import MachineNetwork
from vacate.sim.machines.runtime import SimRuntime
from vacate.sim.process import Process
from vacate.sim.run import Sim, run_sim
from vacate.testing import pod
from vacate.wire.message import Request, Response
from vacate.wiring.components import Environment

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3)]

NAME = "laptop"
BUCKET_SECONDS, AWAY_SECONDS = 30.0, 5.0
KINDS = ("exec", "http", "intercepted", "plain")
STAGES = {  # by what is done to the agent: what has happened before it, and how often it is done
    "well": ("", 0),
    "killed idle": ("", 0),
    "frozen idle": ("", 0),
    "frozen idle and killed": ("", 0),
    "killed while interceptors prepare": ("turn", 1),
    "killed in a hook": ("preStop begins", 1),
    "killed after SIGTERM": ("SIGTERM", 1),
    "killed after SIGKILL": ("SIGKILL", 1),
    "killed after the end": ("ended", 1),
    "killed after the report": ("reported", 1),
    "killed twice": ("preStop begins", 2),
    "frozen while interceptors prepare": ("turn", 1),
    "frozen in a hook": ("preStop begins", 1),
    "frozen after SIGTERM": ("SIGTERM", 1),
    "frozen after SIGKILL": ("SIGKILL", 1),
    "frozen after the end": ("ended", 1),
    "clock set ahead": ("preStop begins", 1),
    "clock set back": ("preStop begins", 1),
}
LATE = ("SIGKILL", "ended", "reported")
SERVERS = ("up", "away", "back later")
BUCKETS = {
    "only": (1, 0),
    "first": (3, 0),
    "middle": (3, 1),
    "last": (3, 2),
}  # how many, and which is disturbed
CELLS = [
    (agent, server, bucket)
    for agent, (before, _) in STAGES.items()
    for server, bucket in itertools.product(SERVERS, BUCKETS)
    # Without the API server nobody prepares or reports anything; what comes before all buckets is in none.
    if (server == "up" or before not in ("turn", "reported")) and (before or bucket in ("only", "first"))
]
RUN = dt.date.today().toordinal()  # noqa: DTZ011  so that the days of thorough runs see other courses
GRID = [(*cell, RUN + index if THOROUGH else 7 + index % 5) for index, cell in enumerate(CELLS)]


class SettableClock:
    """The clock of a machine that someone sets."""

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self.shift = dt.timedelta()
        self.monotonic, self.sleep = inner.monotonic, inner.sleep

    def now(self) -> dt.datetime:
        return self._inner.now() + self.shift

    async def sleep_until(self, moment: dt.datetime) -> None:
        while (left := (moment - self.now()).total_seconds()) > 0:
            await self.sleep(left)


class Stopped:
    """What an agent asks of others: it asks nothing while it is stopped."""

    def __init__(self, link: Transport, running: asyncio.Event) -> None:
        self._link = link
        self._running = running

    async def send(self, request: Request) -> Response:
        await self._running.wait()
        return await self._link.send(request)

    async def aclose(self) -> None:
        await self._link.aclose()


class StoppedRuntime(SimRuntime):
    running: asyncio.Event

    async def exec(
        self,
        container: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        timeout: float,
        once: str = "",
        *,
        outside: bool = False,
    ) -> ExecResult:
        await self.running.wait()
        return await super().exec(container, argv, env, timeout, once, outside=outside)

    async def signal(self, container: str, number: int) -> None:
        await self.running.wait()
        await super().signal(container, number)

    async def holds(self, *, listening: bool = False) -> Held | None:
        await self.running.wait()
        return await super().holds(listening=listening)


class Place:
    """A machine with four pods in each bucket: two with a hook, one with an interceptor, and a plain one.

    `disturbed` is the bucket at whose stages the agent is disturbed.
    """

    def __init__(self, sim: Sim, folder: Path, buckets: int, disturbed: int) -> None:
        self.sim = sim
        self.disturbed = disturbed
        self.away = False
        self.world = World(sim, WorldSettings(nodes=0, schedulers=(), plans=self._plan))
        self.machine = Machine(NAME, sim.clock, sim.stream("machine"), MachineNetwork())
        self.machine.hook_seconds = self._hook_seconds
        self.logind = SimLogind(sim.clock)
        self.buckets = tuple(Bucket(1000 * number, BUCKET_SECONDS) for number in range(buckets))
        config = ShutdownConfig(self.buckets, "")
        self.settings = AgentSettings(name=NAME, folder=folder / NAME, taint=False, shutdown=config)
        self.entropy = sim.stream("course")
        self.hooks = {
            f"{kind}-{number}": self.entropy.uniform(0.1, 40.0)
            for number in range(buckets)
            for kind in ("exec", "http")
        }
        self.agent: Process | None = None
        self.starting: asyncio.Task[None] | None = None
        self.clock = SettableClock(sim.clock)
        self.running = self.logind.heard  # not while the agent is stopped, as by SIGSTOP

    @property
    def total(self) -> float:
        return BUCKET_SECONDS * len(self.buckets)

    def _plan(self, name: str) -> Plan:
        place = self

        class ByTheMoment:
            def fault(self, request: Request) -> Fault:
                return Fault(lost=True) if place.away else NO_FAULT

        return ByTheMoment() if name == NAME else Script(())

    def _hook_seconds(self, run: ContainerState) -> float:
        return self.hooks[run.labels[POD]]

    async def start(self, *, wait: bool = True) -> None:
        runtime = StoppedRuntime(self.machine, self.logind.close)
        runtime.running = self.running

        def build(link: Transport, around: Environment) -> AgentProgram:
            around = replace(around, clock=self.clock)
            link = Stopped(link, self.running)
            return AgentProgram(
                self.machine, self.settings, link, around, runtime=runtime, logind=self.logind
            )

        self.agent = self.world.add(NAME, build, node(NAME))
        self.starting = asyncio.get_running_loop().create_task(self.agent.start())
        if wait:
            await self.starting

    async def kill(self) -> None:
        """As SIGKILL: what the supervisor holds stays."""
        held, self.machine.lock = self.machine.lock, None
        assert self.agent is not None
        if self.starting is not None:
            self.starting.cancel()
            await asyncio.wait([self.starting])
        await self.agent.crash()
        self.machine.lock = held
        if self.machine.left_at is None:
            self.machine.left_at = self.machine.listened_at or self.sim.clock.monotonic()
        self.machine.listened_at = None

    async def run_pods(self) -> None:
        group = "rbac.authorization.k8s.io"
        role = {"apiGroup": group, "kind": "ClusterRole", "name": SHUTDOWN_REQUESTER}
        subject = {"apiGroup": group, "kind": "User", "name": f"system:node:{NAME}"}
        binding = {"metadata": {"name": NAME}, "roleRef": role, "subjects": [subject]}
        await self.world.client.create(CLUSTERROLEBINDINGS, binding)
        for bucket, number in zip(self.buckets, itertools.count(), strict=False):
            value = {"metadata": {"name": f"value-{number}"}, "value": bucket.priority}
            await self.world.client.create(PRIORITYCLASSES, value)
            for kind in KINDS:
                name = f"{kind}-{number}"
                made = pod(name, spec={"nodeName": NAME, "priorityClassName": f"value-{number}"})
                made["spec"]["terminationGracePeriodSeconds"] = 600
                main: Obj = {"name": "main", "image": "none", "command": ["main"]}
                if kind == "exec":
                    main["lifecycle"] = {"preStop": {"exec": {"command": ["bye"]}}}
                elif kind == "http":
                    main["lifecycle"] = {"preStop": {"httpGet": {"port": 80, "path": name}}}
                elif kind == "intercepted":
                    made["spec"]["evictionInterceptors"] = [{"name": "backup.example.com"}]
                made["spec"]["containers"] = [main]
                await self.world.client.create(PODS, made, "default")
        await self.world.until(lambda: len(self.world.healthy_pods()) == len(KINDS) * len(self.buckets))

    def history(self, name: str) -> list[tuple[float, str]]:
        uid = dig(self.world.find(PODS, name, "default"), "metadata", "uid")
        return [(at, what) for at, run, what in self.machine.history if run.startswith(f"{uid}.")]

    def request(self, name: str) -> Obj | None:
        uid = dig(self.world.find(PODS, name, "default"), "metadata", "uid")
        return self.world.find(EVICTIONREQUESTS, str(uid), "default")

    def has(self, what: str) -> bool:
        names = [f"{kind}-{self.disturbed}" for kind in KINDS]
        if what == "turn":
            request = self.request(f"intercepted-{self.disturbed}")
            return bool(dig(request, "status", "activeInterceptorName"))
        if what == "reported":
            return any(_phase(self, name) in ("Succeeded", "Failed") for name in names)
        return any(one == what for name in names for _, one in self.history(name))

    async def until(self, what: str) -> None:
        while not self.has(what) and self.logind.off_at is None:
            await self.sim.clock.sleep(0.05)


async def course(place: Place, agent: str, server: str) -> None:
    """From the signal of logind until the machine is off."""
    clock, entropy = place.sim.clock, place.entropy
    if "SIGKILL" in agent:
        place.machine.stop_seconds = lambda: 2 * BUCKET_SECONDS
    if agent == "killed idle":
        await place.kill()
    place.away = server == "away" or (server == "back later" and entropy.uniform(0, 1) < 0.5)
    began = clock.monotonic()
    if agent.startswith("frozen idle"):
        place.running.clear()
    place.logind.power_off()
    if "idle" in agent:
        await clock.sleep(entropy.uniform(0.0, AWAY_SECONDS))
        if agent.endswith("and killed"):
            await place.kill()
        place.running.set()
    if "killed" in agent and "idle" in agent:
        await place.start(wait=False)
    await disturb(place, agent)
    if server == "back later":
        await clock.sleep(entropy.uniform(0.0, place.total / 2))
        place.away = True
        await clock.sleep(entropy.uniform(0.0, place.total / 2))
        place.away = False
    while place.logind.off_at is None:
        await clock.sleep(0.1)
    check(place, began, agent, server)


async def disturb(place: Place, agent: str) -> None:
    """At the stages of the bucket, as often as that is to be done."""
    clock, entropy = place.sim.clock, place.entropy
    before, times = STAGES[agent]
    for _ in range(times):
        await place.until(before)
        await clock.sleep(entropy.uniform(0.0, 0.1) if before in LATE else entropy.uniform(0.5, 3.0))
        if place.logind.off_at is not None:
            assert before in LATE  # the last pod may have ended by then
            break
        if agent.startswith("killed"):
            await place.kill()
            await clock.sleep(entropy.uniform(0.0, 3.0))
            await place.start(wait=False)
        elif agent.startswith("frozen"):
            place.running.clear()
            await clock.sleep(entropy.uniform(0.0, 8.0))
            place.running.set()
        else:
            place.clock.shift = dt.timedelta(hours=1 if agent.endswith("ahead") else -1)


def check(place: Place, began: float, agent: str, server: str) -> None:
    off = place.logind.off_at
    assert off is not None
    # An agent that is away at the very end cannot release the lock.
    last = STAGES[agent][0] and place.disturbed == len(place.buckets) - 1
    assert off - began <= place.total + (2 * AWAY_SECONDS + 1.0 if last else 1.0)
    ends: list[float] = []
    for number in range(len(place.buckets)):
        acts, names = [], [f"{kind}-{number}" for kind in KINDS]
        for name in names:
            what = [one for _, one in place.history(name)]
            assert what.count("SIGTERM") == 1, (name, what)
            (at,) = [at for at, one in place.history(name) if one == "SIGTERM"]
            if name in place.hooks:
                assert what.count("preStop begins") == 1, (name, what)
                assert what.index("preStop begins") < what.index("SIGTERM"), (name, what)
                (begins,) = [at for at, one in place.history(name) if one == "preStop begins"]
                # Not before the hook ends, unless its time is over.
                assert at - begins >= min(place.hooks[name], BUCKET_SECONDS - 10.0) - 0.1, (name, what)
            if name.startswith("intercepted") and server == "up":
                check_prepared(place, name, at)
            acts += [at for at, _ in place.history(name)]
        assert not ends or min(acts) >= max(ends) - 0.1
        ends = [_gone(place, name) for name in names]
    written = [_phase(place, name) for name in _names(place)]
    if not all(one in ("Succeeded", "Failed") for one in written):
        assert off - began >= place.total - 0.1, written  # it was waited for as long as it could be


def check_prepared(place: Place, name: str, terminated: float) -> None:
    """Interceptors were asked, and had the time that they were promised."""
    request = place.request(name)
    promised = (dig(request, "metadata", "annotations") or {}).get(SHUTDOWN_DEADLINE)
    assert promised is not None, (name, request)
    left = (parse_time(promised) - place.sim.clock.now()).total_seconds() + place.sim.clock.monotonic()
    assert min(abs(left - terminated), abs(abs(left - terminated) - 3600)) < 1.5, (name, promised)


def _names(place: Place) -> list[str]:
    return [f"{kind}-{number}" for number in range(len(place.buckets)) for kind in KINDS]


def _phase(place: Place, name: str) -> str:
    return str(dig(place.world.find(PODS, name, "default"), "status", "phase"))


def _gone(place: Place, name: str) -> float:
    """When the pod had ended, or was killed."""
    return max((at for at, what in place.history(name) if what in ("SIGKILL", "ended")), default=0.0)


async def boot(place: Place) -> None:
    """The next boot: nothing starts again, and the API server learns everything."""
    await place.kill()
    place.machine.power_off()
    place.logind.cancel()
    place.machine.power_on()
    place.away = False
    began = len(place.machine.history)
    await place.start()
    await place.world.until(
        lambda: all(_phase(place, name) in ("Succeeded", "Failed") for name in _names(place))
    )
    assert len(place.machine.history) == began
    for name in _names(place):
        status = (place.world.find(PODS, name, "default") or {})["status"]
        assert status["containerStatuses"][0]["restartCount"] == 0
        assert status.get("reason") == ("Terminated" if status["phase"] == "Failed" else None), status


def simulate(
    body: Callable[[Place], Awaitable[None]], tmp_path: Path, buckets: int, seed: int, disturbed: int = 0
) -> None:
    async def main(sim: Sim) -> None:
        place = Place(sim, tmp_path, buckets, disturbed)
        async with place.world:
            try:
                await place.start()
                await place.run_pods()
                while not place.logind.locks:
                    await sim.clock.sleep(0.1)
                await body(place)
            finally:
                place.running.set()
                await place.kill()
                await place.machine.stop()
                await place.logind.stop()

    run_sim(main, seed, allow_left_behind=True)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(("agent", "server", "bucket", "number"), GRID, ids=["-".join(one) for one in CELLS])
def test_nothing_is_skipped_repeated_or_lost(
    agent: str, server: str, bucket: str, number: int, tmp_path: Path, seed: int | None
) -> None:
    async def body(place: Place) -> None:
        await course(place, agent, server)
        await boot(place)

    buckets, disturbed = BUCKETS[bucket]
    simulate(body, tmp_path, buckets, number if seed is None else seed, disturbed)


@pytest.mark.parametrize("number", [7, 8])
@pytest.mark.parametrize("delay", [10.0, 0.0], ids=["short", "none"])
def test_with_less_delay_than_configured_the_order_stays(
    delay: float, number: int, tmp_path: Path, seed: int | None
) -> None:
    async def body(place: Place) -> None:
        place.logind.raisable, place.logind.limit = False, delay
        place.logind.signal()
        await place.sim.clock.sleep(60.0)
        place.logind.power_off()
        while place.logind.off_at is None:
            await place.sim.clock.sleep(0.1)
        ends = 0.0
        for bucket in range(2):
            acts = [one for kind in KINDS for one in place.history(f"{kind}-{bucket}")]
            what = [one for _, one in acts]
            # Where logind waits for nothing, systemd ends the processes: all at once is no order.
            assert what.count("SIGTERM") == (len(KINDS) if delay else 0), what
            assert what.count("preStop begins") == (2 if delay else 0), what
            assert min((at for at, _ in acts), default=ends) >= ends - 0.1
            ends = max((_gone(place, f"{kind}-{bucket}") for kind in KINDS), default=0.0)

    simulate(body, tmp_path, 2, number if seed is None else seed)


@pytest.mark.parametrize("number", [7, 8])
@pytest.mark.parametrize("away", [None, 0.0, 2 * BUCKET_SECONDS], ids=["well", "killed", "long away"])
def test_a_shutdown_that_is_cancelled_or_forgotten_spares_the_rest_and_the_next_one_ends_it(
    away: float | None, number: int, tmp_path: Path, seed: int | None
) -> None:
    """By systemd, or by a restart of logind, which forgets it. Orders may be overdue by then."""

    async def body(place: Place) -> None:
        place.logind.power_off()
        await place.until("turn")
        if away is not None:
            await place.kill()
        place.logind.cancel()
        if away is not None:
            await place.sim.clock.sleep(away)
            await place.start(wait=False)
        await place.sim.clock.sleep(3 * BUCKET_SECONDS)
        spared = [f"{kind}-1" for kind in KINDS] + ["intercepted-0"]
        assert [place.history(name) for name in spared] == [[]] * 5
        assert place.request("intercepted-0") is None or _cancelled(place)
        for kind in ("exec", "http", "plain"):
            assert [one for _, one in place.history(f"{kind}-0")].count("SIGTERM") == 1
        place.logind.power_off()
        while place.logind.off_at is None:
            await place.sim.clock.sleep(0.1)
        for name in _names(place):
            what = [one for _, one in place.history(name)]
            assert what.count("SIGTERM") == 1, (name, what)
            assert what.count("preStop begins") == int(name in place.hooks), (name, what)

    simulate(body, tmp_path, 2, number if seed is None else seed)


@pytest.mark.parametrize("number", [7, 8])
def test_interceptors_are_not_asked_any_more_once_the_pod_was_asked_to_end(
    number: int, tmp_path: Path, seed: int | None
) -> None:
    """It ended without them, as the API server was away; the next agent finds that back."""

    async def body(place: Place) -> None:
        place.machine.stop_seconds = lambda: 2 * BUCKET_SECONDS
        place.away = True
        place.logind.power_off()
        while "SIGTERM" not in [what for _, what in place.history("intercepted-0")]:
            await place.sim.clock.sleep(0.1)
        await place.kill()
        place.away = False
        await place.start()
        while place.logind.off_at is None:
            assert place.request("intercepted-0") is None
            await place.sim.clock.sleep(0.1)

    simulate(body, tmp_path, 1, number if seed is None else seed)


@pytest.mark.parametrize("number", [7, 8])
def test_interceptors_keep_their_time_though_the_next_agent_cannot_ask_for_it(
    number: int, tmp_path: Path, seed: int | None
) -> None:
    """The API server is away when the agent restarts: what they were promised stands."""

    async def body(place: Place) -> None:
        place.logind.power_off()
        await place.until("turn")
        await place.sim.clock.sleep(0.5)
        await place.kill()
        place.away = True
        await place.start(wait=False)
        while place.logind.off_at is None:
            await place.sim.clock.sleep(0.1)
        (at,) = [at for at, what in place.history("intercepted-0") if what == "SIGTERM"]
        check_prepared(place, "intercepted-0", at)

    simulate(body, tmp_path, 1, number if seed is None else seed)


def _cancelled(place: Place) -> bool:
    conditions = dig(place.request("intercepted-0"), "status", "conditions") or ()
    return any((one["type"], one["status"]) == ("Complete", "True") for one in conditions)
