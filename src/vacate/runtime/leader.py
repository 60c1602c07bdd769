"""Leader election by Lease: of several processes that hold copies of the controllers, one works.

Nobody trusts a remote clock. A candidate takes over when the lease's record has not changed for the lease's
duration as measured here; a leader that could not renew for the renew deadline, measured here too, stops at
once, which is earlier than anyone can take over.
"""

from __future__ import annotations

from dataclasses import dataclass

from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import VacateError
from vacate.metrics import Metrics


class LeadershipLost(VacateError):
    """The lease could not be renewed in time, or someone else has it."""


@dataclass(frozen=True, slots=True)
class LeaseTimings:
    """Seconds; each must be shorter than the one before it."""

    duration: float = 15.0  # others wait so long before they take over
    renew_deadline: float = 10.0  # the leader stops if it could not renew for so long
    retry: float = 2.0  # between attempts, for leader and candidates


class LeaderElector:
    """One candidate for one lease."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        entropy: Entropy,
        metrics: Metrics,
        *,
        name: str,
        namespace: str,
        identity: str,
        timings: LeaseTimings | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy

    @property
    def leading(self) -> bool:
        """Whether this process may write now: the lease is held and the renew deadline has not passed."""
        raise NotImplementedError

    async def acquire(self) -> None:
        """Return when this candidate leads."""
        raise NotImplementedError

    async def hold(self) -> None:
        """Renew until cancelled; raises LeadershipLost at the renew deadline at the latest."""
        raise NotImplementedError

    async def release(self) -> None:
        """Give the lease back if it is held, so that the next need not wait."""
        raise NotImplementedError
