"""Terminations of pods: what the node orders by itself, what is due, and why a container is terminated."""

from __future__ import annotations

import math
from collections.abc import Iterable

from vacate.api.terminationreason import EVICTION
from vacate.clock import Clock
from vacate.nodeagent.containers.manager import ContainerManager
from vacate.nodeagent.decisions import plan
from vacate.nodeagent.held import HeldPod, PodTermination
from vacate.nodeagent.lifecycle.reason import reason_of
from vacate.nodeagent.model import NodeReason, TerminationCause


class PodTerminations:
    """Needs no API server: a node that goes down may have none."""

    def __init__(self, clock: Clock, containers: ContainerManager) -> None:
        self._clock = clock
        self._containers = containers
        self._unknown: dict[str, PodTermination] = {}  # by UID: orders for pods that are not held yet

    def order_unknown(self, uid: str, seconds: float, prepare: float, cause: NodeReason) -> None:
        """Keep the order for a pod that is not held, as after a restart where it has no process yet."""
        now = self._clock.monotonic()
        self._unknown[uid] = PodTermination(now + prepare, now + seconds, cause)

    def take_unknown(self, held: HeldPod) -> float | None:
        """Apply the order that came before the pod was held; the seconds until it is asked to end."""
        held.end = self._unknown.pop(held.uid, None)
        return None if held.end is None else held.end.start - self._clock.monotonic()

    def order(self, held: HeldPod, seconds: float, prepare: float, cause: NodeReason) -> None:
        """Have the pod end within so many seconds, and asked to after `prepare` of them.

        Where it is terminating already, a shorter time overtakes.
        """
        now = self._clock.monotonic()
        wanted = PodTermination(now + prepare, now + seconds, cause)
        held.end = wanted if held.end is None else held.end.overtaken_by(wanted)

    def spare(self, pods: Iterable[HeldPod]) -> None:
        """Take back the orders of pods that were not asked to end yet."""
        now = self._clock.monotonic()
        self._unknown.clear()
        for held in pods:
            if held.end is not None and not held.end.begun(now):
                held.end = None

    def begun(self, held: HeldPod) -> bool:
        """Whether the node has asked the pod to end by now."""
        return held.end is not None and held.end.begun(self._clock.monotonic())

    def stop_due(self, held: HeldPod) -> None:
        """End what is due of a pod that ends with its node, at once: the API server may be away."""
        if held.pod is not None:
            due = plan(held.pod, held.progress, self._clock.now(), terminating=True).stop
        else:
            due = [name for name, one in held.progress.containers.items() if one.running]
        for name in due:
            self._containers.stop(held, name, self.cause(held, name))

    def cause(self, held: HeldPod, name: str) -> TerminationCause:
        """Why the container ends, and its time: the pod's own grace, or less where the node says so."""
        own = held.pod.grace_seconds if held.pod is not None else math.inf
        given = reason_of(held.pod) if held.pod is not None else ""
        if held.end is None:
            return TerminationCause("", own, reason=given)
        left = max(held.end.deadline - self._clock.monotonic(), 0.0)
        message = f"Stopping container {name}: {held.end.cause.cause}"
        return TerminationCause(message, min(own, left), reason=given or EVICTION)
