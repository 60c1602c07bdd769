"""How much is tried: a part in `make test`, everything where VACATE_THOROUGH is set, as in `.ci/run`."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

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


def without_thorough(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests of this run: those that take long are for thorough runs, and for who names their file."""
    if THOROUGH:
        return list(items)
    return [item for item in items if item.get_closest_marker("thorough") is None or _is_named(item)]


def _is_named(item: pytest.Item) -> bool:
    """Whether the command line names the file of the test, and not just a folder above it."""
    return any(item.nodeid.startswith(argument.split("::")[0]) for argument in _files(item.config))


def _files(config: pytest.Config) -> list[str]:
    return [argument for argument in config.args if ".py" in argument]


def left_out() -> str:
    """What this run leaves out for the sake of time, or nothing."""
    if THOROUGH:
        return ""
    return (
        "left out to save time: three of four random examples of each property, 160 of 200 simulated "
        "scenarios, two of three moments of a crash, and the tests with the marker thorough; "
        f"{VARIABLE}=1 adds them, as .ci/run does"
    )
