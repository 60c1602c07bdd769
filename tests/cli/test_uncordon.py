"""`vacate uncordon` against a server without controllers: what it changes, and what it leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
import pytest

from support.embedded import ADMIN, Embedded, embedded
from vacate.api.kinds import NODEMAINTENANCES, NODES
from vacate.api.objects import Obj
from vacate.cli.common.connection import Cluster
from vacate.cli.uncordon import uncordon_node
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import NotFound
from vacate.maintenance.names import CLAIMS

pytestmark = pytest.mark.unit


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as running:
        yield running


async def run(server: Embedded, spec: Obj | None, *, cordoned: bool = True) -> tuple[int, Client]:
    """Uncordon n1, which a maintenance of this spec holds where there is one; the exit code."""
    meta: Obj = {"name": "n1", "uid": "n"}
    if spec is not None:
        await server.seed(NODEMAINTENANCES, {"metadata": {"name": "m", "uid": "u"}, "spec": spec})
        meta["annotations"] = {CLAIMS: orjson.dumps({"by": {"m": "u"}, "cordoned": True}).decode()}
    await server.seed(NODES, {"metadata": meta, "spec": {"unschedulable": True} if cordoned else {}})
    client = Client(InProcessTransport(server.server, ADMIN))
    return await uncordon_node(Cluster(client, "d", SystemClock()), "n1", set()), client


async def test_a_node_is_taken_out_of_a_maintenance_that_names_others(
    server: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    code, client = await run(server, {"nodes": ["n1", "n2"]})
    assert (code, (await client.get(NODEMAINTENANCES, "m"))["spec"]["nodes"]) == (0, ["n2"])
    assert (await client.get(NODES, "n1"))["spec"]["unschedulable"] is True  # the controller takes it back
    assert capsys.readouterr().out.splitlines() == [
        "node/n1 taken out of nodemaintenance/m",
        "node/n1 is uncordoned by the controller",
    ]


async def test_a_maintenance_of_no_other_node_is_deleted(
    server: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    code, client = await run(server, {"nodes": ["n1"]})
    assert (code, capsys.readouterr().out.splitlines()[0]) == (0, "nodemaintenance/m deleted")
    with pytest.raises(NotFound):
        await client.get(NODEMAINTENANCES, "m")


async def test_a_maintenance_that_chose_the_node_by_label_must_be_cancelled_as_a_whole(
    server: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    selector = {"matchLabels": {"pool": "old"}}
    code, client = await run(server, {"nodeSelector": selector})
    captured = capsys.readouterr()
    assert (code, captured.out) == (1, "")
    assert "nodemaintenance/m selects it by label" in captured.err
    assert captured.err.endswith("drain --cancel m\n")
    assert (await client.get(NODEMAINTENANCES, "m"))["spec"]["nodeSelector"] == selector
    assert (await client.get(NODES, "n1"))["spec"]["unschedulable"] is True


@pytest.mark.parametrize(
    ("cordoned", "output"), [(True, "node/n1 uncordoned\n"), (False, "node/n1 already uncordoned\n")]
)
async def test_a_node_that_no_maintenance_holds_is_uncordoned_at_once(
    server: Embedded, capsys: pytest.CaptureFixture[str], cordoned: bool, output: str
) -> None:
    code, client = await run(server, None, cordoned=cordoned)
    assert (code, capsys.readouterr().out) == (0, output)
    assert not (await client.get(NODES, "n1"))["spec"].get("unschedulable")
