"""`vacate demo --runtime process`: pods are processes, and are ended in five ways, for five reasons."""

from __future__ import annotations

import asyncio
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from multidict import MultiDict

from vacate.api.kinds import DEPLOYMENTS, NODEMAINTENANCES, NODES, PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import Pod
from vacate.api.types.nodemaintenance import DRAINED, NodeMaintenance
from vacate.cli.common import terminal
from vacate.cli.common.program import program_name
from vacate.cli.demo import service
from vacate.cli.demo.service import HOOK_PATH, PORT, TERMINATED
from vacate.cli.demo.view import short
from vacate.cli.demo.workloads import deployment_of
from vacate.cli.drain.start import maintenance_name
from vacate.cli.status.changes import Changes
from vacate.client import requests
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.errors import VacateError
from vacate.runtime.dependencies import InformerFactory
from vacate.wire.message import Request

NAMESPACE = "default"
_PROGRAM = str(Path(service.__file__).absolute())
_TAINT = {"key": "maintenance", "value": "now", "effect": "NoExecute"}


class ProcessDemo:
    """Ends pods one way after the other, and shows what they log, read as `kubectl logs -f` reads it."""

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport
        self._client = Client(transport, user_agent="vacate/demo")
        informers = InformerFactory(self._client, SystemClock(), system_entropy())
        self._pods = informers.informer(PODS, Pod, namespace=NAMESPACE)
        self._maintenances = informers.informer(NODEMAINTENANCES, NodeMaintenance)
        self._informers = informers
        self._changes = Changes()
        self._logs: dict[str, PodLog] = {}
        self._new: asyncio.Queue[str] = asyncio.Queue()

    async def play(self) -> None:
        """From an empty cluster to a service that has ended for every reason."""
        self._pods.subscribe(self._see_pod)
        self._maintenances.subscribe(lambda _old, _new: self._changes.notify())
        async with asyncio.TaskGroup() as group:
            around = [group.create_task(informer.run()) for informer in self._informers.all()]
            around.append(group.create_task(self._follow_all(group)))
            await self._deploy()
            await self._delete()
            await self._roll_out()
            await self._drain()
            await self._taint()
            await self._scale_down()
            for task in around:
                task.cancel()
        self._say(*report(list(self._logs.values())))

    async def _deploy(self) -> None:
        self._say(f"Deploying {WEB}: {REPLICAS} HTTP services, each a process of this machine")
        body = deployment(sys.executable, _PROGRAM)
        await self._client.create(DEPLOYMENTS, body, NAMESPACE)
        await self._until(self._settled)

    async def _delete(self) -> None:
        pod = self._ready()[0].metadata.name
        self._say("", f'1. $ {program_name()} delete pod {pod} --reason="{REASON}"')
        await self._client.delete(PODS, pod, NAMESPACE, DeleteOptions(reason=REASON))
        await self._until(lambda: self._over(pod) and self._settled())

    async def _roll_out(self) -> None:
        pods = [pod.metadata.name for pod in self._ready()]
        self._say("", f"2. $ kubectl set env deployment/{WEB} VERSION=2")
        container = {"name": WEB, "env": [{"name": "VERSION", "value": "2"}]}
        await self._patch_deployment({"template": {"spec": {"containers": [container]}}})
        await self._until(lambda: self._over(*pods) and self._settled())

    async def _drain(self) -> None:
        pod = self._ready()[0]
        node = pod.spec.node_name
        name = maintenance_name([node])
        self._say("", f"3. $ {program_name()} drain {node}")
        body = {
            "apiVersion": NODEMAINTENANCES.api_version,
            "kind": NODEMAINTENANCES.kind,
            "metadata": {"name": name},
            "spec": {"nodes": [node], "reason": "kernel update"},
        }
        await self._client.create(NODEMAINTENANCES, body)
        await self._until(lambda: self._drained(name) and self._over(pod.metadata.name) and self._settled())
        await self._client.delete(NODEMAINTENANCES, name)
        await self._until(lambda: self._maintenances.reader.get("", name) is None)

    async def _taint(self) -> None:
        pod = self._ready()[0]
        node = pod.spec.node_name
        text = f"{_TAINT['key']}={_TAINT['value']}:{_TAINT['effect']}"
        self._say("", f"4. $ kubectl taint node {node} {text}")
        await self._client.patch(NODES, node, {"spec": {"taints": [_TAINT]}})
        await self._until(lambda: self._over(pod.metadata.name) and self._settled())

    async def _scale_down(self) -> None:
        pods = [pod.metadata.name for pod in self._ready()]
        self._say("", f"5. $ kubectl scale deployment/{WEB} --replicas=0")
        await self._patch_deployment({"replicas": 0})
        await self._until(lambda: self._over(*pods) and not self._pods.reader.list(NAMESPACE))
        self._say("")

    async def _patch_deployment(self, spec: Obj) -> None:
        await self._client.patch(
            DEPLOYMENTS, WEB, {"spec": spec}, NAMESPACE, patch_type=requests.STRATEGIC_PATCH
        )

    def _settled(self) -> bool:
        """As many pods as wanted, all of them ready."""
        return len(self._ready()) == REPLICAS == len(self._pods.reader.list(NAMESPACE))

    def _over(self, *pods: str) -> bool:
        """Whether these pods have ended, and their logs were read to the end."""
        return all(pod in self._logs and self._logs[pod].over for pod in pods)

    def _drained(self, maintenance: str) -> bool:
        found = self._maintenances.reader.get("", maintenance)
        return found is not None and found.status.phase == DRAINED

    def _ready(self) -> list[Pod]:
        found = [pod for pod in self._pods.reader.list(NAMESPACE) if pod.ready and not pod.terminating]
        return sorted(found, key=lambda pod: pod.metadata.name)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._changes.wait()

    def _see_pod(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and new.status.phase == "Running" and new.metadata.name not in self._logs:
            self._logs[new.metadata.name] = PodLog(new.metadata.name)
            self._new.put_nowait(new.metadata.name)
        self._changes.notify()

    async def _follow_all(self, group: asyncio.TaskGroup) -> None:
        while True:
            group.create_task(self._follow(await self._new.get()))

    async def _follow(self, pod: str) -> None:
        """Read the log of a pod until its container has ended."""
        log = self._logs[pod]
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/log"
        answer = await self._transport.send(Request("GET", path, MultiDict(follow="true")))
        if isinstance(answer.body, bytes):
            raise VacateError(f"the log of pod {pod} cannot be read: {answer.body.decode(errors='replace')}")
        rest = b""
        try:
            async for chunk in answer.body:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    log.lines.append(line.decode(errors="replace"))
                    self._say(log_line(pod, log.lines[-1]))
        finally:
            await answer.body.aclose()
        log.over = True
        self._changes.notify()

    def _say(self, *lines: str) -> None:
        if terminal.is_terminal():
            width = terminal.console().width
            lines = tuple(part for line in lines for part in fitted(line, width))
        terminal.echo_lines(lines)


WEB, REPLICAS = "web", 2
REASON = "resolve issue 354961"
_TERMINATED = re.compile(rf"(\S+) {TERMINATED} ([^:]*): (.*)")
_MAX_NAME = 11  # of a pod, shortened
_GRACE_SECONDS = 5


def deployment(python: str, program: str) -> Obj:
    """The service, two replicas of it; its hook is a request to itself."""
    container = {
        "name": WEB,
        "image": "none",
        "command": [python, "-I", program],
        "env": [{"name": "VERSION", "value": "1"}],
        "readinessProbe": {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1},
        "lifecycle": {"preStop": {"httpGet": {"path": HOOK_PATH, "port": PORT}}},
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": _GRACE_SECONDS}
    return deployment_of(WEB, REPLICAS, spec)


@dataclass(slots=True)
class PodLog:
    """What one pod of the service has logged."""

    pod: str
    lines: list[str] = field(default_factory=list)
    over: bool = False

    @property
    def termination(self) -> tuple[str, str, str]:
        """When, by whom and why it ended, by its own log; empty texts where that does not say so."""
        found = next(filter(None, map(_TERMINATED.match, self.lines)), None)
        return (found[1], found[2], found[3]) if found else ("", "", "")


def log_line(pod: str, line: str) -> str:
    """A line of a pod's log, below the step that caused it."""
    return f"  {short(pod).ljust(_MAX_NAME)} | {line}"


def fitted(line: str, width: int) -> list[str]:
    """The line on as many lines as the width needs."""
    indent = " " * min(_MAX_NAME + 5 if line.startswith("  ") else 3, width // 3)
    return textwrap.wrap(line, max(width, 20), subsequent_indent=indent, drop_whitespace=True) or [""]


def report(logs: Sequence[PodLog]) -> list[str]:
    """All ends as the service logged them, and what to try next: at most 24 lines."""
    rows = [("POD", "TERMINATED (UTC)", "BY", "REASON")]
    for log in sorted(logs, key=lambda log: log.termination):
        moment, cause, reason = log.termination
        rows.append((short(log.pod), moment[11:19], cause, reason))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    table = ["  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)) for row in rows]
    name = program_name()
    return [
        "When and why each pod was terminated, as its own log says",
        *(f"  {line}".rstrip() for line in table),
        "Try next",
        f"  {name} up --runtime process     a cluster of your own with such nodes",
        f"  {name} delete pod POD --reason TEXT    delete a pod and say why",
        "  docs/how-to/find-out-why-a-pod-was-terminated.md    pass it to your own hooks",
    ]
