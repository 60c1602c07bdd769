"""Every kind of answer to an eviction, and how long to wait after it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eviction.given import NOW
from vacate.api.status import from_status
from vacate.errors import ApiError
from vacate.eviction.attempts import (
    FIRST_DELAY,
    MAX_DELAY,
    Answer,
    after_refusal,
    after_restart,
    answer_of,
    delay,
    why_refused,
)
from vacate.kube.evictionerrors import (
    negative_budget,
    several_budgets,
    spent_budget,
    still_processed,
    too_many_unconfirmed,
)

pytestmark = pytest.mark.unit

DENIED = 'admission webhook "guard.example.com" denied the request'
HEALTHY = {"desiredHealthy": 3, "currentHealthy": 3}


def answer(code: int, reason: str = "", message: str = "no", *causes: str) -> ApiError:
    """The error that a client makes of a server's Status."""
    status: dict[str, Any] = {"kind": "Status", "code": code, "reason": reason, "message": message}
    if causes:
        status["details"] = {"causes": [{"reason": cause, "message": "because"} for cause in causes]}
    return from_status(status, code)


CONFLICT_OF_UIDS = (
    'Operation cannot be fulfilled on Pod "web": the UID in the precondition (a) does not match the UID in '
    "record (b). The object might have been deleted and then recreated"
)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        # The budget.
        (spent_budget("web", HEALTHY), Answer.REFUSED),
        (still_processed("web"), Answer.REFUSED),
        (negative_budget("web"), Answer.REFUSED),
        (too_many_unconfirmed("web"), Answer.REFUSED),
        (several_budgets(), Answer.REFUSED),
        (answer(429, "TooManyRequests", "Cannot evict pod", "DisruptionBudget"), Answer.REFUSED),
        # Priority and fairness, and other limits of the server.
        (answer(429, "TooManyRequests", "Too many requests, please try again later."), Answer.TRY_AGAIN),
        (answer(429, "", "slow down"), Answer.TRY_AGAIN),
        # An account that may not evict.
        (answer(403, "Forbidden", 'pods "web" is forbidden: User "x" cannot create'), Answer.REFUSED),
        # A webhook may deny with any code.
        *((answer(code, "", f"{DENIED}: not now"), Answer.REFUSED) for code in (400, 403, 418, 422, 429)),
        (answer(404, "NotFound", f"{DENIED}: NotFound"), Answer.REFUSED),
        (answer(409, "Conflict", f"{DENIED}: wait for the backup"), Answer.REFUSED),
        (answer(500, "InternalError", f"{DENIED} without explanation"), Answer.REFUSED),
        (answer(503, "ServiceUnavailable", f"{DENIED}: later"), Answer.REFUSED),
        (answer(504, "Timeout", f"{DENIED}: later"), Answer.REFUSED),
        (answer(403, "Forbidden", f"{DENIED}: no", "NamespaceTerminating"), Answer.REFUSED),
        (answer(401, "Unauthorized", f"{DENIED}: no"), Answer.REFUSED),
        # A policy of the server itself.
        (
            answer(422, "Invalid", "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"),
            Answer.REFUSED,
        ),
        # A namespace that goes takes its pods along.
        (
            answer(
                403,
                "Forbidden",
                'evictions.policy "web" is forbidden: unable to create new content in namespace shop '
                "because it is being terminated",
                "NamespaceTerminating",
            ),
            Answer.TRY_AGAIN,
        ),
        # Gone, or another.
        (answer(404, "NotFound", 'pods "web" not found'), Answer.LOOK),
        (answer(409, "Conflict", CONFLICT_OF_UIDS), Answer.LOOK),
        # The server itself.
        (answer(500, "InternalError", "etcdserver: request timed out"), Answer.TRY_AGAIN),
        (
            answer(500, "InternalError", 'Internal error occurred: failed calling webhook "guard"'),
            Answer.TRY_AGAIN,
        ),
        (answer(503, "ServiceUnavailable", "the server is shutting down"), Answer.TRY_AGAIN),
        (answer(504, "Timeout", "couldn't update PodDisruptionBudget"), Answer.TRY_AGAIN),
        (answer(401, "Unauthorized", "Unauthorized"), Answer.TRY_AGAIN),
        # Not a word about the pod, and yet a no: it would be the same at once again.
        (answer(400, "BadRequest", "name in URL does not match name in Eviction object"), Answer.REFUSED),
        (answer(422, "Invalid", "Eviction is invalid"), Answer.REFUSED),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_an_answer_says_about_the_target(error: ApiError, expected: Answer) -> None:
    assert answer_of(error) is expected


def test_a_refusal_is_explained_with_the_causes_that_the_server_named() -> None:
    assert why_refused(spent_budget("web", HEALTHY)) == (
        "Cannot evict pod as it would violate the pod's disruption budget. "
        "The disruption budget web needs 3 healthy pods and has 3 currently"
    )
    assert why_refused(several_budgets()) == (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )
    assert why_refused(answer(403, "Forbidden", f"{DENIED}: not now")) == f"{DENIED}: not now"


@pytest.mark.parametrize(
    "causes", [None, [], ["x"], [{}], [{"reason": "DisruptionBudget"}], [{"message": ""}]]
)
def test_odd_causes_are_passed_over(causes: Any) -> None:
    error = ApiError("no", details={"causes": causes}, code=403)
    assert why_refused(error) == "no"
    assert answer_of(error) is Answer.REFUSED


# Backoff


@pytest.mark.parametrize(
    ("failed", "seconds"),
    [
        (0, 5),
        (1, 5),
        (2, 10),
        (3, 20),
        (4, 40),
        (5, 80),
        (6, 160),
        (7, 320),
        (8, 640),
        (9, 900),
        (10_000, 900),
    ],
)
def test_the_delay_doubles_from_five_seconds_to_a_quarter_of_an_hour(failed: int, seconds: int) -> None:
    assert delay(failed) == dt.timedelta(seconds=seconds)


COUNTS = st.integers(0, 2**31 - 1)
CHANCES = st.floats(0, 1, exclude_max=True)


@given(COUNTS, CHANCES)
def test_a_refusal_waits_for_most_of_its_delay_and_never_longer(failed: int, chance: float) -> None:
    waited = after_refusal(failed, NOW, chance) - NOW
    assert delay(failed) * 0.8 <= waited <= delay(failed)
    assert FIRST_DELAY * 0.8 <= waited <= MAX_DELAY


@given(COUNTS)
def test_requests_that_were_refused_together_are_kept_apart(failed: int) -> None:
    assert after_refusal(failed, NOW, 0.1) != after_refusal(failed, NOW, 0.9)


@given(COUNTS, CHANCES)
def test_after_a_restart_the_first_attempt_comes_at_a_random_point_within_the_delay(
    failed: int, chance: float
) -> None:
    at = after_restart(failed, NOW, chance)
    if failed == 0:
        assert at is None
    else:
        assert at is not None
        assert abs((at - NOW) - delay(failed) * chance) <= dt.timedelta(microseconds=1)


def test_after_a_restart_requests_are_spread_over_the_whole_delay() -> None:
    assert after_restart(9, NOW, 0.0) == NOW
    assert after_restart(9, NOW, 0.5) == NOW + dt.timedelta(seconds=450)
