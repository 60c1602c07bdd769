"""The lock in the hands of the runtime's supervisor, which outlives the agent."""

from __future__ import annotations

from vacate.nodeagent.runtime.protocol import DescriptorStore, Held

_NAME = "shutdown-inhibitor"


class SupervisedLock:
    """The holder for an agent with a supervisor."""

    def __init__(self, store: DescriptorStore) -> None:
        self._store = store

    async def hold(self, fd: int, orphan_seconds: float) -> None:
        """Hand the lock over."""
        await self._store.hold(_NAME, fd, orphan_seconds)

    async def holds(self, *, listening: bool = False) -> Held | None:
        """The lock, if one is held."""
        return await self._store.holds(_NAME, listening=listening)

    async def release(self) -> None:
        """Let the machine go down."""
        await self._store.release(_NAME)
