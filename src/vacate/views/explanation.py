"""How a pod's leave stands, in sentences: what happened, what is awaited, what comes next, what one can do.

The story never guesses what comes next: it asks the engine, with the request and the pod as they are.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.policy import PodDisruptionBudget
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
    Stage,
    Unadmitted,
)
from vacate.views.budgets import covering
from vacate.views.model import Explanation, ExplanationInput, Remedy, Section
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
from vacate.views.turns import TurnState, TurnView, turn_views

__all__ = ["Explanation", "Remedy", "TurnState", "TurnView", "explanation_of"]

_NOBODY = ", and nobody wants it any more."
_ALL_ALONG = dt.datetime.min.replace(tzinfo=dt.UTC)


def explanation_of(
    request: EvictionRequest,
    pod: Pod | None,
    budgets: Sequence[PodDisruptionBudget] = (),
    *,
    now: dt.datetime,
    refused_at: dt.datetime | None = None,
    program: str = "vacate",
) -> Explanation:
    """The story of a request. `pod` is what the server has under the name now, None where that is nothing."""
    labels = pod.metadata.labels if pod else {}
    around = covering(budgets, request.metadata.namespace, labels)
    scene = ExplanationInput(request, pod, around, refused_at or _first_refusal(request), now, program)
    act = _act(scene)
    return Explanation(
        namespace=scene.namespace,
        pod=scene.name,
        request=request.metadata.name,
        headline=act.headline,
        stage=act.stage,
        asked=_asked(scene),
        turns=turn_views(request, now, idle=_idle(act)),
        happened=act.happened,
        awaited=act.awaited,
        next=act.next,
        next_at=act.next_at,
        remedies=act.remedies,
    )


def _idle(act: Section) -> str:
    """Why nobody's turn or time passes, as said of the one who has the turn."""
    if act.stage in (Stage.COMPLETE, Stage.CANCELLED, None):
        return "had the turn when the request ended"
    return "has the turn while the pod leaves" if act.stage is Stage.TERMINATING else ""


def _act(scene: ExplanationInput) -> Section:
    """What the engine would do: as one who has listened all along, and as one who has just begun to."""
    window = attempt_window(scene)
    next_attempt = window[1] if window else None
    action = decide(scene.process, scene.target, DecisionContext(scene.now, _ALL_ALONG, next_attempt))
    beginner = decide(scene.process, scene.target, DecisionContext(scene.now, scene.now, next_attempt))
    if recorded_turn(scene.request, scene.process.active or "") is not None:
        return _act_of(scene, action)  # the controller has written down that the turn is over
    if isinstance(beginner, Hold) and beginner.stage is Stage.INTERCEPTING and beginner != action:
        return _overdue_or_at_work(scene, action, beginner)
    return _act_of(scene, action)


def _overdue_or_at_work(scene: ExplanationInput, action: Action, beginner: Hold) -> Section:
    """Both wait for the interceptor, or only the one who has not listened for long."""
    if isinstance(action, Hold) and action.stage is Stage.INTERCEPTING:
        return at_work(scene, action)
    return overdue(scene, beginner)


def _act_of(scene: ExplanationInput, action: Action) -> Section:
    match action:
        case Unadmitted():
            return unadmitted(scene)
        case Finish(ending):
            return finishing(scene, ending)
        case Assign():
            return turn_comes(scene, action)
        case Evict():
            return evicting(scene)
        case Hold(stage=Stage.INTERCEPTING):
            return at_work(scene, action)
        case Hold(stage=Stage.TERMINATING) if scene.target.departure is not None:
            return terminating(scene, scene.target.departure)
        case CorrectHeartbeat(heartbeat):
            return at_work(scene, Hold(Stage.INTERCEPTING, until=heartbeat + scene.process.deadline))
        case Hold(stage=Stage.BLOCKED, message=str(why)):
            return unevictable(scene, why)
        case Hold():
            return blocked(scene)
        case _:
            return over(scene)


def _first_refusal(request: EvictionRequest) -> dt.datetime | None:
    """When an eviction was refused, where there was only one: the stage has been Blocked since then."""
    failed = request.status.pod_eviction_status
    if failed is None or failed.failed_api_eviction_counter != 1:
        return None
    return next(
        (one.last_transition_time for one in request.status.conditions if one.reason == "Blocked"), None
    )


def _asked(scene: ExplanationInput) -> tuple[str, ...]:
    """Who wants it, since when, why, and whether they may change their minds."""
    process, request = scene.process, scene.request
    since = f"The request was made {ago(process.created, scene.now)}"
    wanted = "was wanted" if process.complete else "is wanted"
    who = f" and {wanted} by {listed(process.requesters)}." if process.requesters else _NOBODY
    said = [since + who]
    if reason := reason_of(request):
        said.append(f"Reason given: {reason}")
    if process.complete or not process.forbids_cancellation:
        return tuple(said)
    if process.requesters and not process.being_deleted:
        said.append("It cannot be cancelled: an interceptor has forbidden that.")
    else:
        said.append(
            "It goes on because an interceptor has forbidden to cancel it; it ends once that is allowed."
        )
    return tuple(said)
