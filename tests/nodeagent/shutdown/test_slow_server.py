"""The API server is slow, busy or away while a node goes down: interceptors keep the time of their bucket.

They are asked as soon as the server answers, and the pod is asked to end at the time that it was to be, and
not before, whichever of the agent's calls is affected, how, and whether the agent restarts meanwhile.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from support.simulated.shutdown_node import BUCKET_SECONDS, Place, simulate
from vacate.sim.faults.transport import NO_FAULT, Fault
from vacate.wire.message import Request

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=12)]

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
