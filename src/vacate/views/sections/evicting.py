"""The acts after the interceptors: evicted, refused, left alone, terminating."""

from __future__ import annotations

import datetime as dt

from vacate.eviction.attempts import LONGEST_DELAY, after_refusal, delay
from vacate.eviction.dialects.evictionrequest.history import TurnResult
from vacate.eviction.dialects.evictionrequest.reader import is_mirror
from vacate.eviction.dialects.turn_conditions import result_of_turn
from vacate.eviction.engine import TERMINATION_OVERDUE_AFTER
from vacate.eviction.model import Stage, Termination
from vacate.views.budgets import budgets_named_in, room_of, would_refuse
from vacate.views.model import ExplanationInput, Remedy, Section
from vacate.views.phrases import ahead, command_line, counted, listed, sentence, span
from vacate.views.remedies import change_of_mind, follow, look_at_budgets, look_for_controller

_ROOM_BY_NOW = "As things stand the server would agree to the next attempt."
_NO_BUDGET = "No disruption budget stands in the way: whoever refused it must change their mind."


def attempt_window(scene: ExplanationInput) -> tuple[dt.datetime, dt.datetime] | None:
    """Between which moments the next eviction is tried; None where nothing was refused yet."""
    failed = scene.process.failed_evictions
    if not failed:
        return None
    if scene.refused_at is not None:
        latest = after_refusal(failed, scene.refused_at, 0.0)
        if latest > scene.now:
            return max(after_refusal(failed, scene.refused_at, 1.0), scene.now), latest
    return scene.now, scene.now + delay(failed)  # the controller alone knows, and has waited some of it


def evicting(scene: ExplanationInput) -> Section:
    """Nothing is in the way on our side."""
    process = scene.process
    why = "all interceptors have had their turns" if process.interceptors else "it has no interceptors"
    unprepared = _unprepared(scene)
    refusal = _refusal(scene)
    foreseen = (f"As things stand the server will refuse: {sentence(refusal)}",) if refusal else ()
    return Section(
        headline=f"Pod {scene.name} is being evicted{unprepared or f': {why}'}.",
        stage=Stage.EVICTING,
        awaited=(*foreseen, *_rooms(scene)),
        next=("The API server is asked now to evict the pod.", *_late_report(scene)),
        next_at=scene.now,
        remedies=(
            *look_for_controller(scene, _due(scene)),
            *(look_at_budgets(scene) if refusal else ()),
            *change_of_mind(scene),
        ),
    )


def blocked(scene: ExplanationInput) -> Section:
    """Evictions were refused, and the next attempt has its time."""
    refusal, failed = _refusal(scene), scene.process.failed_evictions
    refused = counted(failed, "attempt was", "attempts were")
    window = attempt_window(scene)
    message = scene.request.status.message
    return Section(
        headline=f"Pod {scene.name} cannot be evicted: {refused} refused.",
        stage=Stage.BLOCKED,
        happened=(sentence(message),) if message else (),
        awaited=(*_still_refused(scene, refusal), *_rooms(scene)),
        next=(*_next_attempt(scene, window), *_late_report(scene)),
        next_at=window[1] if window else None,
        remedies=(*look_at_budgets(scene), follow(scene), *change_of_mind(scene)),
    )


def unevictable(scene: ExplanationInput, why: str) -> Section:
    """A DaemonSet's pod or a mirror pod."""
    name, pod = scene.name, scene.pod
    node = (pod.spec.node_name if pod else "") or "its node"
    remedies: tuple[Remedy, ...]
    if pod is not None and is_mirror(pod):
        remedies = (Remedy(f"Remove its manifest on {node}: only the node can end a static pod."),)
    else:
        owner = pod.metadata.controller if pod else None
        remedies = (
            Remedy(
                "Keep the DaemonSet off the node, by a taint or its node selector; it removes the pod then.",
                scene.kubectl("describe", f"daemonset/{owner.name if owner else name}"),
            ),
            Remedy("Or delete the pod; the DaemonSet makes a new one.", scene.kubectl("delete", "pod", name)),
        )
    return Section(
        headline=f"Pod {name} is left alone: it is not evicted through the API.",
        stage=Stage.BLOCKED,
        happened=(sentence(why),),
        awaited=("The pod's end by other means is awaited.",),
        remedies=(*remedies, *change_of_mind(scene)),
    )


