"""One machine: its processes, and the record of them on its disk. Both outlive the node agent.

It behaves as the supervisor of process nodes does: requests are taken one after the other; a run is recorded
before its process starts, and does not start where that fails; what was started once is not started again.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import Any

from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.nodeagent.model import Exit
from vacate.nodeagent.runtime.protocol import (
    ContainerError,
    ContainerSpec,
    ContainerState,
    RuntimeLost,
)

KILLED, ENDED = 137, 0
MAX_STOP_SECONDS = 20.0
"""Seconds that a process may take to end when it is asked to."""


class Machine:
    """Power, processes and disk. `changed` is called whenever a process has started or ended."""

    def __init__(self, name: str, clock: Clock, entropy: Entropy, network: MachineNetwork) -> None:
        self.name = name
        self.disk = MachineDisk()
        self.on = True
        self.boots = 1
        self.refused_starts = 0  # because of the disk
        self.stuck = 0  # how often a process was killed and did not end, since a host is away
        self.changed: Callable[[], None] = lambda: None
        self.ended: Callable[[ContainerState], None] = lambda _: None  # tells the agent that runs now
        self.needs: Callable[[ContainerState], Iterable[str]] = lambda _: ()  # hosts that a process waits for
        self.ready: Callable[[ContainerState], bool] = lambda _: True  # what its probes say
        self.hook_seconds: Callable[[ContainerState], float] = lambda _: 0.0  # that a hook takes
        # Of a process from SIGTERM on.
        self.stop_seconds: Callable[[], float] = lambda: entropy.uniform(0, MAX_STOP_SECONDS)
        self.history: list[tuple[float, str, str]] = []  # when, which run, and what was done to it
        self.lock: int | None = None  # what is held of logind
        self.listened_at: float | None = None  # when an agent last said that it hears logind
        self.left_at: float | None = None  # when the agent left that handed the lock over
        self._clock = clock
        self._entropy = entropy
        self._network = network
        self._runs: dict[str, ContainerState] = {}
        self._dying: dict[str, None] = {}  # killed, and stuck in a call that does not return
        self._waiting: dict[str, list[asyncio.Future[ContainerState]]] = {}
        self._terminated: set[str] = set()
        self._once: dict[tuple[str, str], asyncio.Task[None]] = {}  # commands that are not to be repeated
        self._turn = asyncio.Lock()
        self._tasks: dict[asyncio.Task[Any], None] = {}
        network.on_mend(self._finish_killed)

    @property
    def living(self) -> list[ContainerState]:
        """The runs whose processes are there now, whatever anybody knows of them."""
        return [one for one in self._runs.values() if one.exit is None] if self.on else []

    def power_off(self) -> None:
        """All processes are gone, and what was under way; the disk stays."""
        self.on = False
        self.lock = None
        for task in self._tasks:
            task.cancel()
        now = self._clock.now()
        for one in [one for one in self._runs.values() if one.exit is None]:
            self._runs[one.id] = replace(one, exit=Exit(None, now))
        self._dying.clear()
        self._waiting.clear()
        self._turn = asyncio.Lock()
        self.changed()

    def power_on(self) -> None:
        """Begin anew, with what is on the disk."""
        self.on = True
        self.boots += 1

    async def stop(self) -> None:
        """Leave nothing behind."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run work of the machine, which goes on without the agent."""
        task = asyncio.get_running_loop().create_task(work, name=f"machine {self.name}")
        self._tasks[task] = None
        task.add_done_callback(self._forget)
        return task

    # What the supervisor does

    async def list(self) -> list[ContainerState]:
        """Every run that was not removed."""
        async with self._turn:
            return list(self._runs.values())

    async def start(self, spec: ContainerSpec) -> ContainerState:
        """Run it, unless it was run before; ContainerError where it cannot be recorded."""
        async with self._turn:
            if (known := self._runs.get(spec.id)) is not None:
                return known
            if self.disk.seconds:
                await self._clock.sleep(self._entropy.uniform(0, self.disk.seconds))
            if self.disk.full:
                self.refused_starts += 1
                raise ContainerError("record: No space left on device")
            made = ContainerState(spec.id, dict(spec.labels), self._clock.now(), str(spec.log))
            self._runs[spec.id] = made
            self.changed()
            return made

    def listens(self) -> None:
        """Note that the agent hears logind just now."""
        self.listened_at = self._clock.monotonic()

    async def run_once(self, container: str, name: str, timeout: float) -> None:
        """A command beside a container: it is run once, and goes on without the agent."""
        if (container, name) not in self._once:
            work = self._run_command(self._runs[container], name, timeout)
            self._once[container, name] = self.spawn(work)
        await asyncio.shield(self._once[container, name])

    async def _run_command(self, run: ContainerState, name: str, timeout: float) -> None:
        self._note(run.id, f"{name} begins")
        await self._clock.sleep(min(self.hook_seconds(run), timeout))
        self._note(run.id, f"{name} ends")

    def _note(self, container: str, what: str) -> None:
        self.history.append((self._clock.monotonic(), container, what))

    def signal(self, container: str, number: int) -> None:
        """To one that is gone nothing is sent, and SIGTERM is sent once."""
        run = self._runs.get(container)
        if run is None or run.exit is not None:
            return
        if number == signal.SIGTERM and container in self._terminated:
            return
        self._note(container, signal.Signals(number).name)
        if number == signal.SIGKILL:
            self._dying[container] = None
            self.stuck += not self._free(run)
            self._finish_killed()
        else:
            self._terminated.add(container)
            self.spawn(self._end_later(container))

    async def remove(self, container: str) -> None:
        """Forget a run that has ended."""
        async with self._turn:
            run = self._runs.get(container)
            if run is not None and run.exit is None:
                raise ContainerError("container: the container is still running")
            self._runs.pop(container, None)

    async def wait(self, container: str) -> ContainerState:
        """The run, once it has ended."""
        run = self._runs.get(container)
        if run is None:
            raise RuntimeLost(f"{container} is not known")
        if run.exit is not None:
            return run
        future: asyncio.Future[ContainerState] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(container, []).append(future)
        return await future

    def run(self, container: str) -> ContainerState | None:
        """A run by its id."""
        return self._runs.get(container)

    # How processes end

    async def _end_later(self, container: str) -> None:
        await self._clock.sleep(self.stop_seconds())
        run = self._runs.get(container)
        if run is not None and run.exit is None and self._free(run):
            self._finish(run, ENDED)

    def _finish_killed(self) -> None:
        """End what was killed. A process that waits for a host that is away does not even end then."""
        for container in list(self._dying):
            run = self._runs.get(container)
            if run is None or run.exit is not None:
                del self._dying[container]
            elif self._free(run):
                del self._dying[container]
                self._finish(run, KILLED)

    def _free(self, run: ContainerState) -> bool:
        return all(self._network.reaches(self.name, host) for host in self.needs(run))

    def _finish(self, run: ContainerState, code: int) -> None:
        self._note(run.id, "ended")
        done = self._runs[run.id] = replace(run, exit=Exit(code, self._clock.now()))
        for future in self._waiting.pop(run.id, ()):
            if not future.done():
                future.set_result(done)
        self.changed()
        self.ended(done)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled():
            task.exception()  # seen: the agent that asked may be gone


