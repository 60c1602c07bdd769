"""One pod on this node: where it stands, how it is terminated, and everything that is under way for it."""

from __future__ import annotations

import asyncio
import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from vacate.api.events import EventNote, regarding
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.terminationreason import EVICTION
from vacate.nodeagent import podrecord
from vacate.nodeagent.environment import FieldValues
from vacate.nodeagent.lifecycle.reason import reason_of
from vacate.nodeagent.lifecycle.termination import Termination
from vacate.nodeagent.model import PodProgress, Run, RunningContainer, TerminationCause
from vacate.nodeagent.podrecord import RecordedPod
from vacate.nodeagent.status import Addresses, phase_when_stopped, rejected_status, status_of
from vacate.nodeagent.view import AgentContainer, AgentPod
from vacate.nodeagent.volumes.manager import PodVolumes
from vacate.nodeagent.volumes.storage import PodFolder
from vacate.runtime.events import Recorder


@dataclass(slots=True, kw_only=True)
class PodWorker(RecordedPod):
    """A pod by its uid. It is kept until none of its processes is left and its folder is gone."""

    progress: PodProgress
    folder: PodFolder
    volumes: PodVolumes
    where: Addresses
    recorder: Recorder
    pod: AgentPod | None = None  # of the API server, else of the record; None where neither has it
    seen: bool = False  # whether the API server has shown it to this agent
    written: AgentPod | None = None  # as the last write of its status returned it
    phase: str = ""  # what it has come to
    released: bool = False  # removed from the API by us
    cleaned: bool = False  # records and folder are gone
    unlisted: bool = False  # it used an exclusive volume, and the Node may still list that
    rejected: bool = False  # it came when the node was going down
    terminations: dict[str, Termination] = field(default_factory=dict)
    probes: dict[str, list[asyncio.Task[None]]] = field(default_factory=dict)

    @property
    def new(self) -> bool:
        """Whether nothing was done for it yet, by this agent or one before."""
        pod = self.pod
        fresh = pod is not None and not pod.terminal and not pod.deleting and not pod.status.get("startTime")
        return fresh and not self.progress.containers

    @property
    def active(self) -> bool:
        """Whether the pod has a process, or one would be started for it if nothing else were known."""
        if self.progress.busy:
            return True
        return self.pod is not None and not self.pod.terminal and not self.rejected and not self.released

    @property
    def fields(self) -> FieldValues:
        """For the downward API."""
        assert self.pod is not None
        return FieldValues(self.pod, self.where)

    def target(self, run: Run, container: AgentContainer, env: Mapping[str, str]) -> RunningContainer:
        """The container of a run, for probes and hooks."""
        return RunningContainer(run.id, container, env, self.where.pod)

    def note(self, type_: str, reason: str, message: str) -> None:
        """Record an Event about the pod, if more is known of it than the runtime's record."""
        if self.pod is not None:
            self.recorder.record(EventNote(regarding(PODS, self.pod), type_, reason, message))

    # --- its termination by the node ------------------------------------------------------------------------

    @property
    def unreported(self) -> bool:
        """Whether the API server is still to learn what becomes of a pod that the node ends or refuses."""
        if self.released or not (self.rejected or self.ending):
            return False
        return self.pod is None or not self.pod.terminal or (self.pod.deleting and not self.rejected)

    def cause(self, name: str) -> TerminationCause:
        """Why the container ends, and its time: the pod's own grace, or less where the node says so."""
        own = self.pod.grace_seconds if self.pod is not None else math.inf
        given = reason_of(self.pod) if self.pod is not None else ""
        order = self.record.order
        if order is None:
            return TerminationCause(f"Stopping container {name}", own, reason=given)
        left = max(order.deadline - self.clock.monotonic(), 0.0)
        message = f"Stopping container {name}: {order.cause.cause}"
        return TerminationCause(
            message, min(own, left), reason=given or EVICTION, within=order.cause.disruption
        )

    def save(self, *, sync: bool = False) -> None:
        """Write the record, for as long as the pod has a folder."""
        if self.cleaned:
            return
        if self.pod is not None:
            self.record.pod = podrecord.facts(self.pod)
        self.record.address = self.where.pod
        RecordedPod.save(self, sync=sync)

    # --- what the API server sees ---------------------------------------------------------------------------

    def status(self, now: dt.datetime) -> Obj:
        """What the pod's status should be."""
        assert self.pod is not None
        if self.rejected:
            return self.pod.status if self.pod.terminal else rejected_status(now)
        cause = self.record.order.cause if self.record.order is not None and self.ending else None
        if cause is not None and not self.progress.busy:
            self.phase = self.phase or cause.phase or phase_when_stopped(self.pod, self.progress)
        return status_of(self.pod, self.progress, self.where, now, self.phase, end=cause)

    def end_probes(self, container: str) -> None:
        """Stop asking the container."""
        for task in self.probes.pop(container, ()):
            task.cancel()
