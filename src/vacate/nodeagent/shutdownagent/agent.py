"""The agent as a whole: the shutdown manager over the API's pods, and what it says on the Node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vacate.api.kinds import PODS
from vacate.client.client import Client
from vacate.errors import ConfigError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.durations import format_duration
from vacate.nodeagent.shutdown.manager import ShutdownManager
from vacate.nodeagent.shutdown.protocol import (
    LockHolder,
    Logind,
    LogindSession,
    LogindUnavailable,
    ShutdownOff,
)
from vacate.nodeagent.shutdown.record import FileStorage
from vacate.nodeagent.shutdown.requests import ShutdownRequests
from vacate.nodeagent.shutdown.state import ManagerState, marks_of, shutdown_event
from vacate.nodeagent.shutdownagent.apipods import ApiPods
from vacate.nodeagent.shutdownagent.configz import read_kubelet
from vacate.nodeagent.shutdownagent.kubelet import beside_kubelet, holds_lock
from vacate.nodeagent.shutdownagent.nodemarks import NodeMarks
from vacate.nodeagent.view import AgentPod
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.manager import Manager, Runnable

log = logging.getLogger(__name__)

SYNC_SECONDS = 10.0
"""How long an agent that comes up in the middle of a shutdown waits for the list of its pods."""
SIGNAL_SECONDS = 3.0
"""How long logind's signal may come after the kubelet's."""


@dataclass(frozen=True, slots=True)
class ShutdownAgentSettings:
    """One agent of one node."""

    node: str
    config: ShutdownConfig
    folder: Path  # of its records
    pod_uid: str = ""  # of the agent itself, which it must not end
    boot: str = ""
    dialect: Dialect = EVICTION_REQUEST  # of the API by which pods with interceptors are requested
    reload: Callable[[], ShutdownConfig] | None = None  # the configuration as it is now; raises ConfigError


class ShutdownAgent:
    """One node with a stock kubelet. The informers of `deps` must be its own."""

    def __init__(
        self,
        deps: Dependencies,
        settings: ShutdownAgentSettings,
        logind: Logind,
        holder: LockHolder,
        kubelet: Client,
        runnables: Sequence[Runnable] = (),
    ) -> None:
        self._deps = deps
        self._settings = settings
        self._config = settings.config
        self._rejected = ""  # why the file as it is now is not used
        self._logind = logind
        self._kubelet = kubelet
        pods = deps.informers.informer(PODS, AgentPod, field_selector=f"spec.nodeName={settings.node}")
        self._requests = ShutdownRequests(
            deps.client, deps.clock, deps.entropy, settings.node, dialect=settings.dialect
        )
        records = settings.folder / "pods"
        self.pods = ApiPods(
            deps.client, deps.clock, pods, self._requests, settings.pod_uid, records, settings.boot
        )
        self._marks = NodeMarks(deps.client, deps.clock, settings.node)
        self._moved = asyncio.Event()
        self._active = False
        self.shutdown = ShutdownManager(
            settings.config,
            logind,
            self.pods,
            holder,
            FileStorage(settings.folder),
            deps.clock,
            settings.boot,
            self._shutdown_changed,
            self._arrange,
        )
        self.manager = Manager(deps.informers, [], runnables=[*runnables, self._marks])

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop` is set; in the middle of a shutdown until that is over."""
        try:
            async with asyncio.TaskGroup() as group:
                parts = [
                    group.create_task(self.manager.run(), name="informers"),
                    group.create_task(self.shutdown.run(), name="shutdown"),
                ]
                await stop.wait()
                await self._finish_shutdown()
                for one in reversed(parts):
                    one.cancel()
                    await asyncio.wait([one])
        finally:
            await self.pods.aclose()
            await self._requests.aclose()

    async def _finish_shutdown(self) -> None:
        """A kubelet that shuts down ends this agent first, maybe before logind's own signal is here."""
        if not self.shutdown.state.active and await self.shutdown.is_preparing():
            try:
                async with asyncio.timeout(SIGNAL_SECONDS):
                    await self._until(lambda state: state.active)
            except TimeoutError:
                return
        await self._until(lambda state: state.finished or not state.active)

    async def _until(self, holds: Callable[[ManagerState], bool]) -> None:
        while not holds(self.shutdown.state):
            await self._moved.wait()
            self._moved.clear()

    async def _arrange(self, session: LogindSession, preparing: bool) -> ShutdownConfig:
        """What to do in the next shutdown, from what the kubelet would do in it."""
        await self._pods_known(preparing=preparing)
        if not holds_lock(await session.inhibitors()):
            self.pods.beside = None
            self._look_at_config()
            if not self._config.enabled:
                raise ShutdownOff(self._config.disabled_because)
            return self._config
        if self.pods.beside is not None and preparing:
            return self.pods.beside  # as it was read before
        limits = self.pods.own_limits()
        self.pods.beside = beside_kubelet(await read_kubelet(self._kubelet), limits)
        return self.pods.beside

    def _look_at_config(self) -> None:
        """An administrator may change the file while the agent runs. One that is wrong changes nothing."""
        if self._settings.reload is None:
            return
        try:
            found = self._settings.reload()
        except ConfigError as error:
            if str(error) != self._rejected:
                log.warning("%s; the configuration before this one stays in effect", error)
            self._rejected = str(error)
            return
        if found != self._config:
            log.info(
                "the configuration has changed: pods have up to %s", format_duration(found.total_seconds)
            )
        self._config, self._rejected = found, ""

    async def _pods_known(self, *, preparing: bool) -> None:
        """No lock is taken for pods that nobody has listed."""
        if self.pods.are_known():
            self.pods.sweep()
            return
        if not preparing:
            raise LogindUnavailable("the API server has not listed the pods of this node yet")
        log.warning("the machine goes down, and the API server has not listed the pods of this node yet")
        end = self._deps.clock.monotonic() + SYNC_SECONDS
        while not self.pods.are_known() and self._deps.clock.monotonic() < end:
            if self.pods.are_recorded():
                return
            await self._deps.clock.sleep(0.1)

    def _shutdown_changed(self, state: ManagerState) -> None:
        self._moved.set()
        if state.active != self._active:
            self._active = state.active
            self._deps.recorder.record(shutdown_event(self._settings.node, state))
        if not state.active and state.problem == ManagerState().problem:
            return  # nobody knows yet: an earlier agent's marks stay
        self._marks.want(marks_of(state, beside_kubelet=self.pods.beside is not None))
