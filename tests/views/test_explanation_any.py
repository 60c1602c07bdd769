"""Whatever state a request, its pod and its budgets are in: the explanation agrees with the engine."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.simulated.request import START, SimRequest
from vacate.api.times import format_exact_time
from vacate.eviction.engine import decide
from vacate.eviction.model import (
    AlreadyComplete,
    Assign,
    CorrectHeartbeat,
    DecisionContext,
    Evict,
    Finish,
    Hold,
    NotAdmitted,
    Stage,
)
from vacate.eviction.records.reader import process_of, target_of
from vacate.views.explanation import Explanation, explanation_of

pytestmark = pytest.mark.unit

NAMES = ("a.example.com", "b.example.com", "c.example.com")
EARLY = dt.datetime.min.replace(tzinfo=dt.UTC)
OVER = (Stage.COMPLETE, Stage.CANCELLED, Stage.SUPERSEDED)
moments = st.integers(-100, 10_000).map(lambda s: format_exact_time(START + dt.timedelta(seconds=s)))


def conditions() -> st.SearchStrategy[list[dict[str, Any]]]:
    progressing = st.fixed_dictionaries(
        {
            "type": st.just("Progressing"),
            "status": st.sampled_from(["True", "False"]),
            "reason": st.sampled_from([*(one.value for one in Stage), "Other"]),
            "message": st.sampled_from(["", "Asked"]),
            "lastTransitionTime": moments,
        }
    )
    assigned = st.fixed_dictionaries(
        {
            "type": st.just("InterceptorAssigned"),
            "status": st.just("True"),
            "message": st.one_of(st.text(max_size=20), _histories()),
            "lastTransitionTime": moments,
        }
    )
    complete = st.fixed_dictionaries(
        {
            "type": st.just("Complete"),
            "status": st.sampled_from(["True", "False"]),
            "reason": st.sampled_from(["PodDeleted", "PodTerminated", "Cancelled", "Other"]),
            "lastTransitionTime": st.none() | moments,
        }
    )
    return st.tuples(
        st.none() | progressing, st.none() | assigned, st.one_of(st.none(), st.none(), complete)
    ).map(lambda found: [one for one in found if one is not None])


def _histories() -> st.SearchStrategy[str]:
    fates = st.sampled_from(
        ["completed", "timed-out", "never-responded", "failed", "declined", "cancelled", "pod-gone"]
    )
    line = st.builds("{} {} {} {}".format, st.sampled_from(NAMES), moments, fates, moments)
    return st.lists(line, max_size=3).map("\n".join)


statuses = st.fixed_dictionaries(
    {"conditions": conditions()},
    optional={
        "activeInterceptorName": st.sampled_from([*NAMES, "stranger.example.com"]),
        "activeInterceptorCompleted": st.booleans(),
        "heartbeatTime": moments,
        "expectedInterceptorFinishTime": moments,
        "evictionRequestCancellationPolicy": st.sampled_from(["Allow", "Forbid"]),
        "message": st.sampled_from(["", "Asked", "x\x1b[2J\ny", "The disruption budget web needs 3"]),
        "podEvictionStatus": st.integers(0, 30).map(lambda count: {"failedAPIEvictionCounter": count}),
    },
)
pod_changes = st.one_of(
    st.just({}),
    st.just({"status": {"phase": "Succeeded"}}),
    st.just({"metadata": {"uid": "uid-other"}}),
    st.just({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}),
    st.builds(
        lambda ends, held: {
            "metadata": {"deletionTimestamp": ends, "deletionGracePeriodSeconds": 30, "finalizers": held}
        },
        moments,
        st.sampled_from([[], ["example.com/keep"]]),
    ),
)


@st.composite
def requests(draw: st.DrawFn) -> SimRequest:
    sim = SimRequest(*NAMES[: draw(st.integers(0, 3))], requesters=NAMES[: draw(st.integers(0, 2))])
    sim.status(**draw(statuses))
    if draw(st.integers(0, 9)) == 0:
        sim.metadata(annotations=None)
    for number in range(draw(st.integers(0, 2))):
        sim.budget(f"budget-{number}", draw(st.integers(0, 4)), 3)
    if draw(st.integers(0, 7)) == 0:
        sim.pod_goes()
    else:
        sim.pod_is(**draw(pod_changes))
    return sim.after(seconds=draw(st.integers(0, 10_000)))


def explained(sim: SimRequest) -> Explanation:
    return explanation_of(sim.typed, sim.typed_pod, sim.typed_budgets, now=sim.now)


@given(requests())
def test_an_explanation_has_plain_sentences(sim: SimRequest) -> None:
    explanation = explained(sim)
    assert [turn.interceptor for turn in explanation.turns] == list(process_of(sim.typed).interceptors)
    assert all(one and one.isprintable() for one in explanation.sentences)
    assert all(one.text.isprintable() and one.command.isprintable() for one in explanation.remedies)
    assert explanation.happened or explanation.awaited or explanation.next


@given(requests())
def test_the_stage_is_the_engines(sim: SimRequest) -> None:
    process, target = process_of(sim.typed), target_of(sim.typed, sim.typed_pod, live=True)
    later = sim.now + dt.timedelta(hours=1) if process.failed_evictions else None
    action = decide(process, target, DecisionContext(sim.now, EARLY, later))
    stage = explained(sim).stage
    match action:
        case AlreadyComplete() | Finish():
            assert stage in OVER
        case NotAdmitted():
            assert stage is None
        case Hold():
            assert stage is action.stage or _is_waiting(sim, stage)
        case Assign() | CorrectHeartbeat():
            assert stage is Stage.INTERCEPTING
        case Evict():
            assert stage is Stage.EVICTING or _is_waiting(sim, stage)
        case _:
            pytest.fail(f"{action} for a pod that was read")


def _is_waiting(sim: SimRequest, stage: Stage | None) -> bool:
    """Whether one who has just begun to listen would still wait."""
    process, target = process_of(sim.typed), target_of(sim.typed, sim.typed_pod, live=True)
    action = decide(process, target, DecisionContext(sim.now, sim.now))
    return stage is Stage.INTERCEPTING and isinstance(action, Hold) and action.stage is stage


@given(requests())
def test_no_remedy_would_be_refused(sim: SimRequest) -> None:
    explanation, process = explained(sim), process_of(sim.typed)
    commands = [one.command for one in explanation.remedies]
    if process.complete or explanation.stage in OVER:
        assert not [one for one in commands if " cancel " in one]
    elif process.forbids_cancellation:
        assert "vacate cancel web-1 -n default" not in commands
    if explanation.next_at is not None:
        assert explanation.stage is not None
