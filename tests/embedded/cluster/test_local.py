"""A whole cluster in this process: what is there once it says that it is ready."""

from __future__ import annotations

import asyncio
import datetime as dt
from pathlib import Path

import pytest

from vacate.embedded.cluster.local import LocalCluster, LocalSettings
from vacate.embedded.nodes.registration import NodeReconciler
from vacate.embedded.nodes.simulatednode import Machine

pytestmark = pytest.mark.process

TURNS = 2_000
"""Of the event loop: far more than a start takes that waits for nothing."""


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("nodes", [0, 3])
def test_its_nodes_are_there_once_it_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: int
) -> None:
    registered: list[str] = []
    register = NodeReconciler._register

    async def slowly(self: NodeReconciler, machine: Machine, now: dt.datetime) -> str:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        uid = await register(self, machine, now)
        registered.append(machine.shape.name)
        return uid

    monkeypatch.setattr(NodeReconciler, "_register", slowly)

    async def start() -> list[str]:
        cluster = LocalCluster(LocalSettings(tmp_path / "dir", port=0, nodes=nodes))
        await cluster.start()
        try:
            await cluster.wait_ready()
            return sorted(registered)
        finally:
            await cluster.stop()

    assert asyncio.run(start()) == [f"node-{index + 1}" for index in range(nodes)]
