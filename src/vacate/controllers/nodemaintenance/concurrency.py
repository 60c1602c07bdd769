"""Requests to the API server side by side, a few at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Hashable, Iterator, MutableMapping, Sequence
from typing import TypeVar

from vacate.errors import ApiError, NotFound

SIDE_BY_SIDE = 8
"""Requests and withdrawals under way: more of them open more connections and end no sooner."""

T = TypeVar("T")
R = TypeVar("R")
K = TypeVar("K", bound=Hashable)


async def for_each(items: Sequence[T], do: Callable[[T], Awaitable[R]]) -> list[R]:
    """Some side by side. Where some fail the others are finished first; the first failure is raised."""
    if not items:
        return []
    slots = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(item: T) -> R:
        async with slots:
            return await do(item)

    ends = await asyncio.gather(*(one(item) for item in items), return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ends if not isinstance(end, BaseException)]


@contextlib.contextmanager
def remembered(refused: MutableMapping[K, str], key: K) -> Iterator[None]:
    """A refusal of one harms only that one: the server's message is kept under its key, to be reported.

    What does not exist any more needs nothing. Answers that say nothing about the request are raised.
    """
    try:
        yield
    except NotFound:
        return
    except ApiError as error:
        if not error.is_refusal:
            raise
        refused[key] = str(error)
