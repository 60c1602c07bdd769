"""Small values of the SDK: why a handler was stopped, what it may return, what it may say."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import Enum, StrEnum

from vacate.api.types.evictionrequest import ALLOW, FORBID


class TurnEndReason(StrEnum):
    """Why a handler is no longer wanted. The value is a sentence for users."""

    CANCELLED = "the eviction request is cancelled"
    POD_TERMINATED = "the pod has terminated"
    DELETED = "the request was deleted"
    TAKEN_AWAY = "another interceptor has the turn"
    COMPLETED = "the turn was marked as completed"
    SHUTDOWN = "this program is being stopped; the turn is kept"


class OnFailure(StrEnum):
    """What becomes of the turn when the handler has failed for the last time."""

    HAND_OVER = "HandOver"  # the next interceptor is asked, or the pod evicted, without this preparation
    HOLD = "Hold"  # the turn is kept until an administrator decides, or a cap of the cluster ends it


class NoEstimate(Enum):
    """Takes an earlier estimate back."""

    NO_ESTIMATE = "no estimate"


NO_ESTIMATE = NoEstimate.NO_ESTIMATE
"""For `report(expected_finish=NO_ESTIMATE)`: it is no longer known when the work will be done."""


class Cancellation(StrEnum):
    """Whether requesters may still change their minds."""

    ALLOW = ALLOW
    FORBID = FORBID


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that the interceptor knows about the eviction, for programs to read.

    The status may be given as a bool; the moment of the last transition is kept by the SDK.
    """

    type: str
    status: bool | str
    reason: str
    message: str = ""

    @property
    def written_status(self) -> str:
        """True, False or Unknown, as the API has it."""
        return str(self.status)


@dataclass(frozen=True, slots=True)
class Finished:
    """The interceptor has done its part: the next one is asked, or the pod evicted."""

    message: str = ""


@dataclass(frozen=True, slots=True)
class Declined:
    """The interceptor has nothing to do here: the next one is asked, or the pod evicted."""

    reason: str = ""


Outcome = Finished | Declined


@dataclass(frozen=True, slots=True)
class Report:
    """What an interceptor reports about its work; what is None stays as it was reported before."""

    message: str | None = None
    expected_finish: dt.datetime | NoEstimate | None = None
    conditions: tuple[Condition, ...] = ()
    cancellation: Cancellation | None = None

    def over(self, earlier: Report) -> Report:
        """This report, and of an earlier one what this does not speak of."""
        types = {one.type for one in self.conditions}
        return Report(
            earlier.message if self.message is None else self.message,
            self.expected_finish or earlier.expected_finish,
            (*(one for one in earlier.conditions if one.type not in types), *self.conditions),
            self.cancellation or earlier.cancellation,
        )
