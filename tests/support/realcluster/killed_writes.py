"""A manager that is killed with SIGKILL at each of its writes, by a proxy between it and the API server."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import yaml
from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

from support.realcluster.evictions import HOME, LEASE_PATH, RealCluster
from support.yaml_text import yaml_document
from vacate.api.installednames import MANAGER

_NOT_PASSED_ON = ("host", "connection", "transfer-encoding", "content-length")


class KilledWrites:
    """Kills the writer twice at each write to a path that has one of `parts` in it: before the API server
    gets it, and, when the next process makes it again, once it is done and before the answer."""

    def __init__(self, cluster: RealCluster, *parts: str) -> None:
        self._manager = cluster.managers[0]
        self._parts = parts
        self._is_second = False
        self.lost: list[str] = []
        self.done: list[str] = []

    @contextlib.contextmanager
    def between(self, kubeconfig: Path, changed: Path) -> Iterator[None]:
        """Listen, and write a copy of the kubeconfig that comes by here."""
        content = yaml_document(kubeconfig.read_text())
        server = content["clusters"][0]["cluster"]
        authority = base64.b64decode(server.pop("certificate-authority-data")).decode()
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        session, runner, port = asyncio.run_coroutine_threadsafe(
            self._listen(server["server"], ssl.create_default_context(cadata=authority)), loop
        ).result(30)
        try:
            server["server"] = f"http://127.0.0.1:{port}"
            changed.write_text(yaml.safe_dump(content))
            yield
        finally:
            for end in (session.close(), runner.cleanup()):
                asyncio.run_coroutine_threadsafe(end, loop).result(60)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(30)
            loop.close()

    async def _listen(self, server: str, tls: ssl.SSLContext) -> tuple[ClientSession, web.AppRunner, int]:
        connector = TCPConnector(ssl=tls, limit=0)
        session = ClientSession(
            server, connector=connector, timeout=ClientTimeout(None), auto_decompress=False
        )

        async def serve(request: web.Request) -> web.StreamResponse:
            return await self._serve(session, request)

        application = web.Application(client_max_size=1 << 24)
        application.router.add_route("*", "/{path:.*}", serve)
        runner = web.AppRunner(application, shutdown_timeout=1.0, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return session, runner, runner.addresses[0][1]

    async def _serve(self, session: ClientSession, request: web.Request) -> web.StreamResponse:
        is_write = request.method != "GET" and any(one in request.path for one in self._parts)
        named = f"{request.method} {request.path}"
        if is_write and not self._is_second:
            self._is_second = True
            self.lost.append(named)
            self._manager.kill()
            raise web.HTTPBadGateway
        headers = {key: one for key, one in request.headers.items() if key.lower() not in _NOT_PASSED_ON}
        body = await request.read()
        async with session.request(
            request.method, request.rel_url, headers=headers, data=body or None
        ) as answer:
            if is_write:
                self._is_second = False
                self.done.append(f"{named} {answer.status}")
                self._manager.kill()
            passed = {key: one for key, one in answer.headers.items() if key.lower() not in _NOT_PASSED_ON}
            response = web.StreamResponse(status=answer.status, headers=passed)
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response


@contextlib.contextmanager
def killed_at_every_write(cluster: RealCluster, *parts: str) -> Iterator[KilledWrites]:
    """In place of two managers one that is killed, and started again at once, until the block ends."""
    for one in cluster.managers:
        assert not one.running or one.stop() == 0, one.output
    killed = KilledWrites(cluster, *parts)
    manager, folder = cluster.managers[0], cluster.plane.layout.root
    changed, over = folder / "killed.kubeconfig", threading.Event()

    def revive() -> None:
        while not over.wait(0.1):
            if not manager.running:
                cluster.admin.call("DELETE", LEASE_PATH)  # nobody waits for one that is known to be dead
                manager.start("--kubeconfig", str(changed))

    with killed.between(cluster.account(HOME, MANAGER), changed):
        reviver = threading.Thread(target=revive)
        reviver.start()
        try:
            yield killed
        finally:
            over.set()
            reviver.join(60)
            manager.kill()
    cluster.start_managers()
    assert len(killed.done) >= len(killed.lost) - 1
