"""Deals out the files of a run so that no core waits: tests that start processes mostly wait for them.

pytest-xdist gives each worker (`--dist worksteal`) one part of all tests in a row, and a worker that has none
left takes from the end of another part. In the order of their folders nearly all tests that wait are in one
part, and are what remains at the end. So all parts but two begin with a share of them, and two have none: a
core each is busy from the first test to the last. Before all that each part has a share of those that compute
for minutes: as the last ones they would leave the other core idle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeVar

T = TypeVar("T")
_NEVER_WAIT = 2


def dealt(
    tests: Sequence[T],
    workers: int,
    place: Callable[[T], str],
    waits: Callable[[T], bool],
    takes_minutes: Callable[[T], bool] = lambda _: False,
) -> list[T]:
    """The same tests in another order, for so many workers. Those of one place that wait stay together."""
    waiting_workers = workers - _NEVER_WAIT
    if waiting_workers < 1:
        return list(tests)
    first = [test for test in tests if takes_minutes(test) and not waits(test)]
    begins_early = set(map(id, first))
    rest = (test for test in tests if id(test) not in begins_early)
    files = [list(file) for _, file in groupby(rest, place)]
    waiting = [file for file in files if any(map(waits, file))]
    others = iter(_flat(file for file in files if not any(map(waits, file))))
    ordered: list[T] = []
    for number in range(workers):
        # As the library does it: those that are left, divided by the workers that have none yet.
        size = (len(tests) - len(ordered)) // (workers - number)
        part = first[number::workers]
        part += _flat(waiting[number::waiting_workers]) if number < waiting_workers else []
        ordered += part
        ordered += [test for _, test in zip(range(size - len(part)), others, strict=False)]
    return [*ordered, *others]


def _flat(files: Iterable[Sequence[T]]) -> list[T]:
    return [test for file in files for test in file]
