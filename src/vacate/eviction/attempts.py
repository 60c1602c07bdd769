"""What the server's response to an eviction means, and when to try again."""

from __future__ import annotations

import datetime as dt
from enum import Enum

from vacate.errors import ApiError, Conflict, NotFound, TooManyRequests, Unauthorized

FIRST_DELAY = dt.timedelta(seconds=5)
MAX_DELAY = dt.timedelta(minutes=15)
MAX_UNWATCHED_DELAY = dt.timedelta(seconds=15)
"""The same where no watch shows that the cause is gone: a policy or a webhook refused, and not a budget."""
_SPREAD = 0.2
_BUDGET_CAUSE = "DisruptionBudget"
_NAMESPACE_CAUSE = "NamespaceTerminating"
_SEVERAL_BUDGETS = "more than one PodDisruptionBudget"
_DENIED = "denied the request"


class Answer(Enum):
    """What a failed eviction means."""

    REFUSED = "refused"  # the endpoint refused: it counts, and the next attempt waits longer
    LOOK = "look"  # the target may be deleted or replaced: read it from the server
    TRY_AGAIN = "try again"  # the response says nothing about the eviction itself


def answer_of(error: ApiError) -> Answer:
    """What a failed eviction says about the target."""
    # A webhook may deny with any code, also with one that would mean something else from the server itself.
    if _DENIED in error.message:
        return Answer.REFUSED
    if isinstance(error, NotFound | Conflict):
        return Answer.LOOK
    if _NAMESPACE_CAUSE in _causes(error) or isinstance(error, Unauthorized):
        return Answer.TRY_AGAIN
    if isinstance(error, TooManyRequests):
        return Answer.REFUSED if _BUDGET_CAUSE in _causes(error) else Answer.TRY_AGAIN
    refused = 400 <= error.status_code < 500 or _SEVERAL_BUDGETS in error.message
    return Answer.REFUSED if refused else Answer.TRY_AGAIN


def is_by_budget(error: ApiError) -> bool:
    """Whether disruption budgets refused: a watch shows when they open, change or go."""
    denied = _DENIED in error.message
    return not denied and (_BUDGET_CAUSE in _causes(error) or _SEVERAL_BUDGETS in error.message)


def why_refused(error: ApiError) -> str:
    """The refusal in one sentence or two, the causes that the server named included."""
    causes = error.details.get("causes") or ()
    messages = [cause["message"] for cause in causes if isinstance(cause, dict) and cause.get("message")]
    # Kubernetes says `1 healthy pods`.
    return " ".join([error.message, *messages]).replace(" 1 healthy pods ", " 1 healthy pod ")


def delay(failed: int, longest: dt.timedelta = MAX_DELAY) -> dt.timedelta:
    """How long to wait after so many refusals: five seconds, doubled each time, to a quarter of an hour."""
    doublings = min(max(failed, 1) - 1, 16)
    return min(FIRST_DELAY * (1 << doublings), longest)


def after_refusal(
    failed: int, now: dt.datetime, chance: float, longest: dt.timedelta = MAX_DELAY
) -> dt.datetime:
    """When to try again; `chance` in [0, 1) keeps requests that were refused together apart."""
    return now + delay(failed, longest) * (1 - _SPREAD * chance)


def after_restart(
    failed: int, now: dt.datetime, chance: float, longest: dt.timedelta = MAX_DELAY
) -> dt.datetime | None:
    """When a controller that has just started tries again: at once where nothing was refused yet.

    Otherwise at a random point within the present delay, so that a thousand blocked requests are not all
    attempted at the same time.
    """
    return now + delay(failed, longest) * chance if failed else None


def _causes(error: ApiError) -> tuple[str, ...]:
    causes = error.details.get("causes") or ()
    return tuple(str(cause.get("reason")) for cause in causes if isinstance(cause, dict))
