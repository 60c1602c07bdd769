"""The sections after the interceptors' turns: evicting, blocked, not evictable, terminating."""

from __future__ import annotations

import datetime as dt

from vacate.eviction.attempts import MAX_DELAY, after_refusal, delay
from vacate.eviction.dialects.turn_conditions import result_of_turn
from vacate.eviction.engine import TERMINATION_OVERDUE_AFTER
from vacate.eviction.model import Stage, Termination
from vacate.eviction.records.history import TurnResult
from vacate.eviction.records.reader import is_mirror
from vacate.views.budgets import allowance_of, budgets_named_in, would_refuse
from vacate.views.model import ExplanationInput, Remedy, Section
from vacate.views.phrases import ahead, command_line, counted, listed, sentence, span
from vacate.views.remedies import (
    allow_eviction,
    cancellation,
    follow,
    look_at_budgets,
    look_for_controller,
    retry_now,
)

_SECOND = dt.timedelta(seconds=1)
_WOULD_BE_ACCEPTED = "The next attempt would be accepted now."
_NO_BUDGET = "No disruption budget blocks it; the message says who refused it, and that has to change."


def attempt_window(inputs: ExplanationInput) -> tuple[dt.datetime, dt.datetime] | None:
    """Between which times the next eviction is attempted; None where nothing was refused yet."""
    failed = inputs.process.failed_evictions
    if not failed:
        return None
    if inputs.refused_at is not None:
        latest = after_refusal(failed, inputs.refused_at, 0.0)
        if latest > inputs.now:
            return max(after_refusal(failed, inputs.refused_at, 1.0), inputs.now), latest
    return inputs.now, inputs.now + delay(
        failed
    )  # only the controller knows, and part of the delay has passed


def evicting(inputs: ExplanationInput) -> Section:
    """The eviction is due."""
    process = inputs.process
    why = "all interceptors have had their turns" if process.interceptors else "it has no interceptors"
    unprepared = _unprepared(inputs)
    refusal = _refusal(inputs)
    foreseen = (f"The eviction would be refused now: {sentence(refusal)}",) if refusal else ()
    return Section(
        headline=f"Pod {inputs.name} is being evicted{unprepared or f': {why}'}.",
        stage=Stage.EVICTING,
        awaited=(*foreseen, *_allowances(inputs)),
        next=("The pod is evicted through the API now.", *_late_report(inputs)),
        next_at=inputs.now,
        remedies=(
            *look_for_controller(inputs, _due(inputs)),
            *(look_at_budgets(inputs) if refusal else ()),
            *cancellation(inputs),
        ),
    )


def blocked(inputs: ExplanationInput, *, taken_over: str = "") -> Section:
    """Evictions were refused, and the next attempt is scheduled, or a new request takes over."""
    refusal, failed = _refusal(inputs), inputs.process.failed_evictions
    refused = counted(failed, "attempt was", "attempts were")
    window = attempt_window(inputs)
    message = inputs.request.status.message
    return Section(
        headline=f"Pod {inputs.name} cannot be evicted: {refused} refused.",
        stage=Stage.BLOCKED,
        happened=(sentence(message),) if message else (),
        awaited=(*_still_refused(inputs, refusal), *_allowances(inputs)),
        next=(taken_over,) if taken_over else (*_next_attempt(inputs, window), *_late_report(inputs)),
        next_at=window[1] if window else None,
        remedies=(
            *(allow_eviction(message) or look_at_budgets(inputs)),
            retry_now(inputs),
            follow(inputs),
            *cancellation(inputs),
        ),
    )


def unevictable(inputs: ExplanationInput, why: str) -> Section:
    """A DaemonSet's pod or a mirror pod."""
    name, pod = inputs.name, inputs.pod
    node = (pod.spec.node_name if pod else "") or "its node"
    remedies: tuple[Remedy, ...]
    if pod is not None and is_mirror(pod):
        remedies = (Remedy(f"Remove its manifest on {node}: only the node can terminate a static pod."),)
    else:
        owner = pod.metadata.controller if pod else None
        remedies = (
            Remedy(
                "Keep the DaemonSet off the node with a taint or its node selector; it then deletes the pod.",
                inputs.kubectl("describe", f"daemonset/{owner.name if owner else name}"),
            ),
            Remedy(
                "Or delete the pod; the DaemonSet creates a new one.", inputs.kubectl("delete", "pod", name)
            ),
        )
    return Section(
        headline=f"Pod {name} is not evicted through the API.",
        stage=Stage.BLOCKED,
        happened=(sentence(why),),
        awaited=("Waiting for the pod to terminate by other means.",),
        remedies=(*remedies, *cancellation(inputs)),
    )


