"""What goes wrong between an interceptor or requester and the contract.

VacateError
├── TurnLost               the interceptor's turn is over; `reason` says why
├── ContractError          the contract forbids what was asked for; nothing was written
├── EvictionRefused        the pod could not be evicted within the time that the handler gave it
├── CancellationForbidden  an interceptor does not allow that requesters change their minds
└── HeldByFinalizers       an old request blocks a new one, and its finalizers hold it
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.errors import VacateError
from vacate.sdk.values import TurnEndReason


class TurnLost(VacateError):
    """The interceptor's turn is over. A handler need not catch it: it ends the handler without a error."""

    def __init__(self, reason: TurnEndReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class ContractError(VacateError):
    """The contract between requesters and interceptors forbids this. Nothing was written."""


class EvictionRefused(VacateError):
    """The eviction was refused until the handler's patience was over; the message has the last refusal."""


class CancellationForbidden(VacateError):
    """An interceptor has set Forbid: the requesters stay as they are until the pod has left."""


class HeldByFinalizers(VacateError):
    """A request that is over still exists, so that no new one can be made."""

    def __init__(self, message: str, finalizers: Sequence[str]) -> None:
        super().__init__(message)
        self.finalizers = tuple(finalizers)
