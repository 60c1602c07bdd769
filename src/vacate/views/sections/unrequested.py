"""The story of a pod that nobody has asked to leave: what would happen if someone did."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.types.core import Pod
from vacate.api.types.policy import PodDisruptionBudget
from vacate.eviction.dialects.evictionrequest.reader import unevictable
from vacate.views.budgets import covering, room_of, would_refuse
from vacate.views.model import Explanation, Remedy
from vacate.views.phrases import ahead, command_line, sentence
from vacate.views.turns import TurnState, TurnView


def explain_unrequested(
    pod: Pod,
    interceptors: Sequence[str] = (),
    budgets: Sequence[PodDisruptionBudget] = (),
    *,
    field_errors: Sequence[str] = (),
    now: dt.datetime,
    program: str = "vacate",
) -> Explanation:
    """The story of a pod without a request; its interceptors come in the order of their turns.

    `errors` are what is wrong with the annotations that register them.
    """
    name, namespace = pod.metadata.name, pod.metadata.namespace
    if pod.terminal or pod.metadata.deletion_timestamp is not None:
        return Explanation(namespace, name, _leaving(pod), awaited=_grace(pod, now))
    if field_errors:
        refused = tuple(
            f"A request would be refused: {sentence(field_error)}" for field_error in field_errors
        )
        return Explanation(
            namespace, name, f"Nobody asks pod {name} to leave, and nobody could.", next=refused
        )
    around = covering(budgets, namespace, pod.metadata.labels)
    turns = tuple(TurnView(one, TurnState.WAITING, "would have its turn.") for one in interceptors)
    return Explanation(
        namespace,
        name,
        f"Nobody asks pod {name} to leave.",
        turns=turns,
        next=(*_what_if(pod, bool(turns), around, now), *map(room_of, around)),
        remedies=(Remedy("Ask it to leave.", command_line(program, "evict", name, "-n", namespace)),),
    )


def _leaving(pod: Pod) -> str:
    if pod.terminal:
        return f"Pod {pod.metadata.name} has ended, and nobody had asked it to leave."
    return f"Pod {pod.metadata.name} is terminating, and nobody had asked it to leave."


def _grace(pod: Pod, now: dt.datetime) -> tuple[str, ...]:
    ends = pod.metadata.deletion_timestamp
    if pod.terminal or ends is None:
        return ()
    return (f"The end of the pod's grace period is awaited, {ahead(ends, now)}.",)


def _what_if(
    pod: Pod, intercepted: bool, budgets: Sequence[PodDisruptionBudget], now: dt.datetime
) -> tuple[str, ...]:
    """What would become of an eviction at this moment."""
    first = "Asked to leave, it would wait for its interceptors first." if intercepted else ""
    left_alone, refusal = unevictable(pod), would_refuse(pod, budgets)
    if left_alone:
        rest = sentence(left_alone)
    elif refusal:
        rest = f"As things stand its eviction would be refused: {sentence(refusal)}"
    else:
        rest = "As things stand its eviction would be accepted."
    return tuple(one for one in (first, rest) if one)
