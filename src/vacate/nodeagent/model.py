"""PURE. Where the containers of a pod stand, as values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vacate.nodeagent.view import AgentContainer

UNKNOWN_CODE = 137
"""The exit code that Kubernetes writes where nobody saw the end of a container."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a run ended. A run without a code was lost: nobody saw its end."""

    code: int | None
    finished: dt.datetime
    message: str = ""
    reason: str = ""  # where the code does not imply it, such as StartError

    @property
    def failed(self) -> bool:
        """Whether the run counts as a failure."""
        return self.code != 0


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a container."""

    id: str
    attempt: int
    started: dt.datetime
    failures: int = 0  # restarts in a row before this run, for the backoff
    exit: Exit | None = None


@dataclass(frozen=True, slots=True)
class RunningContainer:
    """One that probes and hooks ask."""

    id: str  # of its run
    container: AgentContainer
    env: Mapping[str, str]
    address: str


@dataclass(frozen=True, slots=True)
class NodeReason:
    """Why a node terminates a pod by itself."""

    cause: str  # for the Event about a container: "the node is shutting down"
    reason: str  # of the pod's status, where it failed
    message: str  # of its status and of its condition DisruptionTarget
    phase: str = ""  # what the pod has come to then; by its exit codes where this is empty
    disruption: bool = True  # whether the pod could have gone on elsewhere


@dataclass(frozen=True, slots=True)
class TerminationCause:
    """Why a container is terminated."""

    message: str
    grace_seconds: float
    run_hook: bool = True
    reason: str = ""  # for the hook; empty where none was given
    within: bool = False  # SIGKILL comes when the time is over, also after a hook that takes long


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a container does not run."""

    reason: str
    message: str = ""


@dataclass(slots=True)
class Progress:
    """One container: the present run or the last one, the one before, and what keeps it from running."""

    name: str
    run: Run | None = None
    before: Run | None = None
    waiting: Waiting | None = None
    retry_at: dt.datetime | None = None  # after a start that could not even be tried
    starting: bool = False  # being started, or its postStart hook runs
    stopping: bool = False  # asked to end
    started: bool = False  # past its startup probe
    ready: bool = False

    @property
    def running(self) -> bool:
        """Whether a process is there."""
        return self.run is not None and self.run.exit is None

    @property
    def exit(self) -> Exit | None:
        """How the last run ended; None while it goes on, and before the first one."""
        return self.run.exit if self.run is not None else None

    @property
    def succeeded(self) -> bool:
        """Whether the last run is over, with 0."""
        return self.exit is not None and self.exit.code == 0


@dataclass(slots=True)
class PodProgress:
    """A pod on this node."""

    uid: str
    arrived: dt.datetime
    containers: dict[str, Progress] = field(default_factory=dict)

    def of(self, name: str) -> Progress:
        """The container's progress."""
        return self.containers.setdefault(name, Progress(name))

    @property
    def busy(self) -> bool:
        """Whether a process runs or is about to."""
        return any(one.running or one.starting for one in self.containers.values())

    def begun(self, containers: Iterable[AgentContainer]) -> bool:
        """Whether one of these has ever run."""
        return any(self.of(one.name).run is not None for one in containers)
