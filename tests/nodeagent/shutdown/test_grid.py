"""A node goes down in virtual time while its agent is killed, frozen or well, and the API server may be away.

The real agent and its real records on a simulated machine, for each combination of disturbance, stage, bucket
and API server, with random pods and times: no hook is skipped or repeated, SIGTERM is sent once and after it,
interceptors have their time, buckets keep their order, and no status is lost, at the latest after a boot.
"""

from __future__ import annotations

import datetime as dt
import errno
import itertools
import signal
from pathlib import Path

import pytest

from support.effort import THOROUGH
from support.simulated.shutdown_checks import boot, check, gone, names
from support.simulated.shutdown_node import ALONE, BESIDE, BUCKET_SECONDS, KINDS, NODE, Place, simulate
from vacate.api.objects import dig
from vacate.nodeagent import podrecord
from vacate.nodeagent.shutdown import record
from vacate.sim.faults.transport import Fault

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=3, each=2)]

AWAY_SECONDS = 5.0
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
AGENT_CELLS = [  # for shutdown agents
    (subject, *cell)
    for cell in CELLS
    for subject in (ALONE, BESIDE)
    # Alone it ends no pod without the API server; beside a kubelet it ends none, and is gone by then.
    if not (STAGES[cell[0]][0] and (cell[1] == "away" if subject == ALONE else STAGES[cell[0]][0] != "turn"))
]
GRID = [(*cell, RUN + index if THOROUGH else 7 + index % 5) for index, cell in enumerate(CELLS)]
AGENT_GRID = [(*cell, RUN + index if THOROUGH else 7 + index % 5) for index, cell in enumerate(AGENT_CELLS)]


async def course(place: Place, agent: str, server: str) -> None:
    """From the signal of logind until the machine is off."""
    clock, entropy = place.sim.clock, place.entropy
    if "SIGKILL" in agent:
        place.machine.stop_seconds = lambda: 2 * BUCKET_SECONDS
    if agent == "killed idle":
        await place.kill()
    away = entropy.uniform(0, 1) < 0.5 and (place.subject == NODE or not STAGES[agent][0])
    place.away = server == "away" or (server == "back later" and away)
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
    # An agent that is away at the very end cannot release the lock.
    last = STAGES[agent][0] and place.disturbed == len(place.buckets) - 1
    # A shutdown agent deletes late what it could not before.
    sure = server == "up" or place.subject != ALONE
    check(place, began, late=2 * AWAY_SECONDS if last else 0.0, sure=sure, prepared=server == "up")


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
        gone = clock.monotonic()
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
        place.absent.append((gone, clock.monotonic()))


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


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize(
    ("subject", "agent", "server", "bucket", "number"), AGENT_GRID, ids=["-".join(one) for one in AGENT_CELLS]
)
def test_with_a_shutdown_agent_nothing_is_skipped_repeated_or_lost(
    subject: str, agent: str, server: str, bucket: str, number: int, tmp_path: Path, seed: int | None
) -> None:
    async def body(place: Place) -> None:
        await course(place, agent, server)
        await boot(place)

    buckets, disturbed = BUCKETS[bucket]
    simulate(body, tmp_path, buckets, number if seed is None else seed, disturbed, subject)


@pytest.mark.parametrize("before", ["turn", "preStop begins", "SIGTERM", "SIGKILL", "ended"])
@pytest.mark.parametrize("disk", ["cut", "full"])
def test_without_its_records_an_agent_goes_on_by_what_runs(
    disk: str, before: str, tmp_path: Path, seed: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    async def body(place: Place) -> None:
        clock, began = place.sim.clock, place.sim.clock.monotonic()
        if before == "SIGKILL":
            place.machine.stop_seconds = lambda: 2 * BUCKET_SECONDS
        if disk == "full":
            for module in (podrecord, record):
                monkeypatch.setattr(module, "write_private", full)
        if before == "ended":  # and not reported
            place.fault = lambda one: Fault(lost=one.method == "PATCH")
        place.logind.power_off()
        await place.until(before)
        await clock.sleep(place.entropy.uniform(0.0, 0.1))
        away = clock.monotonic()
        await place.kill()
        place.away = False
        for path in place.folder.rglob("*"):
            if disk == "cut" and path.name in (podrecord.FILE, record.FILE):
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        await place.start(wait=False)
        place.absent.append((away, clock.monotonic()))
        while place.logind.off_at is None:
            await clock.sleep(0.1)
        check(place, began, late=AWAY_SECONDS, sure=True, prepared=False)
        monkeypatch.undo()
        await boot(place)

    simulate(body, tmp_path, 1, 7 if seed is None else seed)


@pytest.mark.parametrize("away", [False, True], ids=["well", "no logind"])
def test_what_ended_without_a_shutdown_runs_again(away: bool, tmp_path: Path, seed: int | None) -> None:
    async def body(place: Place) -> None:
        await place.kill()
        place.machine.signal(f"{place.uids['plain-0']}.main.0", signal.SIGKILL)
        place.logind.away = away
        began = place.sim.clock.monotonic()
        await place.start()
        await place.world.until(
            lambda: f"{place.uids['plain-0']}.main.1" in [one.id for one in place.machine.living]
        )
        assert place.sim.clock.monotonic() - began < 3.0

    simulate(body, tmp_path, 1, 7 if seed is None else seed)


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
            ends = max((gone(place, f"{kind}-{bucket}") for kind in KINDS), default=0.0)

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
        for name in names(place):
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
        place.check_promise("intercepted-0", at)

    simulate(body, tmp_path, 1, number if seed is None else seed)


def _cancelled(place: Place) -> bool:
    conditions = dig(place.request("intercepted-0"), "status", "conditions") or ()
    return any((one["type"], one["status"]) == ("Complete", "True") for one in conditions)
