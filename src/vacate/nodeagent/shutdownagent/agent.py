"""The agent as a whole: the shutdown manager over the API's pods, and what it says on the Node."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from vacate.api.durations import format_duration
from vacate.api.kinds import NODES, PODS
from vacate.api.nodeconditions import GRACEFUL_SHUTDOWN, SHUTDOWN_IN_PROGRESS, SHUTDOWN_TAINT
from vacate.api.objects import Obj, dig
from vacate.api.untyped import maps
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import ConfigError, Conflict, Forbidden, TransportError, Unauthorized, VacateError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.kube.conditions import node_condition
from vacate.kube.patches import guarded
from vacate.nodeagent.shutdown.config import API_VERSION, FIELDS, KIND, ShutdownConfig, read_config
from vacate.nodeagent.shutdown.manager import ShutdownManager
from vacate.nodeagent.shutdown.protocol import (
    LockHolder,
    Logind,
    LogindSession,
    LogindUnavailable,
    ShutdownOff,
    ShutdownRefused,
)
from vacate.nodeagent.shutdown.record import FileStorage
from vacate.nodeagent.shutdown.requests import ShutdownRequests
from vacate.nodeagent.shutdown.state import ManagerState, Marks, marks_of, shutdown_event
from vacate.nodeagent.shutdownagent.apipods import ApiPods
from vacate.nodeagent.shutdownagent.kubelet import beside_kubelet, holds_lock
from vacate.nodeagent.view import AgentPod
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.manager import Manager, Runnable
from vacate.wire.message import Request

log = logging.getLogger(__name__)

SYNC_SECONDS = 10.0
"""How long an agent that comes up in the middle of a shutdown waits for the list of its pods."""
SIGNAL_SECONDS = 3.0
"""How long logind's signal may come after the kubelet's."""
READ_SECONDS = 5.0
RETRY_SECONDS = 2.0


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
            settings.config, logind, self.pods, holder, FileStorage(settings.folder), deps.clock,
            settings.boot, self._shutdown_changed, self._arrange,
        )  # fmt: skip
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
        own = self.pods.own_pod()
        self.pods.beside = beside_kubelet(await read_kubelet(self._kubelet), own)
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
        while not (self.pods.are_known() or self.pods.are_recorded()):
            if self._deps.clock.monotonic() >= end:
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


async def read_kubelet(client: Client) -> ShutdownConfig:
    """What its /configz says about shutdown; ShutdownRefused where that cannot be known."""
    try:
        async with asyncio.timeout(READ_SECONDS):
            document = orjson.loads(await client.send(Request("GET", "/configz")))
        found = document["kubeletconfig"]
        # A kubelet of a later version may have more fields, whatever their names.
        ours = {name: found[name] for name in (*FIELDS, "featureGates") if name in found}
        return read_config({**ours, "kind": KIND, "apiVersion": API_VERSION}, source="the kubelet's configz")
    except TimeoutError:
        why = f"no answer within {READ_SECONDS:g} s"
    except TransportError as error:
        why = f"{error}; where its certificate is not of the cluster's CA, use --kubelet-insecure-tls"
    except (Forbidden, Unauthorized) as error:
        why = f"{error}; the agent needs the right to get nodes/configz"
    except (VacateError, ConfigError, ValueError, KeyError, TypeError) as error:
        why = str(error) or type(error).__name__
    raise ShutdownRefused(
        "the kubelet terminates pods itself, since it holds a shutdown lock, and its configuration cannot be "
        f"read to see whether the agent would race with it: {why}"
    )


@dataclass(eq=False)
class NodeMarks:
    """Writes what differs, and tries again until the Node says it."""

    name = "node marks"

    client: Client
    clock: Clock
    node: str
    _wanted: Marks | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def want(self, marks: Marks) -> None:
        """Write these in the background."""
        if marks != self._wanted:
            self._wanted = marks
            self._changed.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._write()
            except (VacateError, OSError) as error:
                if not isinstance(error, Conflict):
                    log.warning("node %s cannot be marked yet: %s", self.node, error)
                self._changed.set()
                await self.clock.sleep(RETRY_SECONDS)

    async def _write(self) -> None:
        if (wanted := self._wanted) is None:
            return
        node = await self.client.get(NODES, self.node)
        if (taints := changed_taints(node, wanted)) is not None:
            change = guarded(node["metadata"], {"spec": {"taints": taints}})
            node = await self.client.patch(NODES, self.node, change)
        if conditions := changed_conditions(node, wanted, self.clock.now()):
            change = guarded(node["metadata"], {"status": {"conditions": conditions}})
            await self.client.patch_status(NODES, self.node, change)


def changed_taints(node: Obj, wanted: Marks) -> list[Obj] | None:
    """The list with or without ours; None where it is right already. Those of others stay as they are."""
    present = list(dig(node, "spec", "taints") or [])
    others = [one for one in present if one.get("key") != SHUTDOWN_TAINT]
    ours = [{"key": SHUTDOWN_TAINT, "effect": "NoSchedule"}] if wanted.going_down else []
    return None if len(present) == len(others) + len(ours) else [*others, *ours]


def changed_conditions(node: Obj, wanted: Marks, now: dt.datetime) -> list[Obj]:
    """Our conditions that the Node has not, or not so."""
    present = {one.get("type"): one for one in maps(dig(node, "status", "conditions"))}
    made = [(GRACEFUL_SHUTDOWN, (str(wanted.orderly), wanted.reason, wanted.message))]
    if wanted.going_down:
        why = "the shutdown agent terminates the pods of the node"
        made.append((SHUTDOWN_IN_PROGRESS, ("True", "NodeShutdown", why)))
    elif SHUTDOWN_IN_PROGRESS in present:
        made.append((SHUTDOWN_IN_PROGRESS, ("False", "NodeRunning", "no shutdown is under way")))
    changed = []
    for type_, assessment in made:
        old = present.get(type_, {})
        if (old.get("status"), old.get("reason"), old.get("message")) != assessment:
            since = old.get("lastTransitionTime", "") if old.get("status") == assessment[0] else ""
            changed.append(node_condition(type_, assessment, now, since=since))
    return changed
