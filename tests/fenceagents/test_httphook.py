"""The HTTP hook: an answer counts only if it is about this node, and says on or off."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from vacate.api.types import Node, ObjectMeta
from vacate.api.types.fencingpolicy import AgentSpec, CommandAgent, HttpAgent, SecretReference
from vacate.clock import SystemClock
from vacate.entropy import seeded_entropy
from vacate.errors import ConfigError, FencingFailed, NotFound
from vacate.fenceagents.configured import ConfiguredAgents
from vacate.fenceagents.httphook import HttpHook
from vacate.fencing.agentprotocol import PowerState
from vacate.httpclient.addresses import read_networks

pytestmark = pytest.mark.process

HERE = read_networks(["127.0.0.1"], "")
Answering = Callable[[dict[str, Any], web.Request], Awaitable[web.StreamResponse]]


class Service:
    """A service on a free port of this machine."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.token = ""
        self.answer: dict[str, Any] = {}
        self.status = 200
        self.hangs = False
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(await request.json())
        self.token = request.headers.get("Authorization", "")
        if self.hangs:
            await asyncio.Event().wait()
        if self.status == 302:
            raise web.HTTPFound(f"{self.url}/elsewhere")
        return web.json_response(self.answer, status=self.status)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    made = Service()
    app = web.Application()
    app.router.add_post("/{tail:.*}", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    made.url = f"http://127.0.0.1:{port}"
    try:
        yield made
    finally:
        await runner.cleanup()


def hook(service: Service, timeout: float = 60.0, listed: Any = HERE) -> HttpHook:
    return HttpHook(f"{service.url}/fence", "worker-3", "u-3", timeout, "t0ken", listed=listed)


async def test_an_answer_about_this_node_counts(service: Service) -> None:
    service.answer = {"node": "worker-3", "uid": "u-3", "state": "off", "message": "outlet 7"}
    answer = await hook(service).off()
    assert (answer.ok, answer.state, answer.message) == (True, PowerState.OFF, "outlet 7")
    assert service.asked == [{"action": "off", "node": "worker-3", "uid": "u-3"}]
    assert service.token == "Bearer t0ken"
    assert "t0ken" not in repr(hook(service))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"node": "worker-4", "uid": "u-3", "state": "off"}, "about another node"),
        ({"node": "worker-3", "uid": "u-9", "state": "off"}, "about another node"),
        ({"node": "worker-3", "uid": "u-3", "state": "probably"}, "unknown"),
        ({"node": "worker-3", "uid": "u-3"}, "not the answer of a fence agent"),
        ({"node": "worker-3", "uid": "u-3", "state": True}, "not the answer of a fence agent"),
    ],
)
async def test_any_other_answer_is_unclear(service: Service, answer: dict[str, Any], message: str) -> None:
    service.answer = answer
    for asked in (hook(service).off, hook(service).status):
        found = await asked()
        assert (found.ok, found.state) == (False, PowerState.UNKNOWN)
        assert message in found.message


@pytest.mark.parametrize("status", [201, 302, 401, 500])
async def test_other_statuses_and_redirects_are_unclear(service: Service, status: int) -> None:
    service.status = status
    service.answer = {"node": "worker-3", "uid": "u-3", "state": "off"}
    found = await hook(service).off()
    assert (found.ok, found.state) == (False, PowerState.UNKNOWN)
    assert len(service.asked) == 1
    assert found.message == f"HTTP status {status}"  # and nothing of what was answered


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1"])
async def test_a_policy_does_not_reach_this_machine(service: Service, host: str) -> None:
    service.answer = {"node": "worker-3", "uid": "u-3", "state": "off"}
    service.url = service.url.replace("127.0.0.1", host)
    found = await hook(service, listed=()).off()
    assert (found.ok, found.state, service.asked) == (False, PowerState.UNKNOWN, [])
    assert "is not one of another machine" in found.message
    assert "--fencing-allow-address" in found.message


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize("node", ["worker-3", "Bearer t0ken"])
@pytest.mark.parametrize("before", [140, 184])  # 200 characters are shown
async def test_a_token_that_the_service_repeats_is_not_shown(
    service: Service, status: int, node: str, before: int
) -> None:
    message = "x" * before + " sent: Bearer t0ken"
    service.status = status
    service.answer = {"message": message, "node": node, "uid": "u-3", "state": "off"}
    found = await hook(service).off()
    assert found.ok is (status == 200 and node == "worker-3")
    assert "t0" not in found.message
    assert "x" * 20 in found.message or not found.ok


