"""The disk of a simulated machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class MachineDisk:
    """What is wrong with the disk; nothing at first."""

    full: bool = False
    seconds: float = 0.0  # that a write takes
