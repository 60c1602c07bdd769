"""How a command ends: one line for each error, and an exit code for the kind of result."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn, TypeVar

from vacate.cli.common import terminal
from vacate.cli.common.remedies import with_remedy
from vacate.errors import TransportError, VacateError

T = TypeVar("T")

FAILED, USAGE, CANCELLED, TIMED_OUT, UNPREPARED, INTERRUPTED = 1, 2, 3, 4, 5, 130
WOULD_BLOCK, LACKS_ROOM = UNPREPARED, 6
"""Exit codes of plans and dry runs: the drain would block, or leave pods without room."""
_WEIGHT = (FAILED, TIMED_OUT, CANCELLED, UNPREPARED, 0)  # of several ends the first of these counts
_SIDE_BY_SIDE = 16


def end(codes: Sequence[int]) -> NoReturn:
    """Exit with the most telling code."""
    sys.exit(next((code for code in _WEIGHT if code in codes), 0))


def interrupted() -> NoReturn:
    """A signal came before the answer."""
    terminal.echo("Interrupted.", err=True)
    sys.exit(INTERRUPTED)


def complain(name: str, error: VacateError | str, *, kind: str = "pod/") -> int:
    """One line about one pod, or whatever `kind` says; the code of a failure."""
    shown = with_remedy(error) if isinstance(error, VacateError) else error
    terminal.error(f"{kind}{name}: {shown}")
    return FAILED


async def each(pods: Sequence[str], do: Callable[[str], Awaitable[T]]) -> list[tuple[str, T | VacateError]]:
    """Do the same for all pods, some side by side; refusals are results, in the order of the pods.

    One that is the same for all of them is raised.
    """
    room = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def one(pod: str) -> tuple[str, T | VacateError]:
        async with room:
            try:
                return pod, await do(pod)
            except VacateError as error:
                return pod, error

    ends = list(await asyncio.gather(*(one(pod) for pod in pods)))
    failures = [end for _, end in ends if isinstance(end, VacateError)]
    unanswered = all(isinstance(failure, TransportError) for failure in failures)
    if failures and len(failures) == len(ends) and (unanswered or len({*map(str, failures)}) == 1):
        raise failures[0]  # the same for all: no rights, no server, no such API
    return ends
