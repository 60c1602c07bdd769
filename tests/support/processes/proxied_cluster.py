"""A way into a cluster without a network: the API server reaches Services through a proxy.

The API server is set to use the proxy for all that is inside the cluster. It asks for the address of a
Service, and is led to a port of this machine; certificates are checked for the name of the Service, as ever.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from hack.kubelab.control_plane import ControlPlane

_LARGEST_HEAD = 65536


class ReachingIn(ControlPlane):
    """A control plane whose API server goes through a proxy at that socket."""

    def __init__(self, programs: Path, folder: Path, way: Path) -> None:
        super().__init__(programs, folder, controllers=False)
        self._egress = folder / "egress.json"
        transport = {"uds": {"udsName": str(way)}}
        selection = {
            "name": "cluster",
            "connection": {"proxyProtocol": "HTTPConnect", "transport": transport},
        }
        identity = {"apiVersion": "apiserver.k8s.io/v1beta1", "kind": "EgressSelectorConfiguration"}
        folder.mkdir(parents=True, exist_ok=True)
        self._egress.write_text(json.dumps({**identity, "egressSelections": [selection]}))

    def _api_server(self) -> list[str]:
        return [*super()._api_server(), f"--egress-selector-config-file={self._egress}"]


@asynccontextmanager
async def leading_to(port: int, *, way: Path) -> AsyncIterator[None]:
    """A proxy at that socket. Whatever is asked for, it leads to that port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"CONNECT ")
            back, there = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, there))
                group.create_task(_pump(back, writer))
        writer.transport.abort()

    server = await asyncio.start_unix_server(serve, way, limit=_LARGEST_HEAD)
    try:
        yield
    finally:
        server.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    finally:
        sink.transport.abort()
