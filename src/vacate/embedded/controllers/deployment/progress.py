"""What a deployment says of itself: counts, and the conditions that `kubectl rollout status` reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import msgspec

from vacate.api.integers import MAX_INT32
from vacate.api.times import after
from vacate.api.types import Condition, Deployment, ReplicaSet, condition
from vacate.api.types.apps import DeploymentStatus
from vacate.embedded.controllers.deployment.sizes import available, max_unavailable, total

AVAILABLE, PROGRESSING, REPLICA_FAILURE = "Available", "Progressing", "ReplicaFailure"
CREATED, FOUND, UPDATED = "NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated"
COMPLETE, TIMED_OUT = "NewReplicaSetAvailable", "ProgressDeadlineExceeded"
CREATE_FAILED = "ReplicaSetCreateError"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"
_TRUTHS = {PAUSED: "Unknown", RESUMED: "Unknown", CREATE_FAILED: "False"}
_NO_DEADLINE = MAX_INT32


def has_deadline(deployment: Deployment) -> bool:
    """Whether progress is watched at all."""
    return deployment.spec.progress_deadline_seconds not in (None, _NO_DEADLINE)


def counts(
    deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet], now: dt.datetime
) -> DeploymentStatus:
    """The numbers, and whether enough pods are available; other conditions stay as they are."""
    everything = [*old, *([] if new is None else [new])]
    ready = available(everything)
    status = DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(one.status.replicas for one in everything),
        updated_replicas=0 if new is None else new.status.replicas,
        ready_replicas=sum(one.status.ready_replicas for one in everything),
        available_replicas=ready,
        unavailable_replicas=max(0, total(everything) - ready),
        terminating_replicas=_terminating(everything),
        collision_count=deployment.status.collision_count,
        conditions=list(deployment.status.conditions),
    )
    enough = ready >= deployment.spec.replicas - max_unavailable(deployment)
    return with_condition(status, _availability(enough, now))


def _availability(enough: bool, now: dt.datetime) -> Condition:
    if enough:
        return _fresh(
            AVAILABLE, "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now
        )
    message = "Deployment does not have minimum availability."
    return _fresh(AVAILABLE, "False", "MinimumReplicasUnavailable", message, now)


def _terminating(everything: Sequence[ReplicaSet]) -> int | None:
    """The sum, unknown where a replica set that has been looked at does not tell."""
    observed = [one.status for one in everything if one.status.observed_generation]
    if any(one.terminating_replicas is None for one in observed):
        return None
    return sum(one.terminating_replicas or 0 for one in observed)


def _fresh(type_: str, status: str, reason: str, message: str, now: dt.datetime) -> Condition:
    moment = now.replace(microsecond=0)
    return Condition(
        type=type_,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=moment,
        last_update_time=moment,
    )


def with_condition(status: DeploymentStatus, new: Condition) -> DeploymentStatus:
    """Set a condition; nothing changes where status and reason are the same already."""
    old = condition(status.conditions, new.type)
    if old is not None and (old.status, old.reason) == (new.status, new.reason):
        return status
    return _replace_condition(status, old, new)


def _replace_condition(status: DeploymentStatus, old: Condition | None, new: Condition) -> DeploymentStatus:
    if old is not None and old.status == new.status:
        new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    others = [one for one in status.conditions if one.type != new.type]
    return msgspec.structs.replace(status, conditions=[*others, new])


def without_condition(status: DeploymentStatus, type_: str) -> DeploymentStatus:
    """Remove a condition."""
    return msgspec.structs.replace(status, conditions=[one for one in status.conditions if one.type != type_])


def progress(
    deployment: Deployment, status: DeploymentStatus, name: str, now: dt.datetime
) -> DeploymentStatus:
    """Say how the rollout goes: complete, getting on, or stuck for longer than its deadline."""
    if not has_deadline(deployment):
        return without_condition(status, PROGRESSING)
    current = condition(status.conditions, PROGRESSING)
    subject = f'ReplicaSet "{name}"' if name else f'Deployment "{deployment.metadata.name}"'
    if status.replicas == status.updated_replicas and current is not None and current.reason == COMPLETE:
        return status
    if is_complete(deployment, status):
        done = _fresh(PROGRESSING, "True", COMPLETE, f"{subject} has successfully progressed.", now)
        return with_condition(status, done)
    if has_progressed(deployment.status, status):
        old = condition(status.conditions, PROGRESSING)
        moving = _fresh(PROGRESSING, "True", UPDATED, f"{subject} is progressing.", now)
        return _replace_condition(status, old, moving)
    if is_overdue(deployment, status, now):
        stuck = _fresh(PROGRESSING, "False", TIMED_OUT, f"{subject} has timed out progressing.", now)
        return with_condition(status, stuck)
    return status


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Whether all pods are of the present template and available."""
    wanted = deployment.spec.replicas
    return (
        status.updated_replicas == status.replicas == status.available_replicas == wanted
        and status.observed_generation >= deployment.metadata.generation
    )


def has_progressed(before: DeploymentStatus, after: DeploymentStatus) -> bool:
    """Whether there are more new pods, fewer old ones, or more that are ready or available."""
    return (
        after.updated_replicas > before.updated_replicas
        or after.replicas - after.updated_replicas < before.replicas - before.updated_replicas
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def deadline(deployment: Deployment, status: DeploymentStatus) -> dt.datetime | None:
    """When the rollout counts as stuck if nothing moves, None where that cannot happen any more."""
    current = condition(status.conditions, PROGRESSING)
    seconds = deployment.spec.progress_deadline_seconds
    if not has_deadline(deployment) or current is None or current.last_update_time is None:
        return None
    if current.reason in (COMPLETE, TIMED_OUT):
        return None
    return after(current.last_update_time, seconds or 0)


def is_overdue(deployment: Deployment, status: DeploymentStatus, now: dt.datetime) -> bool:
    """Whether the deadline has passed, now or at an earlier look."""
    current = condition(status.conditions, PROGRESSING)
    if current is not None and current.reason == TIMED_OUT:
        return True
    at = deadline(deployment, status)
    return at is not None and at < now


def with_failures(
    status: DeploymentStatus, new: ReplicaSet | None, old: Sequence[ReplicaSet]
) -> DeploymentStatus:
    """Repeat what hinders the replica sets, the new one first."""
    for one in (*([] if new is None else [new]), *old):
        failure = condition(one.status.conditions, REPLICA_FAILURE)
        if failure is not None:
            observed = msgspec.structs.replace(failure, last_update_time=failure.last_transition_time)
            return with_condition(status, observed)
    return without_condition(status, REPLICA_FAILURE)


def noted(
    deployment: Deployment, status: DeploymentStatus, reason: str, message: str, now: dt.datetime
) -> DeploymentStatus:
    """Set the Progressing condition to something that just happened, where progress is watched."""
    if not has_deadline(deployment):
        return status
    truth = _TRUTHS.get(reason, "True")
    return with_condition(status, _fresh(PROGRESSING, truth, reason, message, now))
