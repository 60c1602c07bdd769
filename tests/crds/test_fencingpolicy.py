"""FencingPolicies on the embedded server: what is taken and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from crds.fencing_samples import REFUSED, VALID
from support.embedded import ADMIN, embedded
from vacate.api.kinds import FENCINGPOLICIES as KIND
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import Invalid

pytestmark = pytest.mark.unit


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with embedded() as one:
        yield Client(InProcessTransport(one.server, ADMIN))


def policy(spec: Any) -> Obj:
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": "rack"}, "spec": spec}


@pytest.mark.parametrize("case", VALID)
async def test_valid(client: Client, case: str) -> None:
    made = await client.create(KIND, policy(VALID[case]))
    assert made["spec"]["maxFenced"] == VALID[case].get("maxFenced", 1)
    assert made["spec"]["powerOn"] == VALID[case].get("powerOn", "Manual")


@pytest.mark.parametrize("case", REFUSED)
async def test_refused(client: Client, case: str) -> None:
    spec, fields = REFUSED[case]
    with pytest.raises(Invalid) as caught:
        await client.create(KIND, policy(spec))
    assert [cause["field"] for cause in caught.value.details["causes"]] == sorted(fields)
    assert (await client.list(KIND)).items == []