async def test_a_service_that_hangs_or_is_not_there_is_unclear(service: Service) -> None:
    service.hangs = True
    found = await hook(service, timeout=0.2).off()
    assert (found.ok, found.message) == (False, "no answer within 0.2 s")
    nobody = HttpHook("http://127.0.0.1:9/", "worker-3", "u-3", 60.0)
    assert (await nobody.status()).state is PowerState.UNKNOWN


class Secrets:
    """A client that knows one Secret."""

    async def get(self, kind: Any, name: str, namespace: str = "") -> dict[str, Any]:
        if (namespace, name) != ("bmc", "of-worker-3"):
            raise NotFound(f'secrets "{name}" not found')
        return {"data": {"passwd": "czNjcmV0Cg==", "token": "dDBrZW4=", "ip": "MTAuMC4wLjM="}}


def node() -> Node:
    return Node(metadata=ObjectMeta(name="worker-3", uid="u-3"))


async def test_credentials_come_from_the_secret_of_the_node() -> None:
    agents = ConfiguredAgents(Secrets(), SystemClock(), seeded_entropy(1))  # type: ignore[arg-type]
    ref = SecretReference(namespace="bmc", name="of-$(NODE)")
    made = await agents.for_node(
        AgentSpec(http=HttpAgent(url="https://pdu/$(NODE)", secret_ref=ref), timeout_seconds=7),
        node(),
        "step",
    )
    assert isinstance(made, HttpHook)
    assert (made.url, made.node, made.uid, made.timeout, made.token) == (
        "https://pdu/worker-3", "worker-3", "u-3", 7, "t0ken",
    )  # fmt: skip
    with pytest.raises(ConfigError, match="a token is sent over https only"):
        await agents.for_node(
            AgentSpec(http=HttpAgent(url="http://pdu/$(NODE)", secret_ref=ref)), node(), "step"
        )
    missing = SecretReference(namespace="bmc", name="of-nobody")
    with pytest.raises(FencingFailed, match="Secret bmc/of-nobody cannot be read"):
        await agents.for_node(
            AgentSpec(http=HttpAgent(url="https://pdu/", secret_ref=missing)), node(), "step"
        )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("token", "s3cret\r\nX-Other: 1", "key token is not a bearer token"),
        ("token", "s3crét", "key token is not a bearer token"),
        ("ca.crt", "s3cret", "key ca.crt holds no certificates in PEM"),
        ("ca.crt", "s3crét", "key ca.crt holds no certificates in PEM"),
        ("ca.crt", "\x00s3cret", "key ca.crt holds no certificates in PEM"),
    ],
)
async def test_a_secret_that_cannot_be_used_is_named_and_not_shown(
    key: str, value: str, message: str
) -> None:
    class Hostile(Secrets):
        async def get(self, *_: Any) -> dict[str, Any]:
            return {"data": {key: base64.b64encode(value.encode()).decode()}}

    agents = ConfiguredAgents(Hostile(), SystemClock(), seeded_entropy(1))  # type: ignore[arg-type]
    ref = SecretReference(namespace="bmc", name="of-$(NODE)")
    with pytest.raises(ConfigError, match=f"Secret bmc/of-worker-3: {message}") as raised:
        await agents.for_node(AgentSpec(http=HttpAgent(url="https://pdu/", secret_ref=ref)), node(), "step")
    assert "s3cr" not in str(raised.value)


async def test_an_agent_that_is_not_installed_or_not_named_is_no_agent() -> None:
    agents = ConfiguredAgents(Secrets(), SystemClock(), seeded_entropy(1))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"spec.agent.command.program: fence_none is not installed"):
        await agents.for_node(AgentSpec(command=CommandAgent(program="fence_none")), node(), "step")
    with pytest.raises(ConfigError, match=r"name an agent: command, http or job"):
        await agents.for_node(AgentSpec(), node(), "step")
