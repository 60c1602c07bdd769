"""Follows one object until it shows what is waited for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypeVar

from vacate.api.kinds import Kind
from vacate.cache.informer import Informer
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import UnreadableObject, VacateError

T = TypeVar("T")


class WatchedObject(Generic[T]):
    """One object as a watch shows it."""

    def __init__(self, informer: Informer[T], namespace: str, name: str) -> None:
        self._informer = informer
        self._where = (namespace, name)
        self._changed = asyncio.Event()
        self.changes = 0  # how many were seen so far
        self.last: T | None = None  # the newest state that there was, also of an object that is gone
        informer.subscribe(self._count)

    @property
    def current(self) -> T | None:
        """The object, as of the newest change that could be decoded; None where there is none.

        UnreadableObject where there is one of which no state could be decoded: it is not gone.
        """
        reader = self._informer.reader
        found, unreadable = reader.get(*self._where), reader.unreadable(*self._where)
        if found is None and unreadable is not None:
            raise UnreadableObject(unreadable.reason)
        return found

    @property
    def trouble(self) -> VacateError | None:
        """Why no changes arrive; None while they do."""
        return self._informer.trouble

    async def change(self, since: int) -> None:
        """Return when there were more changes than so many."""
        while self.changes <= since:
            self._changed.clear()
            await self._changed.wait()

    def _count(self, old: T | None, new: T | None) -> None:
        self.changes += 1
        self.last = old if new is None else new
        self._changed.set()


@contextlib.asynccontextmanager
async def watched(
    client: Client,
    kind: Kind,
    into: type[T],
    namespace: str,
    name: str,
    clock: Clock,
    entropy: Entropy,
    *,
    read: Callable[[Any], T] | None = None,
) -> AsyncIterator[WatchedObject[T]]:
    """A watch over one object for the length of the block, synced when the block begins."""
    informer: Informer[T] = Informer(
        client,
        kind,
        into,
        clock=clock,
        entropy=entropy,
        namespace=namespace,
        field_selector=f"metadata.name={name}",
        project=read,
    )
    one = WatchedObject(informer, namespace, name)
    task = asyncio.get_running_loop().create_task(informer.run(), name=f"watch of {kind.singular} {name}")
    try:
        await informer.wait_synced()
        yield one
    finally:
        task.cancel()
        await asyncio.wait([task])
