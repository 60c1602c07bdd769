"""PURE. What an agent that starts knows of a pod: from the runtime's records, else from the pod's status."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from vacate.api.objects import dig
from vacate.api.times import parse_time
from vacate.nodeagent.model import Exit, PodProgress, Run
from vacate.nodeagent.runtime.protocol import ContainerState
from vacate.nodeagent.status import PREFIX
from vacate.nodeagent.view import AgentPod

NAMESPACE, POD, UID, CONTAINER, ATTEMPT, FAILURES = (
    "namespace", "pod", "uid", "container", "attempt", "failures",
)  # fmt: skip


def labels_of(pod: AgentPod, container: str, attempt: int, failures: int) -> dict[str, str]:
    """What a run carries, so that an agent of later finds out whose it is."""
    meta = pod.metadata
    return {
        NAMESPACE: meta.namespace,
        POD: meta.name,
        UID: meta.uid,
        CONTAINER: container,
        ATTEMPT: str(attempt),
        FAILURES: str(failures),
    }


def run_of(state: ContainerState) -> Run:
    """The run as the runtime knows it."""
    labels = state.labels
    return Run(state.id, _number(labels, ATTEMPT), state.started, _number(labels, FAILURES), state.exit)


def adopt_runs(uid: str, states: Iterable[ContainerState], now: dt.datetime) -> PodProgress:
    """Where the containers stand whose runs the runtime still has."""
    progress = PodProgress(uid, now)
    for state in sorted(states, key=lambda one: _number(one.labels, ATTEMPT)):
        one = progress.of(state.labels.get(CONTAINER, ""))
        one.before, one.run = one.run, run_of(state)
    return progress


def adopt_status(pod: AgentPod, progress: PodProgress, now: dt.datetime) -> None:
    """Fill in what only the API knows: runs that ended, and runs that were lost with the machine."""
    for key in ("initContainerStatuses", "containerStatuses"):
        for status in pod.status.get(key) or ():
            name = str(dig(status, "name") or "")
            if pod.container(name) is None or progress.of(name).run is not None:
                continue
            one = progress.of(name)
            one.run = _reported_run(status, now)
            if one.run is not None and (last := dig(status, "lastState", "terminated")):
                one.before = _reported_exit(last, max(one.run.attempt - 1, 0), now)


def _reported_run(status: Mapping[str, Any], now: dt.datetime) -> Run | None:
    attempt = status.get("restartCount")
    attempt = attempt if isinstance(attempt, int) else 0
    if isinstance(ended := dig(status, "state", "terminated"), dict):
        return _reported_exit(ended, attempt, now)
    if isinstance(running := dig(status, "state", "running"), dict):
        # It ran, and this machine knows nothing of it: it was lost, by a reboot or with the agent's folder.
        name = str(status.get("containerID") or "").removeprefix(PREFIX)
        return Run(name, attempt, _time(running.get("startedAt")) or now, 0, Exit(None, now))
    if isinstance(last := dig(status, "lastState", "terminated"), dict):
        return _reported_exit(last, attempt, now)
    return None


def _reported_exit(ended: Mapping[str, Any], attempt: int, now: dt.datetime) -> Run:
    code = ended.get("exitCode")
    unknown = ended.get("reason") == "ContainerStatusUnknown" or not isinstance(code, int)
    finished = _time(ended.get("finishedAt")) or now
    started = _time(ended.get("startedAt")) or finished
    reason = "StartError" if ended.get("reason") == "StartError" else ""
    found = Exit(None if unknown else code, finished, str(ended.get("message") or ""), reason)
    return Run(str(ended.get("containerID") or "").removeprefix(PREFIX), attempt, started, 0, found)


def _number(labels: Mapping[str, str], key: str) -> int:
    text = labels.get(key, "")
    return int(text) if text.isdigit() else 0


def _time(text: Any) -> dt.datetime | None:
    try:
        return parse_time(text) if isinstance(text, str) else None
    except ValueError:
        return None
