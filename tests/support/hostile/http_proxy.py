"""A TCP proxy on the loopback that can fall silent, cut in the middle, or hang up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Proxy:
    """Passes bytes on. Its moods concern the connections that are open when they begin, and new ones."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._silenced: dict[asyncio.StreamWriter, None] = {}
        self._open: dict[asyncio.StreamWriter, None] = {}  # towards clients
        self.mute = False  # new connections are accepted and then hear nothing
        self.cut_after: int | None = None  # bytes that the next answer still gets before its connection ends
        self.accepted = 0
        self.port = 0

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    def fall_silent(self) -> None:
        """Let nothing through any more on what is open; neither side learns of it."""
        self._silenced.update(self._open)

    def reset(self) -> None:
        """End all that is open, without farewell."""
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.append(task)
        self._open[writer] = None
        if self.mute:
            self._silenced[writer] = None
        try:
            await self._pass(reader, writer)
        finally:
            del self._open[writer]
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            back, there = await asyncio.open_connection("127.0.0.1", self._target)
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pump(reader, there, writer, limited=False))
                    group.create_task(self._pump(back, writer, writer, limited=True))
            except* (OSError, EOFError):
                pass
            finally:
                there.transport.abort()

    async def _pump(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        client: asyncio.StreamWriter,
        *,
        limited: bool,
    ) -> None:
        while data := await source.read(65536):
            if client in self._silenced:
                continue
            if limited and self.cut_after is not None:
                data, self.cut_after = data[: self.cut_after], None
                sink.write(data)
                await sink.drain()
                break
            sink.write(data)
            await sink.drain()
        raise EOFError


@asynccontextmanager
async def proxying(port: int) -> AsyncIterator[Proxy]:
    """A proxy to the port for as long as the block runs."""
    proxy = Proxy(port)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
