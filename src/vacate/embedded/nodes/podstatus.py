"""PURE. A pod's status as a kubelet would write it, from its simulated life."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from vacate.api.durations import go_duration
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.embedded.nodes.podconditions import conditions_of
from vacate.embedded.nodes.podlifecycle import Exit, PodLifecycle
from vacate.embedded.nodes.projections import SimulatedContainer, SimulatedPod
from vacate.embedded.nodes.timings import MAX_MESSAGE, MESSAGE

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
