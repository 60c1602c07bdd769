"""What an agent keeps of a pod on disk, so that one that restarts, or the next boot, ends what was begun.

It is written before the first container starts and before a termination does anything, and it is kept with
the pod's folder until the API server knows how the pod has ended. It needs no API server to be read. The node
agent and the shutdown agent have the same record, and ask a pod to end by the same decision.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from vacate.client.privatefile import write_private
from vacate.clock import Clock
from vacate.nodeagent.lifecycle.stages import ContainerTermination
from vacate.nodeagent.model import NodeReason
from vacate.nodeagent.view import AgentPod
from vacate.runtime.reconcile import Key
from vacate.runtime.tasks import TaskSet
from vacate.wire.json import decode_json

log = logging.getLogger(__name__)

FILE = "pod.json"
SOONER = 0.1
"""By how many seconds an order must be sooner than one before to be another, and not the same given again."""


class TerminationOrder(msgspec.Struct, frozen=True):
    """The node itself terminates the pod: it goes down, or is short of something."""

    start: float  # on the monotonic clock; before it interceptors prepare the pod
    deadline: float
    cause: NodeReason
    asked: float | None = None  # the deadline with which the pod was asked to end; None before that

    def overtaken_by(self, other: TerminationOrder) -> TerminationOrder:
        """The order after another one: the sooner of both times, for the first cause."""
        start, deadline = min(self.start, other.start), min(self.deadline, other.deadline)
        return msgspec.structs.replace(self, start=start, deadline=deadline)

    def next_ask(self, now: float) -> float:
        """When the pod is asked to end: at the start, at once where it has less time since, else never."""
        if self.asked is None:
            return self.start
        return now if self.deadline < self.asked - SOONER else math.inf


class PodRecord(msgspec.Struct):
    """One pod. Times are those of one boot: of an earlier one only what had begun counts."""

    boot: str = ""
    pod: AgentPod | None = None  # without its status; None where the API server was not heard yet
    namespace: str = ""
    name: str = ""
    address: str = ""
    environments: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)  # by container
    order: TerminationOrder | None = None
    terminations: dict[str, ContainerTermination] = msgspec.field(default_factory=dict)  # by run

    def adopt(self, boot: str) -> None:
        """Take it over from the agent before this one, in this boot of the machine.

        An order by which the pod was not asked to end yet is given again, if its cause still stands.
        """
        if self.order is not None and self.order.asked is None:
            self.order = None
        if self.boot != boot:
            self.order = TerminationOrder(0.0, 0.0, self.order.cause, 0.0) if self.order else None
            self.boot, self.terminations = boot, {}


@dataclass(slots=True)
class RecordedPod:
    """A pod by its uid, with its record and what is under way for it."""

    key: Key
    uid: str
    clock: Clock
    root: Path  # its folder
    record: PodRecord
    tasks: TaskSet = field(default_factory=TaskSet)
    moved: asyncio.Event = field(default_factory=asyncio.Event)  # the order has changed
    asking: asyncio.Task[None] | None = None

    def order(
        self, seconds: float, prepare: float, cause: NodeReason, ask: Callable[[], Awaitable[None]]
    ) -> None:
        """Have the pod end within so many seconds, and asked to after `prepare` of them.

        Where it is terminating already, a shorter time overtakes.
        """
        now, known = self.clock.monotonic(), self.record.order
        wanted = TerminationOrder(now + prepare, now + seconds, cause)
        self.record.order = wanted if known is None else known.overtaken_by(wanted)
        if self.record.order != known:
            self.save(sync=True)
        self.go_on(ask)

    def go_on(self, ask: Callable[[], Awaitable[None]]) -> None:
        """Act on the order, which an agent before this one may have been given."""
        self.moved.set()
        if self.asking is None or self.asking.done():
            self.asking = self.spawn(self._ask_in_time(ask), "end")

    async def _ask_in_time(self, ask: Callable[[], Awaitable[None]]) -> None:
        while (order := self.record.order) is not None:
            self.moved.clear()
            left = order.next_ask(self.clock.monotonic()) - self.clock.monotonic()
            if left <= 0:
                await ask()
            elif left == math.inf:
                return
            else:
                await self.wait(left)

    async def wait(self, seconds: float) -> None:
        """So long, or until the order has changed."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.moved.wait()

    def asked(self, deadline: float) -> None:
        """The pod is asked to end by then."""
        if (order := self.record.order) is not None:
            self.record.order = msgspec.structs.replace(order, asked=deadline)
            self.save(sync=True)

    def spare(self) -> bool:
        """Take the order back, unless the pod was asked to end already; whether it was."""
        order = self.record.order
        if order is None or order.asked is not None:
            return False
        self.record.order = None
        if self.asking is not None:
            self.asking.cancel()
        self.save(sync=True)
        return True

    @property
    def ending(self) -> bool:
        """Whether the node has asked the pod to end by now."""
        order = self.record.order
        return order is not None and (order.asked is not None or self.clock.monotonic() >= order.start)

    def save(self, *, sync: bool = False) -> None:
        """Replace the file whole; with `sync` it outlives a loss of power. What fails is logged."""
        self.record.namespace, self.record.name = self.key.namespace, self.key.name
        file = self.root / FILE
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o711)
            write_private(file, msgspec.json.encode(self.record), sync=sync)  # environments may hold secrets
        except OSError as error:
            log.warning("%s is not on disk, a restart would forget it: %s", file, error.strerror)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run work for this pod in the background."""
        return self.tasks.spawn(work, f"{name} {self.key}")

    async def abandon(self) -> None:
        """Cancel everything that is under way; processes run on."""
        await self.tasks.cancel()


def facts(pod: AgentPod) -> AgentPod:
    """PURE. The pod without what changes by itself: its status, and the version of the object."""
    meta = msgspec.structs.replace(pod.metadata, resource_version="", generation=0)
    return msgspec.structs.replace(pod, metadata=meta, status={})


def remove(folder: Path) -> None:
    """Forget a pod of which nothing else lies in the folder."""
    with contextlib.suppress(OSError):
        (folder / FILE).unlink()
        folder.rmdir()


def load_all(folder: Path) -> Iterator[tuple[str, PodRecord]]:
    """The records below the folder by uid; one that cannot be read is as none."""
    for path in sorted(folder.glob(f"*/{FILE}")):
        try:
            yield path.parent.name, decode_json(path.read_bytes(), PodRecord)
        except (OSError, ValueError) as error:
            log.warning("%s cannot be read; the pod waits for the API server: %s", path, error)
