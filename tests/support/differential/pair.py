"""Two servers that are asked the same: the embedded one and a real one."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from support.arms.arm import MERGE_PATCH, Answer, Arm, Obj, Stream
from support.arms.kube import REAL
from support.arms.servers import open_arm
from support.differential.normalization import comparable, differences
from support.differential.request import Ask, Memory
from support.differential.sequences import LAST, Watch
from vacate.api.kinds import NAMESPACES, Kind
from vacate.entropy import system_entropy


class Server:
    """One of the two, in one namespace."""

    def __init__(self, arm: Arm, namespace: str) -> None:
        self._arm = arm
        self._memory = Memory(namespace)
        self._namespace = namespace

    async def enter(self) -> None:
        """Make the namespace."""
        await self._arm.given("POST", NAMESPACES.collection_path(), {"metadata": {"name": self._namespace}})

    async def leave(self) -> None:
        """Take away all that has no namespace; what has one is not in anyone's way."""
        await self._remove(NAMESPACES, self._namespace)
        for kind, name in self._memory.left:
            await self._remove(kind, name)

    async def _remove(self, kind: Kind, name: str) -> None:
        path = kind.object_path(name)
        await self._arm.call("PATCH", path, body={"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)
        await self._arm.drop(path)

    async def ask(self, ask: Ask) -> Answer:
        """The answer to one request."""
        memory, name = self._memory, self._memory.resolve(ask.name)
        path = self._collection(ask.kind) + "".join(f"/{part}" for part in (name, ask.sub) if part)
        answer = await self._arm.call(
            ask.method, path, body=memory.resolve(ask.body), query=memory.resolve(ask.query),
            content_type=ask.content_type, as_user=memory.user(ask.as_user),
        )  # fmt: skip
        if not answer.failed:
            memory.learn(ask, answer.obj)
        return answer

    async def version(self, kind: Kind) -> str:
        """The revision of a collection."""
        listed = await self._arm.call("GET", self._collection(kind), query={"limit": "1"})
        return str(listed.ok()["metadata"]["resourceVersion"])

    async def watch(self, watch: Watch, version: str) -> Stream:
        """A watch of all that has come after that revision."""
        query = {**self._memory.resolve(watch.query), "resourceVersion": version}
        return await self._arm.open_watch(self._collection(watch.kind), query)

    def _collection(self, kind: Kind) -> str:
        return kind.collection_path(self._namespace if kind.namespaced else None)


class Pair:
    """Both servers, and how many requests they have answered and events they have sent alike."""

    def __init__(self, runner: asyncio.Runner, embedded: Arm, real: Arm) -> None:
        self.compared = 0
        self.events = 0
        self._runner = runner
        self._arms = (embedded, real)
        self._names = (f"d-{system_entropy().uid()[:8]}-{n}" for n in itertools.count())

    def check(self, asks: list[Ask], watch: Watch) -> None:
        """Ask both the same in new namespaces; AssertionError at the first difference."""
        self._runner.run(self._check(asks, watch, next(self._names)))

    async def _check(self, asks: list[Ask], watch: Watch, namespace: str) -> None:
        servers = [Server(arm, namespace) for arm in self._arms]
        for server in servers:
            await server.enter()
        try:
            await self._compare(asks, watch, servers)
        finally:
            for server in servers:
                await server.leave()

    async def _compare(self, asks: list[Ask], watch: Watch, servers: list[Server]) -> None:
        versions = [await server.version(watch.kind) for server in servers]
        both = list(zip(servers, versions, strict=True))
        async with AsyncExitStack() as stack:
            streams = [await server.watch(watch, version) for server, version in both] if watch.live else []
            for ask in [*asks, watch.last]:
                answers = [await server.ask(ask) for server in servers]
                ours, theirs = map(comparable, answers)
                self._alike(ours, theirs, asks, f"{ask!r}")
            if answers[0].failed:  # nothing tells the end of the watch
                return
            streams = streams or [await server.watch(watch, version) for server, version in both]
            for stream in streams:
                stack.push_async_callback(stream.aclose)
            ours, theirs = [await _events(stream) for stream in streams]
            self.events += len(ours["events"])
            self._alike(ours, theirs, asks, f"{watch!r}")

    def _alike(self, ours: Obj, theirs: Obj, asks: list[Ask], what: str) -> None:
        found = differences(ours, theirs)
        assert not found, "\n".join([*map(repr, asks), f"differ at {what}:", *found])
        self.compared += 1


async def _events(stream: Stream) -> Obj:
    """All events up to the last."""
    events: list[Obj] = []
    while (event := await stream.next()) is not None:
        body = comparable(Answer(failed=False, obj=event.obj))["body"]
        events.append({"type": event.type, "object": body})
        if event.name.endswith(LAST):
            break
    return {"events": events}


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
