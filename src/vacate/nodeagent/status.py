"""PURE. A pod's status as a kubelet would write it, from where its containers stand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vacate.api.durations import go_duration
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types.core import TERMINAL_PHASES
from vacate.nodeagent.conditions import conditions_of, disruption_target
from vacate.nodeagent.decisions import backoff
from vacate.nodeagent.model import UNKNOWN_CODE, NodeReason, PodProgress, Progress, Run, Waiting
from vacate.nodeagent.view import AgentContainer, AgentPod

_LOST = "The container could not be located when the pod was terminated"
PREFIX = "process://"
REJECTED = "Pod was rejected as the node is shutting down."


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
    return {
        "phase": "Failed",
        "reason": "NodeShutdown",
        "message": REJECTED,
        "startTime": format_time(now),
    }


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
        return {"waiting": _shown(_backing_off(spec, state, pod))}
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


def _backing_off(spec: AgentContainer, state: Progress, pod: AgentPod) -> Waiting:
    meta = pod.metadata
    wait = f"back-off {go_duration(backoff(state))} restarting failed container={spec.name}"
    return Waiting("CrashLoopBackOff", f"{wait} pod={meta.name}_{meta.namespace}({meta.uid})")


def _shown(waiting: Waiting) -> Obj:
    return {"reason": waiting.reason} | ({"message": waiting.message} if waiting.message else {})


def _is_plain_init(spec: AgentContainer, pod: AgentPod) -> bool:
    return not spec.sidecar and any(one.name == spec.name for one in pod.spec.init_containers)
