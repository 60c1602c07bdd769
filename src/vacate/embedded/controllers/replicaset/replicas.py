"""How many replicas to make or give up, and what a replica set says of itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vacate.api.kinds import REPLICASETS
from vacate.api.types import Condition, Pod, ReplicaSet, condition
from vacate.api.types.apps import ReplicaSetStatus
from vacate.kube.availability import is_available
from vacate.kube.ownership import carried, controller_reference

BURST = 500
"""At most so many pods are created or deleted in one go."""
REPLICA_FAILURE = "ReplicaFailure"


@dataclass(frozen=True, slots=True)
class Failure:
    """Making or deleting pods did not work."""

    reason: str
    message: str


def missing_replicas(replica_set: ReplicaSet, active: int) -> int:
    """How many pods to make (positive) or to delete (negative) now."""
    wanted = replica_set.spec.replicas - active
    return max(-BURST, min(BURST, wanted))


def slow_start(count: int) -> list[int]:
    """Batches of 1, 2, 4 …: if the first pod is refused, the other thousand are not even tried."""
    batches = []
    size = 1
    while count > 0:
        size = min(size, count)
        batches.append(size)
        count -= size
        size *= 2
    return batches


def pod_from_template(replica_set: ReplicaSet) -> dict[str, Any]:
    """A new pod of this replica set, to be named by the server."""
    template = replica_set.spec.template
    given = template.get("metadata") or {}
    metadata: dict[str, Any] = {
        "generateName": pod_name_prefix(replica_set.metadata.name),
        "namespace": replica_set.metadata.namespace,
        "ownerReferences": [controller_reference(REPLICASETS, replica_set.metadata)],
    }
    metadata |= {key: given[key] for key in ("labels", "annotations", "finalizers") if given.get(key)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}


def pod_name_prefix(name: str) -> str:
    """The name and a dash; the bare name where a dash would make an invalid pod name."""
    prefix = f"{name}-"
    return prefix if len(prefix) <= 253 else name


def failure_of(replica_set: ReplicaSet, active: int, message: str) -> Failure:
    """Name what did not work by which way the count was off."""
    wanted = replica_set.spec.replicas
    reason = "FailedCreate" if active < wanted else "FailedDelete" if active > wanted else ""
    return Failure(reason, message)


def replica_set_status(
    replica_set: ReplicaSet,
    active: Sequence[Pod],
    terminating: int,
    failure: Failure | None,
    now: dt.datetime,
) -> ReplicaSetStatus:
    """The status that fits these pods."""
    template = (replica_set.spec.template.get("metadata") or {}).get("labels") or {}
    wait = replica_set.spec.min_ready_seconds
    return ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(carried(pod.metadata.labels, template) for pod in active),
        ready_replicas=sum(pod.ready for pod in active),
        available_replicas=sum(is_available(pod, wait, now) for pod in active),
        terminating_replicas=terminating,
        observed_generation=replica_set.metadata.generation,
        conditions=_conditions(replica_set, failure, now),
    )


def _conditions(replica_set: ReplicaSet, failure: Failure | None, now: dt.datetime) -> list[Condition]:
    before = replica_set.status.conditions
    known = condition(before, REPLICA_FAILURE)
    if failure is None:
        return [one for one in before if one.type != REPLICA_FAILURE]
    if known is not None:
        return list(before)
    return [
        *before,
        Condition(
            type=REPLICA_FAILURE,
            status="True",
            reason=failure.reason,
            message=failure.message,
            last_transition_time=now,
        ),
    ]
