"""PURE. The termination of one container as a record, and what comes next for it.

The record is on disk before the first action and after each one, so that an agent that restarts goes on where
the one before it was. Times are those of a clock that nobody sets back and that lasts as long as the boot.
"""

from __future__ import annotations

import math

import msgspec

MIN_AFTER_SIGTERM = 2.0
"""Seconds between SIGTERM and SIGKILL, whatever a hook has used up before."""

ASKED, HOOK, TERM, KILL = "asked", "hook", "term", "kill"


class ContainerTermination(msgspec.Struct):
    """How long a container has to end, which may be shortened and never lengthened, and what was done."""

    began: float
    grace: float
    reason: str = ""  # for the hook; empty where none was given
    hook: bool = False  # whether one is to run
    within: bool = False  # SIGKILL comes at the deadline, also after a hook that takes long
    deadline: float = 0.0
    stage: str = ASKED
    since: float = 0.0  # when the stage began

    def __post_init__(self) -> None:
        self.deadline = self.deadline or self.began + self.grace
        self.since = self.since or self.began

    def shorten(self, seconds: float, now: float) -> bool:
        """Take a shorter grace that counts from now; whether the deadline moved."""
        if seconds >= self.grace:
            return False
        self.grace = seconds
        earlier = min(self.deadline, now + seconds)
        moved, self.deadline = earlier < self.deadline, earlier
        return moved

    @property
    def reserve(self) -> float:
        """What a container has at least between SIGTERM and SIGKILL."""
        return min(MIN_AFTER_SIGTERM, self.grace / 2) if self.within and self.grace else MIN_AFTER_SIGTERM

    @property
    def term_at(self) -> float:
        """When SIGTERM is sent at the latest: the deadline of the hook."""
        return self.deadline - self.reserve if self.within else self.deadline


def next_step(termination: ContainerTermination, now: float, *, hook_over: bool) -> tuple[str, float]:
    """The stage that comes next, and when; never, where only the end is left to wait for."""
    if termination.stage == ASKED:
        return (HOOK if termination.hook and termination.grace > 0 else TERM), now
    if termination.stage == HOOK:
        return TERM, now if hook_over else termination.term_at
    if termination.stage == TERM:
        return KILL, max(termination.deadline, termination.since + termination.reserve)
    return KILL, math.inf