def terminating(scene: ExplanationInput, departure: Termination) -> Section:
    """The pod is going; what could hold it up is said once its grace is over."""
    name, now = scene.name, scene.now
    over = now >= departure.ends + TERMINATION_OVERDUE_AFTER
    in_grace = (
        f"The end of the pod's grace period is awaited, {ahead(departure.ends, now)}.",
        *(
            (f"Its finalizers hold it after that: {listed(departure.finalizers)}.",)
            if departure.finalizers
            else ()
        ),
    )
    return Section(
        headline=f"Pod {name} is terminating.",
        stage=Stage.TERMINATING,
        awaited=_held_by(departure, now) if over else in_grace,
        next=(
            "The request completes when the pod is gone; no interceptor's turn or time passes until then.",
            "To cancel it would change only the request: the pod goes all the same.",
        ),
        next_at=None if over else departure.ends,
        remedies=(*(_release(scene, departure) if over else ()), follow(scene)),
    )


def _held_by(departure: Termination, now: dt.datetime) -> tuple[str, ...]:
    over = f"Its grace period ended {span(now - departure.ends)} ago"
    if departure.finalizers:
        return (f"{over}; it is held by its finalizers: {listed(departure.finalizers)}.",)
    if departure.node:
        return (f"{over}; node {departure.node} has not yet confirmed that its containers ended.",)
    return (f"{over}; its removal is awaited.",)


def _release(scene: ExplanationInput, departure: Termination) -> tuple[Remedy, ...]:
    if departure.finalizers:
        show = scene.kubectl("get", "pod", scene.name, "-o", "yaml")
        return (Remedy("Whoever set the finalizers must remove them; see which they are.", show),)
    if departure.node:
        return (
            Remedy(
                "See whether the node is alive.",
                command_line("kubectl", "describe", f"node/{departure.node}"),
            ),
        )
    return ()


def _refusal(scene: ExplanationInput) -> str:
    return would_refuse(scene.pod, scene.budgets) if scene.pod is not None else ""


def _rooms(scene: ExplanationInput) -> tuple[str, ...]:
    return tuple(room_of(budget) for budget in scene.budgets)


def _still_refused(scene: ExplanationInput, refusal: str) -> tuple[str, ...]:
    if not refusal:
        by_budget = budgets_named_in(scene.request.status.message)
        return (_ROOM_BY_NOW if by_budget else _NO_BUDGET,)
    if len(scene.budgets) > 1:
        names = listed([budget.metadata.name for budget in scene.budgets])
        return (f"No eviction is possible as long as several budgets select the pod: {names}.",)
    return (f"Room in disruption budget {scene.budgets[0].metadata.name} is awaited.",)


def _next_attempt(scene: ExplanationInput, window: tuple[dt.datetime, dt.datetime] | None) -> tuple[str, ...]:
    if window is None:
        return ()
    begins, ends = window
    when = f"within {span(ends - scene.now)}"
    if begins > scene.now:
        when = f"between {span(begins - scene.now)} and {span(ends - scene.now)} from now"
    first = f"The next attempt comes {when}, or at once when a budget makes room or goes away."
    return first, f"After each refusal the wait doubles, up to {span(LONGEST_DELAY)}."


def _unprepared(scene: ExplanationInput) -> str:
    """Which interceptor the pod goes without, to end a sentence; empty where the last did its part."""
    active = scene.process.active
    if not active or not scene.process.interceptors:
        return ""
    result = result_of_turn(scene.request, active)
    if not result.unprepared:
        return ""
    return f" unprepared: {active} {'failed' if result is TurnResult.FAILED else 'timed out'}"


def _late_report(scene: ExplanationInput) -> tuple[str, ...]:
    """After the last interceptor completed, its heartbeats no longer count; after a time-out they do."""
    process = scene.process
    if process.active is None or process.active_completed:
        return ()
    return (f"A new report of {process.active}, which was given up, would stop the eviction again.",)


def _due(scene: ExplanationInput) -> dt.datetime | None:
    process = scene.process
    return process.heartbeat if process.interceptors else process.created
