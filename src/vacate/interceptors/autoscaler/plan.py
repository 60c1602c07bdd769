"""What to do about an autoscaler and its Deployment next. Pure.

The floor is raised to the present count and one more for each pod, and the autoscaler raises the count.
Taking that back is two writes: the floor and, in the same patch, the intention, and then the count. An
autoscaler without metrics does not lower the count; one with metrics may be quicker, and that is as well.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from vacate.api.times import after
from vacate.api.types import Deployment, HorizontalPodAutoscaler
from vacate.interceptors.surge.plan import Turn, is_to_appear
from vacate.kube.minreplicas import FloorRecord, Lowering, floor_record_of, is_raised, unsupported_floor
from vacate.kube.surge import is_rolling_out, is_settled, next_record

LATE_SCALE = 15
"""Seconds after a floor was lowered in which an autoscaler may still act on the old one."""


@dataclass(frozen=True, slots=True)
class WriteFloor:
    """Write record and floor in one patch; before it, mark the pods that are to go by what follows."""

    record: FloorRecord
    removed: tuple[str, ...] = ()  # UIDs of pods whose turn to be removed has come
    surplus: int = 0  # how many pods of the surge are no longer needed


@dataclass(frozen=True, slots=True)
class BringBack:
    """Lower the count of the Deployment."""

    to_replicas: int


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove the record, and our entries in the managed fields."""

    gave_way: bool  # someone else has changed the floor, or the record is not of this object


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is nothing to change now."""


Step = WriteFloor | BringBack | Remove | Nothing


def plan(
    autoscaler: HorizontalPodAutoscaler,
    deployment: Deployment | None,
    requested: Mapping[str, Turn],
    running: Collection[str],
    now: dt.datetime,
    *,
    covered: bool,
) -> Step:
    """The next step. `requested` are the pods under request in the order in which they came, by UID."""
    record = floor_record_of(autoscaler)
    if record is None:
        return _raise(autoscaler, deployment, requested, None, now) if deployment is not None else Nothing()
    if record.autoscaler != autoscaler.metadata.uid:
        return Remove(gave_way=True)
    if deployment is None or record.surge.deployment != deployment.metadata.uid:
        return _without_target(autoscaler, record)
    count, lowering = deployment.spec.replicas, record.lowering
    if lowering is not None and lowering.to_replicas < count == lowering.from_replicas:
        return BringBack(lowering.to_replicas)
    if not is_raised(autoscaler, record):
        return _give_way(autoscaler, deployment, record, now)
    known = record.surge.pods
    kept = {uid: since for uid, since in known.items() if uid in requested}
    removed = tuple(uid for uid in kept if covered and requested[uid] is Turn.REPLICASET)
    if len(kept) < len(known) or removed:
        if not removed and count >= record.to_floor and is_to_appear(deployment, known, running, now):
            return Nothing()
        return _lower(deployment, record, kept, removed, running, now)
    is_late = lowering is None or now >= after(lowering.at, LATE_SCALE)
    if not known:
        return Remove(gave_way=False) if is_late else Nothing()
    return _raise(autoscaler, deployment, requested, record, now) if is_late else Nothing()


def _without_target(autoscaler: HorizontalPodAutoscaler, record: FloorRecord) -> Step:
    """The Deployment is gone, or another one is scaled now: only the floor is left to be restored."""
    if not is_raised(autoscaler, record) or record.to_floor == record.from_floor:
        return Remove(gave_way=False)
    surge = msgspec.structs.replace(record.surge, pods={})
    return WriteFloor(msgspec.structs.replace(record, to_floor=record.from_floor, surge=surge, lowering=None))


def _give_way(
    autoscaler: HorizontalPodAutoscaler, deployment: Deployment, record: FloorRecord, now: dt.datetime
) -> Step:
    """The user's floor stays. A count that only our floor has caused is brought back all the same."""
    floor, surge = autoscaler.spec.min_replicas, record.surge
    if floor >= record.to_floor or deployment.spec.replicas > record.to_floor or not surge.pods:
        return Remove(gave_way=True)
    target = max(surge.from_replicas, floor)
    lowering = Lowering(from_replicas=record.to_floor, to_replicas=target, at=now)
    left = msgspec.structs.replace(surge, pods={}, to_replicas=target)
    restored = msgspec.structs.replace(
        record, from_floor=floor, to_floor=floor, surge=left, lowering=lowering
    )
    return WriteFloor(restored, surplus=max(0, deployment.spec.replicas - target))


def _lower(
    deployment: Deployment,
    record: FloorRecord,
    kept: Mapping[str, dt.datetime],
    removed: tuple[str, ...],
    running: Collection[str],
    now: dt.datetime,
) -> Step:
    """Release pods. Above the floor it is the metrics that want the pods: then the count is theirs."""
    left = {uid: since for uid, since in kept.items() if uid not in removed}
    base = record.surge.from_replicas
    lowered = msgspec.structs.replace(
        record,
        to_floor=max(record.from_floor, base + len(left)) if left else record.from_floor,
        surge=next_record(deployment, base, left),
        lowering=None,
    )
    if deployment.spec.replicas > record.to_floor:
        return WriteFloor(lowered)
    lowering = Lowering(from_replicas=record.to_floor, to_replicas=base + len(left), at=now)
    surplus = len(running) - base - len(left) - len(removed)
    return WriteFloor(msgspec.structs.replace(lowered, lowering=lowering), removed, max(0, surplus))


def _raise(
    autoscaler: HorizontalPodAutoscaler,
    deployment: Deployment,
    requested: Mapping[str, Turn],
    record: FloorRecord | None,
    now: dt.datetime,
) -> Step:
    if unsupported_floor(autoscaler, deployment) or is_rolling_out(deployment) or not is_settled(deployment):
        return Nothing()
    count, known = deployment.spec.replicas, record.surge.pods if record is not None else {}
    floor = record.from_floor if record is not None else autoscaler.spec.min_replicas
    base = count if record is None else max(record.surge.from_replicas, count - len(known))
    room = autoscaler.spec.max_replicas - base - len(known)
    waiting = [uid for uid, turn in requested.items() if turn is Turn.AUTOSCALER and uid not in known]
    new = waiting[: max(0, room)]
    if count < floor or not new:
        return Nothing()
    surge = next_record(deployment, base, {**known, **dict.fromkeys(new, now)})
    return WriteFloor(
        FloorRecord(
            autoscaler=autoscaler.metadata.uid, from_floor=floor, to_floor=surge.to_replicas, surge=surge
        )
    )
