"""PURE. The five conditions of a pod that its node answers for, in the kubelet's words."""

from __future__ import annotations

import datetime as dt

from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.embedded.nodes.podlifecycle import Life
from vacate.embedded.nodes.projections import SimulatedPod

_DONE = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}

OWN_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
"""What the node writes; every other condition belongs to someone else and is left alone."""


def conditions_of(life: Life, pod: SimulatedPod, phase: str, now: dt.datetime) -> list[Obj]:
    """The conditions in the order in which a kubelet writes them, times of unchanged ones kept."""
    containers = _containers_ready(life, pod, phase, now)
    wanted = (
        ("PodReadyToStartContainers", _ready_to_start(life)),
        ("Initialized", _initialized(life, pod, phase)),
        ("Ready", _ready(containers, pod)),
        ("ContainersReady", containers),
        ("PodScheduled", ("True", "", "")),
    )
    present = {one.get("type"): one for one in pod.status.get("conditions") or ()}
    return [_condition(type_, verdict, present.get(type_), pod, now) for type_, verdict in wanted]


_Verdict = tuple[str, str, str]  # status, reason, message


def _condition(type_: str, verdict: _Verdict, old: Obj | None, pod: SimulatedPod, now: dt.datetime) -> Obj:
    status, reason, message = verdict
    same = old is not None and old.get("status") == status
    since = old.get("lastTransitionTime") if same and old else None
    made: Obj = {
        "type": type_,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": since or format_time(now),
    }
    if reason:
        made["reason"] = reason
    if message:
        made["message"] = message
    if pod.metadata.generation:
        made["observedGeneration"] = pod.metadata.generation
    return made


def _ready_to_start(life: Life) -> _Verdict:
    if life.ended:
        return "False", "PodSandboxNotReady", "pod sandbox is not ready"
    if life.running or life.last is not None:
        return "True", "", ""
    return "False", "PodSandboxNotReady", "no pod sandbox exists"


def _initialized(life: Life, pod: SimulatedPod, phase: str) -> _Verdict:
    if phase == "Succeeded":
        return "True", "PodCompleted", ""
    begun = life.running or (life.last is not None and life.last.started is not None)
    if begun or not pod.spec.init_containers:
        return "True", "", ""
    names = " ".join(one.name for one in pod.spec.init_containers)
    return "False", "ContainersNotInitialized", f"containers with incomplete status: [{names}]"


def _containers_ready(life: Life, pod: SimulatedPod, phase: str, now: dt.datetime) -> _Verdict:
    if phase in _DONE:
        return "False", _DONE[phase], ""
    if life.ready(now):
        return "True", "", ""
    sidecars = [one.name for one in pod.spec.init_containers if one.restart_policy == "Always"]
    names = " ".join(sidecars + [one.name for one in pod.spec.containers])
    return "False", "ContainersNotReady", f"containers with unready status: [{names}]"


def _ready(containers: _Verdict, pod: SimulatedPod) -> _Verdict:
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
