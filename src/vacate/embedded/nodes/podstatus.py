"""PURE. A pod's status as a kubelet would write it, from its simulated life."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.embedded.nodes.podconditions import conditions_of
from vacate.embedded.nodes.podlifecycle import Exit, Life
from vacate.embedded.nodes.projections import SimulatedContainer, SimulatedPod
from vacate.embedded.nodes.timings import MAX_MESSAGE, MESSAGE

_LOST = "The container could not be located when the pod was terminated"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the pod is reached, and its node."""

    pod: str
    host: str


def status_of(life: Life, pod: SimulatedPod, where: Addresses, now: dt.datetime) -> Obj:
    """Every field of the status that the node answers for."""
    phase = phase_of(life, pod)
    status: Obj = {
        "phase": phase,
        "conditions": conditions_of(life, pod, phase, now),
        "hostIP": where.host,
        "hostIPs": [{"ip": where.host}],
        "startTime": format_time(life.arrived),
        "containerStatuses": [_container(one, life, pod, now) for one in pod.spec.containers],
    }
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [_init(one, life, pod, now) for one in pod.spec.init_containers]
    if _has_address(life, pod):
        status["podIP"] = where.pod
        status["podIPs"] = [{"ip": where.pod}]
    return status


def phase_of(life: Life, pod: SimulatedPod) -> str:
    """The phase; one that the API shows as final stays."""
    if pod.terminal:
        return pod.phase
    if life.ended:
        return "Succeeded" if life.last is None or life.last.code == 0 else "Failed"
    return "Running" if life.running or life.last is not None else "Pending"


def _has_address(life: Life, pod: SimulatedPod) -> bool:
    return pod.spec.host_network or life.running or (life.last is not None and life.last.started is not None)


def _container(spec: SimulatedContainer, life: Life, pod: SimulatedPod, now: dt.datetime) -> Obj:
    identity = f"sim://{life.uid}/{spec.name}/{life.restarts}"
    status: Obj = {
        "name": spec.name,
        "state": _state(spec, life, pod, identity),
        "lastState": _last_state(spec, life, pod),
        "ready": life.ready(now),
        "restartCount": life.restarts,
        "image": spec.image,
        "imageID": f"sim://{spec.image}" if life.running or life.last else "",
        "started": life.running,
    }
    if life.running or life.last is not None:
        status["containerID"] = identity
    return status


def _state(spec: SimulatedContainer, life: Life, pod: SimulatedPod, identity: str) -> Obj:
    if life.began is not None and life.running:
        return {"running": {"startedAt": format_time(life.began)}}
    if life.ended:
        return {"terminated": _terminated(life.last, identity, _message(pod))}
    if life.last is None:
        return {"waiting": {"reason": "PodInitializing" if pod.spec.init_containers else "ContainerCreating"}}
    wait = f"back-off {_go_duration(life.backoff)} restarting failed container={spec.name}"
    message = f"{wait} pod={pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"
    return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}


def _last_state(spec: SimulatedContainer, life: Life, pod: SimulatedPod) -> Obj:
    if life.ended or life.last is None:
        return {}
    before = life.restarts - 1 if life.running else life.restarts
    identity = f"sim://{life.uid}/{spec.name}/{before}"
    return {"terminated": _terminated(life.last, identity, _message(pod))}


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


def _init(spec: SimulatedContainer, life: Life, pod: SimulatedPod, now: dt.datetime) -> Obj:
    """Init containers take the time of the start; those that go on run beside the others."""
    if spec.restart_policy == "Always":
        return _container(spec, life, pod, now)
    begun = life.began or (life.last.started if life.last else None)
    done = Exit(0, begun, begun) if begun else None
    identity = f"sim://{life.uid}/{spec.name}/0"
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


def _go_duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
