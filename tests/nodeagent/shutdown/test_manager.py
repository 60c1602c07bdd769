"""The shutdown manager in virtual time: order, limits, restarts, lost buses, cancellation at any instant."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import pytest

from support.shutdown_sim import SimLockHolder, SimLogind, SimPods, SimStorage
from vacate.entropy import Entropy
from vacate.nodeagent.shutdown.buckets import Bucket, ShutdownPod, group_pods
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.manager import ManagerState, ShutdownManager
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.sim

SLACK = 0.2  # for calls to logind, which take a few virtual milliseconds


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
    manager: ShutdownManager | None = None
    task: asyncio.Task[None] | None = None

    @property
    def state(self) -> ManagerState:
        assert self.manager is not None
        return self.manager.state

    def start(self) -> None:
        self.manager = ShutdownManager(
            self.config, self.logind, self.pods, self.holder, self.storage,
            self.sim.clock, "boot", self.states.append,
        )  # fmt: skip
        self.task = asyncio.get_running_loop().create_task(self.manager.run())

    async def kill(self) -> None:
        """As SIGKILL: nothing is tidied up. The holder is another process."""
        assert self.task is not None
        held, self.holder.fd = self.holder.fd, None
        self.task.cancel()
        await asyncio.wait([self.task])
        self.holder.fd = held

    async def until(self, holds: Callable[[], bool], limit: float = 1000.0) -> None:
        end = self.sim.clock.monotonic() + limit
        while not holds():
            assert self.sim.clock.monotonic() < end, self.state
            await self.sim.clock.sleep(0.05)

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


def simulate(body: Callable[[Sim], Awaitable[None]], seed: int = 0) -> None:
    run_sim(body, seed)


def integer(dice: Entropy, low: int, high: int) -> int:
    return int(dice.uniform(low, high + 1))


TWO = [Bucket(0, 10.0), Bucket(1000, 5.0)]


def test_pods_end_in_order_and_the_machine_goes_down_when_they_are_gone() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a"), pod("b", 1000), pod("slow", 1000)], a=3.0, b=1.0, slow=99.0)
        place.start()
        await place.until(lambda: place.state.locked)
        assert place.logind.limit == 16.0
        assert not place.state.problem
        place.logind.power_off()
        await place.until(lambda: place.logind.off_at is not None)
        ended = place.pods.ended
        assert ended["b"].asked - ended["a"].asked == pytest.approx(3.0, abs=SLACK)
        assert ended["slow"].gone - ended["slow"].asked == pytest.approx(5.0)
        assert place.logind.off_at == pytest.approx(ended["slow"].gone, abs=SLACK)
        assert place.state.finished
        record = place.storage.load()
        assert record.start is not None
        assert record.end is not None
        assert (record.end - record.start).total_seconds() == pytest.approx(8.0, abs=SLACK)
        await place.stop()

    simulate(main)


def test_a_first_failure_is_retried_and_says_what_is_wrong() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [])
        place.logind.refusals = 3
        place.start()
        await place.until(lambda: "unavailable: no system bus" in place.state.problem)
        await place.until(lambda: place.state.locked)
        assert not place.state.problem
        await place.stop()
        assert not place.logind.locks

    simulate(main)


def test_a_bus_that_is_back_is_no_problem_any_more() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [])
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.drop_bus()
        await place.until(lambda: "unavailable" in place.state.problem)
        place.logind.away = False
        await place.until(lambda: not place.state.problem)
        assert place.logind.taken == 1  # the lock outlived it
        await place.stop()

    simulate(main)


def test_with_less_delay_than_wanted_every_bucket_has_its_share() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a"), pod("b", 1000)], a=99.0, b=99.0)
        place.logind.raisable, place.logind.limit = False, 3.0
        place.start()
        await place.until(lambda: place.state.locked)
        assert "by 3s at most, and pods have 15s" in place.state.problem
        place.logind.power_off()
        await place.until(lambda: place.logind.off_at is not None)
        ended = place.pods.ended
        assert ended["a"].gone - ended["a"].asked == pytest.approx(1.9)
        assert ended["b"].gone - ended["b"].asked == pytest.approx(0.95)
        assert place.logind.off_at is not None
        assert ended["b"].gone <= place.logind.off_at
        await place.stop()

    simulate(main)


def test_a_restart_in_the_middle_goes_on_with_the_time_that_is_left() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a"), pod("b", 1000)], a=99.0, b=1.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: "a" in place.pods.ended)
        asked = place.pods.ended["a"].asked
        await place.kill()
        await sim.clock.sleep(4.0)
        place.start()
        assert place.storage.load().under_way("boot")
        await place.until(lambda: place.state.finished)
        ended = place.pods.ended
        assert ended["a"].asked == asked
        assert ended["a"].gone - asked == pytest.approx(10.0, abs=SLACK)
        assert ended["b"].asked - asked == pytest.approx(10.0, abs=SLACK)
        await place.until(lambda: place.logind.off_at is not None)
        await place.stop()

    simulate(main)


def test_a_shutdown_that_begins_while_the_agent_is_away_is_seen_when_it_is_back() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a")], a=1.0)
        place.start()
        await place.until(lambda: place.state.locked)
        await place.kill()
        place.logind.power_off()
        await sim.clock.sleep(2.0)
        assert place.logind.off_at is None
        place.start()
        await place.until(lambda: place.logind.off_at is not None)
        assert "a" in place.pods.ended
        await place.stop()

    simulate(main)


def test_a_record_of_another_boot_is_no_shutdown_under_way() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a")], a=99.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: "a" in place.pods.ended)
        await place.kill()
        record = place.storage.load()
        assert record.under_way("boot")
        assert not record.under_way("another")
        assert record.start is not None
        await place.logind.stop()

    simulate(main)


def test_after_a_cancellation_the_lock_is_taken_anew_and_the_next_shutdown_works() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a"), pod("b", 1000)], a=5.0, b=1.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: "a" in place.pods.ended)
        place.logind.cancel()
        await place.until(lambda: not place.state.active)
        await place.until(lambda: place.logind.taken == 2)
        await sim.clock.sleep(100.0)
        assert "b" not in place.pods.ended
        assert place.logind.locks == {2}
        place.logind.power_off()
        await place.until(lambda: place.logind.off_at is not None)
        assert "b" in place.pods.ended
        await place.stop()

    simulate(main)


def test_a_cancellation_after_all_pods_are_gone_makes_the_node_ready_with_a_new_lock() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a")], a=1.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: place.state.finished)
        place.logind.cancel()
        await place.until(lambda: place.state.locked and not place.state.active)
        assert place.logind.locks == {2}
        await place.stop()

    simulate(main)


def test_without_a_disk_the_shutdown_runs_all_the_same() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a"), pod("b", 1000)])
        place.storage.broken = True
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: place.logind.off_at is not None)
        assert set(place.pods.ended) == {"a", "b"}
        await place.stop()

    simulate(main)


@pytest.mark.parametrize("number", range(25))
def test_hundreds_of_pods_random_buckets_and_faults(number: int, seed: int | None) -> None:
    """Never a pod before its bucket, never longer than the sum, nothing skipped, whatever goes wrong."""

    async def main(sim: Sim) -> None:
        dice = sim.stream("course")
        values = sorted({integer(dice, -1000, 100000) for _ in range(integer(dice, 1, 6))})
        buckets = [Bucket(one, float(integer(dice, 0, 60))) for one in values]
        buckets.append(Bucket(200000, 10.0))
        pods = [
            replace(
                pod(f"p{index}", integer(dice, -2000, 250000), dice.uniform(0, 90)),
                interceptors=dice.uniform(0, 1) < 0.2,
            )
            for index in range(integer(dice, 1, 300))
        ]
        place = machine(sim, buckets, pods, **{one.uid: dice.uniform(0, 120) for one in pods})
        place.logind.refusals = integer(dice, 0, 2)
        place.start()
        await place.until(lambda: place.state.locked)
        began = sim.clock.monotonic()
        place.logind.power_off()
        total = place.config.total_seconds
        cancelled = dice.uniform(0, 1) < 0.3
        stop_at = began + dice.uniform(0, total * 1.2)
        faults = sorted(dice.uniform(0, total) for _ in range(integer(dice, 0, 3)))
        for fault in faults:
            at = min(began + fault, stop_at if cancelled else began + fault)
            await sim.clock.sleep(at - sim.clock.monotonic())
            if dice.uniform(0, 1) < 0.5:
                place.logind.drop_bus()
                await sim.clock.sleep(dice.uniform(0, 3))
                place.logind.away = False
            else:
                await place.kill()
                await sim.clock.sleep(dice.uniform(0, 3))
                place.start()
        if cancelled and place.logind.off_at is None:
            await sim.clock.sleep(stop_at - sim.clock.monotonic())
            place.logind.cancel()
            at = sim.clock.monotonic()
            await place.until(lambda: not place.state.active and place.state.locked)
            await sim.clock.sleep(2 * total)
            late = [uid for uid, one in place.pods.ended.items() if one.asked > at + 4.5]
            assert not late  # 3 s without bus or agent, 1 s until the next connection
            assert len(place.logind.locks) == 1
            assert not place.state.finished
        else:
            await place.until(lambda: place.logind.off_at is not None)
            _check(place, began, total)
        await place.stop()

    run_sim(main, number if seed is None else seed)


def _check(place: Machine, began: float, total: float) -> None:
    ended = place.pods.ended
    assert set(ended) == set(place.pods.pods)
    assert place.logind.off_at is not None
    assert place.logind.off_at <= began + total + 1.0 + SLACK  # the agent may be away at the very end
    groups = group_pods(place.config.buckets, place.pods.pods.values())
    upto = began
    for group in groups:
        upto += group.bucket.seconds
        for later in (
            pod for other in groups if other.bucket.priority > group.bucket.priority for pod in other.pods
        ):
            for one in group.pods:
                assert ended[later.uid].asked >= min(ended[one.uid].gone, upto) - SLACK
        for one in group.pods:
            assert ended[one.uid].gone - ended[one.uid].asked <= group.grace_of(one) + SLACK
            assert ended[one.uid].gone <= upto + SLACK + 3.5  # away for up to 3 s
