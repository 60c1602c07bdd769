"""How much is tried: a part in `make test`, everything where VACATE_THOROUGH is set, as in `.ci/run`."""

from __future__ import annotations

import os

VARIABLE = "VACATE_THOROUGH"
THOROUGH = bool(os.environ.get(VARIABLE))
SEEDS = 200 if THOROUGH else 40
"""Simulated eviction scenarios."""
CRASH_STEP = 1 if THOROUGH else 3
"""Of the requests at which a process may crash, every so many-th is tried."""
_SHARE = 4


def examples(full: int) -> int:
    """How many of so many random examples a property is tried with."""
    return full if THOROUGH else max(full // _SHARE, 10)


def left_out() -> str:
    """What this run leaves out for the sake of time, or nothing."""
    if THOROUGH:
        return ""
    return (
        "left out to save time: three of four random examples of each property, 160 of 200 simulated "
        f"scenarios, and two of three moments of a crash; {VARIABLE}=1 adds them, as .ci/run does"
    )
