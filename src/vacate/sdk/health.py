"""The health endpoint of a program of interceptors: /healthz, /livez, /readyz and /metrics."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable

from vacate.metrics import Metrics


@contextlib.asynccontextmanager
async def health_endpoint(
    port: int,
    metrics: Metrics,
    not_ready: Callable[[], str],
    host: str = "0.0.0.0",  # noqa: S104  probes come from outside the pod
) -> AsyncIterator[None]:
    """Answer on that port for the length of the block."""
    # Only programs that ask for it load a web server.
    from vacate.httpserver.healthserver import HealthServer  # noqa: PLC0415

    server = HealthServer(metrics, not_ready, name="interceptors", option="health_port")
    await server.start(host, port)
    try:
        yield
    finally:
        await server.stop()
