"""What `vacate evict` says about a request that it made or joined."""

from __future__ import annotations

import pytest

from support.simulated.request import SimRequest
from vacate.cli.evict.eviction import how_requested, unprepared
from vacate.sdk.results import result_of

pytestmark = pytest.mark.unit

ME, OTHER, THIRD = "me.example.com", "other.example.com", "third.example.com"


@pytest.mark.parametrize(
    ("sim", "sentence"),
    [
        (SimRequest(requesters=(ME,)), "eviction requested"),
        (
            SimRequest("a.example.com", requesters=(ME,)),
            "eviction requested; first interceptor: a.example.com",
        ),
        (
            SimRequest("a.example.com", "b.example.com", requesters=(OTHER, ME, THIRD)),
            f"eviction requested, also by {OTHER} and {THIRD}; first interceptor: a.example.com",
        ),
        (
            SimRequest(requesters=(OTHER,)).status(evictionRequestCancellationPolicy="Forbid"),
            f"eviction already requested by {OTHER}; it can no longer be joined or cancelled",
        ),
        (
            SimRequest(requesters=()),
            "eviction already requested by others; it can no longer be joined or cancelled",
        ),
        (
            SimRequest("a.example.com", requesters=(ME,)).metadata(annotations=None),
            "eviction requested, but it did not pass Vacate's admission and is not processed",
        ),
    ],
    ids=["alone", "with an interceptor", "joined", "forbidden", "nobody", "unadmitted"],
)
def test_a_sentence_says_what_became_of_the_request(sim: SimRequest, sentence: str) -> None:
    assert how_requested(sim.typed, ME) == sentence


@pytest.mark.parametrize(
    ("sim", "sentence"),
    [
        (
            SimRequest("a.example.com", requesters=(ME,)),
            f"eviction already requested by {ME}; nothing changed",
        ),
        (
            SimRequest(requesters=(OTHER, ME)),
            f"eviction already requested by {ME} and {OTHER}; nothing changed",
        ),
        (
            SimRequest(requesters=(ME,)).metadata(annotations=None),
            (
                f"eviction already requested by {ME}, but it did not pass Vacate's admission and is not "
                "processed"
            ),
        ),
    ],
    ids=["alone", "with others", "unadmitted"],
)
def test_a_request_that_is_repeated_changes_nothing(sim: SimRequest, sentence: str) -> None:
    assert how_requested(sim.typed, ME, again=True) == sentence


def test_interceptors_that_failed_are_named_with_the_reason_and_completed_ones_are_not() -> None:
    sim = SimRequest("a.example.com", "b.example.com").controller().after(seconds=5)
    sim.fails("True", "HandedOver", "the disk\x1b[2J is full.", activeInterceptorCompleted=True).controller()
    sim.after(seconds=1801).controller().pod_goes().controller()
    result = result_of(sim.typed)
    assert result is not None
    assert unprepared(result) == [
        "interceptor a.example.com failed (the disk [2J is full); it did not prepare the pod",
        "interceptor b.example.com timed out without responding; it did not prepare the pod",
    ]
    done = (
        SimRequest("a.example.com")
        .controller()
        .responds(activeInterceptorCompleted=True)
        .pod_goes()
        .controller()
    )
    assert unprepared(result_of(done.typed) or result) == []
