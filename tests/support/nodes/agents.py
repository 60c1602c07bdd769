"""A node agent with real processes beside an embedded server in memory; nothing of it is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.nodes.containers import clean
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.options import WatchOptions
from vacate.client.client import Client
from vacate.client.transport import Transport
from vacate.clock import SystemClock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.bootstrap.identities import ADMIN, node
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import system_entropy
from vacate.errors import NotFound
from vacate.metrics import Metrics
from vacate.nodeagent.agent import NodeAgent
from vacate.nodeagent.runtime.process import ProcessRuntime
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.shutdown.protocol import Logind
from vacate.testing import pod
from vacate.wiring.components import ComponentContext, component_dependencies

NODE = "laptop"
PATH = os.environ["PATH"]
WAITS = (
    "trap 'echo asked; until [ -e go ]; do sleep 0.02; done; exit 0' TERM; "
    "echo on; while :; do sleep 0.02; done"
)
"""Ends after it was asked to, and when the test lets it: a look at what is so meanwhile may take its time."""


@dataclass
class AgentCluster:
    """A server, an administrator, and an agent that can be stopped and started."""

    server: ApiServer
    folder: Path
    client: Client
    settings: AgentSettings
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    runtime_options: dict[str, Any] = field(default_factory=dict)
    logind: Logind | None = None
    clock: SystemClock = field(default_factory=SystemClock)

    async def start_agent(self, boot: str = "boot", transport: Transport | None = None) -> NodeAgent:
        around = ComponentContext(self.clock, system_entropy(), Metrics())
        deps, recorder = component_dependencies(
            transport or InProcessTransport(self.server, node(NODE)), "kubelet", around
        )
        runtime = ProcessRuntime(self.settings.runtime_folder, **self.runtime_options)
        agent = NodeAgent(deps, self.settings, runtime, [recorder], boot)
        if self.logind is not None:
            agent.add_shutdown(self.logind, runtime, boot)
        self.tasks.append(asyncio.get_running_loop().create_task(agent.run()))
        ready = asyncio.get_running_loop().create_task(agent.wait_ready())
        await asyncio.wait([ready, self.tasks[-1]], return_when=asyncio.FIRST_COMPLETED)
        if self.tasks[-1].done():
            self.tasks[-1].result()
        return agent

    async def stop_agent(self) -> None:
        """As a signal would: processes run on."""
        task = self.tasks.pop()
        task.cancel()
        await asyncio.wait([task])

    async def create(self, name: str, script: str, **spec: Any) -> Obj:
        """A pod of one shell script, on the node."""
        container: Obj = {"name": "main", "image": "none", "command": ["sh", "-c", script]}
        container |= spec.pop("container", {})
        # Longer than any of them needs, also on a machine that stands still for a while.
        wanted = {"nodeName": NODE, "terminationGracePeriodSeconds": 60, **spec}
        obj = pod(name, spec=wanted)
        obj["spec"]["containers"] = [container]
        return await self.client.create(PODS, obj)

    async def get(self, name: str) -> Obj | None:
        try:
            return await self.client.get(PODS, name, "default")
        except NotFound:
            return None

    async def until(self, name: str, holds: Callable[[Obj], bool]) -> Obj:
        """The pod, once that holds."""
        try:
            async with asyncio.timeout(60):
                while True:
                    found = await self.get(name)
                    if found is not None and holds(found):
                        return found
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{name} did not come to it: {await self.get(name)}") from None

    async def delete(self, name: str) -> Obj:
        """Delete the pod and return it as it was when it went."""
        async with (
            asyncio.timeout(60),
            self.client.watch(PODS, "default", WatchOptions(send_initial_events=True)) as watch,
        ):
            await self.client.delete(PODS, name, "default")
            while True:
                for one in await watch.read() or ():
                    if one.type == "DELETED" and one.object is not None:
                        return one.object

    async def gone(self, name: str) -> None:
        """Return when the API has no such pod."""
        try:
            async with asyncio.timeout(60):
                while await self.get(name) is not None:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{name} is still there: {await self.get(name)}") from None

    async def output_until_deleted(self, obj: Obj) -> tuple[Obj, str]:
        """Delete the pod; how it was when it went, and all that its first container printed.

        The log is opened before: it goes with the pod's folder, as soon as the container has ended.
        """
        log = self.settings.pods_folder / obj["metadata"]["uid"] / "logs/main/0.log"
        with log.open() as file:
            last = await self.delete(obj["metadata"]["name"])
            return last, file.read()

    def own_folder(self, obj: Obj) -> Path:
        """Where the pod's first container works."""
        uid: str = obj["metadata"]["uid"]
        return self.settings.pods_folder / uid / "containers/main"

    def let_end(self, obj: Obj) -> None:
        """Tell a pod that runs WAITS that it may end."""
        (self.own_folder(obj) / "go").touch()

    async def logged(self, obj: Obj, text: str, container: str = "main") -> str:
        """The container's output, once the text is in it."""
        logs = self.settings.pods_folder / obj["metadata"]["uid"] / "logs" / container
        try:
            async with asyncio.timeout(60):
                while True:
                    log = "".join(one.read_text() for one in sorted(logs.glob("*.log")))
                    if text in log:
                        return log
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"never printed: {text}") from None


def ready(obj: Obj) -> bool:
    return any(
        one["type"] == "Ready" and one["status"] == "True" for one in obj["status"].get("conditions", ())
    )


def main_status(obj: Obj) -> Obj:
    found: Obj = next(iter(obj["status"].get("containerStatuses", ())), {"state": {}, "restartCount": 0})
    return found


@contextlib.asynccontextmanager
async def agent_place(folder: Path, **more: Any) -> AsyncIterator[AgentCluster]:
    """A running agent."""
    server = await open_server(ServerParts(MemoryLog(), SystemClock(), system_entropy()))
    client = Client(InProcessTransport(server, ADMIN))
    options, logind = more.pop("runtime_options", {}), more.pop("logind", None)
    clock = more.pop("clock", SystemClock())
    settings = AgentSettings(
        NODE, folder, **{"taint": False, "stop_pods": False, "base_env": {"PATH": PATH}, **more}
    )
    place = AgentCluster(
        server, folder, client, settings, runtime_options=options, logind=logind, clock=clock
    )
    try:
        await place.start_agent()
        yield place
    finally:
        for task in place.tasks:
            task.cancel()
            await asyncio.wait([task])
        await server.storage.store.aclose()
        await clean(folder)
