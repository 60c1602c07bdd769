"""Calls to hooks over TLS, with real sockets: whose certificate counts, and whose token is sent."""

from __future__ import annotations

import datetime as dt
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from vacate.httpclient.service import CallFailed
from vacate.interceptors.hooks.annotations import HttpHook
from vacate.interceptors.hooks.caller import HttpCaller
from vacate.interceptors.hooks.targets import Target
from vacate.pki.issue import KeyPair, new_authority, new_server

pytestmark = pytest.mark.process

HERE = "127.0.0.1"
CALL = {"idempotencyKey": "k"}
NOW = dt.datetime.now(dt.UTC)


class Service:
    """An HTTPS service that notes the tokens that it is sent."""

    def __init__(self) -> None:
        self.tokens: list[str | None] = []
        self.repeats = False
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.headers.get("Authorization"))
        if self.repeats:
            return web.json_response({"message": f"you sent {self.tokens[-1]}"}, status=409)
        return web.Response(status=204)

    def hook(self, ca_file: Path | None, token_file: Path | None = None) -> HttpHook:
        ca, token = (str(one or "") for one in (ca_file, token_file))
        target = Target("flush", self.url, ("shop",), ca_file=ca, token_file=token)
        return HttpHook(target, self.url, 60.0)


def write(file: Path, text: str) -> None:
    file.write_text(text)


def append(file: Path, pem: bytes) -> None:
    file.write_bytes(file.read_bytes() + pem)


Serve = Callable[[KeyPair], Awaitable[Service]]


@pytest.fixture
def authority() -> KeyPair:
    return new_authority("private-ca", NOW)


@pytest.fixture
def ca_file(authority: KeyPair, tmp_path: Path) -> Path:
    file = tmp_path / "ca.crt"
    file.write_bytes(authority.certificate_pem)
    return file


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    runners: list[web.AppRunner] = []

    async def start(certificate: KeyPair) -> Service:
        made = Service()
        pem = tmp_path / "server.pem"
        pem.write_bytes(certificate.certificate_pem + certificate.key_pem)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pem)
        app = web.Application()
        app.router.add_post("/hook", made.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, HERE, 0, ssl_context=context).start()
        made.url = f"https://{HERE}:{runner.addresses[0][1]}/hook"
        return made

    yield start
    for one in runners:
        await one.cleanup()


async def test_a_private_authority_is_trusted_for_its_target_alone(
    serve: Serve, authority: KeyPair, ca_file: Path
) -> None:
    service = await serve(new_server(authority, "flush", [HERE], NOW))
    assert (await HttpCaller().call(service.hook(ca_file), CALL)).status == 204
    with pytest.raises(CallFailed, match="TLS failed"):
        await HttpCaller().call(service.hook(None), CALL)  # the system's authorities do not know it
    assert service.tokens == [None]


async def test_a_certificate_of_another_authority_is_refused_and_gets_no_token(
    serve: Serve, ca_file: Path, tmp_path: Path
) -> None:
    other = new_authority("private-ca", NOW)  # by name the same
    service = await serve(new_server(other, "flush", [HERE], NOW))
    token = tmp_path / "token"
    write(token, "secret")
    with pytest.raises(CallFailed, match="TLS failed") as refused:
        await HttpCaller().call(service.hook(ca_file, token), CALL)
    assert "secret" not in str(refused.value)
    assert service.tokens == []
    append(ca_file, other.certificate_pem)  # as while an authority is replaced
    assert (await HttpCaller().call(service.hook(ca_file, token), CALL)).status == 204
    assert service.tokens == ["Bearer secret"]


async def test_a_certificate_of_another_host_is_refused(
    serve: Serve, authority: KeyPair, ca_file: Path
) -> None:
    service = await serve(new_server(authority, "flush", ["127.0.0.2", "flush.shop.svc"], NOW))
    with pytest.raises(CallFailed, match="TLS failed"):
        await HttpCaller().call(service.hook(ca_file), CALL)


async def test_a_token_is_read_for_each_call(
    serve: Serve, authority: KeyPair, ca_file: Path, tmp_path: Path
) -> None:
    service = await serve(new_server(authority, "flush", [HERE], NOW))
    token = tmp_path / "token"
    hook, caller = service.hook(ca_file, token), HttpCaller()
    for text in ("first\n", "second"):
        write(token, text)
        assert (await caller.call(hook, CALL)).status == 204
    assert service.tokens == ["Bearer first", "Bearer second"]


async def test_a_token_that_the_service_repeats_is_not_shown(
    serve: Serve, authority: KeyPair, ca_file: Path, tmp_path: Path
) -> None:
    service = await serve(new_server(authority, "flush", [HERE], NOW))
    service.repeats, token = True, tmp_path / "token"
    write(token, "s3cret-t0ken")
    answer = await HttpCaller().call(service.hook(ca_file, token), CALL)
    assert (answer.status, answer.body) == (409, b'{"message": "you sent Bearer ***"}')


@pytest.mark.parametrize("empty", ["", "\n"])
async def test_an_empty_file_is_no_reason_to_trust_others_or_to_call_without_a_token(
    serve: Serve, authority: KeyPair, ca_file: Path, tmp_path: Path, empty: str
) -> None:
    """A Secret that is yet to be filled."""
    service = await serve(new_server(authority, "flush", [HERE], NOW))
    token = tmp_path / "token"
    write(token, empty)
    with pytest.raises(CallFailed, match="are empty or cannot be read"):
        await HttpCaller().call(service.hook(ca_file, token), CALL)
    write(ca_file, empty)
    with pytest.raises(CallFailed, match="are empty or cannot be read"):
        await HttpCaller().call(service.hook(ca_file), CALL)
    assert service.tokens == []
