"""A node that goes down in virtual time: the real agents and their records on a simulated machine.

The agent that is disturbed is that of a process node, or a shutdown agent: alone, or beside a kubelet, which
an agent of a process node plays then.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import orjson

from support.nodes.shutdown_agents import KUBELET_LOCK
from support.nodes.shutdown_agents import Kubelet as ConfigzTransport
from support.simulated.shutdown import SimLogind, SimSession
from vacate.api.installednames import SHUTDOWN_REQUESTER
from vacate.api.kinds import CLUSTERROLEBINDINGS, EVICTIONREQUESTS, PODS, PRIORITYCLASSES
from vacate.api.objects import Obj, dig
from vacate.api.times import parse_time
from vacate.api.types.evictionrequest import SHUTDOWN_DEADLINE
from vacate.client.transport import Transport, close_iterator
from vacate.clock import Clock
from vacate.embedded.bootstrap.identities import ADMIN, node
from vacate.errors import AlreadyExists, TransportError
from vacate.nodeagent.recovery import POD
from vacate.nodeagent.runtime.protocol import ContainerState, ExecResult, Held
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdownagent.agent import ShutdownAgentSettings
from vacate.nodeagent.shutdownagent.kubelet import LOWEST_PRIORITY
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.faults.transport import NO_FAULT, Fault, FaultSource, Script
from vacate.sim.machines.agent import AgentProgram
from vacate.sim.machines.machine import Machine, MachineNetwork
from vacate.sim.machines.runtime import SimRuntime
from vacate.sim.process import Process, Program
from vacate.sim.run import Sim, run_sim
from vacate.testing import pod
from vacate.wire.message import Request, Response, Stream
from vacate.wiring.components import ComponentContext
from vacate.wiring.shutdownagent import build_shutdown_agent

NAME = "laptop"
BUCKET_SECONDS = 30.0
KINDS = ("exec", "http", "intercepted", "plain")
AGENT, AGENT_SECONDS = "agent", 60.0
"""The pod of a shutdown agent, and its bucket in the configuration of a kubelet."""
NODE, ALONE, BESIDE = "node", "alone", "beside-kubelet"


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
    """What an agent asks of the API server: nothing while it is stopped."""

    def __init__(self, link: Transport, place: Place) -> None:
        self._link = link
        self._place = place

    async def send(self, request: Request) -> Response:
        await self._place.running.wait()
        response = await self._link.send(request)
        if not isinstance(response.body, bytes):
            response.body = OpenWatch(response.body, request, self._place)
        return response

    async def aclose(self) -> None:
        await self._link.aclose()


class OpenWatch:
    """A watch that was open before the requests of the agent fail is slow or breaks off, too."""

    def __init__(self, stream: Stream, request: Request, place: Place) -> None:
        self._stream = stream
        self._request = request
        self._place = place

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._stream)
        try:
            async for chunk in chunks:
                fault = self._place.fault(self._request)
                await self._place.sim.clock.sleep(fault.delay)
                if fault.lost or fault.status:
                    raise TransportError("the watch was reset")
                yield chunk
        finally:
            await close_iterator(chunks)

    async def aclose(self) -> None:
        await self._stream.aclose()


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


class Kubelet(Machine):
    """A machine on which the shutdown agent is a process of a pod: it ends when it is done."""

    stop_agent: Callable[[], Awaitable[None]]

    async def _end_later(self, container: str) -> None:
        run = self.run(container)
        if run is not None and run.labels[POD] == AGENT:
            await self.stop_agent()
            self._finish(run, 0)
        else:
            await super()._end_later(container)


class KubeletLogind:
    """A kubelet hears logind although the agent beside it is stopped."""

    def __init__(self, logind: SimLogind) -> None:
        self._logind = logind

    async def connect(self) -> SimSession:
        session = await self._logind.connect()
        session.heard = asyncio.Event()
        session.heard.set()
        return session

    async def restore(self) -> None:
        return


class ShutdownProgram:
    """One life of a shutdown agent."""

    def __init__(self, place: Place, link: Transport, around: ComponentContext) -> None:
        self._place = place
        self._stop = asyncio.Event()
        boot = f"{NAME}-boot-{place.machine.boots}"
        config = ShutdownConfig(place.buckets, "")
        settings = ShutdownAgentSettings(NAME, config, place.folder / AGENT, place.uids.get(AGENT, ""), boot)
        settings.folder.mkdir(exist_ok=True)
        kubelet = ConfigzTransport({"shutdownGracePeriodByPodPriority": [
            {"priority": one.priority, "shutdownGracePeriodSeconds": int(one.seconds)}
            for one in place.kubelet_buckets
        ]})  # fmt: skip
        self.agent = build_shutdown_agent(link, kubelet, settings, place.logind, place.holder(), around)

    async def run(self) -> None:
        await self.agent.run(self._stop)
        self._place.done.set()

    async def wait_ready(self) -> None:
        await self.agent.manager.wait_ready()

    def stop(self) -> None:
        self._stop.set()


class Place:
    """A machine with four pods in each bucket: two with a hook, one with an interceptor, and a plain one.

    `disturbed` is the bucket at whose stages the agent is disturbed, `subject` whose agent that is.
    """

    def __init__(self, sim: Sim, folder: Path, buckets: int, disturbed: int, subject: str = NODE) -> None:
        self.sim = sim
        self.folder = folder
        self.disturbed = disturbed
        self.subject = subject
        self.fault: Callable[[Request], Fault] = lambda _: NO_FAULT  # of the requests of the agent
        self.world = World(sim, WorldSettings(nodes=0, schedulers=(), plans=self._plan))
        self.machine = Kubelet(NAME, sim.clock, sim.stream("machine"), MachineNetwork())
        self.machine.stop_agent = self.stop_agent
        # What holds the lock of the agent: the supervisor, or the parent of a shutdown agent.
        self.keeper: Machine = self.machine
        if subject != NODE:
            self.keeper = Machine(AGENT, sim.clock, sim.stream("keeper"), MachineNetwork())
        self.machine.hook_seconds = self._hook_seconds
        self.logind = SimLogind(sim.clock)
        self.buckets = tuple(Bucket(1000 * number, BUCKET_SECONDS) for number in range(buckets))
        self.kubelet_buckets = self.buckets
        if subject == BESIDE:
            self.kubelet_buckets = (Bucket(LOWEST_PRIORITY, AGENT_SECONDS), *self.buckets)
            self.logind.others.append(KUBELET_LOCK)
        config = ShutdownConfig((), "") if subject == ALONE else ShutdownConfig(self.kubelet_buckets, "")
        self.settings = AgentSettings(name=NAME, folder=folder / NAME, taint=False, shutdown=config)
        self.entropy = sim.stream("course")
        self.hooks = {
            f"{kind}-{number}": self.entropy.uniform(0.1, 40.0)
            for number in range(buckets)
            for kind in ("exec", "http")
        }
        self.uids: dict[str, str] = {}
        self.agent: Process | None = None
        self.kubelet: Process | None = None
        self.program: ShutdownProgram | None = None
        self.stopping = False  # the kubelet has asked the shutdown agent to end
        self.done = asyncio.Event()  # it has
        self.starting: asyncio.Task[None] | None = None
        self.clock = SettableClock(sim.clock)
        self.running = self.logind.heard  # not while the agent is stopped, as by SIGSTOP
        self.absent: list[tuple[float, float]] = []  # from when to when the agent was killed or stopped

    @property
    def total(self) -> float:
        return sum(one.seconds for one in self.kubelet_buckets)

    @property
    def away(self) -> bool:
        """Whether no request of the agent arrives."""
        return self.fault(Request("GET", "/")).lost

    @away.setter
    def away(self, away: bool) -> None:
        self.fault = lambda _: Fault(lost=away)

    def _plan(self, name: str) -> FaultSource:
        place = self

        class ByTheMoment:
            def fault(self, request: Request) -> Fault:
                return place.fault(request)

        return ByTheMoment() if name == NAME else Script(())

    def _hook_seconds(self, run: ContainerState) -> float:
        return self.hooks[run.labels[POD]]

    def holder(self) -> StoppedRuntime:
        """What the agent has of the machine, while it is not stopped."""
        runtime = StoppedRuntime(self.keeper, self.logind.close)
        runtime.running = self.running
        return runtime

    async def boot(self) -> None:
        """Start what comes up with the machine."""
        if self.subject != NODE:
            logind = KubeletLogind(self.logind) if self.subject == BESIDE else None
            runtime = SimRuntime(self.machine, self.logind.close)

            def build(link: Transport, around: ComponentContext) -> AgentProgram:
                return AgentProgram(self.machine, self.settings, link, around, runtime=runtime, logind=logind)

            self.kubelet = await self.world.start("kubelet", build, node(NAME))
        if self.subject == NODE or (self.subject == ALONE and self.uids):
            await self.start()

    async def start(self, *, wait: bool = True) -> None:
        """Start the agent, or have its parent do so."""

        def build(link: Transport, around: ComponentContext) -> Program:
            around = replace(around, clock=self.clock)
            link = Stopped(link, self)
            if self.subject != NODE:
                self.program = ShutdownProgram(self, link, around)
                if self.stopping:
                    self.program.stop()
                return self.program
            return AgentProgram(
                self.machine, self.settings, link, around, runtime=self.holder(), logind=self.logind
            )

        self.agent = self.world.add(NAME, build, node(NAME) if self.subject == NODE else ADMIN)
        self.starting = asyncio.get_running_loop().create_task(self.agent.start())
        if wait:
            await self.starting

    async def stop_agent(self) -> None:
        """As the kubelet does that terminates its pod; its parent starts it again while it is not done."""
        await self.running.wait()
        self.stopping = True
        if self.program is not None:
            self.program.stop()
        await self.done.wait()

    async def kill(self) -> None:
        """As SIGKILL: what the supervisor or the parent holds stays."""
        held, self.keeper.lock = self.keeper.lock, None
        if self.starting is not None:
            self.starting.cancel()
            await asyncio.wait([self.starting])
        if self.agent is not None:
            await self.agent.crash()
        self.keeper.lock = held
        if self.keeper.left_at is None:
            self.keeper.left_at = self.keeper.listened_at or self.sim.clock.monotonic()
        self.keeper.listened_at = None

    async def power_off(self) -> None:
        """The machine is off, and may be switched on again."""
        await self.kill()
        if self.kubelet is not None:
            await self.kubelet.crash()
        self.machine.power_off()
        self.keeper.power_off()
        self.logind.cancel()
        self.stopping = False
        self.machine.power_on()

    async def run_pods(self) -> None:
        if self.subject == NODE:  # a kubelet requests no evictions
            group = "rbac.authorization.k8s.io"
            role = {"apiGroup": group, "kind": "ClusterRole", "name": SHUTDOWN_REQUESTER}
            subject = {"apiGroup": group, "kind": "User", "name": f"system:node:{NAME}"}
            binding = {"metadata": {"name": NAME}, "roleRef": role, "subjects": [subject]}
            await self.world.client.create(CLUSTERROLEBINDINGS, binding)
        if self.subject == BESIDE:
            await self.run_pod(AGENT, LOWEST_PRIORITY)
        for bucket, number in zip(self.buckets, itertools.count(), strict=False):
            for kind in KINDS:
                await self.run_pod(f"{kind}-{number}", bucket.priority)
        await self.world.until(lambda: len(self.world.healthy_pods()) == len(self.uids))

    async def run_pod(self, name: str, priority: int) -> None:
        value = f"value-{abs(priority)}"
        with contextlib.suppress(AlreadyExists):
            await self.world.client.create(PRIORITYCLASSES, {"metadata": {"name": value}, "value": priority})
        made = pod(name, spec={"nodeName": NAME, "priorityClassName": value})
        made["spec"]["terminationGracePeriodSeconds"] = 600
        main: Obj = {"name": "main", "image": "none", "command": ["main"]}
        if name.startswith("exec"):
            main["lifecycle"] = {"preStop": {"exec": {"command": ["bye"]}}}
        elif name.startswith("http"):
            main["lifecycle"] = {"preStop": {"httpGet": {"port": 80, "path": name}}}
        elif name.startswith("intercepted"):
            made["spec"]["evictionInterceptors"] = [{"name": "backup.example.com"}]
        made["spec"]["containers"] = [main]
        created = await self.world.client.create(PODS, made, "default")
        self.uids[name] = created["metadata"]["uid"]

    def history(self, name: str) -> list[tuple[float, str]]:
        return [(at, what) for at, run, what in self.machine.history if run.startswith(f"{self.uids[name]}.")]

    def request(self, name: str) -> Obj | None:
        return self.world.find(EVICTIONREQUESTS, self.uids[name], "default")

    def promised(self, name: str) -> str:
        """When the pod is asked to end, as its interceptors were told last."""
        for _, record in reversed(self.world.server.history):
            if (record.resource, record.name) == (EVICTIONREQUESTS.resource, self.uids[name]):
                annotations = dig(orjson.loads(record.value or b"{}"), "metadata", "annotations") or {}
                if SHUTDOWN_DEADLINE in annotations:
                    return str(annotations[SHUTDOWN_DEADLINE])
        return ""

    def check_promise(self, name: str, ended: float) -> None:
        """The pod was asked to end when its interceptors had been told."""
        promised = parse_time(self.promised(name))
        left = (promised - self.sim.clock.now()).total_seconds() + self.sim.clock.monotonic()
        # Of a clock that was set an hour ahead or back the seconds are right.
        late = min(ended - left, ended - left - 3600, ended - left + 3600, key=abs)
        # Beside a kubelet others are prepared after this one, before the kubelet terminates any. Who is away
        # at that moment does it on return.
        most = max((back - left for gone, back in self.absent if gone - 1.5 < left < back), default=0.0) + (
            AGENT_SECONDS + BUCKET_SECONDS if self.subject == BESIDE else 1.5
        )
        assert -1.5 < late < most, (name, late)

    def phase(self, name: str) -> str:
        return str(dig(self.world.find(PODS, name, "default"), "status", "phase"))

    def reported(self, name: str) -> bool:
        """Whether the API server knows that the pod has ended."""
        found = self.world.find(PODS, name, "default")
        return found is None or self.phase(name) in ("Succeeded", "Failed")

    def has(self, what: str) -> bool:
        names = [f"{kind}-{self.disturbed}" for kind in KINDS]
        if what == "turn":
            request = self.request(f"intercepted-{self.disturbed}")
            return bool(dig(request, "status", "activeInterceptorName"))
        if what == "reported":
            return any(self.reported(name) for name in names)
        return any(one == what for name in names for _, one in self.history(name))

    async def until(self, what: str) -> None:
        while not self.has(what) and self.logind.off_at is None:
            await self.sim.clock.sleep(0.05)


def simulate(
    body: Callable[[Place], Awaitable[None]],
    tmp_path: Path,
    buckets: int,
    seed: int,
    disturbed: int = 0,
    subject: str = NODE,
) -> None:
    async def main(sim: Sim) -> None:
        place = Place(sim, tmp_path, buckets, disturbed, subject)
        async with place.world:
            try:
                await place.boot()
                await place.run_pods()
                if subject != NODE:
                    await place.start()
                while place.keeper.lock is None:
                    await sim.clock.sleep(0.1)
                await body(place)
            finally:
                place.running.set()
                await place.kill()
                await place.machine.stop()
                await place.logind.stop()

    run_sim(main, seed, allow_left_behind=True)
