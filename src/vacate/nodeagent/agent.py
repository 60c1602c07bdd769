"""The agent as a whole: what a manager needs to run it, and how it begins and ends."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Sequence
from typing import IO

from vacate.api.kinds import NODES, PODS
from vacate.api.types import Node
from vacate.errors import ConfigError
from vacate.nodeagent.pods import PodReconciler
from vacate.nodeagent.registration import Heartbeat, NodeReconciler
from vacate.nodeagent.runtime.protocol import ContainerRuntime
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.view import AgentPod
from vacate.queue.limits import Backoff
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Deps
from vacate.runtime.manager import Manager, Runnable
from vacate.runtime.reconcile import Key

_WORKERS = 8
_MAX_RETRY = 10.0


class NodeAgent:
    """One node. The informers of `deps` must be its own: it reads pods in its own way."""

    def __init__(
        self,
        deps: Deps,
        settings: AgentSettings,
        runtime: ContainerRuntime,
        runnables: Sequence[Runnable] = (),
    ) -> None:
        self.settings = settings
        self._runtime = runtime
        pods = deps.informers.informer(PODS, AgentPod, field_selector=f"spec.nodeName={settings.name}")
        nodes = deps.informers.informer(NODES, Node, field_selector=f"metadata.name={settings.name}")
        self.pods = PodReconciler(deps, pods.reader, runtime, settings)
        node = self._node = NodeReconciler(deps, nodes.reader, settings, runtime.name)
        self.pods.ours = lambda: not node.foreign
        retry = Backoff[Key](longest=_MAX_RETRY)
        self._pods = Controller("pods", self.pods, [Source(pods)], deps, workers=_WORKERS, backoff=retry)
        self._nodes = Controller("node", node, [Source(nodes)], deps, backoff=Backoff(longest=_MAX_RETRY))
        self._nodes.queue.add(Key("", settings.name))
        self.pods.queue = self._pods.queue
        heartbeat = Heartbeat(deps, settings, node)
        self.manager = Manager(deps.informers, [self._nodes, self._pods], runnables=[*runnables, heartbeat])

    async def run(self) -> None:
        """Run until cancelled. The folder is this agent's alone meanwhile."""
        lock = lock_folder(self.settings)
        try:
            await self._node.claim()
            self.pods.adopt(await self._runtime.open(self.pods.ended))
            await self.manager.run()
        finally:
            try:
                await asyncio.shield(self._end())
            finally:
                lock.close()

    async def wait_ready(self) -> None:
        """Return when the agent attends to its pods."""
        await self.manager.wait_ready()

    async def _end(self) -> None:
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
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().strip()
        file.close()
        raise ConfigError(
            f"--dir: an agent works in {folder} already ({holder}); stop it, or choose another folder"
        ) from None
    file.seek(0)
    known = file.read().partition("node ")[2].strip()
    if known and known != settings.name:
        file.close()
        raise ConfigError(
            f"--dir: {folder} belongs to node {known}; use that name, or another folder for {settings.name}"
        )
    file.truncate(0)
    file.write(f"process {os.getpid()} of node {settings.name}\n")
    file.flush()
    return file
