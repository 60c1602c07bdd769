"""What can happen to a request: the controller's step, and everyone else's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec

from eviction.dialects.model_controller import patch_of
from eviction.exhaustive.state import NAMES, NOW, REQUESTERS, Beat, PodIs, State, condition
from vacate.admission.context import Context
from vacate.api.identity import EVICTION_CONTROLLER, User
from vacate.api.kinds import EVICTIONREQUESTS, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.embedded.registry.strategies import strategy_for
from vacate.errors import Forbidden
from vacate.eviction import engine
from vacate.eviction.attempts import FIRST_DELAY as PAUSE
from vacate.eviction.model import Action, DecisionContext, Evict, ReadTarget
from vacate.eviction.records.patches import refusal_patch
from vacate.eviction.records.reader import process_of, target_of
from vacate.features import FeatureGates

STRATEGY = strategy_for(EVICTIONREQUESTS)
LONG_AGO = NOW.replace(year=2020)
Step = tuple[str, State]


class Refused(AssertionError):
    """Admission refuses what the controller writes: the request stays as it is for ever."""


# The controller


def controller_steps(state: State) -> set[State]:
    """The states after one step of the controller, whatever it remembers and whatever the budget allows."""
    if state.ended:
        return set()
    request, actions = typed(state.request()), set()
    for since in (LONG_AGO, NOW):  # it has listened for long, or has just been started
        for attempt in (None, NOW + PAUSE):  # it may try an eviction, or waits after a refusal
            actions.add(_action(state, request, DecisionContext(NOW, since, attempt)))
    return {new for action in actions for new in _after(state, request, action)}


def step_in_silence(state: State) -> State:
    """The one step of a controller that has listened for long and waits for no attempt; the pod may go."""
    request = typed(state.request())
    action = _action(state, request, DecisionContext(NOW, LONG_AGO))
    return next(iter(_after(state, request, action)))


def _action(state: State, request: EvictionRequest, moment: DecisionContext) -> Action:
    """What the controller decides, after a live look at the pod where it asks for one."""
    pod = state.pod_object()
    seen = None if pod is None else msgspec.convert(pod, Pod)
    process = process_of(request)
    action = engine.decide(process, target_of(request, seen), moment)
    if isinstance(action, ReadTarget):
        action = engine.decide(process, target_of(request, seen, live=True), moment)
    return action


def _after(state: State, request: EvictionRequest, action: Action) -> list[State]:
    if isinstance(action, Evict):
        refused = _written(state, refusal_patch(request, "the budget is spent", NOW))
        return [state._replace(pod=PodIs.TERMINATING), refused]
    patch = patch_of(request, action, NOW)
    return [state if patch is None else _written(state, patch)]


def _written(state: State, patch: Obj) -> State:
    new, field_errors = attempted(state, patch["status"], EVICTION_CONTROLLER)
    if field_errors:
        raise Refused(f"{state}: {'; '.join(field_errors)}")
    return new


# Admission


def attempted(state: State, status: Obj, user: str) -> tuple[State, list[str]]:
    """A merge patch of the status by someone: the state that it would lead to, and what admission says."""
    old, new = state.request(), state.request()
    new["status"] = {k: v for k, v in {**new["status"], **status}.items() if v is not None}
    field_errors = _errors(state, new, old, "status", user)
    return state.read(new), field_errors


def _errors(state: State, new: Obj, old: Obj, subresource: str, user: str) -> list[str]:
    ctx = _context(state, subresource, user)
    STRATEGY.default(new, ctx)
    STRATEGY.prepare_update(new, old, ctx)
    return [str(field_error) for field_error in STRATEGY.validate_update(new, old, ctx)]


def _context(state: State, subresource: str, user: str = "someone") -> Context:
    def look_up(kind: Kind, _namespace: str, _name: str) -> Obj | None:
        return state.pod_object() if kind is PODS else None

    return Context(User(user), NOW, FeatureGates(), look_up, subresource, may=lambda _: True)


# Everyone else


WRITES: dict[str, Obj] = dict(
    (
        ("heartbeat", {"heartbeatTime": Beat.FRESH.written()}),
        ("heartbeat from the future", {"heartbeatTime": Beat.FUTURE.written()}),
        ("old heartbeat", {"heartbeatTime": Beat.STALE.written()}),
        ("unset heartbeat", {"heartbeatTime": None}),
        ("completed", {"activeInterceptorCompleted": True}),
        ("not completed", {"activeInterceptorCompleted": False}),
        ("forbid", {"evictionRequestCancellationPolicy": "Forbid"}),
        ("allow", {"evictionRequestCancellationPolicy": "Allow"}),
        ("no conditions", {"conditions": []}),
        ("counter", {"podEvictionStatus": {"failedAPIEvictionCounter": 9}}),
        ("no name", {"activeInterceptorName": None}),
        *(
            (f"name {name}", {"activeInterceptorName": name, "heartbeatTime": Beat.FRESH.written()})
            for name in NAMES
        ),
        *(
            (f"progress {stage}", {"conditions": [condition("Progressing", stage)]})
            for stage in ("Terminating", "Blocked", "Complete")
        ),
        *(
            (f"end {reason}", {"activeInterceptorName": None, "conditions": [condition("Complete", reason)]})
            for reason in ("PodDeleted", "PodTerminated", "Cancelled")
        ),
    )
)
CONDITIONS = tuple(title for title, status in WRITES.items() if "conditions" in status)
FIELDS = tuple(title for title in WRITES if title not in CONDITIONS)


def steps_of_others(state: State) -> Iterator[Step]:
    """Every step that anyone but the controller can take, each through the real admission."""
    if state.ended:
        return
    seen = state.admission
    for title, new in writes_of_others(seen._replace(stage=""), FIELDS):  # no condition is a rule's input
        yield title, new._replace(pod=state.pod, stage=state.stage)
    for title, new in writes_of_others(seen, CONDITIONS):
        yield title, new._replace(pod=state.pod)
    for title, new in changes_of_requesters(seen._replace(stage="")):
        yield title, new._replace(pod=state.pod, stage=state.stage)
    # While the webhook is away nobody sees that a heartbeat lies in the future.
    if state.active and not state.completed:
        yield "heartbeat from the future, webhook away", state._replace(beat=Beat.FUTURE)
    yield from _surroundings(state)


@cache
def writes_of_others(state: State, writes: tuple[str, ...]) -> tuple[Step, ...]:
    """Those writes of the status that admission lets pass."""
    found = [(title, *attempted(state, WRITES[title], "someone")) for title in writes]
    return tuple((title, new) for title, new, field_errors in found if not field_errors)


@cache
def changes_of_requesters(state: State) -> tuple[Step, ...]:
    """Joining, withdrawing and deleting, as far as admission lets them pass."""
    found: list[Step] = []
    for wish in (
        frozenset(REQUESTERS[:size]) for size in range(3)
    ):  # nothing depends on which of the two it is
        old, new = state.request(), state.request()
        new["spec"]["requesters"] = [{"name": name} for name in sorted(wish)]
        if not _errors(state, new, old, "", "someone"):
            found.append((f"requesters {sorted(wish)}", state._replace(requesters=wish)))
    try:
        STRATEGY.validate_delete(state.request(), _context(state, ""))
    except Forbidden:
        return tuple(found)
    return (*found, ("deleted", state._replace(deleted=True)))


def _surroundings(state: State) -> Iterator[Step]:
    """The pod, and time."""
    if state.pod is PodIs.RUNNING:
        yield "pod terminates", state._replace(pod=PodIs.TERMINATING)
    if state.pod in (PodIs.RUNNING, PodIs.TERMINATING):
        yield "pod ends", state._replace(pod=PodIs.ENDED)
    if state.pod is not PodIs.GONE:
        yield "pod goes", state._replace(pod=PodIs.GONE)
    yield "time passes", state.later()


def typed(obj: Obj) -> EvictionRequest:
    """The request as the controller's cache has it."""
    return msgspec.convert(obj, EvictionRequest)
