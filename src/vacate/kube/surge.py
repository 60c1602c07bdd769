"""A Deployment that is raised for pods under eviction request: the record, and what its strategy allows.

The record is an annotation that is written in the same patch as `spec.replicas`. It says from which value to
which, for which pods and since when, and on which object: it counts only while all of that still stands.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping

import msgspec

from vacate.api.integers import MIN_INT32
from vacate.api.types import Deployment, Pod
from vacate.api.types.meta import check_times
from vacate.kube.availability import is_available
from vacate.kube.deletionorder import DELETION_COST, is_active
from vacate.kube.intorpercent import InvalidIntOrPercent, scaled_value
from vacate.wire.json import decode_json

SURGE = "vacate.dev/surge"
"""The annotation of a Deployment that has the record."""
REPLICAS_TO_EVICT = "vacate.dev/replicas-to-evict"
"""An annotation of a Deployment: how many of its pods have an open request and are not terminating yet."""
IN_PROGRESS = "vacate.dev/eviction-request-in-progress"
"""Beside it: `true` while an interceptor prepares one of them, `false` while they are only being evicted."""
DEPLOYMENT_ANNOTATIONS = (SURGE, REPLICAS_TO_EVICT, IN_PROGRESS)
MARKED = "vacate.dev/deletion-cost"
"""The annotation of a pod whose deletion cost is ours: the cost that its user had set, or nothing."""
LOWEST_COST = str(MIN_INT32)
"""Of pods that go by a change of the count which is about to be written, or has been."""
CHOSEN_COST = str(MIN_INT32 + 1)
"""Of pods that an autoscaler has chosen: they go by its scale-down, before others under request."""
REQUESTED_COST = str(MIN_INT32 + 2)
"""Of all other pods under request: they go first on a scale-down by anyone else."""
OUR_COSTS = (LOWEST_COST, CHOSEN_COST, REQUESTED_COST)
_DEFAULT_SURGE = "25%"


def is_marked(pod: Pod, *costs: str) -> bool:
    """Whether the pod has one of these costs, and the record that it is by us."""
    annotations = pod.metadata.annotations
    return MARKED in annotations and annotations.get(DELETION_COST) in costs


class SurgeRecord(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What was changed. Without pods everything is restored and only the record is left to be removed."""

    deployment: str  # its UID: annotations are copied with manifests, and to ReplicaSets
    from_replicas: int
    to_replicas: int
    pods: dict[str, dt.datetime]  # UIDs of the pods, each with the moment since which it counts
    began: dt.datetime | None = None  # when the first of them was raised for
    earlier: tuple[str, ...] = ()  # pods that are not of the surge though they are young: see `surgepods`

    def text(self) -> str:
        """As it is written into the annotation."""
        return msgspec.json.encode(self).decode()


def record_of(deployment: Deployment) -> SurgeRecord | None:
    """The record that the Deployment carries, whether it counts or not; None where there is none.

    One that cannot be read counts as one that does not stand: it belongs to no object.
    """
    text = deployment.metadata.annotations.get(SURGE)
    if text is None:
        return None
    try:
        record = decode_json(text, SurgeRecord)
        check_times(*record.pods.values(), record.began)
    except ValueError:
        return SurgeRecord(deployment="", from_replicas=0, to_replicas=0, pods={})
    return record


def stands(record: SurgeRecord, deployment: Deployment) -> bool:
    """Whether record and value are both ours still, and on this very object."""
    return (
        record.deployment == deployment.metadata.uid
        and record.to_replicas == deployment.spec.replicas
        and record.from_replicas > 0
        and record.to_replicas == record.from_replicas + len(record.pods)
    )


def is_in_surge(deployment: Deployment, uid: str) -> bool:
    """Whether the Deployment is raised for the pod of that UID."""
    record = record_of(deployment)
    return record is not None and stands(record, deployment) and uid in record.pods


def next_record(deployment: Deployment, replicas: int, pods: Mapping[str, dt.datetime]) -> SurgeRecord:
    """The record of a surge from so many replicas for these pods."""
    return SurgeRecord(
        deployment=deployment.metadata.uid,
        from_replicas=replicas,
        to_replicas=replicas + len(pods),
        pods=dict(pods),
    )


def unsupported(deployment: Deployment) -> str:
    """Why this Deployment cannot be raised for an eviction; empty where it can."""
    strategy = deployment.spec.strategy
    if deployment.metadata.deletion_timestamp is not None:
        return "the Deployment is being deleted"
    if strategy.type != "RollingUpdate":
        return f"the strategy {strategy.type} terminates all pods at once and gains nothing from a surge"
    if deployment.spec.replicas <= 0:
        return "the Deployment is scaled to zero"
    if surge_limit(deployment, deployment.spec.replicas) <= 0:
        return (
            "maxSurge is 0: set spec.strategy.rollingUpdate.maxSurge to at least 1, or let its pods go in "
            "batches by the annotation vacate.dev/eviction-request-strategy=MaxUnavailable"
        )
    return ""


def surge_limit(deployment: Deployment, replicas: int) -> int:
    """How many pods above so many replicas the strategy allows; percentages are rounded up."""
    rolling = deployment.spec.strategy.rolling_update
    configured = (
        rolling.max_surge if rolling is not None and rolling.max_surge is not None else _DEFAULT_SURGE
    )
    try:
        return max(0, scaled_value(configured, replicas, round_up=True))
    except InvalidIntOrPercent:
        return 0


def is_rolling_out(deployment: Deployment) -> bool:
    """Whether pods of another template are still there, or the controller has yet to look."""
    status = deployment.status
    if status.observed_generation < deployment.metadata.generation:
        return True
    return status.updated_replicas < status.replicas


def is_settled(deployment: Deployment) -> bool:
    """Whether there are exactly the wanted pods, all of the present template."""
    status, wanted = deployment.status, deployment.spec.replicas
    return not is_rolling_out(deployment) and status.replicas == wanted == status.updated_replicas


def is_covered(deployment: Deployment, record: SurgeRecord, pods: Iterable[Pod], now: dt.datetime) -> bool:
    """Whether the pods of the record can go: without them there are as many available pods as the user wants.

    Every other pod must be available, because scaling back takes those first that are not.
    """
    if not is_settled(deployment):
        return False
    others = [pod for pod in pods if is_active(pod) and pod.metadata.uid not in record.pods]
    wait = deployment.spec.min_ready_seconds
    return len(others) >= record.from_replicas and all(is_available(pod, wait, now) for pod in others)
