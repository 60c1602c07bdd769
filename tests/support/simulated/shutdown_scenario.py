"""A whole shutdown in virtual time: a random machine, random faults, and what must hold whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from support.simulated.shutdown import Ended, SimLockHolder, SimLogind, SimPods, SimStorage
from vacate.api.integers import MAX_INT32, MIN_INT32
from vacate.entropy import Entropy
from vacate.nodeagent.shutdown.buckets import Bucket, ShutdownPod
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.lock import usable
from vacate.nodeagent.shutdown.manager import ShutdownManager
from vacate.nodeagent.shutdown.protocol import Arrange
from vacate.nodeagent.shutdown.state import ManagerState
from vacate.sim.run import Sim

SLACK = 0.2  # for calls to logind, which take a few virtual milliseconds
AWAY = 3.0  # for so long bus or agent are away at a time
NOTICED = 1.5  # until a lost bus is connected anew


@dataclass
class Machine:
    """A node whose agent can be killed and started."""

    sim: Sim
    config: ShutdownConfig
    logind: SimLogind
    pods: SimPods
    holder: SimLockHolder
    storage: SimStorage = field(default_factory=SimStorage)
    states: list[ManagerState] = field(default_factory=list)
    boot: str = "boot"
    arrange: Arrange | None = None
    manager: ShutdownManager | None = None
    task: asyncio.Task[None] | None = None

    @property
    def state(self) -> ManagerState:
        assert self.manager is not None
        return self.manager.state

    def start(self) -> None:
        self.manager = ShutdownManager(
            self.config, self.logind, self.pods, self.holder, self.storage,
            self.sim.clock, self.boot, self.states.append, self.arrange,
        )  # fmt: skip
        self.task = asyncio.get_running_loop().create_task(self.manager.run())

    async def kill(self) -> None:
        """As SIGKILL: nothing is tidied up. The holder of the lock is another process."""
        assert self.task is not None
        held, self.holder.fd = self.holder.fd, None
        self.task.cancel()
        await asyncio.wait([self.task])
        self.holder.fd = held
        if self.holder.left_at is None:
            self.holder.left_at = self.sim.clock.monotonic()

    async def until(self, holds: Callable[[], bool], limit: float = 1000.0) -> None:
        end = self.sim.clock.monotonic() + limit
        while not holds():
            assert self.sim.clock.monotonic() < end, self.state
            assert self.task is None or not self.task.done()
            await self.sim.clock.sleep(0.1)

    async def stop(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])
        await self.logind.stop()


def machine(sim: Sim, buckets: list[Bucket], pods: list[ShutdownPod], **needs: float) -> Machine:
    logind = SimLogind(sim.clock)
    made = SimPods(
        sim.clock, {one.uid: one for one in pods}, {one.uid: needs.get(one.uid, 1.0) for one in pods}
    )
    return Machine(sim, ShutdownConfig(tuple(buckets), ""), logind, made, SimLockHolder(logind))


def pod(uid: str, priority: int = 0, grace: float = 30.0) -> ShutdownPod:
    return ShutdownPod(uid, "default", uid, priority, grace)


def integer(entropy: Entropy, low: int, high: int) -> int:
    return int(entropy.uniform(low, high + 1))


def random_machine(sim: Sim, most_pods: int) -> Machine:
    """Priorities lie on the edges of buckets as often as between them."""
    entropy = sim.stream("machine")
    values = sorted({integer(entropy, -1000, 100_000) for _ in range(integer(entropy, 1, 6))})
    buckets = [Bucket(one, float(integer(entropy, 0, 60))) for one in values] + [Bucket(200_000, 10.0)]
    edges = [edge for one in buckets for edge in (one.priority - 1, one.priority, one.priority + 1)]
    edges += [MIN_INT32, MAX_INT32, 0]
    pods = []
    for index in range(integer(entropy, 1, most_pods)):
        on_edge = entropy.uniform(0, 1) < 0.5
        priority = edges[integer(entropy, 0, len(edges) - 1)] if on_edge else integer(entropy, -2000, 250_000)
        intercepted = entropy.uniform(0, 1) < 0.2
        pods.append(replace(pod(f"p{index}", priority, entropy.uniform(0, 90)), interceptors=intercepted))
    made = machine(sim, buckets, pods, **{one.uid: entropy.uniform(0, 120) for one in pods})
    made.pods.stuck = {one.uid for one in pods if entropy.uniform(0, 1) < 0.02}
    made.logind.refusals = integer(entropy, 0, 2)
    if entropy.uniform(0, 1) < 0.2:
        made.logind.raisable, made.logind.limit = False, entropy.uniform(2.0, made.config.total_seconds + 2.0)
    return made


async def run_scenario(sim: Sim, most_pods: int = 300) -> None:
    """One shutdown; it may be disturbed, cancelled at any instant, or cut short by a power failure."""
    place = random_machine(sim, most_pods)
    entropy = sim.stream("course")
    place.start()
    await place.until(lambda: place.state.locked)
    began = sim.clock.monotonic()
    kind = entropy.uniform(0, 1)
    faults = integer(entropy, 0, 3) if entropy.uniform(0, 1) < 0.7 else 0
    if kind < 0.45:
        await _cancelled(place, entropy, faults)
    elif kind < 0.6:
        await _power_failure(place, entropy)
    else:
        place.logind.power_off()
        await _disturb(place, entropy, place.config.total_seconds, faults)
        await place.until(lambda: place.logind.off_at is not None)
        check_course(place, began, faults)
        await _boot(place)
    await place.stop()


async def _disturb(place: Machine, entropy: Entropy, seconds: float, faults: int) -> None:
    """The bus goes away, or the agent dies, and they come back; often while a bucket would begin."""
    clock = place.sim.clock
    began, chosen = clock.monotonic(), []
    for _ in range(faults):
        bucket = integer(entropy, 1, len(place.config.buckets))
        edge = sum(one.seconds for one in place.config.buckets[:bucket]) - entropy.uniform(0, AWAY)
        anywhere = entropy.uniform(0, seconds)
        chosen.append(began + (edge if 0 < edge < seconds and entropy.uniform(0, 1) < 0.5 else anywhere))
    for at in sorted(chosen):
        if clock.monotonic() < at:
            await clock.sleep(at - clock.monotonic())
        if entropy.uniform(0, 1) < 0.5:
            place.logind.drop_bus()
            await clock.sleep(entropy.uniform(0, AWAY))
            place.logind.away = False
        else:
            await place.kill()
            await clock.sleep(entropy.uniform(0, AWAY))
            place.start()


async def _cancelled(place: Machine, entropy: Entropy, faults: int) -> None:
    """At any time, or within the milliseconds after something was written down: a bucket began, all ended."""
    clock, total = place.sim.clock, place.config.total_seconds
    before, at, taken = set(place.pods.pods), [0.0], place.logind.taken

    def cancel() -> None:
        if place.logind.off_at is None:
            place.logind.cancel()
            at[0] = clock.monotonic()

    place.logind.power_off()
    if entropy.uniform(0, 1) < 0.5:
        saves, later = integer(entropy, 1, 2 + len(place.config.buckets)), entropy.uniform(0, 0.006)

        def saved(count: int) -> None:
            if count == saves:
                asyncio.get_running_loop().call_later(later, cancel)

        place.storage.on_save = saved
        await place.until(lambda: bool(at[0]) or place.logind.off_at is not None)
        place.storage.on_save = lambda _: None
    else:
        await _disturb(place, entropy, entropy.uniform(0, total), faults)
        await clock.sleep(entropy.uniform(0, total / 3))
        cancel()
    if not at[0]:
        return  # too late: the machine is off
    await place.until(lambda: not place.state.active)
    assert clock.monotonic() <= at[0] + NOTICED, "the agent goes on for too long"
    await place.until(lambda: place.state.locked)
    await clock.sleep(2 * total + 1)
    late = [uid for uid, one in place.pods.ended.items() if one.asked > at[0] + NOTICED]
    assert not late, late
    assert place.logind.taken > taken, "the lock is the old one"
    assert len(place.logind.locks) == 1, place.logind.locks
    assert place.holder.fd in place.logind.locks
    assert not place.state.finished
    left = [one.uid for one in place.pods.running() if one.uid not in place.pods.stuck]
    assert set(left) | set(place.pods.ended) | place.pods.stuck == before
    await _next_shutdown(place, left)


async def _next_shutdown(place: Machine, left: list[str]) -> None:
    """As if the one before had not been."""
    place.pods.pods = {uid: place.pods.pods[uid] for uid in left}
    place.pods.ended = {}
    place.storage.starts.clear()
    began = place.sim.clock.monotonic()
    place.logind.power_off()
    await place.until(lambda: place.logind.off_at is not None)
    check_course(place, began, 0)


async def _power_failure(place: Machine, entropy: Entropy) -> None:
    place.logind.power_off()
    await place.sim.clock.sleep(entropy.uniform(0, place.config.total_seconds))
    await _boot(place)


async def _boot(place: Machine) -> None:
    """The machine is up again, on the same disk, with pods that run anew: nothing of it is ended."""
    began = place.storage.load().start
    await place.kill()
    await place.logind.stop()
    place.logind = SimLogind(place.sim.clock)
    place.holder = SimLockHolder(place.logind)
    place.pods = SimPods(place.sim.clock, place.pods.pods, place.pods.needs, stuck=place.pods.stuck)
    place.boot = "next"
    place.logind.away = True  # the bus comes up after the agent
    place.start()
    await place.sim.clock.sleep(2 * AWAY)
    place.logind.away = False
    await place.until(lambda: place.state.locked)
    await place.sim.clock.sleep(10.0)
    assert not place.pods.ended
    assert not place.state.active
    assert place.storage.load().start == began, "the times of the last shutdown are lost"
    await _next_shutdown(place, list(place.pods.pods))


def bucket_of(buckets: Sequence[Bucket], pod: ShutdownPod) -> Bucket:
    """By the words of the proposal, and not by the code under test."""
    below = [one for one in buckets if one.priority <= pod.priority]
    return max(below or [min(buckets, key=_priority)], key=_priority)


def _priority(bucket: Bucket) -> int:
    return bucket.priority


def check_course(place: Machine, began: float, faults: int) -> None:
    """Never a pod before its bucket, never longer than the sum, nothing skipped, nobody cut short."""
    assert len(place.storage.starts) == 1, f"one shutdown began so often: {place.storage.starts}"
    pods, off = place.pods, place.logind.off_at
    ended, away = pods.ended, faults * (AWAY + NOTICED)
    assert off is not None
    share = min(1.0, usable(place.logind.limit) / sum(one.seconds for one in place.config.buckets))
    buckets = sorted(place.config.buckets, key=_priority)
    total = share * sum(one.seconds for one in buckets)
    assert set(ended) == set(pods.pods), set(pods.pods) - set(ended)
    # An agent that is away at the very end cannot release the lock: logind waits for it up to its limit.
    assert off <= began + max(total + SLACK, place.logind.limit if faults else 0.0) + SLACK, off - began
    upto, over = began, began
    for bucket in buckets:
        seconds = bucket.seconds * share
        upto += seconds
        members = [one for one in pods.pods.values() if bucket_of(buckets, one) == bucket]
        if not members:
            continue
        for one in members:
            _check_pod(one, ended[one.uid], seconds, over, upto, away)
        last = max(ended[one.uid].gone for one in members)
        assert last <= off + SLACK + away or pods.stuck, "the power goes while a pod still runs"
        entered = min(ended[one.uid].ordered for one in members)
        over = max(over, min(last, entered + seconds, upto))


def _check_pod(pod: ShutdownPod, one: Ended, seconds: float, over: float, upto: float, away: float) -> None:
    """`over` is when the buckets before are, `upto` when its own is at the latest, after these seconds."""
    assert one.ordered >= over - SLACK, f"{pod.uid} ends {over - one.ordered} s before its bucket"
    assert one.ordered <= over + SLACK + away, f"{pod.uid} waits for nobody"
    assert one.kill_at <= max(upto, one.ordered) + SLACK, f"{pod.uid} ends after its bucket"
    allotted = min(seconds, pod.grace_seconds)
    assert one.kill_at - one.asked <= allotted + SLACK, f"{pod.uid} has more than is allotted"
    if away:
        return
    # Interceptors have the bucket without the pod's own time, and at least half of it.
    prepare = seconds - min(pod.grace_seconds, seconds / 2) if pod.interceptors else 0.0
    left = upto - one.ordered
    assert one.asked - one.ordered == pytest.approx(min(prepare, left), abs=SLACK), f"{pod.uid}: interceptors"
    if not pod.interceptors:
        assert one.kill_at - one.asked == pytest.approx(min(allotted, left), abs=SLACK), (
            f"{pod.uid} has too little"
        )
