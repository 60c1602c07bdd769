"""PURE. The Events of a simulated pod's life."""

from __future__ import annotations

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import PODS
from vacate.embedded.nodes.podlifecycle import PodLifecycle
from vacate.embedded.nodes.projections import SimulatedPod


def event_notes(before: PodLifecycle | None, after: PodLifecycle, pod: SimulatedPod) -> list[EventNote]:
    """The events of a step, in the kubelet's words."""
    if before is None:
        return []
    about = regarding(PODS, pod)
    notes: list[EventNote] = []
    for container in pod.spec.containers:
        if after.running and after.began != before.began:
            notes.append(EventNote(about, NORMAL, "Created", "Container created"))
            notes.append(EventNote(about, NORMAL, "Started", "Container started"))
        if after.stopping and not before.stopping and before.running:
            notes.append(EventNote(about, NORMAL, "Killing", f"Stopping container {container.name}"))
        if after.backoff > 0 and after.failures > before.failures:
            meta = pod.metadata
            where = f"{container.name} in pod {meta.name}_{meta.namespace}({meta.uid})"
            message = f"Back-off restarting failed container {where}"
            notes.append(EventNote(about, WARNING, "BackOff", message))
    return notes
