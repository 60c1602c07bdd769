"""A service that is a hook, over real HTTP, and the process `vacate hooks` beside a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from support.evictions.namespace import EvictionNamespace
from support.processes.program import Program
from support.realcluster.evictions import HOME, RealCluster
from vacate.api.installednames import HOOKS


class HookService:
    """Answers 202 until the test declares the work done."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.status = 202
        self.url = ""

    def actions(self) -> set[str]:
        return {str(one["action"]) for one in self.calls}

    def keys(self) -> set[str]:
        return {str(one["idempotencyKey"]) for one in self.calls}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.calls.append(await request.json())
        assert request.headers["Idempotency-Key"] == self.calls[-1]["idempotencyKey"]
        body = {"message": "flushing", "percent": 40, "retryAfterSeconds": 1}
        return web.json_response(body, status=self.status)


@contextlib.asynccontextmanager
async def hook_service() -> AsyncIterator[HookService]:
    """On a free port of this machine."""
    made = HookService()
    app = web.Application()
    app.router.add_post("/{tail:.*}", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        yield made
    finally:
        await runner.cleanup()


@contextlib.contextmanager
def hooks_process(place: EvictionNamespace, folder: Path, allowed: Mapping[str, Any]) -> Iterator[Program]:
    """`vacate hooks`; on a real cluster with the token of the account that an installation gives it."""
    config = folder / "hooks.yaml"
    config.write_text(yaml.safe_dump(dict(allowed)))
    kubeconfig = place.cluster.kubeconfig
    if isinstance(place.cluster, RealCluster):
        place.cluster.install("--hooks", str(config))
        kubeconfig = place.cluster.account(HOME, HOOKS)
    options = ("--kubeconfig", str(kubeconfig), "--lease-namespace", HOME, "--metrics-port", "0", "-v")
    gates = ("--feature-gates", "EvacuationAPI=true")
    election = () if isinstance(place.cluster, RealCluster) else ("--no-leader-elect",)
    program = Program(folder / "hooks.log", "hooks", "--config", str(config), *options, *gates, *election)
    program.start()
    try:
        program.wait_for("health and metrics on")
        yield program
    finally:
        program.kill()
