"""What the webhook knows of its cluster before it changes pods."""

from __future__ import annotations

import pytest

from support.embedded import ADMIN, embedded
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.features import parse_feature_gates
from vacate.webhook.connectivity import Connectivity

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("gates", "serves"), [("", False), ("LifecycleAPI=true", True)])
async def test_responders_are_listed_only_where_kubernetes_serves_them(gates: str, serves: bool) -> None:
    async with embedded(gates=parse_feature_gates(gates)) as server:
        client = Client(InProcessTransport(server.server, ADMIN))
        connectivity = Connectivity(client, server.clock, asks_for_lifecycle=True)
        assert not connectivity.serves_lifecycle
        await connectivity.look()
        assert (connectivity.trouble, connectivity.serves_lifecycle) == ("", serves)
