"""Runs controllers as a process that says how it is: `vacate manager` and `vacate hooks`."""

from __future__ import annotations

from collections.abc import Callable

from vacate.cli.common import terminal
from vacate.cli.common.run import run_until_signalled
from vacate.client.http import HttpTransport
from vacate.httpserver.healthserver import HealthServer
from vacate.metrics import Metrics
from vacate.wiring.manager import ManagerParts


def serve_controllers(
    command: str,
    transport: HttpTransport,
    metrics: Metrics,
    make: Callable[[], ManagerParts],
    listen_on: tuple[str, int],
) -> None:
    """Run what `make` makes, with health and metrics, until the process is ended."""

    host, port = listen_on

    async def serve() -> None:
        parts = make()  # here, where there is a loop
        health = HealthServer(metrics, parts.not_ready, command, remark=parts.remark)
        try:
            await health.start(host, port)
            terminal.echo(f"vacate {command}: health and metrics on http://{host}:{health.port}")
            await parts.run()
        finally:
            await health.stop()
            await transport.aclose()

    run_until_signalled(serve)
