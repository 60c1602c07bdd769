"""PURE. The five conditions of a pod that its node answers for, in the kubelet's words."""

from __future__ import annotations

import datetime as dt

from vacate.api.objects import Obj
from vacate.embedded.nodes.podlifecycle import PodLifecycle
from vacate.embedded.nodes.projections import SimulatedPod
from vacate.kube.conditions import Assessment, pod_condition

_DONE = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}

OWN_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
"""What the node writes; every other condition belongs to someone else and is left alone."""


def conditions_of(lifecycle: PodLifecycle, pod: SimulatedPod, phase: str, now: dt.datetime) -> list[Obj]:
    """The conditions in the order in which a kubelet writes them, times of unchanged ones kept."""
    containers = _containers_ready(lifecycle, pod, phase, now)
    wanted = (
        ("PodReadyToStartContainers", _ready_to_start(lifecycle)),
        ("Initialized", _initialized(lifecycle, pod, phase)),
        ("Ready", _ready(containers, pod)),
        ("ContainersReady", containers),
        ("PodScheduled", ("True", "", "")),
    )
    present = {one.get("type"): one for one in pod.status.get("conditions") or ()}
    generation = pod.metadata.generation
    return [
        pod_condition(type_, assessment, now, old=present.get(type_), generation=generation)
        for type_, assessment in wanted
    ]


def _ready_to_start(lifecycle: PodLifecycle) -> Assessment:
    if lifecycle.ended:
        return "False", "PodSandboxNotReady", "pod sandbox is not ready"
    if lifecycle.running or lifecycle.last is not None:
        return "True", "", ""
    return "False", "PodSandboxNotReady", "no pod sandbox exists"


def _initialized(lifecycle: PodLifecycle, pod: SimulatedPod, phase: str) -> Assessment:
    if phase == "Succeeded":
        return "True", "PodCompleted", ""
    begun = lifecycle.running or (lifecycle.last is not None and lifecycle.last.started is not None)
    if begun or not pod.spec.init_containers:
        return "True", "", ""
    names = " ".join(one.name for one in pod.spec.init_containers)
    return "False", "ContainersNotInitialized", f"containers with incomplete status: [{names}]"


def _containers_ready(lifecycle: PodLifecycle, pod: SimulatedPod, phase: str, now: dt.datetime) -> Assessment:
    if phase in _DONE:
        return "False", _DONE[phase], ""
    if lifecycle.ready(now):
        return "True", "", ""
    sidecars = [one.name for one in pod.spec.init_containers if one.restart_policy == "Always"]
    names = " ".join(sidecars + [one.name for one in pod.spec.containers])
    return "False", "ContainersNotReady", f"containers with unready status: [{names}]"


def _ready(containers: Assessment, pod: SimulatedPod) -> Assessment:
    if containers[0] != "True" or not pod.spec.readiness_gates:
        return containers
    present = {one.get("type"): one.get("status") for one in pod.status.get("conditions") or ()}
    field_errors = [_gate_error(gate.condition_type, present) for gate in pod.spec.readiness_gates]
    message = ", ".join(field_error for field_error in field_errors if field_error)
    return ("False", "ReadinessGatesNotReady", message) if message else containers


def _gate_error(gate: str, present: dict[str | None, str | None]) -> str:
    if gate not in present:
        return f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    if present[gate] != "True":
        return f'the status of pod readiness gate "{gate}" is not "True", but {present[gate]}'
    return ""
