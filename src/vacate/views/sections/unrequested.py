"""A pod without an eviction request: what would happen if one were created."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

from vacate.api.types.core import Pod
from vacate.api.types.policy import PodDisruptionBudget
from vacate.eviction.records.reader import unevictable
from vacate.views.budgets import (
    Forecast,
    Means,
    allowance_of,
    budget_remedies,
    covering,
    never_allows,
    would_refuse,
)
from vacate.views.model import Explanation, Remedy
from vacate.views.phrases import NOT_INSTALLED, advice, ahead, command_line, sentence
from vacate.views.turns import TurnState, TurnView


def explain_unrequested(
    pod: Pod,
    interceptors: Sequence[str] = (),
    budgets: Sequence[PodDisruptionBudget] = (),
    *,
    field_errors: Sequence[str] = (),
    forecast: Forecast | None = None,
    now: dt.datetime,
    program: str = "vacate",
) -> Explanation:
    """Explain a pod without a request; its interceptors come in the order of their turns.

    `field_errors` are what is wrong with the annotations that register them; `forecast` is how the pod would
    go although its budgets refuse now.
    """
    name, namespace = pod.metadata.name, pod.metadata.namespace
    if pod.terminal or pod.metadata.deletion_timestamp is not None:
        return Explanation(namespace, name, _terminating(pod), awaited=_grace(pod, now))
    if field_errors:
        refused = tuple(
            f"The request would be refused: {sentence(field_error)}" for field_error in field_errors
        )
        return Explanation(
            namespace,
            name,
            f"No eviction of pod {name} is requested, and a request would be refused.",
            next=refused,
        )
    around = covering(budgets, namespace, pod.metadata.labels)
    turns = tuple(TurnView(one, TurnState.WAITING, "would have its turn.") for one in interceptors)
    return Explanation(
        namespace,
        name,
        f"No eviction of pod {name} is requested.",
        turns=turns,
        next=(
            *_what_if(pod, bool(turns), around, now),
            *((forecast.sentence,) if forecast is not None and forecast.sentence else ()),
            *map(allowance_of, around),
        ),
        remedies=(
            *_ways_past(pod, around, forecast),
            Remedy(REQUEST_IT, command_line(program, "evict", name, "-n", namespace)),
        ),
    )


REQUEST_IT = "Request its eviction."


def without_vacate(explanation: Explanation, program: str) -> Explanation:
    """The explanation on a cluster that cannot take a request for the pod."""
    install = Remedy("Install Vacate.", f"{program} install --image IMAGE --wait")
    ways = [one for one in explanation.remedies if one.text != REQUEST_IT]
    return replace(explanation, next=(*explanation.next, NOT_INSTALLED), remedies=(*ways, install))


def _ways_past(
    pod: Pod, budgets: Sequence[PodDisruptionBudget], forecast: Forecast | None
) -> tuple[Remedy, ...]:
    """What would let the pod go where a budget never allows it; what its workload can opt in to first."""
    goes = forecast is not None and forecast.means is not Means.EVICT
    if goes or not would_refuse(pod, budgets):
        return ()
    workload = forecast.workload if forecast is not None else None
    ways = [
        way for one in budgets if never_allows(one) for way in budget_remedies(pod, one, workload=workload)
    ]
    return tuple(Remedy(advice(way.text), way.command) for way in dict.fromkeys(ways))


def _terminating(pod: Pod) -> str:
    if pod.terminal:
        return f"Pod {pod.metadata.name} has terminated; its eviction was not requested."
    return f"Pod {pod.metadata.name} is terminating; its eviction was not requested."


def _grace(pod: Pod, now: dt.datetime) -> tuple[str, ...]:
    ends = pod.metadata.deletion_timestamp
    if pod.terminal or ends is None:
        return ()
    return (f"Waiting for the pod's grace period to end, {ahead(ends, now)}.",)


def _what_if(
    pod: Pod, intercepted: bool, budgets: Sequence[PodDisruptionBudget], now: dt.datetime
) -> tuple[str, ...]:
    """What would happen to an eviction now."""
    first = "An eviction request would wait for its interceptors first." if intercepted else ""
    not_evictable, refusal = unevictable(pod), would_refuse(pod, budgets)
    if not_evictable:
        rest = sentence(not_evictable)
    elif refusal:
        rest = f"Its eviction would be refused now: {sentence(refusal)}"
    else:
        rest = "Its eviction would be accepted now."
    return tuple(one for one in (first, rest) if one)
