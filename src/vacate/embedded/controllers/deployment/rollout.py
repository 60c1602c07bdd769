"""What a deployment does next: one plan, made from its replica sets as they are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from vacate.api import times
from vacate.api.types import Deployment, ReplicaSet, condition
from vacate.api.types.apps import DeploymentStatus
from vacate.embedded.controllers.deployment import progress
from vacate.embedded.controllers.deployment.revisions import (
    REVISION,
    annotation_changes,
    forgotten,
    new_replica_set,
    next_revision,
    size_notes,
    split,
)
from vacate.embedded.controllers.deployment.sizes import (
    Sizes,
    is_being_scaled,
    size_of_new,
    sizes_after_scaling,
    sizes_of_old,
    total,
)


@dataclass(frozen=True, slots=True)
class Change:
    """A replica set that gets another size, other annotations or another minReadySeconds."""

    target: ReplicaSet
    replicas: int
    annotations: dict[str, str]
    min_ready_seconds: int

    @property
    def resized(self) -> bool:
        """Whether the size is another one."""
        return self.replicas != self.target.spec.replicas


@dataclass(frozen=True, slots=True)
class Rollout:
    """All that is to be written, in this order, and when to look again."""

    status: DeploymentStatus
    create: dict[str, Any] | None = None
    changes: tuple[Change, ...] = ()
    forget: tuple[ReplicaSet, ...] = ()
    revision: str = ""
    recheck_at: dt.datetime | None = None


@dataclass(slots=True)
class _Draft:
    deployment: Deployment
    new: ReplicaSet | None
    old: list[ReplicaSet]
    now: dt.datetime
    create: dict[str, Any] | None = None
    forget: tuple[ReplicaSet, ...] = ()


def plan_rollout(
    deployment: Deployment, replica_sets: Sequence[ReplicaSet], old_pods_alive: bool, now: dt.datetime
) -> Rollout:
    """The next step of the rollout. `old_pods_alive`: pods of other than the new replica set still run."""
    new, old = split(deployment, replica_sets)
    draft = _Draft(deployment, new, old, now)
    if deployment.metadata.deletion_timestamp is not None:
        return _finish(draft, {}, in_rollout=False)
    if deployment.spec.paused or is_being_scaled(deployment, replica_sets):
        if deployment.spec.paused:
            draft.forget = tuple(forgotten(deployment, old))
        return _finish(draft, sizes_after_scaling(deployment, new, old), in_rollout=False)
    if deployment.spec.strategy.type == "Recreate":
        return _finish(draft, _recreate(draft, old_pods_alive), in_rollout=True)
    return _finish(draft, _rolling(draft), in_rollout=True)


def _recreate(draft: _Draft, old_pods_alive: bool) -> Sizes:
    """All old pods go, and only then come the new ones."""
    running = {one.metadata.name: 0 for one in draft.old if one.spec.replicas > 0}
    if running or old_pods_alive or any(one.status.replicas for one in draft.old):
        return running
    if draft.new is None:
        _create(draft, draft.deployment.spec.replicas)
        return {}
    _forget_when_complete(draft)
    return _resized(draft.new, draft.deployment.spec.replicas)


def _rolling(draft: _Draft) -> Sizes:
    """Grow the new replica set as far as surge allows; else shrink old ones as far as availability does."""
    everything = total(draft.old) + (draft.new.spec.replicas if draft.new else 0)
    if draft.new is None:
        _create(draft, size_of_new(draft.deployment, 0, everything))
        return {}
    grown = _resized(draft.new, size_of_new(draft.deployment, draft.new.spec.replicas, everything))
    if grown:
        return grown
    shrunk = sizes_of_old(draft.deployment, draft.new, draft.old)
    if not shrunk:
        _forget_when_complete(draft)
    return shrunk


def _resized(one: ReplicaSet, size: int) -> Sizes:
    return {} if one.spec.replicas == size else {one.metadata.name: size}


def _create(draft: _Draft, size: int) -> None:
    draft.create = new_replica_set(draft.deployment, size, next_revision(draft.old))


def _forget_when_complete(draft: _Draft) -> None:
    if progress.is_complete(draft.deployment, draft.deployment.status):
        draft.forget = tuple(forgotten(draft.deployment, draft.old))


def _finish(draft: _Draft, sizes: Sizes, *, in_rollout: bool) -> Rollout:
    changes = [
        _change(draft, one, sizes) for one in (*draft.old, *([] if draft.new is None else [draft.new]))
    ]
    after = {one.target.metadata.name: one.replicas for one in changes}
    old = [_sized(one, after[one.metadata.name]) for one in draft.old]
    new = draft.new and _sized(draft.new, after[draft.new.metadata.name])
    if draft.create is not None:
        new = msgspec.convert(draft.create, ReplicaSet)
    status = _status(draft, new, old, in_rollout)
    deadline = progress.deadline(draft.deployment, status) if in_rollout else None
    return Rollout(
        status=status,
        create=draft.create,
        changes=tuple(one for one in changes if _matters(one)),
        forget=draft.forget,
        revision=_revision(draft, new, changes),
        recheck_at=deadline and times.after(deadline, 1),
    )


def _sized(one: ReplicaSet, size: int) -> ReplicaSet:
    return msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, replicas=size))


def _change(draft: _Draft, one: ReplicaSet, sizes: Sizes) -> Change:
    """A size that was decided on is noted on its replica set, also where it stays the same."""
    annotations: dict[str, str] = {}
    wait = one.spec.min_ready_seconds
    if one is draft.new:
        annotations = annotation_changes(draft.deployment, one, next_revision(draft.old))
        wait = draft.deployment.spec.min_ready_seconds
    size = sizes.get(one.metadata.name)
    if size is not None:
        notes = size_notes(draft.deployment)
        annotations |= {key: note for key, note in notes.items() if one.metadata.annotations.get(key) != note}
    return Change(one, one.spec.replicas if size is None else size, annotations, wait)


def _matters(change: Change) -> bool:
    waits = change.min_ready_seconds != change.target.spec.min_ready_seconds
    return change.resized or bool(change.annotations) or waits


def _revision(draft: _Draft, new: ReplicaSet | None, changes: Sequence[Change]) -> str:
    """The number that the deployment is to carry, empty where it carries it already."""
    if new is None:
        return ""
    wanted = new.metadata.annotations.get(REVISION, "")
    for one in changes:
        if one.target is draft.new:
            wanted = one.annotations.get(REVISION, wanted)
    return "" if draft.deployment.metadata.annotations.get(REVISION) == wanted else wanted


def _status(
    draft: _Draft, new: ReplicaSet | None, old: Sequence[ReplicaSet], in_rollout: bool
) -> DeploymentStatus:
    deployment, now = draft.deployment, draft.now
    status = _with_pause(draft, progress.counts(deployment, new, old, now))
    if draft.create is not None and new is not None:
        message = f'Created new replica set "{new.metadata.name}"'
        status = progress.noted(deployment, status, progress.CREATED, message, now)
    elif new is not None and condition(status.conditions, progress.PROGRESSING) is None:
        message = f'Found new replica set "{new.metadata.name}"'
        status = progress.noted(deployment, status, progress.FOUND, message, now)
    if not in_rollout:
        return status
    status = progress.progress(deployment, status, new.metadata.name if new else "", now)
    return progress.with_failures(status, new, old)


def _with_pause(draft: _Draft, status: DeploymentStatus) -> DeploymentStatus:
    """Time does not run while a deployment is paused: the condition says so, and restarts the clock after."""
    deployment, now = draft.deployment, draft.now
    if deployment.metadata.deletion_timestamp is not None:
        return status
    current = condition(status.conditions, progress.PROGRESSING)
    reason = current.reason if current else ""
    if reason == progress.TIMED_OUT:
        return status
    if deployment.spec.paused and reason != progress.PAUSED:
        return progress.noted(deployment, status, progress.PAUSED, "Deployment is paused", now)
    if not deployment.spec.paused and reason == progress.PAUSED:
        return progress.noted(deployment, status, progress.RESUMED, "Deployment is resumed", now)
    return status
