"""The application under load: an HTTP server that takes a while to start and ends in order.

It runs in a pod, with the standard library alone. POD_NAME is what it answers, PORT where it listens,
START_SECONDS how long it prepares before that, as applications do that load data or compile. On SIGTERM it
accepts no further connections, answers what is under way, and closes each connection with its next answer.
"""

from __future__ import annotations

import asyncio
import os
import signal

END_SECONDS = 20.0
"""How long open connections may take to send their next request after SIGTERM."""


class Application:
    """All connections of the server."""

    def __init__(self, name: str) -> None:
        self._name = name.encode()
        self._ending = asyncio.Event()
        self._open: set[asyncio.Task[None]] = set()

    async def run(self, port: int) -> None:
        """Serve until SIGTERM."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._ending.set)
        listener = await asyncio.start_server(self._connected, "0.0.0.0", port, backlog=512)
        await self._ending.wait()
        listener.close()
        if self._open:
            await asyncio.wait(self._open, timeout=END_SECONDS)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._answer(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            lasts = True
            while lasts:
                head = await reader.readuntil(b"\r\n\r\n")
                lasts = not self._ending.is_set() and b"connection: close" not in head.lower()
                connection = b"keep-alive" if lasts else b"close"
                size = str(len(self._name)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                    b"Content-Length: %s\r\nConnection: %s\r\n\r\n%s" % (size, connection, self._name)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client is gone
        finally:
            writer.close()


async def main() -> None:
    # Nothing listens yet, so the readiness probe fails.
    await asyncio.sleep(float(os.environ["START_SECONDS"]))
    await Application(os.environ["POD_NAME"]).run(int(os.environ["PORT"]))


if __name__ == "__main__":
    asyncio.run(main())
