"""A node goes down in virtual time while its agent is killed or well, and the API server comes and goes.

The real agent and its real records on a simulated machine, for each combination of disturbance, stage, bucket
and API server, with random pods and times: no hook is skipped or repeated, SIGTERM is sent once and after it,
buckets keep their order, and no status is lost, at the latest after the next boot.
"""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest

from support.simulated.shutdown import SimLogind
from vacate.api.kinds import PODS, PRIORITYCLASSES
from vacate.api.objects import Obj, dig
from vacate.embedded.bootstrap.identities import node
from vacate.nodeagent.adopt import POD
from vacate.nodeagent.runtime.protocol import ContainerState
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
from vacate.wire.message import Request

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=12)]

NAME = "laptop"
BUCKET_SECONDS = 30.0
AGENTS = ("well", "killed idle", "killed in a hook", "killed after SIGTERM", "killed twice")
SERVERS = ("up", "away", "back later")
GRID = list(itertools.product(AGENTS, SERVERS, (1, 2, 3)))


class Place:
    """A machine with two pods in each bucket: one with a hook, and one without."""

    def __init__(self, sim: Sim, folder: Path, buckets: int) -> None:
        self.sim = sim
        self.away = False
        self.world = World(sim, WorldSettings(nodes=0, schedulers=(), evictions=(), plans=self._plan))
        self.machine = Machine(NAME, sim.clock, sim.stream("machine"), MachineNetwork())
        self.machine.hook_seconds = self._hook_seconds
        self.logind = SimLogind(sim.clock)
        self.buckets = tuple(Bucket(1000 * number, BUCKET_SECONDS) for number in range(buckets))
        config = ShutdownConfig(self.buckets, "")
        self.settings = AgentSettings(name=NAME, folder=folder / NAME, taint=False, shutdown=config)
        self.entropy = sim.stream("course")
        self.hooks = {f"hooked-{number}": self.entropy.uniform(0.1, 40.0) for number in range(buckets)}
        self.agent: Process | None = None

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
        runtime = SimRuntime(self.machine, self.logind.close)
        self.agent = self.world.add(
            NAME,
            lambda link, around: AgentProgram(
                self.machine, self.settings, link, around, runtime=runtime, logind=self.logind
            ),
            node(NAME),
        )
        starting = asyncio.get_running_loop().create_task(self.agent.start())
        if wait:
            await starting

    async def kill(self) -> None:
        """As SIGKILL: what the supervisor holds stays."""
        held = dict(self.machine.descriptors)
        self.machine.descriptors.clear()
        assert self.agent is not None
        await self.agent.crash()
        self.machine.descriptors.update(held)

    async def run_pods(self) -> None:
        for bucket, number in zip(self.buckets, itertools.count(), strict=False):
            value = {"metadata": {"name": f"value-{number}"}, "value": bucket.priority}
            await self.world.client.create(PRIORITYCLASSES, value)
            for name in (f"hooked-{number}", f"plain-{number}"):
                made = pod(name, spec={"nodeName": NAME, "priorityClassName": f"value-{number}"})
                made["spec"]["terminationGracePeriodSeconds"] = 600
                main: Obj = {"name": "main", "image": "none", "command": ["main"]}
                if name in self.hooks:
                    main["lifecycle"] = {"preStop": {"exec": {"command": ["bye"]}}}
                made["spec"]["containers"] = [main]
                await self.world.client.create(PODS, made, "default")
        await self.world.until(lambda: len(self.world.healthy_pods()) == 2 * len(self.buckets))

    def history(self, name: str) -> list[tuple[float, str]]:
        uid = dig(self.world.find(PODS, name, "default"), "metadata", "uid")
        return [(at, what) for at, run, what in self.machine.history if run.startswith(f"{uid}.")]

    def has(self, what: str) -> bool:
        return any(one[2] == what for one in self.machine.history)

    async def until(self, what: str) -> None:
        while not self.has(what) and self.logind.off_at is None:
            await self.sim.clock.sleep(0.05)


async def course(place: Place, agent: str, server: str) -> None:
    """From the signal of logind until the machine is off."""
    clock, entropy = place.sim.clock, place.entropy
    if agent == "killed idle":
        await place.kill()
    place.away = server == "away" or (server == "back later" and entropy.uniform(0, 1) < 0.5)
    began = clock.monotonic()
    place.logind.power_off()
    if agent == "killed idle":
        await clock.sleep(entropy.uniform(0.0, 5.0))
        await place.start(wait=False)
    for _ in range({"killed in a hook": 1, "killed after SIGTERM": 1, "killed twice": 2}.get(agent, 0)):
        await place.until("SIGTERM" if agent == "killed after SIGTERM" else "preStop begins")
        await clock.sleep(entropy.uniform(0.0, 3.0))
        await place.kill()
        await clock.sleep(entropy.uniform(0.0, 3.0))
        await place.start(wait=False)
    if server == "back later":
        await clock.sleep(entropy.uniform(0.0, place.total / 2))
        place.away = True
        await clock.sleep(entropy.uniform(0.0, place.total / 2))
        place.away = False
    while place.logind.off_at is None:
        await clock.sleep(0.1)
    check(place, began)


def check(place: Place, began: float) -> None:
    off = place.logind.off_at
    assert off is not None
    assert off - began <= place.total + 1.0
    ends: list[float] = []
    for number in range(len(place.buckets)):
        acts = []
        for name in (f"hooked-{number}", f"plain-{number}"):
            what = [one for _, one in place.history(name)]
            assert what.count("SIGTERM") == 1, (name, what)
            if name in place.hooks:
                assert what.count("preStop begins") == 1, (name, what)
                assert what.index("preStop begins") < what.index("SIGTERM"), (name, what)
                (at,) = [at for at, one in place.history(name) if one == "SIGTERM"]
                (begins,) = [at for at, one in place.history(name) if one == "preStop begins"]
                # Not before the hook ends, unless its time is over.
                assert at - begins >= min(place.hooks[name], BUCKET_SECONDS - 10.0) - 0.1, (name, what)
            acts += [at for at, _ in place.history(name)]
        assert not ends or min(acts) >= max(ends) - 0.1
        ends = [_gone(place, name) for name in (f"hooked-{number}", f"plain-{number}")]
    written = [_phase(place, name) for name in _names(place)]
    if not all(one in ("Succeeded", "Failed") for one in written):
        assert off - began >= place.total - 0.1, written  # it was waited for as long as it could be


def _names(place: Place) -> list[str]:
    return [f"{kind}-{number}" for number in range(len(place.buckets)) for kind in ("hooked", "plain")]


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


@pytest.mark.parametrize(("agent", "server", "buckets"), GRID)
def test_nothing_is_skipped_repeated_or_lost(
    agent: str, server: str, buckets: int, tmp_path: Path, seed: int | None
) -> None:
    async def main(sim: Sim) -> None:
        place = Place(sim, tmp_path, buckets)
        async with place.world:
            try:
                await place.start()
                await place.run_pods()
                while not place.logind.locks:
                    await sim.clock.sleep(0.1)
                await course(place, agent, server)
                await boot(place)
            finally:
                await place.kill()
                await place.machine.stop()
                await place.logind.stop()

    run_sim(main, 7 if seed is None else seed, allow_left_behind=True)
