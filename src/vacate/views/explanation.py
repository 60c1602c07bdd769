"""The state of a pod's eviction in sentences: what happened, what it waits for, what comes next, what to do.

An explanation never guesses what comes next: it asks the engine, with the request and the pod as they are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.times import EARLIEST
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.api.types.policy import PodDisruptionBudget
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.dialects.turn_conditions import recorded_turn
from vacate.eviction.engine import decide
from vacate.eviction.model import (
    Action,
    Assign,
    CorrectHeartbeat,
    DecisionContext,
    Evict,
    Finish,
    Hold,
    NotAdmitted,
    Skip,
    Stage,
    Supersede,
)
from vacate.eviction.records.patches import superseded_because
from vacate.kube.workloads import Workload
from vacate.views.budgets import covering
from vacate.views.model import Explanation, ExplanationInput, Refusals, Remedy, Section
from vacate.views.phrases import ago, listed
from vacate.views.remedies import reason_of
from vacate.views.sections.completed import finishing, over, unadmitted
from vacate.views.sections.evicting import (
    attempt_window,
    blocked,
    evicting,
    terminating,
    unevictable,
)
from vacate.views.sections.intercepting import at_work, overdue, turn_comes
from vacate.views.sections.nodeshutdown import with_shutdown
from vacate.views.turns import TurnState, TurnView, turn_views

__all__ = ["Explanation", "Remedy", "TurnState", "TurnView", "explanation_of"]

_NO_REQUESTERS = "; it no longer has any requesters."


def explanation_of(
    request: EvictionRequest,
    pod: Pod | None,
    budgets: Sequence[PodDisruptionBudget] = (),
    *,
    now: dt.datetime,
    refusals: Sequence[Refusals] = (),
    program: str = "vacate",
    maintenances: Sequence[NodeMaintenance] | None = None,
    workload: Workload | None = None,
) -> Explanation:
    """Explain a request. `pod` is what the server has under the name now, or None.

    `maintenances` are those of the cluster, `workload` is that of the pod; None where they are not known.
    """
    labels = pod.metadata.labels if pod else {}
    around = covering(budgets, request.metadata.namespace, labels)
    known = None if maintenances is None else tuple(maintenances)
    last = max((one.last for one in refusals), default=None) or _first_refusal(request)
    inputs = ExplanationInput(request, pod, around, last, now, program, known, workload)
    section = with_shutdown(inputs, _section(inputs))
    made = Explanation(
        namespace=inputs.namespace,
        pod=inputs.name,
        request=request.metadata.name,
        headline=section.headline,
        stage=section.stage,
        requested=_requested(inputs),
        turns=turn_views(request, now, idle=_idle(section)),
        happened=section.happened,
        refusals=tuple(refusals),
        awaited=section.awaited,
        next=section.next,
        next_at=section.next_at,
        remedies=section.remedies,
    )
    return made.phrased(dialect_of(request).phrase)


def _idle(section: Section) -> str:
    """Why no heartbeat deadline runs, as a sentence about the active interceptor."""
    if section.stage in (Stage.COMPLETE, Stage.CANCELLED, None):
        return "was active when the request completed"
    return "is active while the pod terminates" if section.stage is Stage.TERMINATING else ""


def _section(inputs: ExplanationInput) -> Section:
    """What the engine would do, after a watch without gaps and in a controller that has just started."""
    window = attempt_window(inputs)
    next_attempt = window[1] if window else None
    action = decide(inputs.process, inputs.target, DecisionContext(inputs.now, EARLIEST, next_attempt))
    new = DecisionContext(inputs.now, inputs.now, next_attempt)
    just_started = decide(inputs.process, inputs.target, new)
    if recorded_turn(inputs.request, inputs.process.active or "") is not None:
        return _section_of(inputs, action)  # the controller has recorded that the turn is over
    if isinstance(just_started, Hold) and just_started.stage is Stage.INTERCEPTING and just_started != action:
        return _overdue_or_at_work(inputs, action, just_started)
    return _section_of(inputs, action)


def _overdue_or_at_work(inputs: ExplanationInput, action: Action, just_started: Hold) -> Section:
    """Whether both would wait for the interceptor, or only a controller that has just started to watch."""
    if isinstance(action, Hold) and action.stage is Stage.INTERCEPTING:
        return at_work(inputs, action)
    return overdue(inputs, just_started)


def _section_of(inputs: ExplanationInput, action: Action) -> Section:
    match action:
        case NotAdmitted():
            return unadmitted(inputs)
        case Finish(reason):
            return finishing(inputs, reason)
        case Assign():
            return turn_comes(inputs, action)
        case Evict():
            return evicting(inputs)
        case Hold(stage=Stage.INTERCEPTING):
            return at_work(inputs, action)
        case Hold(stage=Stage.TERMINATING) if inputs.target.termination is not None:
            return terminating(inputs, inputs.target.termination)
        case CorrectHeartbeat(heartbeat):
            return at_work(inputs, Hold(Stage.INTERCEPTING, until=heartbeat + inputs.process.deadline))
        case Hold(stage=Stage.BLOCKED, message=str(why)):
            return unevictable(inputs, why)
        case Skip():
            return at_work(inputs, Hold(Stage.INTERCEPTING, until=inputs.now))
        case Supersede():
            return blocked(inputs, taken_over=superseded_because(inputs.request, action))
        case Hold():
            return blocked(inputs)
        case _:
            return over(inputs)


def _first_refusal(request: EvictionRequest) -> dt.datetime | None:
    """When an eviction was refused, where there was only one: the stage has been Blocked since then."""
    failed = request.status.pod_eviction_status
    if failed is None or failed.failed_api_eviction_counter != 1:
        return None
    return next(
        (one.last_transition_time for one in request.status.conditions if one.reason == "Blocked"), None
    )


def _requested(inputs: ExplanationInput) -> tuple[str, ...]:
    """Who requests the eviction, since when, why, and whether it can be cancelled."""
    process, request = inputs.process, inputs.request
    since = f"The eviction request was created {ago(process.created, inputs.now)}"
    who = f"; requested by {listed(process.requesters)}." if process.requesters else _NO_REQUESTERS
    sentences = [since + who]
    if reason := reason_of(request):
        sentences.append(f"Reason given: {reason}")
    if process.complete or not process.forbids_cancellation:
        return tuple(sentences)
    if process.requesters and not process.being_deleted:
        sentences.append("It cannot be cancelled: an interceptor has forbidden cancellation.")
    else:
        sentences.append(
            "It continues because an interceptor has forbidden cancellation; it ends once that is allowed."
        )
    return tuple(sentences)
