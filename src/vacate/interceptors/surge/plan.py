"""What to do about a Deployment next: raise it, take the surge back, remove pods, or clean up. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from vacate.api.times import after
from vacate.api.types import Deployment, condition
from vacate.kube.surge import (
    SurgeRecord,
    is_rolling_out,
    is_settled,
    next_record,
    record_of,
    stands,
    surge_limit,
    unsupported,
)

APPEARANCE_LIMIT = 10
"""Seconds that a cancelled surge is left standing because its pods are yet to be created."""


class Turn(Enum):
    """Whose turn it is in the request of a pod."""

    DEPLOYMENT = "deployment"
    AUTOSCALER = "autoscaler"
    REPLICASET = "replicaset"
    OTHER = "other"  # between two turns, of another interceptor, or nobody's: the pod is being evicted


@dataclass(frozen=True, slots=True)
class Scale:
    """Write record and replicas in one patch; before it, mark the pods that are to go by it."""

    record: SurgeRecord
    removed: tuple[str, ...] = ()  # UIDs of pods whose turn to be removed has come
    surplus: int = 0  # how many other pods are too many: pods of the surge that are no longer needed


@dataclass(frozen=True, slots=True)
class CleanUp:
    """Remove the record, and our entry in the managed fields."""

    gave_way: bool  # someone else has changed replicas, or the record is not of this object


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is nothing to change."""


Plan = Scale | CleanUp | Nothing


def plan(
    deployment: Deployment,
    requested: Mapping[str, Turn],
    running: Collection[str],
    now: dt.datetime,
    *,
    covered: bool,
) -> Plan:
    """The next step. `requested` are the pods under request in the order in which they came, by UID.

    A step either takes something back or begins something, never both: taking back one pod and raising for
    the next in the same write would leave the count as it is, and nothing would be removed.
    """
    record = record_of(deployment)
    if record is not None and not stands(record, deployment):
        return CleanUp(gave_way=True)
    if record is not None and not record.pods:
        return CleanUp(gave_way=False)
    known = record.pods if record is not None else {}
    replicas = record.from_replicas if record is not None else deployment.spec.replicas
    kept = {uid: since for uid, since in known.items() if uid in requested}
    removed = tuple(uid for uid in kept if covered and requested[uid] is Turn.REPLICASET)
    if len(kept) < len(known) or removed:
        left = {uid: since for uid, since in kept.items() if uid not in removed}
        if not removed and is_to_appear(deployment, known, running, now):
            return Nothing()
        surplus = len(running) - replicas - len(left) - len(removed)
        return Scale(next_record(deployment, replicas, left), removed, max(0, surplus))
    new = _new_pods(deployment, requested, known, replicas)
    if not new:
        return Nothing()
    return Scale(next_record(deployment, replicas, {**kept, **dict.fromkeys(new, now)}))


def is_to_appear(
    deployment: Deployment, known: Mapping[str, dt.datetime], running: Collection[str], now: dt.datetime
) -> bool:
    """Whether pods of a surge are still to be created, so that it is too early to take it back.

    One that is created and ready between our look and the scale-down would be kept in place of an older pod:
    no mark would tell them apart.
    """
    failure = condition(deployment.status.conditions, "ReplicaFailure")
    if len(running) >= deployment.spec.replicas or (failure is not None and failure.status == "True"):
        return False
    return now < after(max(known.values()), APPEARANCE_LIMIT)


def _new_pods(
    deployment: Deployment, requested: Mapping[str, Turn], known: Collection[str], replicas: int
) -> list[str]:
    if unsupported(deployment) or is_rolling_out(deployment) or not is_settled(deployment):
        return []
    room = surge_limit(deployment, replicas) - len(known)
    waiting = [uid for uid, turn in requested.items() if turn is Turn.DEPLOYMENT and uid not in known]
    return waiting[: max(0, room)]
