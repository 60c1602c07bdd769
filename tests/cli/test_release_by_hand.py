"""Releasing the pods of a node by hand: only a node that does not report is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import ADMIN, Embedded, embedded
from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.kinds import NAMESPACES, NODES, PODS
from vacate.api.options import DeleteOptions
from vacate.cli.common.connection import Cluster
from vacate.cli.delete.command import _release
from vacate.cli.delete.nodes import delete_node, lost_pods
from vacate.cli.delete.poddeletions import DeletionOptions
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import ConfigError
from vacate.testing import pod

pytestmark = pytest.mark.unit

FORCE = DeletionOptions(force=True)


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        yield one


async def given(server: Embedded, ready: str, *pods: str) -> Cluster:
    """A node that says this of itself, with pods that are being deleted."""
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    await server.seed(
        NODES, {"metadata": {"name": "n1", "uid": "u-n1"}, "status": {"conditions": conditions}}
    )
    await server.seed(NAMESPACES, {"metadata": {"name": "default", "uid": "u-default"}})
    client = Client(InProcessTransport(server.server, ADMIN))
    for name in pods:
        await client.create(PODS, pod(name, spec={"nodeName": "n1"}), "default")
        await client.delete(PODS, name, "default", DeleteOptions(grace_period_seconds=30))
    return Cluster(client, "default", server.clock)


@pytest.mark.parametrize(
    ("ready", "message"),
    [
        ("True", "node n1 is ready"),
        ("False", r"node n1 is not lost: it reports Ready=False.*Nothing was deleted"),
        ("", r"node n1 is not lost: it was not found to be unreachable.*Nothing was deleted"),
    ],
)
async def test_a_node_that_reports_keeps_its_pods(server: Embedded, ready: str, message: str) -> None:
    cluster = await given(server, ready, "a")
    with pytest.raises(ConfigError, match=message):
        await lost_pods(cluster, "n1")
    assert server.stored(PODS, "a", "default") is not None


async def test_a_node_that_comes_back_in_the_middle_keeps_the_rest(
    server: Embedded, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = await given(server, "Unknown", "a", "b")
    delete = Client.delete

    async def delete_and_report(self: Client, *args: object, **options: object) -> None:
        status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        await self.patch(NODES, "n1", status, subresource="status")
        await delete(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Client, "delete", delete_and_report)
    assert await _release(cluster, "n1", FORCE) == [1]
    assert "node n1 is not lost" in capsys.readouterr().err
    assert (server.stored(PODS, "a", "default"), server.stored(PODS, "b", "default") is not None) == (
        None,
        True,
    )


async def test_a_pod_that_has_taken_the_name_of_a_released_one_stays(
    server: Embedded, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else releases a pod first, and its StatefulSet makes it again on a node that is well."""
    cluster = await given(server, "Unknown", "a", "b", "c")
    get, found = Client.get, list[str]()

    async def replace_before_it_is_read(self: Client, *args: Any, **options: Any) -> Any:
        if args[0] == PODS and args[1] == "b" and not found:
            for name in ("b", "c"):
                uid = (server.stored(PODS, name, "default") or {})["metadata"]["uid"]
                confirmed = {"metadata": {"annotations": {CONFIRMATION: uid}}}
                await self.patch(PODS, name, confirmed, "default")
                await self.delete(PODS, name, "default", DeleteOptions(grace_period_seconds=0))
            made = await self.create(PODS, pod("b", spec={"nodeName": "n2"}), "default")
            found.append(made["metadata"]["uid"])
        return await get(self, *args, **options)

    monkeypatch.setattr(Client, "get", replace_before_it_is_read)
    codes = await _release(cluster, "n1", FORCE)
    assert [(server.stored(PODS, "b", "default") or {"metadata": {"uid": "-"}})["metadata"]["uid"]] == found
    assert codes == []
    results = [line.split(" ", 3)[3].split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert results == ["force deleted", "is gone already", "is gone already"]


async def test_deleting_a_node_that_is_not_ready_says_that_it_would_go_on_running(server: Embedded) -> None:
    cluster = await given(server, "False")
    with pytest.raises(
        ConfigError, match=r"reports Ready=False and would go on running.*Nothing was deleted"
    ):
        await delete_node(cluster, "n1", confirm=False, dry_run=False)
