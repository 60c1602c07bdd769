"""What an interceptor of workloads decides at one look: wait, done, or declined. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.sdk.values import Declined, Finished


@dataclass(frozen=True, slots=True)
class Wait:
    """Not yet, and why."""

    message: str


Decision = Wait | Finished | Declined
