"""PURE. The arithmetic of a grace period, on a clock that nobody sets back."""

from __future__ import annotations

from dataclasses import dataclass

MIN_AFTER_SIGTERM = 2.0
"""Seconds between SIGTERM and SIGKILL, whatever a hook has used up before."""


@dataclass(slots=True)
class Grace:
    """How long a container has to end: it may be shortened, never lengthened."""

    began: float
    seconds: float
    deadline: float = 0.0

    def __post_init__(self) -> None:
        self.deadline = self.began + self.seconds

    def shorten(self, seconds: float, now: float) -> bool:
        """Take a shorter grace that counts from now; whether the deadline moved."""
        if seconds >= self.seconds:
            return False
        self.seconds = seconds
        earlier = min(self.deadline, now + seconds)
        moved, self.deadline = earlier < self.deadline, earlier
        return moved

    def hook_seconds(self, now: float) -> float:
        """How long a preStop hook may take."""
        return max(self.deadline - now, 0.0)

    def kill_at(self, asked: float) -> float:
        """When SIGKILL follows a SIGTERM that was sent at `asked`."""
        return max(self.deadline, asked + MIN_AFTER_SIGTERM)
