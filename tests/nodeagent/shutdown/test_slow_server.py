"""The API server is slow, busy or away while a node goes down, for one call of the agent or for all.

No hook is skipped, nothing is done twice or out of order, no status is lost, and the lock is released when
all are written or the configured time is over. Interceptors are asked as soon as the server answers, and the
pod is asked to end at the time that it was to be, whether the agent restarts meanwhile or not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from support.simulated.shutdown_checks import boot, check
from support.simulated.shutdown_node import ALONE, BESIDE, BUCKET_SECONDS, NAME, NODE, Place, simulate
from vacate.api.kinds import LEASES
from vacate.api.times import parse_time
from vacate.client.hedging import HEDGE_AFTER_SECONDS
from vacate.sim.faults.transport import NO_FAULT, Fault
from vacate.wire.message import Request

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=12, each=3)]

PREPARE = BUCKET_SECONDS / 2  # of a pod whose own grace is longer than its bucket
BUSY_SECONDS = 6.0
CAUSES = {  # what happens to a call, and for how many seconds
    "slow": (Fault(delay=7.0), BUCKET_SECONDS),
    "no answer": (Fault(delay=3600.0), 1.0),
    "answer lost": (Fault(unanswered=True), BUSY_SECONDS),
    "carried out late": (Fault(late=2.0), BUSY_SECONDS),
    "connection lost": (Fault(lost=True), BUSY_SECONDS),
    "429": (Fault(status=429), BUSY_SECONDS),
    "500": (Fault(status=500), BUSY_SECONDS),
    "503": (Fault(status=503), BUSY_SECONDS),
    "500 after": (Fault(status_after=500), BUSY_SECONDS),
    "never": (Fault(status=500), BUCKET_SECONDS),
}
CALLS = {  # by the method and the words of the path
    "reads the pod": ("GET", "/pods/intercepted-0"),
    "reads the request": ("GET", "/evictionrequests/"),
    "creates": ("POST", "/evictionrequests"),
    "names the deadline": ("PATCH", "/evictionrequests/"),
    "lists and watches": ("GET", "/api/v1/pods"),
    "everything": ("", ""),
}


@pytest.mark.parametrize("agent", ["well", "killed"])
@pytest.mark.parametrize(("cause", "call"), list(itertools.product(CAUSES, CALLS)))
def test_interceptors_are_asked_when_the_server_answers_and_keep_their_time(
    cause: str, call: str, agent: str, tmp_path: Path, seed: int | None
) -> None:
    (fault, seconds), (method, words) = CAUSES[cause], CALLS[call]

    async def body(place: Place) -> None:
        clock = place.sim.clock
        place.hooks = dict.fromkeys(place.hooks, 1.0)
        began = clock.monotonic()

        def fails(request: Request) -> Fault:
            hit = method in ("", request.method) and words in request.path
            return fault if hit and clock.monotonic() < began + seconds else NO_FAULT

        place.fault = fails
        place.logind.power_off()
        if agent == "killed":
            await clock.sleep(2.0)
            await place.kill()
            await place.start(wait=False)
        asked = None
        while place.logind.off_at is None:
            await clock.sleep(0.1)
            if asked is None and place.promised("intercepted-0"):
                asked = clock.monotonic()
        (ended,) = [at for at, what in place.history("intercepted-0") if what == "SIGTERM"]
        assert ended - began == pytest.approx(PREPARE, abs=1.0)
        if call == "lists and watches" or not (cause == "never" or (cause, call) == ("slow", "everything")):
            assert asked is not None
            assert asked < ended
            place.check_promise("intercepted-0", ended)

    simulate(body, tmp_path, 1, 7 if seed is None else seed)


HANGS = Fault(delay=65.0, lost=True)  # until the client gives up
FOREVER = 3600.0
TROUBLES = {  # what happens to a call, and for how many seconds
    "2 s": (Fault(delay=2.0), FOREVER),
    "10 s": (Fault(delay=10.0), FOREVER),
    "hangs": (HANGS, BUSY_SECONDS),
    "hangs on": (HANGS, FOREVER),
    "429": (Fault(status=429), BUSY_SECONDS),
    "500": (Fault(status=500), BUSY_SECONDS),
    "reset": (Fault(lost=True), BUSY_SECONDS),
}
AFFECTED: dict[str, Callable[[Request], bool]] = {
    "list": lambda one: one.method == "GET" and one.path == "/api/v1/pods" and "watch" not in one.query,
    "watch": lambda one: one.path == "/api/v1/pods" and "watch" in one.query,
    "status": lambda one: one.method == "PATCH" and "/pods/" in one.path,
    "deletion": lambda one: one.method == "DELETE" and "/pods/" in one.path,
    "request": lambda one: "/evictionrequests" in one.path,
    "reason": lambda one: one.method == "GET" and "/pods/" in one.path,
    "lease": lambda one: "/leases/" in one.path,
    "node": lambda one: one.path.startswith("/api/v1/nodes"),
    "everything": lambda _: True,
}
MOMENTS = {  # the bucket, and what happens there before
    "idle": (0, ""),
    "begin": (0, ""),
    "hook": (0, "preStop begins"),
    "SIGTERM": (0, "SIGTERM"),
    "last bucket": (1, "turn"),
}
SUBJECTS = (NODE, ALONE, BESIDE)
TABLE = [
    (subject, call, trouble, moment)
    for subject, call, trouble, moment in itertools.product(
        (NODE, ALONE, BESIDE), AFFECTED, TROUBLES, MOMENTS
    )
    # A kubelet has its own lease, and beside it the agent ends nothing itself.
    if (subject == NODE or call != "lease") and (subject != BESIDE or moment in ("idle", "begin"))
]


@pytest.mark.parametrize(("subject", "call", "trouble", "moment"), TABLE)
def test_nothing_is_skipped_repeated_late_or_lost(
    subject: str, call: str, trouble: str, moment: str, tmp_path: Path, seed: int | None
) -> None:
    (fault, seconds), affected = TROUBLES[trouble], AFFECTED[call]
    bucket, before = MOMENTS[moment]
    passes = trouble != "hangs on"

    async def body(place: Place) -> None:
        clock = place.sim.clock
        place.hooks = {name: place.entropy.uniform(0.1, 5.0) for name in place.hooks}
        place.machine.stop_seconds = lambda: place.entropy.uniform(0.1, 4.0)
        if moment != "idle":
            place.logind.power_off()
            began = clock.monotonic()
            await place.until(before) if before else None
        end = clock.monotonic() + seconds
        place.fault = lambda one: fault if affected(one) and clock.monotonic() < end else NO_FAULT
        if call == "list":  # it is read by an agent that starts
            await place.kill()
            await place.start(wait=False)
        if moment == "idle":
            await clock.sleep(place.entropy.uniform(0.0, BUSY_SECONDS))
            place.logind.power_off()
            began = clock.monotonic()
        while place.logind.off_at is None:
            await clock.sleep(0.5)
            if subject == NODE and passes:
                assert lease_age(place) < 40.0
        check(place, began, late=0.0, sure=subject != ALONE, prepared=False)
        if passes and subject == NODE:
            for name in place.uids:
                assert place.reported(name), name
        await boot(place)

    simulate(body, tmp_path, 2, 7 if seed is None else seed, bucket, subject)


def test_a_status_that_is_stored_late_replaces_no_newer_one(tmp_path: Path, seed: int | None) -> None:
    async def body(place: Place) -> None:
        place.machine.stop_seconds = lambda: 1.0
        place.fault = lambda one: Fault(twice=20.0) if AFFECTED["status"](one) else NO_FAULT
        await place.run_pod("late", 0)
        while place.phase("late") != "Running":
            await place.sim.clock.sleep(0.1)
        place.fault = lambda _: NO_FAULT
        place.logind.power_off()
        while not place.reported("late"):
            await place.sim.clock.sleep(0.1)
        await place.kill()
        await place.sim.clock.sleep(30.0)
        assert place.reported("late")

    simulate(body, tmp_path, 1, 7 if seed is None else seed)


def lease_age(place: Place) -> float:
    """For how many seconds the node has not said that it lives."""
    lease = place.world.find(LEASES, NAME, "kube-node-lease")
    assert lease is not None
    return (place.sim.clock.now() - parse_time(lease["spec"]["renewTime"])).total_seconds()


def test_an_agent_that_starts_asks_a_server_that_hangs_once_every_few_seconds(tmp_path: Path) -> None:
    async def body(place: Place) -> None:
        await place.kill()
        asked: list[str] = []

        def hangs(request: Request) -> Fault:
            asked.append(f"{request.method} {request.path}")
            return HANGS

        place.fault = hangs
        await place.start(wait=False)
        await place.sim.clock.sleep(60.0)
        assert asked
        assert max(asked.count(one) for one in asked) <= 60 / HEDGE_AFTER_SECONDS + 1

    simulate(body, tmp_path, 1, 7)
