"""PURE. What to start and stop next in a pod, and when to look again."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from vacate.nodeagent.model import Exit, PodProgress, Progress
from vacate.nodeagent.view import AgentContainer, AgentPod

FIRST_BACKOFF = 10.0
MAX_BACKOFF = 300.0
HEALTHY_AFTER = 2 * MAX_BACKOFF
"""A run of this length ends a row of failures."""


@dataclass(slots=True)
class PodPlan:
    """What is due now."""

    start: list[str] = field(default_factory=list)
    stop: list[str] = field(default_factory=list)
    again: dt.datetime | None = None  # when a backoff is over
    phase: str = ""  # Succeeded or Failed, once the pod has terminated for good

    def later(self, moment: dt.datetime) -> None:
        """Look again at this moment at the latest."""
        self.again = moment if self.again is None else min(self.again, moment)


def plan(pod: AgentPod, progress: PodProgress, now: dt.datetime, *, terminating: bool = False) -> PodPlan:
    """The next steps. Init containers run one after the other, then all others at once.

    `terminating`: the node goes down, and the pod with it.
    """
    made = PodPlan()
    if pod.deleting or pod.terminal or terminating:
        made.stop = _running(pod, progress)
        return made
    done = _ended_for_good(pod, progress)
    for container in pod.spec.init_containers:
        state = progress.of(container.name)
        if container.sidecar and done:
            continue  # it was ended because the pod has: another run would only be ended again
        if container.sidecar:
            _keep_running(container, state, made, now, "Always")
            if not state.started:
                return made
        elif not (state.succeeded or progress.begun(pod.spec.containers)):  # once one has run, all are done
            if pod.spec.restart_policy == "Never" and state.exit is not None and state.exit.failed:
                made.phase = "Failed"
                made.stop = _running(pod, progress)
            else:
                _keep_running(container, state, made, now, "OnFailure")
            return made
    for container in pod.spec.containers:
        _keep_running(container, progress.of(container.name), made, now, pod.spec.restart_policy)
    if done:
        made.phase = "Failed" if any(one.failed for one in done) else "Succeeded"
        made.stop = _running(pod, progress)
    return made


def wants_restart(policy: str, ended: Exit) -> bool:
    """Whether a container that ended so is to run again."""
    return policy == "Always" or (policy == "OnFailure" and ended.failed)


def backoff(state: Progress) -> float:
    """Seconds between the end of the last run and the next one: none the first time, then doubling."""
    failures = failures_after(state)
    return min(FIRST_BACKOFF * 2.0 ** min(failures - 2, 10), MAX_BACKOFF) if failures > 1 else 0.0


def failures_after(state: Progress) -> int:
    """How many runs have ended in a row, the last one included."""
    if state.run is None or state.run.exit is None:
        return 0
    lasted = (state.run.exit.finished - state.run.started).total_seconds()
    return 1 if lasted >= HEALTHY_AFTER else state.run.failures + 1


def _keep_running(
    container: AgentContainer, state: Progress, made: PodPlan, now: dt.datetime, policy: str
) -> None:
    if state.running or state.starting:
        return
    if state.retry_at is not None and now < state.retry_at <= now + dt.timedelta(seconds=MAX_BACKOFF):
        made.later(state.retry_at)
        return
    if state.exit is None:
        made.start.append(container.name)
        return
    if not wants_restart(policy, state.exit):
        return
    due = state.exit.finished + dt.timedelta(seconds=backoff(state))
    # A clock that was set back must not keep a container down for longer than any backoff.
    if now >= due or (due - now).total_seconds() > MAX_BACKOFF:
        made.start.append(container.name)
    else:
        made.later(due)


def _ended_for_good(pod: AgentPod, progress: PodProgress) -> list[Exit]:
    """How the containers ended, once all of them have and none is to run again; otherwise nothing."""
    exits = []
    for container in pod.spec.containers:
        state = progress.of(container.name)
        if state.starting or state.exit is None or wants_restart(pod.spec.restart_policy, state.exit):
            return []
        exits.append(state.exit)
    return exits


def _running(pod: AgentPod, progress: PodProgress) -> list[str]:
    """What is to stop now: sidecars only once the containers beside them are gone, the last one first."""
    sidecars = [one.name for one in pod.spec.init_containers if one.sidecar]
    others = [name for name, one in progress.containers.items() if one.running and name not in sidecars]
    if others or any(one.starting for one in progress.containers.values()):
        return others
    left = [name for name in reversed(sidecars) if progress.of(name).running]
    return left[:1]