@dataclass(slots=True)
class MachineDisk:
    """What is wrong with the disk; nothing at first."""

    full: bool = False
    seconds: float = 0.0  # that a write takes


class MachineNetwork:
    """Links between machines, and other hosts such as a storage server. All are there until they are cut."""

    def __init__(self) -> None:
        self._cut: dict[tuple[str, str], None] = {}
        self._shut: dict[tuple[str, str], None] = {}
        self._mended: list[Callable[[], None]] = []

    def reaches(self, one: str, other: str) -> bool:
        """Whether the two hear each other."""
        return _pair(one, other) not in self._cut and not self.is_shut(one, other)

    def is_shut(self, one: str, other: str) -> bool:
        """Whether somebody has closed the way between them."""
        return _pair(one, other) in self._shut

    def shut(self, one: str, other: str) -> None:
        """Close the way between two on purpose: no link that is mended opens it."""
        self._shut[_pair(one, other)] = None

    def open(self, one: str, other: str) -> None:
        """Undo `shut`."""
        self._shut.pop(_pair(one, other), None)
        self._notify()

    def cut(self, one: str, other: str) -> None:
        """Separate two."""
        self._cut[_pair(one, other)] = None

    def mend(self, one: str, other: str) -> None:
        """Undo `cut`."""
        self._cut.pop(_pair(one, other), None)
        self._notify()

    def mend_all(self) -> None:
        """Undo every `cut`."""
        self._cut.clear()
        self._notify()

    def on_mend(self, call: Callable[[], None]) -> None:
        """Have it called after each link that is there again."""
        self._mended.append(call)

    def _notify(self) -> None:
        for call in self._mended:
            call()


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
