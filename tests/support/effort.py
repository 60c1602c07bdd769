"""How much is tried: a part in `make test`, everything where VACATE_THOROUGH is set, as in `.ci/run`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

import pytest

T = TypeVar("T")

VARIABLE = "VACATE_THOROUGH"
THOROUGH = bool(os.environ.get(VARIABLE))
_ALL_SEEDS, _FEW_SEEDS = 200, 6
SEEDS = _ALL_SEEDS if THOROUGH else _FEW_SEEDS
"""Simulated eviction scenarios."""
_EVERY = 24
CRASH_STEP = 1 if THOROUGH else _EVERY
"""Of the requests at which a process may crash, every so many-th is tried."""
_SHARE = 5
_CASES = 8
"""Of a test with more cases than these, so many are tried, from all over its table."""
_ABOUT_THE_REPOSITORY = ("tests/test_", "tests/hack/")


def examples(full: int) -> int:
    """How many of so many random examples a property is tried with."""
    return full if THOROUGH else max(full // _SHARE, 10)


def seeds(variable: str, full: int) -> int:
    """How many seeds a simulation is run with: as many as the variable says, or a share of all."""
    chosen = os.environ.get(variable)
    return int(chosen) if chosen else full if THOROUGH else max(full // _SHARE, 1)


def step(variable: str, full: int) -> int:
    """Every how many-th request is tried: as the variable says, or coarser than in a thorough run."""
    chosen = os.environ.get(variable)
    return int(chosen) if chosen else full if THOROUGH else full * _SHARE


def crash_points(count: int, *, first: int = 1, every: int = 1) -> range:
    """The requests at which a process dies, from the first on, in one part of so many.

    In a thorough run every other one. It dies at each before the server has carried it out, and in another
    run when it has, so each state of the server is one that it dies in: what it is before a request is what
    it was after the one before.
    """
    if THOROUGH:
        return range(2 * first - 1, count + 1, 2 * every)
    return range(first, count + 1, every * CRASH_STEP)


def another_part(values: Sequence[T], number: int) -> Sequence[T]:
    """Of values that are tried with each of many things: all, or for each thing in turn another part."""
    return values if THOROUGH else values[number % _SHARE :: _SHARE]


def without_thorough(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests of this run: slow ones are for thorough runs, or where the command line names their file.

    Of a test with `thorough(beyond=n)` the first n cases always run, of a file with it the first n tests: the
    others try the same again. Of a long table without the marker some rows run. What is checked of the
    repository itself is checked of all of it.
    """
    named = _named_files(items[0].config) if items else ()
    if THOROUGH:
        return [item for item in items if _is_drawn(item) or item.nodeid.startswith(named)]
    rows = Counter(_test(item) for item in items)
    cases: Counter[str] = Counter()
    return [item for item in items if _is_for_every_run(item, rows, cases) or item.nodeid.startswith(named)]


def _is_drawn(item: pytest.Item) -> bool:
    """Of a test with `thorough(each=n)` a thorough run of everything takes one case in n.

    By a hash of its name: by its number each n-th would leave out whole rows of a table.
    """
    found = [int(one.kwargs["each"]) for one in item.iter_markers("thorough") if "each" in one.kwargs]
    return not found or crc32(item.name.encode()) % found[0] == 0


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _is_for_every_run(item: pytest.Item, rows: Counter[str], cases: Counter[str]) -> bool:
    marked = list(item.iter_markers_with_node("thorough"))
    if not marked:
        test = _test(item)
        cases[test] += 1
        is_drawn = cases[test] * _CASES // rows[test] > (cases[test] - 1) * _CASES // rows[test]
        return is_drawn or rows[test] <= _CASES or item.nodeid.startswith(_ABOUT_THE_REPOSITORY)
    # The one of a single case comes after that of its test, which says how many of the others run.
    if any("beyond" not in marker.kwargs for _, marker in marked):
        return False
    node, marker = marked[0]
    place = node.nodeid.partition("[")[0]
    cases[place] += 1
    return cases[place] <= int(marker.kwargs["beyond"])


def _named_files(config: pytest.Config) -> tuple[str, ...]:
    """Those that the command line names, and not just a folder above them."""
    return tuple(argument.split("::")[0] for argument in config.args if ".py" in argument)


def left_out(tests: int) -> str:
    """What this run leaves out for the sake of time, so many tests among it; or nothing."""
    if THOROUGH:
        return ""
    return (
        f"left out to save time: {_SHARE - 1} of {_SHARE} random examples, odd values and seeds of each "
        f"property and simulation, {_ALL_SEEDS - _FEW_SEEDS} of {_ALL_SEEDS} eviction scenarios, "
        f"{_EVERY - 1} of {_EVERY} moments of a crash, and {tests} tests that take long or repeat others "
        f"(marker thorough, or more than {_CASES} cases of one test); {VARIABLE}=1 adds them, as .ci/run does"
    )
