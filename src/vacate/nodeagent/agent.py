"""The agent as a whole: what a manager needs to run it, and how it begins and ends."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import logging
import os
from collections.abc import Sequence
from typing import IO

from vacate.api.installednames import SHUTDOWN_REQUESTER
from vacate.api.kinds import NODES, PODS
from vacate.api.types import Node
from vacate.errors import ConfigError
from vacate.nodeagent.logservice import LogService
from vacate.nodeagent.pods import PodReconciler
from vacate.nodeagent.pressure.manager import PressureManager
from vacate.nodeagent.pressure.measures import measure
from vacate.nodeagent.registration import NodeReconciler
from vacate.nodeagent.runtime.protocol import ContainerRuntime
from vacate.nodeagent.runtime.supervisor.procfs import boot_id
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.shutdown.manager import ShutdownManager
from vacate.nodeagent.shutdown.nodepods import AgentPods
from vacate.nodeagent.shutdown.protocol import LockHolder, Logind
from vacate.nodeagent.shutdown.record import FileStorage
from vacate.nodeagent.shutdown.requests import ShutdownRequests
from vacate.nodeagent.shutdown.state import ManagerState, marks_of, shutdown_event
from vacate.nodeagent.view import AgentPod
from vacate.queue.limits import Backoff
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.manager import Manager, Runnable
from vacate.runtime.reconcile import Key
from vacate.runtime.tasks import finish

_WORKERS = 8
_MAX_RETRY = 10.0

log = logging.getLogger(__name__)


class NodeAgent:
    """One node. The informers of `deps` must be its own: it reads pods in its own way."""

    def __init__(
        self,
        deps: Dependencies,
        settings: AgentSettings,
        runtime: ContainerRuntime,
        runnables: Sequence[Runnable] = (),
        boot: str = "",  # of the machine; of the one on which this runs where it is empty
    ) -> None:
        self.settings = settings
        self._runtime = runtime
        pods = deps.informers.informer(PODS, AgentPod, field_selector=f"spec.nodeName={settings.name}")
        nodes = deps.informers.informer(NODES, Node, field_selector=f"metadata.name={settings.name}")
        self._reader = pods.reader
        boot = boot or boot_id()
        self.pods = PodReconciler(deps, pods.reader, runtime, settings, boot)
        node = self._node = NodeReconciler(deps, nodes.reader, settings, runtime.name, boot, self.pods)
        self.pods.ours = lambda: not node.foreign
        retry = Backoff[Key](longest=_MAX_RETRY)
        self._pods = Controller("pods", self.pods, [Source(pods)], deps, workers=_WORKERS, backoff=retry)
        self._nodes = Controller("node", node, [Source(nodes)], deps, backoff=Backoff(longest=_MAX_RETRY))
        self._nodes.queue.add(Key("", settings.name))
        self.pods.queue = self._pods.queue
        self.shutdown: ShutdownManager | None = None
        self.logind: Logind | None = None  # of which an earlier agent may have raised the limit
        self._shutting: asyncio.Task[None] | None = None
        self._requests: ShutdownRequests | None = None
        self._deps = deps
        parts: list[Runnable] = [*runnables, node]
        if settings.pressure.thresholds:
            measured = functools.partial(measure, folder=settings.folder)
            parts.append(
                PressureManager(settings.pressure, self.pods, deps.clock, measured, self._pressure_changed)
            )
        self.manager = Manager(deps.informers, [self._nodes, self._pods], runnables=parts)

    async def run(self) -> None:
        """Run until cancelled. The folder is this agent's alone meanwhile."""
        lock = lock_folder(self.settings)
        try:
            self.pods.adopt(await self._runtime.open(self.pods.ended))
            if self.shutdown is not None:  # before the API server is asked: it may be away
                self._shutting = asyncio.get_running_loop().create_task(self.shutdown.run(), name="shutdown")
            elif self.logind is not None:
                await self.logind.restore()
            await self._node.claim()
            await self.manager.run()
        finally:
            try:
                stopping = asyncio.get_running_loop().create_task(self._end(), name="end of the agent")
                await finish(stopping)
            finally:
                lock.close()

    def log_service(self) -> LogService:
        """Shows API servers what the pods print."""
        return LogService(self._deps.client, self._reader, self.settings, self._deps.clock)

    def add_shutdown(self, logind: Logind, holder: LockHolder, boot: str) -> ShutdownManager:
        """End the pods in order when the machine goes down. Before `run`."""
        deps, settings = self._deps, self.settings
        self._requests = ShutdownRequests(
            deps.client, deps.clock, deps.entropy, settings.name, SHUTDOWN_REQUESTER, settings.dialect
        )
        self.pods.may_start = False
        pods, storage = AgentPods(self.pods, self._requests), FileStorage(settings.folder)
        self.shutdown = ShutdownManager(
            settings.shutdown, logind, pods, holder, storage, deps.clock, boot, self._shutdown_changed
        )
        return self.shutdown

    def _shutdown_changed(self, state: ManagerState) -> None:
        marks = marks_of(state, beside_kubelet=False)
        if state.active != self._node.shutting_down:
            self._deps.recorder.record(shutdown_event(self.settings.name, state))
        elif marks == self._node.marks or (state.problem == ManagerState().problem and not state.active):
            return  # nothing new, or nobody knows yet
        self._node.shutting_down = state.active
        self.pods.node_goes_down(active=state.active)
        self._node.marks = marks
        self._nodes.queue.add(Key("", self.settings.name))

    def _pressure_changed(self, conditions: frozenset[str]) -> None:
        if conditions != self._node.pressures:
            self._node.pressures = conditions
            self._nodes.queue.add(Key("", self.settings.name))

    async def wait_ready(self) -> None:
        """Return when the agent attends to its pods."""
        await self.manager.wait_ready()

    async def _end(self) -> None:
        if self._shutting is not None:
            self._shutting.cancel()
            await asyncio.wait([self._shutting])
        if self._requests is not None:
            await self._requests.aclose()
        if self.settings.stop_pods:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(10.0):
                    await self.pods.stop_all()
        await self.pods.abandon()
        await self._runtime.aclose()


def lock_folder(settings: AgentSettings) -> IO[str]:
    """Keep a second agent out of the folder; the kernel lets go when this process dies, however it dies."""
    folder = settings.folder
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o711)
        settings.pods_folder.mkdir(exist_ok=True, mode=0o711)
        file = (folder / "agent.lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"--dir: {folder} cannot be used: {error.strerror}; choose another folder"
        ) from error
    problem, taken = "", False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        taken = True
    file.seek(0)
    holder = file.read().strip()
    known = holder.partition("node ")[2]
    if taken:
        problem = f"an agent works in {folder} already ({holder}); stop it, or choose another folder"
    elif known not in ("", settings.name):
        problem = f"{folder} belongs to node {known}; use that name, or another folder for {settings.name}"
    if problem:
        file.close()
        raise ConfigError(f"--dir: {problem}")
    file.truncate(0)
    file.write(f"process {os.getpid()} of node {settings.name}\n")
    file.flush()
    return file
