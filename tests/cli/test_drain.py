"""`vacate drain` against a server without controllers: replaced nodes, and Ctrl-C at an awkward moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from support.embedded import ADMIN, T0, Embedded, a_pod, embedded
from vacate.api.kinds import EVICTIONREQUESTS, NODEMAINTENANCES, NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.cli.common.connection import Cluster
from vacate.cli.drain.start import DrainOptions, StartedDrain, detach_from, start_drain
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.eviction.records.history import PastTurn, TurnResult, write_history
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

PODS_REFUSED = {"daemonSetPods": "Refuse", "unmanagedPods": "Refuse", "localDataPods": "Refuse"}
OWNED = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
OPTIONS = DrainOptions(
    ("n1",), "", {"pods": PODS_REFUSED}, detach=False, dry_run=False, timeout=None, output=""
)


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as running:
        await running.seed(NODES, {"metadata": {"name": "n1", "uid": "second"}, "spec": {}, "status": {}})
        yield running


class Reached(InProcessTransport):
    """Loses the answer to the creation of a maintenance, before or after the server has it."""

    def __init__(self, server: Embedded, *, arrives: bool) -> None:
        super().__init__(server.server, ADMIN)
        self._arrives = arrives
        self.sent = asyncio.Event()

    async def send(self, request: Request) -> Response:
        if request.method == "POST" and request.path == NODEMAINTENANCES.collection_path(""):
            if self._arrives:
                await super().send(request)
            self.sent.set()
            await asyncio.Event().wait()
        return await super().send(request)


def over(transport: InProcessTransport) -> Cluster:
    return Cluster(Client(transport), "d", SystemClock())


async def seed_maintenance(server: Embedded, **row: Any) -> None:
    status = {"observedGeneration": 1, "phase": "Drained", "nodes": [{"name": "n1", "uid": "first", **row}]}
    body = {
        "metadata": {"name": "drain-n1", "uid": "m", "generation": 1},
        "spec": {"nodes": ["n1"], "pods": PODS_REFUSED},
        "status": status,
    }
    await server.seed(NODEMAINTENANCES, body)


@pytest.mark.parametrize("arrives", [True, False])
async def test_interrupting_the_creation_says_that_it_may_exist(
    server: Embedded, capsys: pytest.CaptureFixture[str], arrives: bool
) -> None:
    begun, transport = StartedDrain(), Reached(server, arrives=arrives)
    work = asyncio.create_task(start_drain(over(transport), OPTIONS, begun))
    await transport.sent.wait()
    work.cancel()
    await asyncio.wait([work])
    with pytest.raises(SystemExit, match="130"):
        detach_from(begun)
    stderr = capsys.readouterr().err
    assert "nothing was changed" not in stderr
    assert "nodemaintenance/drain-n1 was being created: it may exist" in stderr
    assert "kubectl get nodemaintenance drain-n1" in stderr
    assert "drain --cancel drain-n1" in stderr


async def test_interrupting_before_that_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="130"):
        detach_from(StartedDrain())
    assert capsys.readouterr().err == "Interrupted; nothing was changed.\n"


@pytest.mark.parametrize("result", [TurnResult.NEVER_RESPONDED, TurnResult.COMPLETED])
async def test_the_dry_run_names_interceptors_that_never_answered(
    server: Embedded, capsys: pytest.CaptureFixture[str], result: TurnResult
) -> None:
    absent = "gone.example.com"
    spec = {"evictionInterceptors": [{"name": absent}]}
    await server.seed(PODS, a_pod(spec=spec, meta={"ownerReferences": [OWNED]}))
    history = write_history((PastTurn(absent, T0, result, T0),))
    assigned = {"type": "InterceptorAssigned", "status": "True", "message": history}
    request = {
        "metadata": {"name": "u", "namespace": "d", "uid": "q"},
        "spec": {"target": {"podRef": {"name": "other", "uid": "u"}}},
        "status": {"conditions": [{**assigned, "lastTransitionTime": "2026-03-01T11:00:00Z"}]},
    }
    await server.seed(EVICTIONREQUESTS, request)
    options = replace(OPTIONS, dry_run=True)
    assert await start_drain(over(InProcessTransport(server.server, ADMIN)), options, StartedDrain()) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert f"pod d/p: evicted, after {absent}" in output
    assert ("has never answered" in output) is (result is TurnResult.NEVER_RESPONDED)


async def test_the_dry_run_of_a_drain_that_is_refused_announces_none(
    server: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    await server.seed(NODES, {"metadata": {"name": "n2", "uid": "n2"}, "spec": {}, "status": {}})
    await server.seed(PODS, a_pod())
    options = replace(OPTIONS, nodes=("n1", "n2"), dry_run=True)
    assert await start_drain(over(InProcessTransport(server.server, ADMIN)), options, StartedDrain()) == 1
    output = capsys.readouterr().out.splitlines()
    assert output[:2] == [
        "node/n1 would not be drained: 1 pod may not be evicted (dry run):",
        "  1. pod d/p: refused",
    ]
    not_drained = "node/n2 would not be drained: pods of another node may not be evicted (dry run)"
    assert output[-1] == f"{not_drained}; no pod runs on it."


async def test_the_dry_run_does_not_call_a_pod_evicted_that_its_budget_blocks(
    server: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    await server.seed(PODS, a_pod(meta={"ownerReferences": [OWNED], "labels": {"app": "web"}}))
    budget = {
        "metadata": {"name": "web", "namespace": "d", "uid": "b", "generation": 1},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"observedGeneration": 1, "desiredHealthy": 1, "currentHealthy": 1, "expectedPods": 1},
    }
    await server.seed(PODDISRUPTIONBUDGETS, budget)
    options = replace(OPTIONS, dry_run=True)
    assert await start_drain(over(InProcessTransport(server.server, ADMIN)), options, StartedDrain()) == 0
    heading, pod, *_ = capsys.readouterr().out.splitlines()
    assert heading == "node/n1 would be cordoned and drained (dry run):"
    assert pod == "  1. pod d/p: blocked by disruption budget web"


async def test_a_node_that_was_replaced_is_a_failure_with_a_message(
    server: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    await seed_maintenance(server, phase="Replaced", percent=50, message="the node was replaced by a new one")
    begun = StartedDrain()
    code = await start_drain(over(InProcessTransport(server.server, ADMIN)), OPTIONS, begun)
    assert (code, begun.name) == (1, "drain-n1")
    assert "error: node/n1: the node was replaced by a new one" in capsys.readouterr().err


async def test_a_node_that_is_drained_is_a_success(
    server: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    await seed_maintenance(server, phase="Drained", percent=100, podsTotal=3, podsEvicted=3)
    assert await start_drain(over(InProcessTransport(server.server, ADMIN)), OPTIONS, StartedDrain()) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "node/n1 drained: 3 pods evicted" in captured.out
