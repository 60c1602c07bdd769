"""Two servers that are asked the same: the embedded one and a real one."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from support.arms import Answer, Arm
from support.arms_kube import REAL
from support.arms_kube_normal import comparable, differences
from support.arms_kube_requests import Ask, Memory
from support.arms_servers import open_arm
from vacate.entropy import system_entropy

NAMESPACES = "/api/v1/namespaces"


class Pair:
    """Both servers, and how many requests they have answered alike."""

    def __init__(self, runner: asyncio.Runner, embedded: Arm, real: Arm) -> None:
        self.compared = 0
        self._runner = runner
        self._arms = (embedded, real)
        self._names = (f"d-{system_entropy().uid()[:8]}-{n}" for n in itertools.count())

    def check(self, asks: list[Ask]) -> None:
        """Ask both the same in new namespaces; AssertionError at the first difference."""
        self._runner.run(self._check(asks, next(self._names)))

    async def _check(self, asks: list[Ask], namespace: str) -> None:
        for arm in self._arms:
            await arm.given("POST", NAMESPACES, {"metadata": {"name": namespace}})
        try:
            await self._compare(asks, namespace)
        finally:
            for arm in self._arms:
                await arm.drop(f"{NAMESPACES}/{namespace}")

    async def _compare(self, asks: list[Ask], namespace: str) -> None:
        memories = (Memory(), Memory())
        for ask in asks:
            both = zip(self._arms, memories, strict=True)
            ours, theirs = [await _answer(arm, memory, ask, namespace) for arm, memory in both]
            found = differences(comparable(ours), comparable(theirs))
            assert not found, "\n".join([*map(repr, asks), f"differ at {ask!r}:", *found])
            self.compared += 1


async def _answer(arm: Arm, memory: Memory, ask: Ask, namespace: str) -> Answer:
    kind = ask.kind
    path = kind.object_path(ask.name, namespace, ask.sub) if ask.name else kind.collection_path(namespace)
    body = memory.resolve(ask.body)
    answer = await arm.call(ask.method, path, body=body, query=ask.query, content_type=ask.content_type)
    if not answer.failed:
        memory.learn(ask, answer.obj)
    return answer


@contextmanager
def open_pair(folder: Path) -> Iterator[Pair]:
    """Both servers, for as long as the block lasts."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            embedded = runner.run(stack.enter_async_context(open_arm("memory", folder)))
            real = runner.run(stack.enter_async_context(open_arm(REAL, folder)))
            yield Pair(runner, embedded, real)
            runner.run(real.aclose())
        finally:
            runner.run(stack.aclose())
