"""The members of a StatefulSet: their ordinals, their health, and how many may be down at once."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterable

from vacate.api.types import Pod, StatefulSet
from vacate.kube.availability import is_available
from vacate.kube.intorpercent import InvalidIntOrPercent, scaled_value

MAX_UNAVAILABLE = "vacate.dev/max-unavailable"
"""An annotation of a StatefulSet: how many members evictions may take at once, a number or a percentage."""


def first_ordinal(stateful_set: StatefulSet) -> int:
    """Where the ordinals begin."""
    return stateful_set.spec.ordinals.start if stateful_set.spec.ordinals else 0


def wanted_ordinals(stateful_set: StatefulSet) -> range:
    """The ordinals of the members that are wanted."""
    start = first_ordinal(stateful_set)
    return range(start, start + max(0, stateful_set.spec.replicas))


def ordinal_of(stateful_set: StatefulSet, pod: Pod) -> int | None:
    """The pod's ordinal, None where its name is none that the set gives."""
    prefix, _, digits = pod.metadata.name.rpartition("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 10
    if prefix != stateful_set.metadata.name or not plain or str(int(digits)) != digits:
        return None
    return int(digits)


def is_healthy(stateful_set: StatefulSet, pod: Pod, now: dt.datetime) -> bool:
    """Running, ready for long enough, and not terminating."""
    running = pod.status.phase == "Running" and not pod.terminating
    return running and is_available(pod, stateful_set.spec.min_ready_seconds, now)


def unhealthy_ordinals(stateful_set: StatefulSet, pods: Iterable[Pod], now: dt.datetime) -> set[int]:
    """The wanted members that are missing, terminating, or not available."""
    healthy = {ordinal_of(stateful_set, pod) for pod in pods if is_healthy(stateful_set, pod, now)}
    return {one for one in wanted_ordinals(stateful_set) if one not in healthy}


def max_unavailable(stateful_set: StatefulSet) -> int:
    """How many members may be down at once: by the annotation, else as during an update."""
    annotated = stateful_set.metadata.annotations.get(MAX_UNAVAILABLE, "").strip()
    value: int | str = (
        int(annotated) if annotated.isascii() and annotated.isdigit() and len(annotated) < 10 else annotated
    )
    with contextlib.suppress(InvalidIntOrPercent):
        if value:
            return max(1, scaled_value(value, stateful_set.spec.replicas, round_up=True))
    return update_limit(stateful_set)


def update_limit(stateful_set: StatefulSet) -> int:
    """How many members an update may have down at once: by the strategy, else one.

    A percentage is rounded down, as the StatefulSet controller does.
    """
    rolling = stateful_set.spec.update_strategy.rolling_update
    by_field = rolling.max_unavailable if rolling is not None else None
    with contextlib.suppress(InvalidIntOrPercent):
        if by_field is not None:
            return max(1, scaled_value(by_field, stateful_set.spec.replicas, round_up=False))
    return 1


def unsupported(stateful_set: StatefulSet) -> str:
    """Why members of this set cannot be evicted one after another; empty where they can."""
    if stateful_set.metadata.deletion_timestamp is not None:
        return "the StatefulSet is being deleted"
    if stateful_set.spec.update_strategy.type != "RollingUpdate":
        return f"the update strategy {stateful_set.spec.update_strategy.type} leaves deletions to people"
    if stateful_set.spec.replicas <= 0:
        return "the StatefulSet is scaled to zero"
    return ""


def is_rolling_out(stateful_set: StatefulSet) -> bool:
    """Whether members above the partition have an older template, or the controller has yet to look."""
    status, rolling = stateful_set.status, stateful_set.spec.update_strategy.rolling_update
    if status.observed_generation < stateful_set.metadata.generation:
        return True
    if not status.update_revision or status.update_revision == status.current_revision:
        return False
    partition = rolling.partition if rolling is not None else 0
    return status.updated_replicas < stateful_set.spec.replicas - partition
