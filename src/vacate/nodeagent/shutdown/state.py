"""What a shutdown manager shows of itself, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ManagerState:
    """What others may know of a shutdown manager."""

    active: bool = False  # the node goes down: it is not ready and takes no pods
    finished: bool = False  # every bucket had its turn
    locked: bool = False  # a delay lock is held
    # Why the feature is unavailable or falls short; empty if neither.
    problem: str = "logind was not asked yet"
    refused: str = ""  # if not empty: nothing is done here, for this reason in one word
    connected: bool = True  # logind can be heard; a lock may be held all the same where it cannot
