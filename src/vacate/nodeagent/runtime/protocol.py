"""What the agent asks of a container runtime: a few methods, so that another one can take its place."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from vacate.errors import VacateError
from vacate.nodeagent.model import Exit


class ContainerError(VacateError):
    """A container or a command in it could not be started; says what was in the way."""


class StartGivenUp(ContainerError):
    """It took too long, as on a busy machine: whether it could run is not known."""


class RuntimeLost(VacateError):
    """The runtime does not answer; what it ran may run on."""


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or folder of the machine that the container sees at a path of its own."""

    source: Path
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """One run of one container."""

    id: str
    argv: Sequence[str]
    env: Mapping[str, str]
    folder: Path  # its own, which is its working folder where `cwd` is empty
    log: Path
    cwd: str = ""
    binds: Sequence[Bind] = ()
    user: tuple[int, int] | None = None  # uid and gid, where they are not the agent's
    labels: Mapping[str, str] = field(default_factory=dict)  # come back with `list`


@dataclass(frozen=True, slots=True)
class ContainerState:
    """One run as the runtime knows it, of this agent or of one before."""

    id: str
    labels: Mapping[str, str]
    started: dt.datetime
    log: str = ""
    exit: Exit | None = None


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a command in a container came to."""

    code: int
    output: str = ""
    timed_out: bool = False


class ContainerRuntime(Protocol):
    """Runs containers. An id that was started once is never started again, whatever crashed meanwhile."""

    @property
    def honours_mount_paths(self) -> bool:
        """Whether a container sees its binds at their targets."""
        ...

    @property
    def name(self) -> str:
        """`process://1`: what a Node's status calls the runtime."""
        ...

    async def open(self, ended: Callable[[ContainerState], None]) -> list[ContainerState]:
        """Get ready; return what was started and not removed. `ended` is called for each run that ends."""
        ...

    async def start(self, spec: ContainerSpec) -> ContainerState:
        """Start a run, or ContainerError."""
        ...

    async def exec(
        self,
        container: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        timeout: float,
        once: str = "",
        *,
        outside: bool = False,
    ) -> ExecResult:
        """Run a command beside a running container's processes, and wait for it.

        One that was run as `once` before, by whichever agent, is only waited for. `outside` is one of the
        agent's own: it runs as the agent's user, and sees the machine's files.
        """
        ...

    async def signal(self, container: str, number: int) -> None:
        """Send the first process a signal, SIGTERM once only. SIGKILL goes to every process of the run."""
        ...

    async def wait(self, container: str) -> ContainerState:
        """Return when every process of the run is gone."""
        ...

    async def remove(self, container: str) -> None:
        """Forget a run that has ended, and release what it held."""
        ...

    async def aclose(self) -> None:
        """Let go. What runs, runs on."""
        ...


@dataclass(frozen=True, slots=True)
class Held:
    """A lock that is held while agents come and go."""

    left_at: float | None = None
    """When the agent that handed it over last listened, or ended if it never said so, on the machine's
    monotonic clock; None while it runs."""
