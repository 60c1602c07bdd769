"""The shutdown manager in virtual time: order, limits, restarts, lost buses, cancellation at any instant."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from support.simulated.shutdown_scenario import SLACK, machine, pod
from vacate.clock import LoopClock
from vacate.nodeagent.shutdown.buckets import Bucket
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.state import marks_of
from vacate.sim.run import EPOCH, Sim, run_sim

pytestmark = pytest.mark.sim


def simulate(body: Callable[[Sim], Awaitable[None]], seed: int = 0) -> None:
    run_sim(body, seed)


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
        assert place.state.locked
        assert marks_of(place.state, beside_kubelet=False).reason == "Unavailable"
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
        assert marks_of(place.state, beside_kubelet=False).reason == "ShortDelay"
        assert "by 3s at most, and pods have 15s" in place.state.problem
        place.logind.power_off()
        await place.until(lambda: place.logind.off_at is not None)
        ended = place.pods.ended
        assert ended["a"].gone - ended["a"].asked == pytest.approx(1.9)
        assert ended["b"].gone - ended["b"].asked == pytest.approx(0.95, abs=0.01)  # logind was asked
        assert place.logind.off_at is not None
        assert ended["b"].gone <= place.logind.off_at
        await place.stop()

    simulate(main)


def test_a_logind_that_delays_nothing_makes_the_feature_unavailable() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a")], a=99.0)
        place.logind.raisable, place.logind.limit = False, 0.0
        place.start()
        await place.until(lambda: "logind delays no shutdown" in place.state.problem)
        assert "set InhibitDelayMaxSec in logind.conf to 16" in place.state.problem
        assert not place.logind.locks
        place.logind.power_off()
        await sim.clock.sleep(100.0)
        assert not place.pods.ended  # to be killed at once would be worse than what systemd does
        assert not place.state.active
        await place.stop()

    simulate(main)


def test_a_limit_that_another_lowers_is_raised_again() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, [Bucket(0, 60.0)], [pod("a")])
        place.start()
        await place.until(lambda: place.state.locked)
        first = place.logind.taken
        place.logind.limit = 20.0
        await place.until(lambda: place.logind.limit > 60.0)
        await place.until(lambda: place.logind.taken == first + 1)
        await sim.clock.sleep(100.0)
        assert place.logind.taken == first + 1  # once is enough
        assert len(place.logind.locks) == 1
        await place.stop()

    simulate(main)


def test_a_limit_that_is_lowered_just_before_a_shutdown_shortens_every_bucket() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, [Bucket(0, 60.0), Bucket(10, 60.0)], [pod("a"), pod("b", 10)], a=100.0, b=100.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.limit = 20.0
        place.logind.power_off()
        began = sim.clock.monotonic()
        await place.until(lambda: place.logind.off_at is not None)
        assert place.pods.ended["b"].asked - began == pytest.approx(9.5, abs=0.2)
        await place.stop()

    simulate(main)


def test_a_configuration_that_changes_takes_a_lock_for_its_own_time() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, [Bucket(0, 10.0)], [pod("a", grace=100.0)], a=100.0)
        chosen = [place.config]

        async def arrange(_session: object, _preparing: bool) -> ShutdownConfig:
            return chosen[0]

        place.arrange = arrange
        place.start()
        await place.until(lambda: place.state.locked)
        chosen[0] = ShutdownConfig((Bucket(0, 50.0),), "")
        await place.until(lambda: place.logind.limit > 50.0)
        place.logind.power_off()
        began = sim.clock.monotonic()
        await place.until(lambda: place.logind.off_at is not None)
        assert place.logind.off_at == pytest.approx(began + 50.0, abs=0.5)
        await place.stop()

    simulate(main)


def test_the_limit_is_never_lowered() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [])
        place.logind.limit = 500.0
        place.start()
        await place.until(lambda: place.state.locked)
        assert place.logind.limit == 500.0
        assert not place.logind.raised
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


def test_an_agent_killed_before_it_could_release_the_lock_releases_it_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, [Bucket(0, 60.0)], [pod("a")])
        place.start()
        await place.until(lambda: place.state.locked)
        release = place.holder.release

        async def fails() -> None:
            raise OSError(32, "Broken pipe")

        monkeypatch.setattr(place.holder, "release", fails)
        place.logind.power_off()
        await place.until(lambda: place.state.finished)
        await place.kill()
        monkeypatch.setattr(place.holder, "release", release)
        place.start()
        back = sim.clock.monotonic()
        await place.until(lambda: place.logind.off_at is not None)
        assert place.logind.off_at is not None
        assert place.logind.off_at - back < 2.0  # and not when logind has waited for a minute
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


def test_a_shutdown_that_is_announced_again_is_the_same_shutdown() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a"), pod("b", 1000)], a=99.0, b=3.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        for seen in ("a", "b"):
            await place.until(lambda seen=seen: seen in place.pods.ended)  # type: ignore[misc]
            await sim.clock.sleep(2.0)
            place.logind.signal()
        await place.until(lambda: place.logind.off_at is not None)
        place.logind.signal()
        await sim.clock.sleep(100.0)
        assert place.pods.orders == ["a", "b"]
        ended = place.pods.ended
        assert ended["a"].gone - ended["a"].asked == pytest.approx(10.0)
        assert ended["b"].asked - ended["a"].asked == pytest.approx(10.0, abs=SLACK)
        assert len(place.storage.starts - {None}) == 1
        await place.stop()

    simulate(main)


def test_a_shutdown_that_follows_a_cancelled_one_before_that_was_seen_goes_on_with_it() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a"), pod("b", 1000)], a=99.0, b=99.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: "a" in place.pods.ended)
        place.logind.cancel()
        place.logind.power_off()
        await place.until(lambda: place.logind.off_at is not None)
        assert place.pods.orders == ["a", "b"]
        ended = place.pods.ended
        assert ended["b"].gone - ended["a"].asked == pytest.approx(15.0, abs=SLACK)
        assert place.logind.off_at == pytest.approx(ended["b"].gone, abs=SLACK)
        await place.stop()

    simulate(main)


class SteppedClock(LoopClock):
    """A wall clock that is set in the middle."""

    def step(self, seconds: float) -> None:
        self._skew += seconds


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
@pytest.mark.parametrize("restart", [False, True])
def test_a_clock_that_is_set_in_the_middle_changes_no_time_of_a_pod(jump: float, restart: bool) -> None:
    async def main(sim: Sim) -> None:
        clock = SteppedClock(sim.loop, EPOCH)
        place = machine(replace(sim, clock=clock), TWO, [pod("a"), pod("b", 1000)], b=99.0)
        place.pods.stuck.add("a")  # only the clock ends its bucket
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: "a" in place.pods.ended)
        clock.step(jump)
        if restart:
            await place.kill()
            await sim.clock.sleep(2.0)
            place.start()
        await place.until(lambda: place.logind.off_at is not None)
        ended = place.pods.ended
        assert ended["b"].asked - ended["a"].asked == pytest.approx(10.0, abs=SLACK)
        assert ended["b"].gone - ended["b"].asked == pytest.approx(5.0, abs=SLACK)
        assert place.storage.load().outcome == "finished"
        await place.stop()

    simulate(main)


def test_pods_that_others_finish_by_force_cost_no_more_time() -> None:
    async def main(sim: Sim) -> None:
        buckets = [Bucket(0, 60.0), Bucket(10, 60.0), Bucket(20, 60.0)]
        pods = [pod("now", grace=60.0), pod("later", 10, grace=60.0), pod("last", 20, grace=60.0)]
        place = machine(sim, buckets, pods, now=99.0, later=99.0, last=1.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: "now" in place.pods.ended)
        await sim.clock.sleep(3.0)
        place.pods.finish_by_force("later")  # its bucket is still to come
        await sim.clock.sleep(3.0)
        assert place.pods.orders == ["now"]
        place.pods.finish_by_force("now")
        forced = sim.clock.monotonic()
        await place.until(lambda: place.logind.off_at is not None)
        assert place.pods.orders == ["now", "last"]
        assert place.pods.ended["last"].asked == pytest.approx(forced, abs=SLACK)
        assert place.logind.off_at == pytest.approx(forced + 1.0, abs=2 * SLACK)
        await place.stop()

    simulate(main)


def test_the_log_names_the_time_that_pods_have_and_not_what_logind_would_allow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "vacate.nodeagent")

    async def main(sim: Sim) -> None:
        place = machine(sim, [Bucket(0, 6.0)], [])
        place.logind.limit = 101.0
        place.start()
        await place.until(lambda: place.state.locked)
        await place.stop()

    simulate(main)
    assert "registered a shutdown inhibitor: pods have up to 6s" in caplog.text


def test_a_shutdown_that_was_over_and_came_to_nothing_leaves_the_next_one_of_the_boot_its_order() -> None:
    """Cancelled once every bucket had its turn and while no agent was there, or followed by a soft-reboot."""

    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a")], a=1.0, b=2.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: place.logind.off_at is not None)
        await place.kill()
        place.logind.cancel()
        place.logind.off_at = None
        place.pods.pods["b"], place.pods.needs["b"] = pod("b"), 2.0
        place.start()
        await place.until(lambda: place.state.locked)
        assert place.storage.load().end is not None
        began = sim.clock.monotonic()
        place.logind.power_off()
        await place.until(lambda: place.logind.off_at is not None)
        assert place.pods.ended["b"].asked == pytest.approx(began, abs=SLACK)
        assert place.logind.off_at == pytest.approx(began + 2.0, abs=SLACK)
        await place.stop()

    simulate(main)


@pytest.mark.parametrize("bus_back_after", [0.0, 2.0])
@pytest.mark.parametrize("away", [1.0, 12.0, 20.0])
def test_a_shutdown_that_was_cancelled_while_the_agent_was_away_ends_no_further_pod(
    away: float, bus_back_after: float
) -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a"), pod("b", 1000)], a=99.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: "a" in place.pods.ended)
        await place.kill()
        place.logind.cancel()
        await sim.clock.sleep(away)
        place.logind.away = bus_back_after > 0
        asked = list(place.pods.orders)
        place.start()
        await sim.clock.sleep(bus_back_after)
        place.logind.away = False
        await place.until(lambda: place.state.locked and not place.state.active)
        await sim.clock.sleep(60.0)
        assert place.pods.orders == asked
        assert place.storage.load().outcome == "cancelled"
        await place.stop()

    simulate(main)


def test_a_shutdown_that_was_cancelled_while_the_agent_was_stopped_begins_no_bucket() -> None:
    """As by SIGSTOP: its timers are due before it has read what logind says."""

    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a"), pod("b", 1000)], a=99.0)
        place.start()
        await place.until(lambda: place.state.locked)
        place.logind.power_off()
        await place.until(lambda: "a" in place.pods.ended)
        place.logind.heard.clear()
        place.logind.cancel()
        await sim.clock.sleep(11.0)
        place.logind.heard.set()
        await place.until(lambda: place.state.locked and not place.state.active)
        await sim.clock.sleep(60.0)
        assert "b" not in place.pods.ended
        await place.stop()

    simulate(main)


def test_without_a_bus_an_agent_that_restarts_goes_on_with_the_shutdown_all_the_same() -> None:
    async def main(sim: Sim) -> None:
        place = machine(sim, TWO, [pod("a"), pod("b", 1000)], a=99.0, b=1.0)
        place.start()
        await place.until(lambda: place.state.locked)
        began = sim.clock.monotonic()
        place.logind.power_off()
        await place.until(lambda: "a" in place.pods.ended)
        await place.kill()
        place.logind.away = True
        place.start()
        await place.until(lambda: place.logind.off_at is not None)
        assert place.pods.ended["b"].asked == pytest.approx(began + 10.0, abs=SLACK)
        await place.stop()

    simulate(main)
