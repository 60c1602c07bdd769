"""Interceptors of others in a plan: each has its turn, for as long as is assumed of it."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.kinds import NODES, PODS
from vacate.plan.forecast import Run, Verdict
from vacate.plan.report import assumptions
from vacate.plan.run import PlanOptions, run_plan
from vacate.plan.snapshot import Snapshot, reduced
from vacate.plan.timings import Pace
from vacate.testing.builders import node, pod

pytestmark = pytest.mark.sim

NAME = "backup.example.com"
SPEC = {"pods": {"unmanagedPods": "Evict"}, "heartbeatDeadlineSeconds": 600}


def snapshot() -> Snapshot:
    running = {"name": "main", "ready": True, "state": {"running": {"startedAt": "2026-03-01T11:00:00Z"}}}
    status = {"startTime": "2026-03-01T11:00:00Z", "containerStatuses": [running]}
    lone = pod("lone", node="node-1", ready=True, interceptors=[NAME], metadata={"uid": "p1"}, status=status)
    nodes = [node(name, metadata={"uid": name}) for name in ("node-1", "node-2")]
    objects = {NODES: [reduced(NODES, one) for one in nodes], PODS: [reduced(PODS, lone)]}
    return Snapshot(dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC), objects)


def planned(interceptors: dict[str, float | None]) -> Run:
    return run_plan(snapshot(), PlanOptions(("node-1",), SPEC, interceptors), Pace.FAST)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(
    ("assumed", "least", "words"),
    [
        ({}, 300, "takes 300 s: nothing is known about it (--interceptor backup.example.com=2m)"),
        ({NAME: 20.0}, 20, "takes 20 s"),
        ({NAME: None}, 600, "never answers"),
    ],
    ids=["unknown", "given", "never"],
)
def test_an_interceptor_takes_the_time_that_is_assumed(
    assumed: dict[str, float | None], least: float, words: str
) -> None:
    run = planned(assumed)
    assert run.verdict is Verdict.FINISHES
    assert least <= run.seconds <= least + 15
    lines = assumptions(snapshot(), PlanOptions(("node-1",), SPEC, assumed))
    assert f"interceptor {NAME} {words}" in lines
