"""Whether a pod has ended, by the word of its node."""

from __future__ import annotations

from vacate.api.types import Pod, condition

DISRUPTION_TARGET = "DisruptionTarget"
BY_POD_GC = "DeletionByPodGC"
"""The reason of this condition where pod GC has given a pod up, whose node is gone or out of service."""


def has_ended(pod: Pod) -> bool:
    """Whether the pod's node has reported that none of its containers runs any more.

    Pod GC writes the phase Failed too, before it removes a pod whose node cannot report any more.
    """
    return pod.terminal and not is_given_up(pod)


def is_given_up(pod: Pod) -> bool:
    """Whether pod GC removes the pod without its node: what became of its processes it does not know."""
    found = condition(pod.status.conditions, DISRUPTION_TARGET)
    return found is not None and found.status == "True" and found.reason == BY_POD_GC
