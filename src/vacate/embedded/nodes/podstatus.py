"""PURE. A pod's status as a kubelet would write it, from its simulated life."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from vacate.api.durations import go_duration
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.embedded.nodes.podlifecycle import Exit, PodLifecycle
from vacate.embedded.nodes.projections import SimulatedContainer, SimulatedPod
from vacate.embedded.nodes.timings import MAX_MESSAGE, MESSAGE
from vacate.kube.conditions import Assessment, pod_condition

_LOST = "The container could not be located when the pod was terminated"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the pod is reached, and its node."""

    pod: str
    host: str


def status_of(lifecycle: PodLifecycle, pod: SimulatedPod, where: Addresses, now: dt.datetime) -> Obj:
    """Every field of the status that the node answers for."""
    phase = phase_of(lifecycle, pod)
    status: Obj = {
        "phase": phase,
        "conditions": conditions_of(lifecycle, pod, phase, now),
        "hostIP": where.host,
        "hostIPs": [{"ip": where.host}],
        "startTime": format_time(lifecycle.arrived),
        "containerStatuses": [_container(one, lifecycle, pod, now) for one in pod.spec.containers],
    }
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [
            _init(one, lifecycle, pod, now) for one in pod.spec.init_containers
        ]
    if _has_address(lifecycle, pod):
        status["podIP"] = where.pod
        status["podIPs"] = [{"ip": where.pod}]
    return status


def phase_of(lifecycle: PodLifecycle, pod: SimulatedPod) -> str:
    """The phase; one that the API shows as final stays."""
    if pod.terminal:
        return pod.phase
    if lifecycle.ended:
        return "Succeeded" if lifecycle.last is None or lifecycle.last.code == 0 else "Failed"
    return "Running" if lifecycle.running or lifecycle.last is not None else "Pending"


def _has_address(lifecycle: PodLifecycle, pod: SimulatedPod) -> bool:
    return (
        pod.spec.host_network
        or lifecycle.running
        or (lifecycle.last is not None and lifecycle.last.started is not None)
    )


def _container(spec: SimulatedContainer, lifecycle: PodLifecycle, pod: SimulatedPod, now: dt.datetime) -> Obj:
    identity = f"sim://{lifecycle.uid}/{spec.name}/{lifecycle.restarts}"
    status: Obj = {
        "name": spec.name,
        "state": _state(spec, lifecycle, pod, identity),
        "lastState": _last_state(spec, lifecycle, pod),
        "ready": lifecycle.ready(now),
        "restartCount": lifecycle.restarts,
        "image": spec.image,
        "imageID": f"sim://{spec.image}" if lifecycle.running or lifecycle.last else "",
        "started": lifecycle.running,
    }
    if lifecycle.running or lifecycle.last is not None:
        status["containerID"] = identity
    return status


def _state(spec: SimulatedContainer, lifecycle: PodLifecycle, pod: SimulatedPod, identity: str) -> Obj:
    if lifecycle.began is not None and lifecycle.running:
        return {"running": {"startedAt": format_time(lifecycle.began)}}
    if lifecycle.ended:
        return {"terminated": _terminated(lifecycle.last, identity, _message(pod))}
    if lifecycle.last is None:
        return {"waiting": {"reason": "PodInitializing" if pod.spec.init_containers else "ContainerCreating"}}
    wait = f"back-off {go_duration(lifecycle.backoff)} restarting failed container={spec.name}"
    message = f"{wait} pod={pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"
    return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}


def _last_state(spec: SimulatedContainer, lifecycle: PodLifecycle, pod: SimulatedPod) -> Obj:
    if lifecycle.ended or lifecycle.last is None:
        return {}
    before = lifecycle.restarts - 1 if lifecycle.running else lifecycle.restarts
    identity = f"sim://{lifecycle.uid}/{spec.name}/{before}"
    return {"terminated": _terminated(lifecycle.last, identity, _message(pod))}


def _message(pod: SimulatedPod) -> str:
    return pod.metadata.annotations.get(MESSAGE, "")[:MAX_MESSAGE]


def _terminated(run: Exit | None, identity: str, message: str = "") -> Obj:
    if run is None or run.started is None:
        return {"exitCode": run.code if run else 0, "reason": "ContainerStatusUnknown", "message": _LOST}
    return {
        "exitCode": run.code,
        "reason": "Completed" if run.code == 0 else "Error",
        "startedAt": format_time(run.started),
        "finishedAt": format_time(run.finished),
        "containerID": identity,
        **({"message": message} if message else {}),
    }


def _init(spec: SimulatedContainer, lifecycle: PodLifecycle, pod: SimulatedPod, now: dt.datetime) -> Obj:
    """Init containers take the time of the start; those that go on run beside the others."""
    if spec.restart_policy == "Always":
        return _container(spec, lifecycle, pod, now)
    begun = lifecycle.began or (lifecycle.last.started if lifecycle.last else None)
    done = Exit(0, begun, begun) if begun else None
    identity = f"sim://{lifecycle.uid}/{spec.name}/0"
    status: Obj = {
        "name": spec.name,
        "state": {"terminated": _terminated(done, identity)}
        if done
        else {"waiting": {"reason": "PodInitializing"}},
        "lastState": {},
        "ready": done is not None,
        "restartCount": 0,
        "image": spec.image,
        "imageID": f"sim://{spec.image}" if done else "",
        "started": False,
    }
    return status | ({"containerID": identity} if done else {})


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
