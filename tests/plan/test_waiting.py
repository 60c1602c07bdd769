"""A drain that waits is not taken for one that is blocked: what comes by itself is waited for."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.api.kinds import NODES, PODDISRUPTIONBUDGETS, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.plan.fields import reduced
from vacate.plan.forecast import Run, Verdict
from vacate.plan.run import PlanOptions, run_plan
from vacate.plan.snapshot import Snapshot
from vacate.plan.timings import Pace
from vacate.plan.waiting import last_moment
from vacate.testing.builders import node, pdb, pod

pytestmark = pytest.mark.sim

TAKEN = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
EVICTED = {"pods": {"unmanagedPods": "Evict"}}
RUNNING = {"name": "main", "ready": True, "state": {"running": {"startedAt": "2026-03-01T11:00:00Z"}}}
FIRST, SECOND = "first.example.com", "second.example.com"


def moment(seconds: float) -> str:
    return format_time(TAKEN + dt.timedelta(seconds=seconds))


def lone(grace: int = 30, *, ends_in: float | None = None, **more: Any) -> Obj:
    """A pod that nothing re-creates; perhaps it has been stopping for a while."""
    meta: Obj = {"uid": "p1", **more.pop("metadata", {})}
    if ends_in is not None:
        meta |= {"deletionTimestamp": moment(ends_in), "deletionGracePeriodSeconds": grace}
    status = {"startTime": "2026-03-01T11:00:00Z", "containerStatuses": [RUNNING]}
    spec = {"terminationGracePeriodSeconds": grace}
    return pod(
        "lone",
        node="node-1",
        ready=True,
        labels={"app": "lone"},
        metadata=meta,
        spec=spec,
        status=status,
        **more,
    )


def planned(one: Obj, *others: tuple[Kind, Obj], pace: Pace = Pace.SLOW, **options: Any) -> Run:
    nodes = [node(name, metadata={"uid": name}) for name in ("node-1", "node-2")]
    objects: dict[Kind, list[Obj]] = {NODES: nodes, PODS: [one]}
    for kind, other in others:
        objects.setdefault(kind, []).append(other)
    kept = {kind: [reduced(kind, each) for each in some] for kind, some in objects.items()}
    spec = {**EVICTED, **options.pop("spec", {})}
    return run_plan(Snapshot(TAKEN, kept), PlanOptions(("node-1",), spec, **options), pace)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("grace", [7200, 600])
def test_a_pod_that_stops_for_long_is_waited_for(grace: int) -> None:
    run = planned(lone(grace))
    assert run.verdict is Verdict.FINISHES
    assert grace <= run.seconds <= grace + 5
    assert not run.blockers


def test_the_deadline_of_the_drain_is_waited_for_where_it_changes_anything() -> None:
    """The budget never allows the eviction. At its deadline the drain deletes the pod, or only reports it."""
    budget = (PODDISRUPTIONBUDGETS, pdb("lone", min_available=1, metadata={"uid": "b"}))
    deleted = planned(lone(), budget, spec={"deadlineSeconds": 3600, "onDeadline": "Delete"})
    assert deleted.verdict is Verdict.FINISHES
    assert 3600 <= deleted.seconds <= 3640
    reported = planned(lone(), budget, spec={"deadlineSeconds": 3600})
    assert reported.verdict is Verdict.BLOCKS
    assert {one.kind for one in reported.blockers} == {"DisruptionBudget"}


@pytest.mark.thorough
def test_a_pod_that_is_terminating_has_what_is_left_of_its_grace_period() -> None:
    for pace, most in ((Pace.SLOW, 1805), (Pace.FAST, 5)):
        run = planned(lone(3600, ends_in=1800), pace=pace)
        assert (run.verdict, run.seconds <= most) == (Verdict.FINISHES, True), run.seconds
    assert planned(lone(3600, ends_in=1800)).seconds >= 1795
    late = planned(lone(3600, ends_in=-5))  # a moment too late is no news
    assert (late.verdict, late.seconds <= 5) == (Verdict.FINISHES, True)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("grace", [30, 3600])
def test_a_pod_that_should_have_ended_long_ago_blocks_as_it_does_now(grace: int) -> None:
    run = planned(lone(grace, ends_in=-600))
    assert (run.verdict, [one.kind for one in run.blockers]) == (Verdict.BLOCKS, ["Terminating"])


@pytest.mark.thorough
def test_a_pod_that_a_finalizer_keeps_blocks_after_its_grace_period() -> None:
    held = lone(3600, ends_in=1800, metadata={"finalizers": ["example.com/backup"]})
    run = planned(held)
    assert (run.verdict, [one.name for one in run.blockers]) == (Verdict.BLOCKS, ["example.com/backup"])
    assert 1795 <= run.seconds <= 1900


@pytest.mark.thorough
def test_interceptors_that_never_answer_are_waited_for_one_after_the_other() -> None:
    """Nothing but requests is written in an hour and a half; every turn is shorter than that."""
    run = planned(
        lone(interceptors=[FIRST, SECOND]),
        interceptors={FIRST: None, SECOND: None},
        spec={"heartbeatDeadlineSeconds": 2700},
    )
    assert run.verdict is Verdict.FINISHES
    assert 5400 <= run.seconds <= 5700


@pytest.mark.thorough
def test_a_turn_that_lasts_for_hours_is_waited_for() -> None:
    run = planned(lone(interceptors=[FIRST]), interceptors={FIRST: 3 * 3600.0})
    assert (run.verdict, 10800 <= run.seconds <= 10900) == (Verdict.FINISHES, True)


@pytest.mark.thorough
def test_what_the_last_pod_took_its_time_for_is_named() -> None:
    """An interceptor, then a budget until the deadline of the drain, then its grace period."""
    budget = (PODDISRUPTIONBUDGETS, pdb("lone", min_available=1, metadata={"uid": "b"}))
    run = planned(
        lone(interceptors=[FIRST]),
        budget,
        interceptors={FIRST: 60.0},
        spec={"deadlineSeconds": 600, "onDeadline": "Delete"},
    )
    (row,) = run.nodes
    names = [step.what for step in row.last_pod_steps]
    assert names == [f"interceptor {FIRST}", "budget default/lone", "the end of its containers"]
    assert [round(step.seconds, -1) for step in row.last_pod_steps] == [60, 540, 30]


OWNER = {"apiVersion": "example.com/v1", "kind": "Cluster", "name": "db", "uid": "c1", "controller": True}
UNCOUNTED = {"conditions": [{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed"}]}


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize(
    ("wanted", "status", "verdict"),
    [
        ({"max_unavailable": 1}, {"expectedPods": 3}, Verdict.BLOCKS),  # one of three is away already
        ({"max_unavailable": 1}, UNCOUNTED, Verdict.BLOCKS),
        ({"max_unavailable": 1}, {"expectedPods": 2}, Verdict.FINISHES),
        ({"min_available": "60%"}, {"expectedPods": 3}, Verdict.BLOCKS),
        ({"max_unavailable": "many"}, {"expectedPods": 2}, Verdict.BLOCKS),
        ({"min_available": 1}, {"expectedPods": 3}, Verdict.FINISHES),
        ({"max_unavailable": 1, "selector": {"app": "web"}}, UNCOUNTED, Verdict.FINISHES),
    ],
)
def test_a_budget_counts_pods_of_a_controller_that_is_not_simulated_as_the_cluster_did(
    wanted: dict[str, Any], status: Obj, verdict: Verdict
) -> None:
    owned = {"ownerReferences": [OWNER]}
    other = lone(metadata={**owned, "name": "other", "uid": "p2"})
    other["spec"]["nodeName"] = "node-2"
    budget = (PODDISRUPTIONBUDGETS, pdb("lone", **wanted, metadata={"uid": "b"}, status=status))
    assert planned(lone(metadata=owned), (PODS, other), budget, pace=Pace.FAST).verdict is verdict


def test_what_is_due_by_itself() -> None:
    began = TAKEN
    assert last_moment(began) == began
    job = {"spec": {"activeDeadlineSeconds": 60}, "status": {"startTime": moment(0)}}
    assert last_moment(began, jobs=[job, {"spec": {}, "status": {}}]) == began + dt.timedelta(seconds=60)
    tolerant = pod(
        "a", node="node-1", spec={"tolerations": [{"operator": "Exists", "tolerationSeconds": 90}]}
    )
    assert last_moment(began, pods=[tolerant]) == began
    assert last_moment(began, pods=[tolerant], tainted=["node-1"]) == began + dt.timedelta(seconds=90)
