"""Logs of a node that is a process of its own: through the API server, and closed to everybody else."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
from collections.abc import Iterator

import pytest
from multidict import CIMultiDict, MultiDict

from support.nodes.agents import ready
from support.nodes.containers import clean
from support.processes.cluster import ClusterProcess, running_cluster
from support.processes.node import NODE, PODS, NodeProcess, node_process
from support.waiting import until
from vacate.api.objects import Obj
from vacate.client.config import ClusterConfig
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.embedded.cluster.certificates import Pki
from vacate.errors import TransportError
from vacate.pki.issue import KeyPair, new_authority, new_client
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.process

TALKING = "echo one; echo two; trap 'echo bye; exit 0' TERM; echo three; while :; do sleep 0.02; done"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), "--nodes", "0") as made:
        yield made


@pytest.fixture(scope="module")
def node(cluster: ClusterProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    folder = tmp_path_factory.mktemp("agent") / "node"
    with node_process(cluster, folder) as made:
        made.start()
        until(lambda: _is_ready(cluster), 110)  # two programs start, on a machine that may be busy
        yield made
    asyncio.run(clean(folder))


def _is_ready(cluster: ClusterProcess) -> bool:
    found = cluster.https().call("GET", f"/api/v1/nodes/{NODE}")
    conditions = found.ok()["status"]["conditions"] if found.code == 200 else []
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


async def get(config: ClusterConfig, path: str, **query: str) -> Response:
    transport = HttpTransport(config, SystemClock())
    try:
        return await transport.send(Request("GET", path, MultiDict(query), CIMultiDict(), b""))
    finally:
        await transport.aclose()


async def printed(config: ClusterConfig, path: str, text: bytes) -> None:
    """Return when the log is that: a pod is ready before its shell has done anything."""
    async with asyncio.timeout(60):
        while (await get(config, path)).body != text:  # noqa: ASYNC110  a log tells nobody
            await asyncio.sleep(0.02)


def at_the_node(node: NodeProcess, shown: KeyPair | None) -> ClusterConfig:
    status: Obj = node.cluster.https().get(f"/api/v1/nodes/{NODE}").ok()["status"]
    port = status["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    pair = (shown.certificate_pem, shown.key_pem) if shown else (b"", b"")
    return ClusterConfig(
        f"https://127.0.0.1:{port}", insecure=True, client_certificate=pair[0], client_key=pair[1]
    )


@pytest.mark.thorough
async def test_through_the_api_server(node: NodeProcess) -> None:
    node.create("talks", TALKING)
    node.until("talks", ready)
    server, log = load_cluster([node.cluster.kubeconfig]), f"{PODS}/talks/log"
    await printed(server, log, b"one\ntwo\nthree\n")
    assert (await get(server, log)).status == 200
    assert (await get(server, log, tailLines="1", container="main")).body == b"three\n"
    assert (await get(server, log, limitBytes="5")).body == b"one\nt"
    assert (await get(server, log, previous="true")).status == 400
    assert (await get(server, log, tailLines="-1")).status == 422
    assert (await get(server, log, tailLines="some")).status == 400
    stamped = bytes((await get(server, log, timestamps="true", sinceSeconds="3600")).body).decode()  # type: ignore[arg-type]  # no stream
    assert re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ", "", stamped, flags=re.M) == "one\ntwo\nthree\n"
    assert (await get(server, log, sinceTime="2126-01-01T00:00:00Z")).body == b""
    transport = HttpTransport(server, SystemClock())
    try:
        query = MultiDict(follow="true", tailLines="1")
        followed = (await transport.send(Request("GET", log, query, CIMultiDict(), b""))).body
        assert not isinstance(followed, bytes)
        chunks = aiter(followed)
        assert await anext(chunks) == b"three\n"
        node.delete("talks")
        assert b"".join([chunk async for chunk in chunks]) == b"bye\n"
        await followed.aclose()
    finally:
        await transport.aclose()
    node.gone("talks")


@pytest.mark.thorough
async def test_nobody_else_gets_in(node: NodeProcess) -> None:
    node.create("quiet", "echo secret; exec sleep 100011")
    node.until("quiet", ready)
    pki = Pki(node.cluster.folder / "pki", SystemClock())
    path = "/containerLogs/default/quiet/main"
    admin = at_the_node(node, pki.client("logs-test-admin", "someone", ("system:masters",)))
    await printed(admin, path, b"secret\n")
    assert (await get(admin, "/containerLogs/default/quiet/other")).status == 404
    assert (await get(admin, "/containerLogs/../../etc/passwd")).status == 404
    assert (await get(admin, "/run/default/quiet/main")).status == 404
    user = at_the_node(node, pki.client("logs-test-user", "mallory"))
    refused = await get(user, path)
    assert refused.status == 403
    assert b"nodes/proxy" in bytes(refused.body)  # type: ignore[arg-type]  # no stream
    foreign = new_authority("other", dt.datetime.now(dt.UTC))
    assert (await get(at_the_node(node, None), path)).status == 401
    shown = new_client(foreign, "someone", ("system:masters",), dt.datetime.now(dt.UTC))
    with pytest.raises(TransportError):
        await get(at_the_node(node, shown), path)
    node.delete("quiet", 0)
    node.gone("quiet")
