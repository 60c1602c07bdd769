"""The HTTPS transport against a real server on the loopback."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from support.certificates import Authority, Pair
from vacate.api.kinds import CONFIGMAPS, PODS
from vacate.api.objects import Obj
from vacate.api.options import ListOptions, WatchOptions
from vacate.api.types import Pod
from vacate.client import requests
from vacate.client.client import Client
from vacate.client.config import ClusterConfig, ExecPlugin
from vacate.client.http import HttpTransport, Limits
from vacate.client.watch import Watch
from vacate.clock import SystemClock
from vacate.errors import ConfigError, NotFound, TransportError, Unauthorized
from vacate.wire.framing import frame
from vacate.wire.message import Request

pytestmark = pytest.mark.process

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@asynccontextmanager
async def serving(authority: Authority, folder: Path, handler: Handler) -> AsyncIterator[ClusterConfig]:
    """A TLS server on a free port that asks for client certificates and takes callers without one."""
    server = authority.issue("server")
    pem = folder / "server.pem"
    pem.write_bytes(server.certificate + server.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.pem.decode())
    context.load_cert_chain(pem)
    context.verify_mode = ssl.CERT_OPTIONAL
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield ClusterConfig(f"https://127.0.0.1:{port}", ca_data=authority.pem)
    finally:
        await runner.cleanup()


@asynccontextmanager
async def connected(config: ClusterConfig, limits: Limits | None = None) -> AsyncIterator[Client]:
    client = Client(HttpTransport(config, SystemClock(), limits))
    try:
        yield client
    finally:
        await client.aclose()
        await asyncio.sleep(0)


async def echo(request: web.Request) -> web.Response:
    """Say back what arrived."""
    assert request.transport is not None
    certificate = request.transport.get_extra_info("peercert") or {}
    subject = dict(part for group in certificate.get("subject", ()) for part in group)
    return web.json_response(
        {
            "method": request.method,
            "path": request.path,
            "query": [list(item) for item in request.query.items()],
            "headers": [[name, value] for name, value in request.headers.items()],
            "body": (await request.read()).decode(),
            "subject": subject.get("commonName", ""),
        }
    )


def identity(pair: Pair) -> dict[str, bytes]:
    return {"client_certificate": pair.certificate, "client_key": pair.key}


async def test_what_arrives(authority: Authority, tmp_path: Path) -> None:
    async with serving(authority, tmp_path, echo) as config:
        jane = replace(config, **identity(authority.issue("jane")), token="secret", impersonate="bob")  # type: ignore[arg-type]
        async with connected(replace(jane, impersonate_groups=("x", "y"))) as client:
            selector = "app in (a+b, c),tier!=x&y"
            page = requests.list_page(PODS, "shop", ListOptions(label_selector=selector, limit=5))
            found = await _sent(client, page)
            assert found["path"] == "/api/v1/namespaces/shop/pods"
            assert found["query"] == [["labelSelector", selector], ["limit", "5"]]
            assert found["subject"] == "jane"
            headers = [(str(name).lower(), value) for name, value in found["headers"]]
            assert ("authorization", "Bearer secret") in headers
            assert ("impersonate-user", "bob") in headers
            assert [value for name, value in headers if name == "impersonate-group"] == ["x", "y"]
            assert ("user-agent", "vacate") in headers
            patched = await _sent(client, requests.patch(CONFIGMAPS, "system:a b", {"data": None}, "shop"))
            assert patched["path"] == "/api/v1/namespaces/shop/configmaps/system:a b"
            assert (patched["method"], patched["body"]) == ("PATCH", '{"data":null}')


async def _sent(client: Client, request: Request) -> Any:
    return orjson.loads(await client.send(request))


async def read_to_the_end(watch: Watch[Obj]) -> None:
    while await watch.read() is not None:
        pass


async def test_trust(authority: Authority, tmp_path: Path) -> None:
    async with serving(authority, tmp_path, echo) as config:
        async with connected(replace(config, ca_data=Authority().pem)) as client:
            with pytest.raises(TransportError, match="no answer"):
                await client.get(PODS, "a", "b")
        async with connected(replace(config, ca_data=b"", insecure=True)) as client:
            await client.get(PODS, "a", "b")
        async with connected(replace(config, tls_server_name="another.name")) as client:
            with pytest.raises(TransportError):
                await client.get(PODS, "a", "b")
        for broken in (
            replace(config, ca_data=b"x"),
            replace(config, client_certificate=b"x", client_key=b"y"),
        ):
            async with connected(broken) as client:
                with pytest.raises(ConfigError, match="PEM"):
                    await client.get(PODS, "a", "b")


async def test_a_refused_token_is_read_again(authority: Authority, tmp_path: Path) -> None:
    async def guard(request: web.Request) -> web.Response:
        if request.headers["Authorization"] != "Bearer new":
            return web.json_response({"kind": "Status", "code": 401, "reason": "Unauthorized"}, status=401)
        return web.json_response({"metadata": {"name": "a"}})

    token = tmp_path / "token"
    token.write_text("old")
    async with (
        serving(authority, tmp_path, guard) as config,
        connected(replace(config, token_file=token)) as client,
    ):
        with pytest.raises(Unauthorized):
            await client.get(PODS, "a", "b")
        token.write_text("new")
        assert (await client.get(PODS, "a", "b", into=Pod)).metadata.name == "a"


async def test_a_plugin_that_fails_later_may_recover(authority: Authority, tmp_path: Path) -> None:
    script = tmp_path / "plugin"
    status = '{"status":{"token":"t","expirationTimestamp":"2020-01-01T00:00:00Z"}}'
    script.write_text(f"#!/bin/sh\necho '{status}'\n")
    script.chmod(0o755)
    async with serving(authority, tmp_path, echo) as config:
        plugged = replace(config, exec_plugin=ExecPlugin(str(script)))
        async with connected(plugged) as client:
            await client.get(PODS, "a", "b")
            script.unlink()
            with pytest.raises(TransportError, match="no credentials: exec plugin"):
                await client.get(PODS, "a", "b")
        async with connected(plugged) as client:
            with pytest.raises(ConfigError):
                await client.get(PODS, "a", "b")


async def test_refusals_and_no_answer(authority: Authority, tmp_path: Path) -> None:
    async def moody(request: web.Request) -> web.StreamResponse:
        name = request.path.rpartition("/")[2]
        if name == "slow":
            await asyncio.Event().wait()
        if name == "cut":
            assert request.transport is not None
            request.transport.abort()
        return web.Response(status=404, text="page not found")

    async with serving(authority, tmp_path, moody) as config:
        async with connected(config) as client:
            with pytest.raises(NotFound, match="page not found"):
                await client.get(PODS, "missing", "b")
            with pytest.raises(TransportError, match="no answer: the connection was lost before"):
                await client.get(PODS, "cut", "b")
        async with connected(config, Limits(answer_seconds=0.2)) as client:
            with pytest.raises(TransportError, match="took too long"):
                await client.get(PODS, "slow", "b")
    async with connected(config) as client:
        with pytest.raises(TransportError, match="no answer: Connection refused"):
            await client.get(PODS, "gone", "b")


LINE = frame("ADDED", b'{"metadata":{"name":"a","resourceVersion":"3"}}')


async def test_a_watch_arrives_in_pieces_ends_and_breaks(authority: Authority, tmp_path: Path) -> None:
    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(LINE[:20])
        await asyncio.sleep(0.01)
        await response.write(LINE[20:] + LINE)
        match request.query["labelSelector"]:
            case "break":
                assert request.transport is not None
                request.transport.abort()
            case "silent":
                await asyncio.Event().wait()
        return response

    async with serving(authority, tmp_path, stream) as config, connected(config) as client:
        async with client.watch(PODS, options=WatchOptions(label_selector="end"), into=Pod) as pods:
            assert [event.resource_version async for event in pods] == ["3", "3"]
        async with client.watch(PODS, options=WatchOptions(label_selector="break")) as watch:
            with pytest.raises(
                TransportError, match="the watch stream broke: the connection was lost before"
            ):
                await read_to_the_end(watch)
        # How much of it arrives before is left open: a machine that stands still is silent as well.
        limits, silent = Limits(silence_seconds=0.2), WatchOptions(label_selector="silent")
        async with connected(config, limits) as impatient, impatient.watch(PODS, options=silent) as watch:
            with pytest.raises(TransportError, match="too long"):
                await read_to_the_end(watch)


async def test_closing_a_watch_reaches_the_server(authority: Authority, tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(LINE)
                await asyncio.sleep(0.01)
        except (ConnectionError, asyncio.CancelledError):
            gone.set()
            raise

    async with serving(authority, tmp_path, stream) as config, connected(config) as client:
        watch = client.watch(PODS)
        assert await watch.read() is not None
        await watch.aclose()
        await asyncio.wait_for(gone.wait(), 60)
        assert await watch.read() is None
