"""Which replicas go first when there are too many: the order of the stock controllers, rule by rule."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from typing import Any

from vacate.api.integers import parse_integer
from vacate.api.types import Pod, condition

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_active(pod: Pod) -> bool:
    """Whether the pod counts as a replica: neither finished nor terminating."""
    return not pod.terminal and not pod.terminating


def first_to_go(pods: Iterable[Pod], related: Iterable[Pod], now: dt.datetime) -> list[Pod]:
    """The pods in the order in which they are deleted.

    `related` are the pods of all replica sets of the same owner: of two equal pods the one goes that shares
    its node with more of them.
    """
    crowd: dict[str, int] = {}
    for pod in related:
        if is_active(pod):
            crowd[pod.spec.node_name] = crowd.get(pod.spec.node_name, 0) + 1

    def compare(left: Pod, right: Pod) -> int:
        return _compare(left, right, crowd, now)

    return sorted(pods, key=cmp_to_key(compare))


def _compare(left: Pod, right: Pod, crowd: dict[str, int], now: dt.datetime) -> int:
    decided = (
        _sign(bool(left.spec.node_name), bool(right.spec.node_name))
        or _sign(_PHASES.get(left.status.phase, 0), _PHASES.get(right.status.phase, 0))
        or _sign(left.ready, right.ready)
        or _sign(deletion_cost(left), deletion_cost(right))
        or -_sign(crowd.get(left.spec.node_name, 0), crowd.get(right.spec.node_name, 0))
    )
    if decided:
        return decided
    if left.ready and ready_since(left) != ready_since(right):
        return _younger_first(ready_since(left), ready_since(right), left, right, now)
    restarts = -_sign(_restarts(left), _restarts(right))
    if restarts:
        return restarts
    born = (left.metadata.creation_timestamp, right.metadata.creation_timestamp)
    return _younger_first(*born, left, right, now) if born[0] != born[1] else 0


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def deletion_cost(pod: Pod) -> int:
    """The annotated cost, zero where there is none or it is no 32-bit number (`+5` and `05` are none)."""
    text = pod.metadata.annotations.get(DELETION_COST, "0")
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (text[0] == "0" and text != "0"):
        return 0
    return parse_integer(text, "int32") or 0


def ready_since(pod: Pod) -> dt.datetime | None:
    """When the Ready condition last became True."""
    found = condition(pod.status.conditions, "Ready")
    return found.last_transition_time if found is not None and found.status == "True" else None


def _restarts(pod: Pod) -> tuple[int, int]:
    sidecars = {one.name for one in pod.spec.init_containers if one.restart_policy == "Always"}
    inits = [one.restart_count for one in pod.status.init_container_statuses if one.name in sidecars]
    return max((one.restart_count for one in pod.status.container_statuses), default=0), max(inits, default=0)


def _younger_first(
    left: dt.datetime | None, right: dt.datetime | None, one: Pod, other: Pod, now: dt.datetime
) -> int:
    """Ages compare by their order of magnitude, so that small differences leave the choice to chance."""
    if left is None or right is None:
        return -1 if left is None else 1
    difference = _magnitude(now - left) - _magnitude(now - right)
    return difference or _sign(one.metadata.uid, other.metadata.uid)


def _magnitude(age: dt.timedelta) -> int:
    nanoseconds = round(age / dt.timedelta(microseconds=1)) * 1000
    return int(math.log2(nanoseconds)) if nanoseconds > 0 else -1


def surplus(pods: Sequence[Pod], related: Iterable[Pod], count: int, now: dt.datetime) -> list[Pod]:
    """The pods to delete so that `count` fewer remain."""
    return list(pods) if count >= len(pods) else first_to_go(pods, related, now)[:count]
