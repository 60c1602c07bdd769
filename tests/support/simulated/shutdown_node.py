"""A node that goes down in virtual time: the real agent and its records on a simulated machine."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

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

NAME = "laptop"
BUCKET_SECONDS = 30.0
KINDS = ("exec", "http", "intercepted", "plain")


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
        self.fault: Callable[[Request], Fault] = lambda _: NO_FAULT  # of the requests of the agent
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

    @property
    def away(self) -> bool:
        """Whether no request of the agent arrives."""
        return self.fault(Request("GET", "/")).lost

    @away.setter
    def away(self, away: bool) -> None:
        self.fault = lambda _: Fault(lost=away)

    def _plan(self, name: str) -> Plan:
        place = self

        class ByTheMoment:
            def fault(self, request: Request) -> Fault:
                return place.fault(request)

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

    def promised(self, name: str) -> str:
        """When the pod is asked to end, as its interceptors were told."""
        annotations = dig(self.request(name), "metadata", "annotations") or {}
        return str(annotations.get(SHUTDOWN_DEADLINE, ""))

    def check_promise(self, name: str, ended: float) -> None:
        """The pod was asked to end when its interceptors had been told."""
        promised = parse_time(self.promised(name))
        left = (promised - self.sim.clock.now()).total_seconds() + self.sim.clock.monotonic()
        # Of a clock that was set an hour ahead or back the seconds are right.
        assert min(abs(left - ended), abs(abs(left - ended) - 3600)) < 1.5, (name, promised)

    def phase(self, name: str) -> str:
        return str(dig(self.world.find(PODS, name, "default"), "status", "phase"))

    def has(self, what: str) -> bool:
        names = [f"{kind}-{self.disturbed}" for kind in KINDS]
        if what == "turn":
            request = self.request(f"intercepted-{self.disturbed}")
            return bool(dig(request, "status", "activeInterceptorName"))
        if what == "reported":
            return any(self.phase(name) in ("Succeeded", "Failed") for name in names)
        return any(one == what for name in names for _, one in self.history(name))

    async def until(self, what: str) -> None:
        while not self.has(what) and self.logind.off_at is None:
            await self.sim.clock.sleep(0.05)


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
