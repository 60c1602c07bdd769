"""Objects with a label, followed while one of them is awaited."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.cache.informer import Informer
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import VacateError

T = TypeVar("T")


class ObjectWatch:
    """A live copy of the objects with a label; what is there when it is entered is seen at the first look."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        namespace: str,
        label_selector: str,
        *,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        self._informer: Informer[Obj] = Informer(
            client,
            kind,
            dict,
            clock=clock,
            entropy=entropy,
            namespace=namespace,
            label_selector=label_selector,
        )
        self._namespace = namespace
        self._changed = asyncio.Event()
        self._informer.subscribe(lambda *_: self._changed.set())
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ObjectWatch:
        self._task = asyncio.create_task(self._informer.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    @property
    def trouble(self) -> VacateError | None:
        """Why changes cannot be seen at present, if so."""
        return self._informer.trouble

    def get(self, name: str) -> Obj | None:
        """An object as it is now."""
        return self._informer.reader.get(self._namespace, name)

    def list(self) -> Sequence[Obj]:
        """All of them."""
        return self._informer.reader.list()

    def on_change(self, handler: Callable[[Sequence[Obj]], None]) -> None:
        """Call the handler with all of them after each change."""
        self._informer.subscribe(lambda *_: handler(self.list()))

    async def until(self, found: Callable[[], T | None]) -> T:
        """What is found: looked for at first, and after each change."""
        await self._informer.wait_synced()
        while (result := found()) is None:
            self._changed.clear()
            await self._changed.wait()
        return result
