"""One pod on this node, with everything that is under way for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from vacate.nodeagent.conditions import SHUTDOWN
from vacate.nodeagent.fieldrefs import FieldValues
from vacate.nodeagent.lifecycle.termination import Termination
from vacate.nodeagent.model import NodeReason, PodProgress
from vacate.nodeagent.status import Addresses
from vacate.nodeagent.view import AgentPod
from vacate.nodeagent.volumes.manager import PodVolumes
from vacate.nodeagent.volumes.storage import PodFolder
from vacate.runtime.reconcile import Key


@dataclass(frozen=True, slots=True)
class PodTermination:
    """The order of the node itself to end a pod."""

    start: float  # on the monotonic clock; before it interceptors prepare the pod
    deadline: float
    cause: NodeReason = SHUTDOWN

    def begun(self, now: float) -> bool:
        """Whether the pod is asked to end by now."""
        return now >= self.start

    def overtaken_by(self, other: PodTermination) -> PodTermination:
        """The order after another one: the sooner of both times, for the first cause."""
        return PodTermination(min(self.start, other.start), min(self.deadline, other.deadline), self.cause)


@dataclass(slots=True)
class HeldPod:
    """A pod by its uid. It is held until none of its processes is left and its folder is gone."""

    key: Key
    progress: PodProgress
    folder: PodFolder
    volumes: PodVolumes
    where: Addresses
    pod: AgentPod | None = None  # None for one that is known from the runtime's record only
    written: AgentPod | None = None  # as the last write of its status returned it
    phase: str = ""  # what it has come to
    released: bool = False  # removed from the API by us
    cleaned: bool = False  # records and folder are gone
    unlisted: bool = False  # it used an exclusive volume, and the Node may still list that
    end: PodTermination | None = None  # the node ends it: it goes down, or is short of something
    rejected: bool = False  # it came when the node was going down
    labels: Mapping[str, str] = field(default_factory=dict)  # what the runtime knows of it
    envs: dict[str, dict[str, str]] = field(default_factory=dict)
    terminations: dict[str, Termination] = field(default_factory=dict)
    probes: dict[str, list[asyncio.Task[None]]] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.progress.uid

    @property
    def new(self) -> bool:
        """Whether nothing was done for it yet, by this agent or one before."""
        pod = self.pod
        fresh = pod is not None and not pod.terminal and not pod.deleting and not pod.status.get("startTime")
        return fresh and not self.progress.containers

    @property
    def fields(self) -> FieldValues:
        """For the downward API."""
        assert self.pod is not None
        return FieldValues(self.pod, self.where)

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Run work for this pod in the background."""
        task = asyncio.get_running_loop().create_task(work, name=f"{name} {self.key}")
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def end_probes(self, container: str) -> None:
        """Stop asking the container."""
        for task in self.probes.pop(container, ()):
            task.cancel()

    async def abandon(self) -> None:
        """Cancel everything that is under way; processes run on."""
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def is_active(held: HeldPod) -> bool:
    """Whether the pod has a process, or one would be started for it if nothing else were known."""
    if held.progress.busy:
        return True
    pod = held.pod
    return pod is not None and not pod.terminal and not held.rejected and not held.released
