"""How a command ends: what went wrong is a line each, and the exit code tells what kind of end it was."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn, TypeVar

import click

from vacate.errors import VacateError

T = TypeVar("T")

FAILED, USAGE, CANCELLED, TIMED_OUT, INTERRUPTED = 1, 2, 3, 4, 130
_WEIGHT = (FAILED, TIMED_OUT, CANCELLED, 0)  # of several ends the first of these counts
_SIDE_BY_SIDE = 16


def end(codes: Sequence[int]) -> NoReturn:
    """Leave with the code that says most."""
    sys.exit(next((code for code in _WEIGHT if code in codes), 0))


def complain(pod: str, error: VacateError | str) -> int:
    """One line about one pod; the code of a failure."""
    click.echo(f"error: pod/{pod}: {error}", err=True)
    return FAILED


async def each(pods: Sequence[str], do: Callable[[str], Awaitable[T]]) -> list[tuple[str, T | VacateError]]:
    """Do the same for all pods, some side by side; refusals are results, in the order of the pods."""
    room = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def one(pod: str) -> tuple[str, T | VacateError]:
        async with room:
            try:
                return pod, await do(pod)
            except VacateError as error:
                if len(pods) == 1:
                    raise  # nothing else to be told: the line needs no name
                return pod, error

    return list(await asyncio.gather(*(one(pod) for pod in pods)))
