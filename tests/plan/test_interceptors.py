"""Interceptors of others in a plan: each has its turn, for as long as is assumed of it."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.kinds import NODES, PODS
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.plan.fields import reduced
from vacate.plan.forecast import Run, Verdict
from vacate.plan.report import assumptions
from vacate.plan.run import PlanOptions, run_plan
from vacate.plan.snapshot import Snapshot
from vacate.plan.timings import Pace
from vacate.plan.turns import gates_for, is_served
from vacate.testing.builders import naming_interceptors, node, pod

pytestmark = pytest.mark.sim

NAME = "backup.example.com"
UID = "5f0c6c1e-8a58-4a0e-9b5c-3f6f8a1b2c3d"
SPEC = {"pods": {"unmanagedPods": "Evict"}, "heartbeatDeadlineSeconds": 600}


def snapshot(dialect: Dialect = EVICTION_REQUEST, apis: tuple[str, ...] | None = None) -> Snapshot:
    running = {"name": "main", "ready": True, "state": {"running": {"startedAt": "2026-03-01T11:00:00Z"}}}
    status = {"startTime": "2026-03-01T11:00:00Z", "containerStatuses": [running]}
    name = dialect.participant(NAME)
    lone = naming_interceptors(
        pod("lone", node="node-1", ready=True, metadata={"uid": UID}, status=status), [name], dialect
    )
    nodes = [node(name, metadata={"uid": name}) for name in ("node-1", "node-2")]
    objects = {NODES: [reduced(NODES, one) for one in nodes], PODS: [reduced(PODS, lone)]}
    return Snapshot(dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC), objects, apis=apis)


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


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(
    ("dialect", "registers"),
    [(LIFECYCLE, LIFECYCLE), (EVACUATION, EVICTION_REQUEST), (EVICTION_REQUEST, LIFECYCLE)],
    ids=["lifecycle", "evacuation", "responders of a drain that names no API"],
)
def test_turns_are_taken_in_the_api_by_which_the_pod_is_evicted(dialect: Dialect, registers: Dialect) -> None:
    spec = {"pods": SPEC["pods"], "requestKind": dialect.request_kind}
    there = snapshot(registers, ("evictionrequest", "evacuation", "lifecycle"))
    run = run_plan(there, PlanOptions(("node-1",), spec, {NAME: 60.0}), Pace.FAST)
    assert (run.verdict, 60 <= run.seconds <= 100) == (Verdict.FINISHES, True), run
    (line,) = (
        one for one in assumptions(there, PlanOptions(("node-1",), spec, {NAME: 60.0})) if "takes" in one
    )
    what = "responder" if registers is LIFECYCLE else "interceptor"
    assert line == f"{what} {registers.participant(NAME)} takes 60 s"


def test_responders_without_a_turn_are_named_in_the_assumptions() -> None:
    """The cluster does not serve their API: they are not waited for, in a plan as in a drain."""
    there, options = snapshot(LIFECYCLE, ("evictionrequest", "evacuation")), PlanOptions(("node-1",), SPEC)
    assert run_plan(there, options, Pace.FAST).seconds < 20
    lines = assumptions(there, options)
    assert any(one.startswith("responders of 1 pod have no turn") for one in lines)
    served = snapshot(LIFECYCLE, ("evictionrequest", "lifecycle"))
    assert not any("no turn" in one for one in assumptions(served, options))


def test_an_api_that_is_not_served() -> None:
    spec = {"requestKind": LIFECYCLE.request_kind}
    assert is_served(snapshot(), LIFECYCLE)  # not known
    assert not is_served(snapshot(apis=("evictionrequest",)), LIFECYCLE)
    assert not is_served(snapshot(apis=()), LIFECYCLE)
    assert is_served(snapshot(apis=()), EVACUATION)  # it comes with Vacate
    assert not gates_for(snapshot(apis=()), spec).enabled("LifecycleAPI")
