"""An API server, over real HTTP, whose every text tries to take over the terminal of its reader."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web
from multidict import CIMultiDict, MultiDict

from support.tiny_server import TinyServer
from vacate.api.kinds import EVENTS, EVICTIONREQUESTS, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.wire.message import Request

ATTACK = "\x1b]0;owned\x07\x1b[66;6H\x9b66;6H\x85\r\nFORGED \u202e\u2028\u200b\x08\x7f;$(id)`id`|sh'\""
"""Title, cursor, C1, breaks, a forged line, reversed writing, and what a shell would run."""

# What a client must be able to read for there to be anything to show.
_KEPT = frozenset(
    [
        "apiVersion",
        "kind",
        "uid",
        "resourceVersion",
        "type",
        "status",
        "phase",
        "controller",
        "creationTimestamp",
        "deletionTimestamp",
        "lastTransitionTime",
        "heartbeatTime",
        "expectedInterceptorFinishTime",
        "lastTimestamp",
        "startTime",
        "minAvailable",
    ]
)


def poisoned(value: Any, key: str = "", keep: frozenset[str] = _KEPT) -> Any:
    """The value with the attack in every text that is free."""
    if isinstance(value, dict):
        found = {name: poisoned(one, name, keep) for name, one in value.items()}
        if key in ("labels", "annotations"):
            return {**found, "attack": ATTACK}
        return found
    if isinstance(value, list):
        return [poisoned(one, key, keep) for one in value]
    return f"{value}{ATTACK}" if isinstance(value, str) and key not in keep else value


class HostileApi:
    """Serves one pod, its request, its budgets and its events."""

    def __init__(self) -> None:
        self.tiny = TinyServer()
        self.refusing = False  # whether every answer is an error with the attack in it
        self.port = 0

    def serve(self, pod: Obj | None, request: Obj | None, budgets: list[Obj], *, names: bool) -> None:
        """Serve these from now on; `names` poisons the names too, under which clients look things up."""
        keep = _KEPT if names else _KEPT | {"name", "namespace"}
        self.tiny = TinyServer()
        if pod is not None:
            self._put(PODS, pod, keep)
        if request is not None:
            self._put(EVICTIONREQUESTS, request, keep)
        for budget in budgets:
            self._put(PODDISRUPTIONBUDGETS, budget, keep)
        event = {
            "metadata": {"name": "e"},
            "message": "refused",
            "reason": "EvictionRefused",
            "source": {"component": "c"},
        }
        self._put(EVENTS, event, keep)

    def _put(self, kind: Any, obj: Obj, keep: frozenset[str]) -> None:
        made = poisoned(obj, "", keep)
        meta = made["metadata"]
        namespace = meta.get("namespace", "default")
        self.tiny.put(
            kind,
            meta["name"],
            namespace,
            **{k: v for k, v in made.items() if k not in ("apiVersion", "kind")},
        )
        self.tiny.objects[(kind.resource, namespace, meta["name"])]["metadata"]["uid"] = meta.get("uid", "u")

    async def handle(self, asked: web.Request) -> web.StreamResponse:
        if self.refusing:
            status = {"kind": "Status", "message": f"no{ATTACK}", "reason": f"r{ATTACK}", "code": 403}
            return web.json_response(status, status=403, reason=None)
        request = Request(
            asked.method, asked.path, MultiDict(asked.query), CIMultiDict(asked.headers), await asked.read()
        )
        try:
            answer = await self.tiny.handle(request)
        except StopIteration:
            return web.json_response({"kind": "Status", "message": f"what?{ATTACK}", "code": 404}, status=404)
        if isinstance(answer.body, bytes):
            return web.Response(body=answer.body, status=answer.status, content_type="application/json")
        stream = web.StreamResponse(headers={"Content-Type": "application/json"})
        await stream.prepare(asked)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            async for chunk in answer.body:
                await stream.write(chunk)
        return stream


@contextlib.contextmanager
def hostile_api() -> Iterator[HostileApi]:
    """The server in a thread of its own, for the length of the block."""
    api, ready, loop = HostileApi(), threading.Event(), asyncio.new_event_loop()

    async def start() -> web.AppRunner:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", api.handle)
        runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        api.port = runner.addresses[0][1]
        ready.set()
        return runner

    def run() -> None:
        runner = loop.run_until_complete(start())
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(60)
    try:
        yield api
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)


def kubeconfig(folder: Path, server: str, attack: str = "") -> Path:
    """A kubeconfig for that server; the attack is in every name of it."""
    document = {
        "clusters": [{"name": f"c{attack}", "cluster": {"server": server}}],
        "users": [{"name": f"u{attack}", "user": {"token": "secret"}}],
        "contexts": [{"name": f"x{attack}", "context": {"cluster": f"c{attack}", "user": f"u{attack}"}}],
        "current-context": f"x{attack}",
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(document))
    return path
