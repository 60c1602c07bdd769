"""A fence by hand that cuts a node off from its storage: the machine may run on, until it is restarted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from support.embedded import ADMIN, Embedded, embedded
from vacate.api.kinds import LEASES, NODES
from vacate.api.objects import Obj
from vacate.api.types.fencingpolicy import STORAGE
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import FencingFailed
from vacate.fenceagents.agent import AgentResult, FenceAgent, find_program
from vacate.fenceagents.fence import Fencing
from vacate.fencing.agentprotocol import OFF
from vacate.fencing.limits import FencingLimits
from vacate.fencing.marks import BEGUN, BOOT_ID, FENCED

pytestmark = pytest.mark.process

OUT = "node.kubernetes.io/out-of-service"
AGENT = """#!/bin/sh
dir=$(dirname "$0")
while IFS= read -r line; do
  case $line in action=*) action=${line#action=};; esac
done
case $action in
  off) [ -e "$dir/lies" ] || echo off > "$dir/port";;
  on) echo on > "$dir/port";;
  status) [ "$(cat "$dir/port")" = on ] || exit 2;;
esac
"""


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        for name, ready in (("n1", "Unknown"), ("n2", "True"), ("n3", "True")):
            conditions = [{"type": "Ready", "status": ready}]
            status = {"conditions": conditions, "nodeInfo": {"bootID": f"{name}-boot-1"}}
            await one.seed(NODES, {"metadata": {"name": name, "uid": f"u-{name}"}, "status": status})
        yield one


@pytest.fixture
def array(tmp_path: Path) -> Path:
    (tmp_path / "port").write_text("on\n")
    (tmp_path / "fence_array").write_text(AGENT)
    (tmp_path / "fence_array").chmod(0o755)
    return tmp_path


def fencing(server: Embedded, array: Path, **options: str) -> Fencing:
    agent = FenceAgent(find_program(str(array / "fence_array")), {}, 60.0)
    client = Client(InProcessTransport(server.server, ADMIN))
    return Fencing(client, server.clock, agent, FencingLimits(), "alice", **options)


def meanwhile(made: Fencing, happens: Callable[[], Awaitable[None]]) -> Fencing:
    """The same, and something happens as the agent is asked for the first time."""

    class Interrupted(FenceAgent):
        async def call(self, action: str) -> AgentResult:
            if action == OFF:
                await happens()
            return await FenceAgent.call(self, action)

    return replace(made, agent=Interrupted(made.agent.program, made.agent.options, 60.0))


def node(server: Embedded) -> Obj:
    found = server.stored(NODES, "n1")
    assert found is not None
    return found


def marks(server: Embedded) -> dict[str, str]:
    return dict(node(server)["metadata"].get("annotations") or {})


def released(server: Embedded) -> bool:
    return any(one["key"] == OUT for one in node(server)["spec"].get("taints") or ())


async def report(made: Fencing, boot: str) -> None:
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"bootID": boot}}}
    await made.client.patch(NODES, "n1", status, subresource="status")


async def test_a_node_gets_its_storage_back_only_after_a_restart(server: Embedded, array: Path) -> None:
    made = fencing(server, array, mechanism=STORAGE)
    await made.fence("n1")
    assert (released(server), (array / "port").read_text()) == (True, "off\n")
    assert marks(server).keys() == {FENCED, BOOT_ID}
    assert marks(server)[BOOT_ID] == "n1-boot-1"
    undo = fencing(server, array)  # the mark on the node says what was done, and not who undoes it
    await report(made, "n1-boot-1")
    with pytest.raises(FencingFailed, match="has not been restarted since"):
        await undo.unfence("n1")
    assert (released(server), (array / "port").read_text()) == (True, "off\n")
    await report(made, "n1-boot-2")
    assert await undo.unfence("n1") is True
    assert (released(server), (array / "port").read_text(), marks(server)) == (False, "on\n", {})


async def test_a_node_that_never_reported_a_boot_id_is_not_storage_fenced(
    server: Embedded, array: Path
) -> None:
    made = fencing(server, array, mechanism=STORAGE)
    await made.client.patch(NODES, "n1", {"status": {"nodeInfo": {"bootID": ""}}}, subresource="status")
    with pytest.raises(FencingFailed, match=r"never reported its boot ID.*Fence it by its power"):
        await made.fence("n1")
    with pytest.raises(FencingFailed, match="never reported its boot ID"):
        await made.check("n1")
    assert ((array / "port").read_text(), marks(server)) == ("on\n", {})


async def test_a_storage_that_is_not_cut_off_releases_nothing(server: Embedded, array: Path) -> None:
    (array / "lies").touch()
    with pytest.raises(FencingFailed, match="not known to be cut off from its storage"):
        await fencing(server, array, mechanism=STORAGE).fence("n1")
    assert not released(server)


async def test_a_node_that_reports_in_the_middle_keeps_its_pods_and_gets_its_storage_back(
    server: Embedded, array: Path
) -> None:
    made = fencing(server, array, mechanism=STORAGE)
    lease = {"metadata": {"name": "n1", "namespace": "kube-node-lease", "uid": "u"}, "spec": {}}
    await server.seed(LEASES, lease)

    async def heal() -> None:
        renewed = {"spec": {"renewTime": "2026-03-01T12:00:01.000000Z"}}
        await made.client.patch(LEASES, "n1", renewed, "kube-node-lease")

    with pytest.raises(FencingFailed, match=r"has reported while.*vacate fence n1 --undo"):
        await meanwhile(made, heal).fence("n1")
    assert (released(server), (array / "port").read_text()) == (False, "off\n")
    undo = fencing(server, array)
    with pytest.raises(FencingFailed, match=r"does not report. Nothing was changed"):
        await undo.unfence("n1")
    await report(made, "n1-boot-1")  # nothing was released: no restart is needed
    assert await undo.unfence("n1") is True
    assert (released(server), (array / "port").read_text(), marks(server)) == (False, "on\n", {})


async def test_who_undoes_a_fence_keeps_the_one_who_began_it_from_releasing(
    server: Embedded, array: Path
) -> None:
    made = fencing(server, array, mechanism=STORAGE)

    async def undo() -> None:
        await report(made, "n1-boot-1")
        await replace(fencing(server, array), user="bob").unfence("n1")
        silent = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
        await made.client.patch(NODES, "n1", silent, subresource="status")

    with pytest.raises(
        FencingFailed, match=r"another process has taken over this fence. Nothing was released"
    ):
        await meanwhile(made, undo).fence("n1")
    assert not released(server)


async def test_a_fence_by_power_that_was_begun_is_not_undone(server: Embedded, array: Path) -> None:
    made = fencing(server, array)
    await made.begin(await made.check("n1"))
    await report(made, "n1-boot-1")
    with pytest.raises(FencingFailed, match="was not fenced by vacate fence"):
        await made.unfence("n1")
    assert marks(server).keys() == {BEGUN}
