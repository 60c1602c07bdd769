"""Containers as local processes: the agent's side of the supervisor."""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vacate.clock import Clock, SystemClock
from vacate.nodeagent.model import Exit
from vacate.nodeagent.runtime.connection import SupervisorConnection
from vacate.nodeagent.runtime.protocol import (
    ContainerError,
    ContainerRuntime,
    ContainerSpec,
    ContainerState,
    ExecResult,
    Held,
    StartGivenUp,
)
from vacate.nodeagent.runtime.supervisor import cgroups
from vacate.nodeagent.runtime.supervisor.procfs import MARKER, marker

log = logging.getLogger(__name__)

_VIEW_CHECKS = 6
"""How often a view is tried on a machine that is so busy that the supervisor gives up the start."""


class ProcessRuntime(SupervisorConnection):
    """Has the supervisor of one folder run containers, and knows where each of them stands."""

    name = "process://1"

    def __init__(
        self,
        folder: Path,
        *,
        use_cgroups: bool = True,
        use_views: bool = True,
        ends_with_agent: bool = False,
        clock: Clock | None = None,  # the machine's own where none is given
    ) -> None:
        # Without `ends_with_agent` containers outlive this process, as on a real node.
        super().__init__(folder, self._see, clock or SystemClock(), ends_with_agent=ends_with_agent)
        root = cgroups.find_root() if use_cgroups else ""
        mark = hashlib.sha256(str(folder.absolute()).encode()).hexdigest()[:12]
        self.cgroup = f"{root}/vacate-{mark}" if root else ""
        self._views = use_views and os.geteuid() == 0
        self._states: dict[str, ContainerState] = {}
        self._waiting: dict[str, list[asyncio.Future[ContainerState]]] = {}
        self._ended: Callable[[ContainerState], None] = lambda _: None

    @property
    def honours_mount_paths(self) -> bool:
        """Whether containers have a view of the file system of their own."""
        return self._views

    async def open(self, ended: Callable[[ContainerState], None]) -> list[ContainerState]:
        """Connect, and read what runs."""
        self._ended = ended
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self.ensure()
        if self._views:
            self._views = await self._views_work()
        return list(self._states.values())

    async def start(self, spec: ContainerSpec) -> ContainerState:
        """Have the supervisor fork it."""
        scratch = _make_scratch(spec) if self._views else None
        request = start_request(spec, self._folder, self.cgroup, scratch)
        state = state_of(await self.ask("start", request))
        self._states.setdefault(state.id, state)
        return self._states[state.id]

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
        """Have the supervisor run it beside the container."""
        request: dict[str, Any] = {"id": container, "argv": list(argv)}
        request["env"] = marked(env, self._folder, container)
        request |= {"timeout": timeout, "once": once, "outside": outside}
        reported = await self.ask("exec", request)
        return ExecResult(reported["code"], reported["output"], reported["timed_out"])

    async def signal(self, container: str, number: int) -> None:
        """Pass a signal on."""
        await self.ask("signal", {"id": container, "signal": int(number)})

    async def wait(self, container: str) -> ContainerState:
        """Return when the run is over."""
        await self.ensure()
        state = self._states[container]
        if state.exit is not None:
            return state
        future: asyncio.Future[ContainerState] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(container, []).append(future)
        return await future

    async def remove(self, container: str) -> None:
        """Have the supervisor forget it."""
        await self.ask("remove", {"id": container})
        self._states.pop(container, None)

    async def holds(self, *, listening: bool = False) -> Held | None:
        """The lock, if the supervisor holds it."""
        answer = await self.ask("holds", {"listening": listening})
        return Held(answer["left_at"]) if answer["held"] else None

    async def release(self) -> None:
        """Have the supervisor close it."""
        await self.ask("release", {})

    async def _views_work(self) -> bool:
        """Try an overlay; machines differ in what they allow. Again where that was not to be seen."""
        place = self._folder / "view-check"
        place.mkdir(exist_ok=True)
        spec = ContainerSpec("view-check", ["true"], {"PATH": os.defpath}, place, place / "log")
        for _ in range(_VIEW_CHECKS):
            try:
                await self.start(spec)
                ended = await self.wait(spec.id)
                await self.remove(spec.id)
            except StartGivenUp:
                continue
            except ContainerError:
                return False
            if ended.exit is not None and ended.exit.code is not None:
                return ended.exit.code == 0
        log.warning("%s: the machine is too busy for views: containers see the machine's own files", place)
        return False

    def _see(self, reported: dict[str, Any]) -> None:
        state = state_of(reported)
        known = self._states.get(state.id)
        if state.exit is None and known is not None and known.exit and known.started == state.started:
            return  # a list from before the end of that run, which was read together with it
        self._states[state.id] = state
        if state.exit is None or (known is not None and known.exit is not None):
            return
        for future in self._waiting.pop(state.id, ()):
            if not future.done():
                future.set_result(state)
        self._ended(state)


def _make_scratch(spec: ContainerSpec) -> Path:
    """The folder for the container's view of the file system, beside its own."""
    scratch = spec.folder.parent / f"{spec.folder.name}.view"
    (scratch / "root").mkdir(parents=True, exist_ok=True)
    return scratch


_: type[ContainerRuntime] = ProcessRuntime


def start_request(spec: ContainerSpec, folder: Path, cgroup: str, scratch: Path | None) -> dict[str, Any]:
    """Run a container: in a cgroup below this one, and with a view of the file system made in `scratch`."""
    request: dict[str, Any] = {
        "id": spec.id,
        "argv": list(spec.argv),
        "env": marked(spec.env, folder, spec.id),
        "cwd": spec.cwd or str(spec.folder),
        "log": str(spec.log),
        "labels": dict(spec.labels),
        "user": list(spec.user) if spec.user else None,
    }
    if cgroup:
        request |= {"cgroup": f"{cgroup}/{spec.id}", "cgroup_top": cgroup}
    if scratch is not None:
        own = (str(spec.folder), str(spec.folder), False)
        binds = [own, *((str(one.source), one.target, one.read_only) for one in spec.binds)]
        request["view"] = {"root": str(scratch / "root"), "scratch": str(scratch), "binds": binds}
    return request


def marked(env: Mapping[str, str], folder: Path, container: str) -> dict[str, str]:
    """The environment with the marker by which processes of the container are found."""
    return {**env, MARKER: marker(str(folder), container)}


def state_of(reported: Mapping[str, Any]) -> ContainerState:
    """One run as the supervisor reports it."""
    ended = reported["exit"]
    found = Exit(ended["code"], _moment(ended["finished_at"])) if ended else None
    return ContainerState(
        reported["id"], reported["labels"], _moment(reported["started_at"]), reported["log"], found
    )


def _moment(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
