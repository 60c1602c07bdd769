"""One word for how a pod is doing, how many of its containers are ready, and how often they restarted.

The word comes from the first init container that is not done, else from the containers, of which the first
counts most; a deletion under way outweighs both.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from vacate.api.ages import human_duration
from vacate.api.objects import Obj, dig
from vacate.api.times import parse_time
from vacate.api.types.core import TERMINAL_PHASES
from vacate.kube.nodes import NODE_DOWN

_NODE_LOST = "NodeLost"


@dataclass(slots=True)
class PodSummary:
    """What the columns READY, STATUS and RESTARTS show."""

    reason: str
    total: int
    ready: int = 0
    restarts: int = 0
    last_restart: dt.datetime | None = None

    def count(self, status: Obj) -> None:
        """Add a container's restarts."""
        self.restarts += status.get("restartCount", 0)
        finished = dig(status, "lastState", "terminated", "finishedAt")
        if finished:
            moment = parse_time(finished)
            if self.last_restart is None or moment > self.last_restart:
                self.last_restart = moment

    def restarts_text(self, now: dt.datetime) -> str:
        """`3`, or `3 (5m ago)`."""
        if not self.restarts or self.last_restart is None:
            return str(self.restarts)
        return f"{self.restarts} ({human_duration(now - self.last_restart)} ago)"


def summarise(pod: Obj) -> PodSummary:
    """Look at a pod as kubectl shows it."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    restartable = {
        one.get("name") for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"
    }
    summary = PodSummary(_first_reason(status), len(spec.get("containers") or ()) + len(restartable))
    sidecars = PodSummary("", 0)
    initialising = _look_at_init_containers(summary, sidecars, spec, status, restartable)
    if not initialising or _is_true(status, "Initialized"):
        summary.restarts, summary.last_restart = sidecars.restarts, sidecars.last_restart
        _look_at_containers(summary, status)
    summary.reason = _node_down(status) or _deletion(pod, status) or summary.reason
    return summary


def _first_reason(status: Obj) -> str:
    gated = any(
        one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated"
        for one in status.get("conditions") or ()
    )
    return "SchedulingGated" if gated else status.get("reason") or status.get("phase") or ""


def _look_at_init_containers(
    summary: PodSummary, sidecars: PodSummary, spec: Obj, status: Obj, restartable: set[str | None]
) -> bool:
    """Whether one of them is still at work or has failed; the summary then has its reason."""
    for position, one in enumerate(status.get("initContainerStatuses") or ()):
        restarts_alone = one.get("name") in restartable
        summary.count(one)
        if restarts_alone:
            sidecars.count(one)
        terminated = dig(one, "state", "terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if restarts_alone and one.get("started"):
            summary.ready += bool(one.get("ready"))
            continue
        summary.reason = f"Init:{_init_reason(one, position, len(spec.get('initContainers') or ()))}"
        return True
    return False


def _init_reason(status: Obj, position: int, total: int) -> str:
    terminated = dig(status, "state", "terminated")
    waiting = dig(status, "state", "waiting", "reason")
    if terminated is not None:
        return _end_of(terminated)
    return waiting if waiting and waiting != "PodInitializing" else f"{position}/{total}"


def _end_of(terminated: Obj) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _look_at_containers(summary: PodSummary, status: Obj) -> None:
    running, error = False, ""
    for one in _last_first(status):
        summary.count(one)
        terminated, waiting = dig(one, "state", "terminated"), dig(one, "state", "waiting", "reason")
        if waiting:
            summary.reason = waiting
        elif terminated is not None:
            summary.reason = _end_of(terminated)
            error = summary.reason if terminated.get("exitCode") else error
        elif one.get("ready") and dig(one, "state", "running") is not None:
            running = True
            summary.ready += 1
    if summary.reason == "Completed":
        summary.reason = _partly_completed(status, running=running, error=error)


def _last_first(status: Obj) -> Iterator[Obj]:
    return reversed(status.get("containerStatuses") or [])


def _partly_completed(status: Obj, *, running: bool, error: str) -> str:
    if running and _is_true(status, "Ready"):
        return "Running"
    return error or ("NotReady" if running else "Completed")


def _node_down(status: Obj) -> str:
    """What stops everything else: nothing that the pod says is known to hold while its node is silent."""
    return "NodeDown" if _is_true(status, NODE_DOWN) and status.get("phase") not in TERMINAL_PHASES else ""


def _deletion(pod: Obj, status: Obj) -> str:
    if not dig(pod, "metadata", "deletionTimestamp"):
        return ""
    if status.get("reason") == _NODE_LOST:
        return "Unknown"
    return "" if status.get("phase") in TERMINAL_PHASES else "Terminating"


def _is_true(status: Obj, condition: str) -> bool:
    return any(
        one.get("type") == condition and one.get("status") == "True" for one in status.get("conditions") or ()
    )