def terminating(inputs: ExplanationInput, termination: Termination) -> Section:
    """The pod terminates; what delays it is named once its grace period is over."""
    name, now = inputs.name, inputs.now
    over = now >= termination.ends + TERMINATION_OVERDUE_AFTER
    in_grace = (
        f"Waiting for the pod's grace period to end, {ahead(termination.ends, now)}.",
        *(
            (f"After that its finalizers keep it: {listed(termination.finalizers)}.",)
            if termination.finalizers
            else ()
        ),
    )
    return Section(
        headline=f"Pod {name} is terminating.",
        stage=Stage.TERMINATING,
        awaited=_delayed_by(termination, now) if over else in_grace,
        next=(
            "The request completes when the pod is deleted; no turn or heartbeat deadline passes until then.",
            "Cancelling would change only the request: the pod terminates anyway.",
        ),
        next_at=None if over else termination.ends,
        remedies=(*(_release(inputs, termination) if over else ()), follow(inputs)),
    )


def _delayed_by(termination: Termination, now: dt.datetime) -> tuple[str, ...]:
    over = f"Its grace period ended {span(now - termination.ends)} ago"
    if termination.finalizers:
        return (f"{over}; its finalizers keep it: {listed(termination.finalizers)}.",)
    if termination.node:
        return (f"{over}; node {termination.node} has not yet confirmed that its containers have stopped.",)
    return (f"{over}; waiting for its deletion.",)


def _release(inputs: ExplanationInput, termination: Termination) -> tuple[Remedy, ...]:
    if termination.finalizers:
        show = inputs.kubectl("get", "pod", inputs.name, "-o", "yaml")
        return (Remedy("Ask the owner of these finalizers to remove them.", show),)
    if termination.node:
        return (
            Remedy(
                "Check whether the node is ready.",
                command_line("kubectl", "describe", f"node/{termination.node}"),
            ),
        )
    return ()


def _refusal(inputs: ExplanationInput) -> str:
    return would_refuse(inputs.pod, inputs.budgets) if inputs.pod is not None else ""


def _allowances(inputs: ExplanationInput) -> tuple[str, ...]:
    return tuple(allowance_of(budget) for budget in inputs.budgets)


def _still_refused(inputs: ExplanationInput, refusal: str) -> tuple[str, ...]:
    if not refusal:
        by_budget = budgets_named_in(inputs.request.status.message)
        return (_WOULD_BE_ACCEPTED if by_budget else _NO_BUDGET,)
    if len(inputs.budgets) > 1:
        names = listed([budget.metadata.name for budget in inputs.budgets])
        return (f"No eviction is possible while several budgets select the pod: {names}.",)
    return (f"Waiting for disruption budget {inputs.budgets[0].metadata.name} to allow a disruption.",)


def _next_attempt(
    inputs: ExplanationInput, window: tuple[dt.datetime, dt.datetime] | None
) -> tuple[str, ...]:
    if window is None:
        return ()
    begins, ends = window
    at_once = inputs.now + _SECOND
    if ends < at_once:
        first = "The next attempt is due now."
    else:
        when = f"within {span(ends - inputs.now)}"
        if begins >= at_once:
            when = f"between {span(begins - inputs.now)} and {span(ends - inputs.now)} from now"
        first = f"The next attempt comes {when}, or as soon as a budget allows it or is deleted."
    return first, f"The delay doubles after each refusal, up to {span(MAX_DELAY)}."


def _unprepared(inputs: ExplanationInput) -> str:
    """Which interceptor did not prepare the pod, to end a sentence; empty where the last one completed."""
    active = inputs.process.active
    if not active or not inputs.process.interceptors:
        return ""
    result = result_of_turn(inputs.request, active)
    if not result.unprepared:
        return ""
    return f" unprepared: {active} {'failed' if result is TurnResult.FAILED else 'timed out'}"


def _late_report(inputs: ExplanationInput) -> tuple[str, ...]:
    """After the last interceptor completed, its heartbeats no longer count; after a time-out they do."""
    process = inputs.process
    if process.active is None or process.active_completed:
        return ()
    return (f"A new heartbeat of {process.active}, which timed out, would stop the eviction again.",)


def _due(inputs: ExplanationInput) -> dt.datetime | None:
    process = inputs.process
    return process.heartbeat if process.interceptors else process.created
