"""A small endpoint for those who watch over the program: /healthz, /readyz and /metrics."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

from prometheus_client import generate_latest

from vacate.errors import ConfigError
from vacate.metrics import Metrics


@contextlib.asynccontextmanager
async def health_endpoint(
    port: int,
    metrics: Metrics,
    not_ready: Callable[[], str],
    host: str = "0.0.0.0",  # noqa: S104  probes come from outside the pod
) -> AsyncIterator[None]:
    """Answer on that port for the length of the block."""
    from aiohttp import web  # noqa: PLC0415  only those who ask for it pay for a web server

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def readyz(_: web.Request) -> web.Response:
        missing = not_ready()
        return web.Response(text=missing, status=503) if missing else web.Response(text="ok")

    async def measured(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(metrics.registry), content_type="text/plain")

    app = web.Application()
    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", measured)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        await runner.cleanup()
        raise ConfigError(f"health_port: cannot listen on {port}: {error.strerror}") from None
    try:
        yield
    finally:
        await runner.cleanup()
