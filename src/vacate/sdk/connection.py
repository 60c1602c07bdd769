"""A client from what a person or a pod has: a kubeconfig, or the service account."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from vacate.client.client import Client
from vacate.client.config import ClusterConfig
from vacate.client.http import HttpTransport
from vacate.client.incluster import load_config
from vacate.client.serverclock import DatedTransport, ServerClock
from vacate.client.transport import Transport
from vacate.clock import Clock, SystemClock

# aiohttp closes the idle connections of its pool and waits for that. A connection that was aborted in the
# middle of a request is no longer in the pool: it closes TLS on its own and signals nobody when it is done.
# A loop that is closed before leaves it open, with a warning. aiohttp's own advice is to sleep.
_TLS_CLOSE_SECONDS = 0.05


def find_cluster(kubeconfig: str | Path | None = None, context: str | None = None) -> ClusterConfig:
    """The named kubeconfig, else KUBECONFIG or ~/.kube/config where there is one, else the pod's own."""
    return load_config(str(kubeconfig or ""), context or "")


@contextlib.asynccontextmanager
async def connected(
    config: ClusterConfig,
    *,
    clock: Clock | None = None,
    user_agent: str = "vacate-sdk",
    server_clock: ServerClock | None = None,
) -> AsyncIterator[Client]:
    """A client that is closed at the end of the block; the server clock follows its answers."""
    clock = clock or SystemClock()
    transport: Transport = HttpTransport(config, clock)
    if server_clock is not None:
        transport = DatedTransport(transport, server_clock)
    client = Client(transport, user_agent=user_agent)
    try:
        yield client
    finally:
        await client.aclose()
        await clock.sleep(_TLS_CLOSE_SECONDS)
