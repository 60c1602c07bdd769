"""What goes wrong between an interceptor or requester and the contract.

VacateError
├── TurnLost               the interceptor's turn is over; `reason` says why
├── PreparationFailed      raised by handlers: the preparation has failed, and another attempt would too
├── ContractError          the contract forbids what was asked for; nothing was written
├── EvictionRefused        the pod could not be evicted within the time that the handler gave it
├── CancellationForbidden  an interceptor does not allow that requesters change their minds
└── HeldByFinalizers       an old request blocks a new one, and its finalizers hold it
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.errors import VacateError
from vacate.sdk.values import OnFailure, TurnEndReason


class TurnLost(VacateError):
    """The interceptor's turn is over. A handler need not catch it: it ends the handler without a error."""

    def __init__(self, reason: TurnEndReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class PreparationFailed(VacateError):
    """Raised by a handler whose preparation has failed for good: it is not called again in this turn.

    `on_failure` is what becomes of the turn, where that depends on the pod; the interceptor's own without it.
    """

    def __init__(self, message: str, *, on_failure: OnFailure | None = None) -> None:
        super().__init__(message)
        self.on_failure = on_failure


class ContractError(VacateError):
    """The contract between requesters and interceptors forbids this. Nothing was written."""


class EvictionRefused(VacateError):
    """The eviction was refused until `give_up_after` had passed; the message has the last refusal."""


class CancellationForbidden(VacateError):
    """An interceptor has set Forbid: the requesters stay as they are until the pod has left."""


class HeldByFinalizers(VacateError):
    """A request that is over still exists, so that no new one can be made."""

    def __init__(self, message: str, finalizers: Sequence[str]) -> None:
        super().__init__(message)
        self.finalizers = tuple(finalizers)
