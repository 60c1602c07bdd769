"""PURE. The five conditions of a pod that its agent answers for, in the kubelet's words."""

from __future__ import annotations

import datetime as dt

from vacate.api.objects import Obj
from vacate.kube.conditions import Assessment, pod_condition
from vacate.nodeagent.model import NodeReason, PodProgress
from vacate.nodeagent.view import AgentPod

SHUTDOWN = NodeReason(
    "the node is shutting down",
    "Terminated",
    "Pod was terminated in response to imminent node shutdown.",
)
"""The kubelet's words: tools look for them."""

DEADLINE = NodeReason(
    "its active deadline is over",
    "DeadlineExceeded",
    "Pod was active on the node longer than the specified deadline",
    phase="Failed",
    disruption=False,
)

DISRUPTION_TARGET = "DisruptionTarget"
_DONE = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}


def conditions_of(pod: AgentPod, progress: PodProgress, phase: str, now: dt.datetime) -> list[Obj]:
    """The conditions in the order in which a kubelet writes them; unchanged ones keep their times."""
    containers = _containers_ready(pod, progress, phase)
    wanted = (
        ("PodReadyToStartContainers", _ready_to_start(progress, phase)),
        ("Initialized", _initialized(pod, progress, phase)),
        ("Ready", _ready(containers, pod)),
        ("ContainersReady", containers),
        ("PodScheduled", ("True", "", "")),
    )
    return [_condition(pod, type_, assessment, now) for type_, assessment in wanted]


def disruption_target(pod: AgentPod, message: str, now: dt.datetime) -> Obj:
    """The condition of a pod that its node ends by itself."""
    return _condition(pod, DISRUPTION_TARGET, ("True", "TerminationByKubelet", message), now)


def _condition(pod: AgentPod, type_: str, assessment: Assessment, now: dt.datetime) -> Obj:
    old, generation = pod.conditions.get(type_), pod.metadata.generation
    return pod_condition(type_, assessment, now, old=old, generation=generation)


def _ready_to_start(progress: PodProgress, phase: str) -> Assessment:
    """Whether its volumes are there: one that waits for an exclusive volume must not seem to use it."""
    begun = any(one.run is not None for one in progress.containers.values())
    return "True" if begun and phase not in _DONE else "False", "", ""


def _initialized(pod: AgentPod, progress: PodProgress, phase: str) -> Assessment:
    if phase == "Succeeded":
        return "True", "PodCompleted", ""
    if progress.begun(pod.spec.containers):
        return "True", "", ""
    open_ones = []
    for container in pod.spec.init_containers:
        state = progress.of(container.name)
        if not (state.started if container.sidecar else state.succeeded):
            open_ones.append(container.name)
    if not open_ones:
        return "True", "", ""
    names = " ".join(open_ones)
    return "False", "ContainersNotInitialized", f"containers with incomplete status: [{names}]"


def _containers_ready(pod: AgentPod, progress: PodProgress, phase: str) -> Assessment:
    if phase in _DONE:
        return "False", _DONE[phase], ""
    counted = [one for one in pod.all_containers if one.sidecar or one in pod.spec.containers]
    unready = [one.name for one in counted if not progress.of(one.name).ready]
    if not unready:
        return "True", "", ""
    return "False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"


def _ready(containers: Assessment, pod: AgentPod) -> Assessment:
    if containers[0] != "True" or not pod.spec.readiness_gates:
        return containers
    wanted = [one.condition_type for one in pod.spec.readiness_gates]
    gates = [name for name in wanted if pod.conditions.get(name, {}).get("status") != "True"]
    if not gates:
        return containers
    return "False", "ReadinessGatesNotReady", f"readiness gates that are not True: {', '.join(gates)}"
