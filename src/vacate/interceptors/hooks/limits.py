"""How many calls run at one time: in all, for a target, and for a target by the pods of one namespace."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from vacate.interceptors.hooks.targets import Target

TOTAL = 64


class CallLimits:
    """Slots for calls. Pods of one namespace have at most half of those of a target: others get on."""

    def __init__(self, total: int = TOTAL) -> None:
        self._total = asyncio.Semaphore(total)
        self._targets: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._users: dict[tuple[str, str, int], _Slots] = {}

    @contextlib.asynccontextmanager
    async def slot(self, target: Target, namespace: str) -> AsyncIterator[None]:
        """Wait for a slot of each kind; always in this order, so that none is held in vain for long."""
        async with (
            self._of_namespace(target, namespace) as slots,
            slots,
            self._of_target(target),
            self._total,
        ):
            yield

    def _of_target(self, target: Target) -> asyncio.Semaphore:
        key = target.name, target.max_calls
        return self._targets.setdefault(key, asyncio.Semaphore(target.max_calls))

    @contextlib.asynccontextmanager
    async def _of_namespace(self, target: Target, namespace: str) -> AsyncIterator[asyncio.Semaphore]:
        """Kept as long as anyone uses it: namespaces come and go."""
        key = target.name, namespace, target.max_calls
        found = self._users.setdefault(key, _Slots(max(1, target.max_calls // 2)))
        found.users += 1
        try:
            yield found.slots
        finally:
            found.users -= 1
            if not found.users:
                self._users.pop(key, None)


class _Slots:
    def __init__(self, number: int) -> None:
        self.slots = asyncio.Semaphore(number)
        self.users = 0
