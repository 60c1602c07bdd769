"""PURE. A pod's status and conditions as a kubelet would write them, from where its containers stand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vacate.api.durations import go_duration
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types.core import TERMINAL_PHASES
from vacate.kube.conditions import Assessment, pod_condition
from vacate.nodeagent.decisions import backoff
from vacate.nodeagent.model import UNKNOWN_CODE, NodeReason, PodProgress, Progress, Run, Waiting
from vacate.nodeagent.view import AgentContainer, AgentPod

_LOST = "The container could not be located when the pod was terminated"
PREFIX = "process://"
REJECTED = "Pod was rejected as the node is shutting down."
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


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the pod is reached, and its node."""

    pod: str
    host: str


def status_of(
    pod: AgentPod,
    progress: PodProgress,
    where: Addresses,
    now: dt.datetime,
    ended: str = "",
    *,
    end: NodeReason | None = None,
) -> Obj:
    """Every field of the status that the agent answers for.

    `ended` is the phase that the pod came to; `end`: why its node ends it.
    """
    phase = phase_of(pod, progress, ended)

    def containers(specs: Iterable[AgentContainer]) -> list[Obj]:
        return [_container(one, progress.of(one.name), pod, phase) for one in specs]

    status: Obj = {
        "phase": phase,
        "conditions": conditions_of(pod, progress, phase, now),
        "hostIP": where.host,
        "hostIPs": [{"ip": where.host}],
        "podIP": where.pod,
        "podIPs": [{"ip": where.pod}],
        "startTime": pod.status.get("startTime") or format_time(progress.arrived),
        "containerStatuses": containers(pod.spec.containers),
    }
    if end is not None:
        if end.disruption:
            status["conditions"].append(disruption_target(pod, end.message, now))
        if phase == "Failed" and not pod.status.get("reason"):
            status |= {"reason": end.reason, "message": end.message}
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    if pod.spec.init_containers:
        status["initContainerStatuses"] = containers(pod.spec.init_containers)
    return status


def rejected_status(now: dt.datetime) -> Obj:
    """Of a pod that comes while its node goes down: it is not even tried."""
    return {"phase": "Failed", "reason": "NodeShutdown", "message": REJECTED, "startTime": format_time(now)}


def phase_of(pod: AgentPod, progress: PodProgress, ended: str = "") -> str:
    """The phase; one that the API shows as final stays. While anything runs it is not final."""
    if pod.terminal:
        return pod.phase
    if ended and not progress.busy:
        return ended
    return "Running" if progress.begun(pod.spec.containers) else "Pending"


def phase_when_stopped(pod: AgentPod, progress: PodProgress) -> str:
    """What a pod has come to whose containers were all asked to end."""
    exits = [one.run.exit for one in progress.containers.values() if one.run is not None]
    wanted = {one.name for one in pod.spec.containers}
    missing = wanted - {name for name, one in progress.containers.items() if one.run is not None}
    return "Failed" if missing or any(one is None or one.failed for one in exits) else "Succeeded"


def _container(spec: AgentContainer, state: Progress, pod: AgentPod, phase: str) -> Obj:
    status: Obj = {
        "name": spec.name,
        "state": _state(spec, state, pod, phase),
        "lastState": _last_state(state, phase),
        "ready": state.ready if not _is_plain_init(spec, pod) else state.succeeded,
        "restartCount": state.run.attempt if state.run is not None else 0,
        "image": spec.image,
        "imageID": "",
        "started": state.running and state.started,
    }
    if state.run is not None:
        status["containerID"] = PREFIX + state.run.id
    return status


def _state(spec: AgentContainer, state: Progress, pod: AgentPod, phase: str) -> Obj:
    run = state.run
    if run is not None and run.exit is None:
        return {"running": {"startedAt": format_time(run.started)}}
    final = phase in TERMINAL_PHASES or pod.deleting
    if run is not None and (final or state.waiting is None):
        if final or backoff(state) == 0.0 or _is_plain_init(spec, pod):
            return {"terminated": _terminated(run)}
        meta, wait = pod.metadata, go_duration(backoff(state))
        message = f"back-off {wait} restarting failed container={spec.name}"
        message += f" pod={meta.name}_{meta.namespace}({meta.uid})"
        return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    if final:
        lost = {"exitCode": UNKNOWN_CODE, "reason": "ContainerStatusUnknown", "message": _LOST}
        return {"terminated": {**lost, "startedAt": None, "finishedAt": None}}
    if state.waiting is not None:
        return {"waiting": _shown(state.waiting)}
    return {"waiting": {"reason": "PodInitializing" if pod.spec.init_containers else "ContainerCreating"}}


def _last_state(state: Progress, phase: str) -> Obj:
    if state.run is None:
        return {}
    if state.run.exit is not None and phase not in TERMINAL_PHASES:
        return {"terminated": _terminated(state.run)}
    return {"terminated": _terminated(state.before)} if state.before is not None else {}


def _terminated(run: Run) -> Obj:
    assert run.exit is not None
    terminated: dict[str, Any] = {
        "exitCode": UNKNOWN_CODE if run.exit.code is None else run.exit.code,
        "startedAt": format_time(run.started),
        "finishedAt": format_time(run.exit.finished),
        "containerID": PREFIX + run.id,
    }
    if run.exit.code is None:
        return {**terminated, "reason": "ContainerStatusUnknown", "message": _LOST}
    terminated["reason"] = run.exit.reason or ("Completed" if run.exit.code == 0 else "Error")
    if run.exit.message:
        terminated["message"] = run.exit.message
    return terminated


def _shown(waiting: Waiting) -> Obj:
    return {"reason": waiting.reason} | ({"message": waiting.message} if waiting.message else {})


def _is_plain_init(spec: AgentContainer, pod: AgentPod) -> bool:
    return not spec.sidecar and any(one.name == spec.name for one in pod.spec.init_containers)


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
