"""`vacate drain` against a server without controllers: replaced nodes, and Ctrl-C at an awkward moment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from support.embedded import ADMIN, T0, Embedded, a_budget, a_pod, embedded
from vacate.api.kinds import (
    DEPLOYMENTS,
    EVICTIONREQUESTS,
    HORIZONTALPODAUTOSCALERS,
    NODEMAINTENANCES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
)
from vacate.cli.common.connection import Cluster
from vacate.cli.drain.start import DrainOptions, StartedDrain, detach_from, start_drain
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import ConfigError
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
    assert await start_drain(over(InProcessTransport(server.server, ADMIN)), options, StartedDrain()) == 6
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
    assert output[1] == "Verdict: it would be refused; nothing would be changed."
    start = output.index("node/n1 would not be drained: 1 pod may not be evicted (dry run):")
    assert output[start + 1] == "  1. pod d/p: refused"
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
    assert await start_drain(over(InProcessTransport(server.server, ADMIN)), options, StartedDrain()) == 5
    counts, verdict, *rest, heading, pod = capsys.readouterr().out.splitlines()
    assert counts == "Dry run: 1 node to drain, 1 pod to evict."
    assert verdict == "Verdict: it would block: 1 pod holds it until a person acts."
    assert rest[0] == "Needs a person:"
    held = "would be cordoned, and not drained until a person acts: 1 pod would be held"
    assert heading == f"node/n1 {held} (dry run):"
    assert pod == "  1. pod d/p: blocked by disruption budget web"


SURGE = ("deployment.apps.k8s.io", "replicaset.apps.k8s.io")
AUTOSCALER = "horizontalpodautoscaler.autoscaling.k8s.io"
HOOK = "backup.example.com"
REPLACED, PREPARED = (
    "evicted once a replacement is available",
    "deleted past disruption budget b once prepared",
)
BLOCKED = "blocked by disruption budget b"
WAYS = [
    # workload, its annotations, what differs in it, interceptors in the order of turns, pods of the budget;
    # what the pod's line says, and what is said as the remedy
    ("deployment", {}, {}, SURGE, 1, REPLACED, ""),
    ("deployment", {}, {"rollingUpdate": {"maxSurge": 0}}, SURGE, 1, BLOCKED, "maxSurge is 0: set spec."),
    ("deployment", {}, {"type": "Recreate"}, SURGE, 1, BLOCKED, "the strategy Recreate terminates all"),
    ("deployment", {}, {}, (AUTOSCALER, *SURGE), 1, BLOCKED, "raise spec.maxReplicas by at least 1"),
    ("deployment", {"vacate.dev/delete-when-prepared": "true"}, {}, (HOOK,), 1, PREPARED, ""),
    ("statefulset", {"vacate.dev/delete-when-prepared": "true"}, {}, (HOOK,), 1, PREPARED, ""),
    ("statefulset", {"vacate.dev/delete-when-prepared": "true"}, {}, (), 1, BLOCKED, "add a replica"),
    ("statefulset", {"vacate.dev/delete-when-prepared": "true"}, {}, (HOOK,), 2, BLOCKED, "add a replica"),
    ("statefulset", {}, {}, (HOOK,), 1, BLOCKED, "vacate.dev/delete-when-prepared=true"),
    ("nothing", {}, {}, SURGE, 1, BLOCKED, "the pod belongs to no Deployment"),
]


@pytest.mark.parametrize(
    ("workload", "annotations", "strategy", "interceptors", "count", "line", "remedy"), WAYS
)
async def test_the_dry_run_says_how_a_pod_goes_that_its_budget_refuses(
    server: Embedded,
    capsys: pytest.CaptureFixture[str],
    workload: str,
    annotations: dict[str, str],
    strategy: dict[str, Any],
    interceptors: tuple[str, ...],
    count: int,
    line: str,
    remedy: str,
) -> None:
    meta = {"name": "w", "namespace": "d", "uid": "w", "annotations": annotations}
    owner = {**OWNED, "kind": "StatefulSet", "name": "w", "uid": "w"}
    if workload == "statefulset":
        await server.seed(STATEFULSETS, {"metadata": meta, "spec": {"replicas": 1}, "status": {}})
    else:
        owner = OWNED
    if workload == "deployment":
        spec = {"replicas": 1, "strategy": {"type": "RollingUpdate", **strategy}}
        await server.seed(DEPLOYMENTS, {"metadata": meta, "spec": spec, "status": {}})
        above = {**OWNED, "kind": "Deployment", "name": "w", "uid": "w"}
        replica_set = {"name": "r", "namespace": "d", "uid": "r", "ownerReferences": [above]}
        await server.seed(REPLICASETS, {"metadata": replica_set, "spec": {}, "status": {}})
    if AUTOSCALER in interceptors:
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}
        scaler = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 1}
        scaler_meta = {"name": "h", "namespace": "d", "uid": "h"}
        await server.seed(HORIZONTALPODAUTOSCALERS, {"metadata": scaler_meta, "spec": scaler, "status": {}})
    registered = {"evictionInterceptors": [{"name": one} for one in reversed(interceptors)]}
    await server.seed(PODS, a_pod(spec=registered, meta={"ownerReferences": [owner]}))
    status = {"currentHealthy": count, "desiredHealthy": count, "expectedPods": count}
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=0, status=status))
    options = replace(OPTIONS, dry_run=True)
    cluster = over(InProcessTransport(server.server, ADMIN))
    code = 5 if line is BLOCKED else 6  # there is no other node
    assert await start_drain(cluster, options, StartedDrain()) == code
    *rest, pod = capsys.readouterr().out.splitlines()
    assert pod.startswith(f"  1. pod d/p: {line}")
    assert remedy in " ".join(" ".join(rest).split())
    assert bool(remedy) is ("would violate" in " ".join(rest))
    assert await start_drain(cluster, replace(options, output="json"), StartedDrain()) == code
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["type"], first["verdict"]) == ("summary", "Blocks" if line is BLOCKED else "LacksRoom")
    (planned,) = second["pods"]
    assert planned["means"] == {REPLACED: "Replace", PREPARED: "DeletePrepared", BLOCKED: "Evict"}[line]


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


@pytest.mark.parametrize("labelled", [True, False])
async def test_a_topology_key_that_no_node_has_is_refused(server: Embedded, labelled: bool) -> None:
    labels = {"zone": "a"} if labelled else {}
    await server.seed(NODES, {"metadata": {"name": "n2", "labels": labels}, "spec": {}, "status": {}})
    spec = {"pods": PODS_REFUSED, "topologyKey": "zone"}
    options = replace(OPTIONS, nodes=("n1", "n2"), spec=spec, dry_run=True)
    drained = start_drain(over(InProcessTransport(server.server, ADMIN)), options, StartedDrain())
    if labelled:
        assert await drained == 0
    else:
        with pytest.raises(ConfigError, match="--topology-key: none of these nodes has the label zone"):
            await drained


@pytest.mark.parametrize("dry_run", [True, False])
async def test_another_drain_of_the_same_node_is_mentioned(
    server: Embedded, capsys: pytest.CaptureFixture[str], dry_run: bool
) -> None:
    for name, phase in (("older", "Draining"), ("over", "Drained")):
        meta = {"name": name, "uid": name, "generation": 1}
        spec = {"nodes": ["n1", "n2"], "pods": PODS_REFUSED}
        await server.seed(NODEMAINTENANCES, {"metadata": meta, "spec": spec, "status": {"phase": phase}})
    options = replace(OPTIONS, dry_run=dry_run, detach=True)
    assert await start_drain(over(InProcessTransport(server.server, ADMIN)), options, StartedDrain()) == 0
    err = capsys.readouterr().err
    assert "node/n1 is also drained by nodemaintenance/older" in err
    assert "drain --follow older" in err
    assert "nodemaintenance/over" not in err
