"""DeschedulingPolicies on the embedded server: one that checks nothing is refused."""

from __future__ import annotations

from typing import Any

import pytest

from support.embedded import ADMIN, embedded
from vacate.api.kinds import DESCHEDULINGPOLICIES as KIND
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import Invalid

pytestmark = pytest.mark.unit


def policy(**spec: Any) -> Obj:
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": "tidy"}, "spec": spec}


async def test_a_policy_has_a_rule() -> None:
    async with embedded() as server:
        client = Client(InProcessTransport(server.server, ADMIN))
        with pytest.raises(Invalid, match=r"spec\.rules in body should have at least 1 items"):
            await client.create(KIND, policy(rules=[]))
        with pytest.raises(Invalid, match=r"spec\.rules: Required value"):
            await client.create(KIND, policy())
        assert (await client.create(KIND, policy(rules=["NodeTaints"])))["spec"]["rules"] == ["NodeTaints"]


async def test_a_policy_keeps_its_last_rule() -> None:
    async with embedded() as server:
        client = Client(InProcessTransport(server.server, ADMIN))
        await client.create(KIND, policy(rules=["NodeTaints"]))
        with pytest.raises(Invalid, match="at least 1 items"):
            await client.patch(KIND, "tidy", {"spec": {"rules": []}})
