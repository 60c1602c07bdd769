"""Which pods pod GC removes, and why. Everything else stays until its node confirms its end."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Sequence

from vacate.api.times import EARLIEST
from vacate.api.types import Node, Pod
from vacate.kube.nodes import out_of_service

QUARANTINE = dt.timedelta(seconds=40)
"""How long a node must be missing before its pods count as orphaned."""
TERMINATED_THRESHOLD = 12_500
"""How many pods that have terminated are kept."""


class Reason(enum.StrEnum):
    """Why a pod is removed, in the words of Kubernetes' metrics."""

    ORPHANED = "orphaned"
    UNSCHEDULED = "unscheduled"
    OUT_OF_SERVICE = "out-of-service"
    TERMINATED = "terminated"


MESSAGES = {
    Reason.ORPHANED: "PodGC: node no longer exists",
    Reason.OUT_OF_SERVICE: "PodGC: node is out of service",
}
"""What the pods say whose processes were not seen to end."""


def reason_to_remove(pod: Pod, node: Node | None) -> Reason | None:
    """Why the pod goes; orphaned pods go only after the quarantine and a live look for their node."""
    if pod.spec.node_name:
        if node is None:
            return Reason.ORPHANED
        return Reason.OUT_OF_SERVICE if pod.terminating and out_of_service(node) else None
    return Reason.UNSCHEDULED if pod.terminating else None


def surplus(ended: Sequence[Pod], threshold: int) -> list[Pod]:
    """The terminated pods above the threshold: those that were evicted first, then the oldest."""
    ordered = sorted(ended, key=_age)
    return ordered[: max(0, len(ended) - threshold)]


def _age(pod: Pod) -> tuple[bool, dt.datetime, str, str]:
    meta = pod.metadata
    evicted = pod.status.phase == "Failed" and pod.status.reason == "Evicted"
    created = meta.creation_timestamp or EARLIEST
    return (not evicted, created, meta.namespace, meta.name)
