"""What a StatefulSet says of itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import msgspec

from vacate.api.types import Pod, StatefulSet
from vacate.api.types.apps import StatefulSetStatus
from vacate.embedded.controllers.controllerrevisions.revisions import REVISION_HASH
from vacate.kube.availability import is_available
from vacate.kube.statefulsets import ordinal_of


def stateful_set_status(
    stateful_set: StatefulSet, current: str, update: str, pods: Sequence[Pod], now: dt.datetime
) -> StatefulSetStatus:
    """The status that fits these pods; `current` and `update` are names of revisions."""
    members = [pod for pod in pods if ordinal_of(stateful_set, pod) is not None]
    ready = [pod for pod in members if pod.status.phase == "Running" and pod.ready]
    wait = stateful_set.spec.min_ready_seconds
    remaining = [pod for pod in members if not pod.terminating]
    status = StatefulSetStatus(
        observed_generation=stateful_set.metadata.generation,
        replicas=len(members),
        ready_replicas=len(ready),
        available_replicas=sum(is_available(pod, wait, now) for pod in ready),
        current_replicas=_of_revision(remaining, current),
        updated_replicas=_of_revision(remaining, update),
        current_revision=current,
        update_revision=update,
        collision_count=stateful_set.status.collision_count,
        conditions=list(stateful_set.status.conditions),
    )
    return _completed(stateful_set, status)


def _of_revision(pods: Sequence[Pod], revision: str) -> int:
    return sum(pod.metadata.labels.get(REVISION_HASH) == revision for pod in pods)


def _completed(stateful_set: StatefulSet, status: StatefulSetStatus) -> StatefulSetStatus:
    """After the last pod of a rolling update the new revision is the current one."""
    wanted = stateful_set.spec.replicas
    done = status.updated_replicas == status.ready_replicas == status.replicas == wanted
    if stateful_set.spec.update_strategy.type != "RollingUpdate" or not done:
        return status
    return msgspec.structs.replace(
        status, current_revision=status.update_revision, current_replicas=status.updated_replicas
    )
