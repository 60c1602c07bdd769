"""NodeMaintenances on the embedded server: what is taken, what is refused, and what clients see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from crds.samples import LONG_NAME, REFUSED, VALID
from support.embedded import ADMIN, T0, embedded
from vacate.api.kinds import NODEMAINTENANCES as KIND
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.client.requests import STRATEGIC_PATCH
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.printers import table_of
from vacate.errors import Invalid, UnsupportedMedia

pytestmark = pytest.mark.unit


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with embedded() as one:
        yield Client(InProcessTransport(one.server, ADMIN))


NOTHING_YET = dict.fromkeys(
    ("nodesTotal", "nodesDrained", "podsTotal", "podsEvicted", "percent", "blockersTotal"), 0
)


def maintenance(spec: Any, name: str = "kernel") -> Obj:
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize("case", VALID)
async def test_valid(client: Client, case: str) -> None:
    made = await client.create(KIND, maintenance(VALID[case]))
    assert made["spec"].items() >= {k: v for k, v in VALID[case].items() if k != "pods"}.items()
    assert made["status"] == NOTHING_YET
    assert made["metadata"]["generation"] == 1


@pytest.mark.parametrize("case", REFUSED)
async def test_refused(client: Client, case: str) -> None:
    spec, fields = REFUSED[case]
    with pytest.raises(Invalid) as caught:
        await client.create(KIND, maintenance(spec))
    assert {cause["field"] for cause in caught.value.details["causes"]} == fields
    assert (await client.list(KIND)).items == []


async def test_a_long_name_is_refused(client: Client) -> None:
    with pytest.raises(Invalid, match="requester's name"):
        await client.create(KIND, maintenance({"nodes": ["a"]}, LONG_NAME))


async def test_defaults_are_those_of_kubectl_drain(client: Client) -> None:
    made = await client.create(KIND, maintenance({"nodes": ["a"]}))
    assert made["spec"] == {
        "nodes": ["a"],
        "stage": "Drain",
        "pods": {"daemonSetPods": "Refuse", "unmanagedPods": "Refuse", "localDataPods": "Refuse"},
        "order": "Priority",
        "maxNodes": 1,
        "cordon": "AllFirst",
        "onDeadline": "Report",
        "requestKind": "EvictionRequest",
        "heartbeatDeadlineSeconds": 1800,
    }


async def test_status_and_spec_are_written_apart(client: Client) -> None:
    await client.create(KIND, {**maintenance({"nodes": ["a"]}), "status": {"phase": "Drained"}})
    assert (await client.get(KIND, "kernel"))["status"] == NOTHING_YET
    await client.patch(
        KIND, "kernel", {"spec": {"reason": "x"}, "status": {"phase": "Draining"}}, subresource="status"
    )
    found = await client.get(KIND, "kernel")
    assert (found["status"], "reason" in found["spec"]) == ({**NOTHING_YET, "phase": "Draining"}, False)
    await client.patch(KIND, "kernel", {"spec": {"reason": "x"}, "status": {"phase": "Drained"}})
    found = await client.get(KIND, "kernel")
    assert (found["status"]["phase"], found["spec"]["reason"]) == ("Draining", "x")
    assert found["metadata"]["generation"] == 2


async def test_bad_patches_change_nothing(client: Client) -> None:
    made = await client.create(KIND, maintenance({"nodes": ["a"]}))
    with pytest.raises(UnsupportedMedia):
        await client.patch(KIND, "kernel", {"spec": {"reason": "x"}}, patch_type=STRATEGIC_PATCH)
    for patch, subresource in (({"spec": {"maxNodes": "x"}}, ""), ({"status": {"phase": "Lost"}}, "status")):
        with pytest.raises(Invalid):
            await client.patch(KIND, "kernel", patch, subresource=subresource)
    assert await client.get(KIND, "kernel") == made


async def test_the_table_shows_what_the_columns_name(client: Client) -> None:
    await client.create(KIND, maintenance({"nodes": ["a"], "reason": "kernel"}))
    status = {"phase": "Blocked", "nodesTotal": 1, "percent": 50, "blockersTotal": 2}
    made = await client.patch(KIND, "kernel", {"status": status}, subresource="status")
    shown = table_of(KIND, [made], T0)
    assert shown["rows"][0]["cells"] == ["kernel", "Blocked", 1, 0, 50, 2, None, "kernel", "0s"]


async def test_a_count_that_is_taken_away_is_zero(client: Client) -> None:
    await client.create(KIND, maintenance({"nodes": ["a"]}))
    await client.patch(KIND, "kernel", {"status": {"blockersTotal": 2}}, subresource="status")
    left = await client.patch(KIND, "kernel", {"status": {"blockersTotal": None}}, subresource="status")
    assert left["status"] == NOTHING_YET
