"""When a pod is deleted because of its node's NoExecute taints."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from vacate.api.times import EARLIEST, after
from vacate.api.types import Pod, Taint, condition
from vacate.kube.scheduling.taints import tolerates

DELETION_REASON = "DeletionByTaintManager"
DELETION_MESSAGE = "Taint manager: deleting due to NoExecute taint"


def no_execute(taints: Sequence[Taint]) -> list[Taint]:
    """The taints that drive pods out."""
    return [one for one in taints if one.effect == "NoExecute"]


def evict_at(pod: Pod, taints: Sequence[Taint], since: Callable[[Taint], dt.datetime]) -> dt.datetime | None:
    """When the pod must go, None for never.

    A taint that nothing tolerates means at once. Otherwise the shortest of the toleration times that apply
    counts, from the moment when both the taint and the pod were there.
    """
    moments = []
    for taint in no_execute(taints):
        start = max(since(taint), _placed(pod))
        accepting = [one for one in pod.spec.tolerations if tolerates(one, taint)]
        if not accepting:
            return start
        limits = [one.toleration_seconds for one in accepting if one.toleration_seconds is not None]
        if limits:
            moments.append(after(start, max(0, min(limits))))
    return min(moments, default=None)


def _placed(pod: Pod) -> dt.datetime:
    """When the pod came to its node, as far as it tells."""
    scheduled = condition(pod.status.conditions, "PodScheduled")
    known = scheduled.last_transition_time if scheduled and scheduled.status == "True" else None
    return known or pod.metadata.creation_timestamp or EARLIEST
