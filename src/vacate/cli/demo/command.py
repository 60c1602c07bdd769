"""`vacate demo`: a NodeMaintenance drains a node, its pods are evicted through their interceptors.

With `--runtime process` see `processes.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from vacate.api.kinds import DEPLOYMENTS, EVICTIONREQUESTS, NODEMAINTENANCES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import DRAINED, NodeMaintenance
from vacate.cli.common import terminal
from vacate.cli.common.connection import Connection, connected
from vacate.cli.common.program import path_export, program_name
from vacate.cli.common.run import run_until_signalled
from vacate.cli.demo import workloads as app
from vacate.cli.demo.processes import ProcessDemo
from vacate.cli.demo.timeline import LEGEND, Timeline, bar, steps_of
from vacate.cli.demo.view import Screen, View
from vacate.cli.drain.start import maintenance_name
from vacate.cli.status.changes import Changes
from vacate.cli.web.command import pages_served
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.embedded.cluster import PROCESS, RUNTIMES, SIMULATED
from vacate.entropy import system_entropy
from vacate.errors import VacateError
from vacate.runtime.dependencies import InformerFactory
from vacate.sdk import serve_interceptors
from vacate.views.phrases import counted

NAMESPACE = "default"
REASON = "kernel update"
_TIMEOUT_SECONDS = 120.0


@click.command()
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES),
    default=SIMULATED,
    show_default=True,
    help="What pods are: simulated, and drained; or processes of this machine, which log why they end.",
)
@click.option("--web", is_flag=True, help="Show it in a browser too, until Ctrl-C, as `vacate web` does.")
def demo(runtime: str, web: bool) -> None:
    """Drain a node of a throw-away cluster, live, and clean up.

    The drain is a NodeMaintenance, as `vacate drain` creates it. Interceptors prepare some of the pods, a
    disruption budget holds others back, and a timeline at the end shows whose turn it was when.

    With --runtime process pods are processes of this machine: a small HTTP service, whose own log shows who
    terminated it, when and why. It is terminated by a user, a rollout, a drain, a taint and a scale-down.
    """
    run_until_signalled(lambda: _in_temporary_folder(runtime, web=web))


async def _in_temporary_folder(runtime: str, *, web: bool) -> None:
    # Help needs none of it, and it takes most of a second to load.
    from vacate.embedded.cluster.local import LocalCluster, LocalSettings  # noqa: PLC0415
    from vacate.embedded.nodes.settings import NodeSettings  # noqa: PLC0415
    from vacate.embedded.nodes.timings import PodTimings  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="vacate-demo-") as folder:
        behaviour = NodeSettings(timings=PodTimings(start=1.0, ready=0.6, stop=1.5))
        settings = LocalSettings(
            Path(folder), port=0, nodes=3, behaviour=behaviour, runtime=runtime, throw_away=True
        )
        cluster = LocalCluster(settings)
        terminal.echo("Starting a throw-away cluster of three nodes; this takes a few seconds")
        await cluster.start()
        try:
            await cluster.wait_ready()
            async with contextlib.AsyncExitStack() as stack:
                if web:
                    reach = Connection(str(cluster.folder.kubeconfig))
                    opened = await stack.enter_async_context(connected(reach))
                    await stack.enter_async_context(pages_served(opened, reach, 0, browser=True))
                await _play(runtime, cluster.folder.kubeconfig)
                if web:
                    terminal.echo("The page and the cluster stay until Ctrl-C.")
                    await asyncio.Event().wait()
        finally:
            await cluster.stop()


async def _play(runtime: str, kubeconfig: Path) -> None:
    transport = HttpTransport(load_cluster([kubeconfig]), SystemClock())
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            if runtime == PROCESS:
                await ProcessDemo(transport).play()
            else:
                await Demo(Client(transport, user_agent="vacate/demo")).play()
    except TimeoutError:
        raise VacateError(f"the demo did not end within {_TIMEOUT_SECONDS:.0f} seconds") from None
    finally:
        await transport.aclose()


class Demo:
    """The play: it speaks to the cluster over HTTPS, as any client would."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._clock = SystemClock()
        informers = InformerFactory(client, self._clock, system_entropy())
        self._pods = informers.informer(PODS, Pod, namespace=NAMESPACE)
        self._budgets = informers.informer(PODDISRUPTIONBUDGETS, PodDisruptionBudget, namespace=NAMESPACE)
        self._requests = informers.informer(EVICTIONREQUESTS, EvictionRequest, namespace=NAMESPACE)
        self._maintenances = informers.informer(NODEMAINTENANCES, NodeMaintenance)
        self._informers = informers
        self._changes = Changes()
        self._screen = Screen(self._view)
        self._timeline = Timeline(self._screen.say)
        self._summary = Summary(app.WEB_REPLICAS, app.WEB_AT_LEAST)
        self._maintenance = ""  # its name
        self._began = 0.0  # of the drain; 0 before and after it

    async def play(self) -> None:
        """From an empty cluster to a drained node, a timeline and a summary of how it went."""
        self._requests.subscribe(self._see_request)
        self._pods.subscribe(self._see_pod)
        self._maintenances.subscribe(lambda _old, _new: self._changes.notify())
        self._budgets.subscribe(lambda _old, _new: self._changes.notify())
        async with asyncio.TaskGroup() as group:
            around = [group.create_task(informer.run()) for informer in self._informers.all()]
            around.append(group.create_task(serve_interceptors(self._client, app.INTERCEPTORS)))
            with self._screen:
                around.append(group.create_task(self._draw()))
                node = await self._deploy()
                await self._drain(node)
            for task in around:
                task.cancel()
        print_report(self._summary, node, self._timeline)

    async def _deploy(self) -> str:
        say = self._screen.say
        kept = f"{app.WEB_AT_LEAST} of {app.WEB_REPLICAS} must stay available"
        chain = f"{app.REPLICATE}, then {app.BACKUP}"
        say(f"Deploying {app.WEB} ({kept}), {app.CART} (prepared by {app.CHECKPOINT}), {app.DB} (by {chain})")
        for budget in app.BUDGETS:
            await self._client.create(PODDISRUPTIONBUDGETS, budget, NAMESPACE)
        for deployment in app.DEPLOYMENTS:
            await self._client.create(DEPLOYMENTS, deployment, NAMESPACE)
        await self._until(lambda: len(self._ready()) == app.REPLICAS and self._allowed(app.WEB) > 0)
        node = self._fullest()
        say(f"All {app.REPLICAS} pods are ready; {len(self._on(node))} of them run on {node}")
        return node

    async def _drain(self, node: str) -> None:
        name = maintenance_name([node])
        body = {
            "apiVersion": NODEMAINTENANCES.api_version,
            "kind": NODEMAINTENANCES.kind,
            "metadata": {"name": name},
            "spec": {"nodes": [node], "reason": REASON},
        }
        self._began = self._clock.monotonic()
        self._maintenance = name
        await self._client.create(NODEMAINTENANCES, body)
        self._screen.say(f"nodemaintenance/{name} created, as `{program_name()} drain {node}` does it")
        await self._until(lambda: self._drained() and len(self._ready()) == app.REPLICAS)
        self._summary.seconds, self._began = self._now(), 0.0
        self._screen.say(f"{node} is drained, and all {app.REPLICAS} pods are ready elsewhere")
        await self._client.delete(NODEMAINTENANCES, name)
        await self._until(lambda: self._maintenances.reader.get("", name) is None)
        self._screen.say(f"nodemaintenance/{name} deleted: {node} is schedulable again")

    def _drained(self) -> bool:
        found = self._maintenances.reader.get("", self._maintenance)
        return found is not None and found.status.phase == DRAINED

    async def _draw(self) -> None:
        while True:
            await self._changes.wait()
            if self._began:
                ready = [pod for pod in self._ready() if pod.metadata.labels.get("app") == app.WEB]
                self._summary.lowest = min(self._summary.lowest, len(ready))
            self._screen.refresh()

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._changes.wait()

    def _see_request(self, old: EvictionRequest | None, new: EvictionRequest | None) -> None:
        if new is not None:
            self._timeline.on_request(new, self._now())
        self._changes.notify()

    def _see_pod(self, old: Pod | None, new: Pod | None) -> None:
        seen = new or old
        if seen is not None:
            self._timeline.on_pod(seen, self._now(), gone=new is None)
        self._changes.notify()

    def _now(self) -> float:
        return self._clock.monotonic() - self._began if self._began else 0.0

    def _view(self) -> View:
        budget = self._budgets.reader.get(NAMESPACE, app.WEB)
        pods, requests = self._pods.reader.list(NAMESPACE), self._requests.reader.list(NAMESPACE)
        maintenance = self._maintenances.reader.get("", self._maintenance)
        return View(pods, requests, budget, self._clock.now(), maintenance)

    def _ready(self) -> list[Pod]:
        return [pod for pod in self._pods.reader.list(NAMESPACE) if pod.ready and not pod.terminating]

    def _on(self, node: str) -> list[Pod]:
        return [pod for pod in self._pods.reader.list(NAMESPACE) if pod.spec.node_name == node]

    def _fullest(self) -> str:
        """The node whose pods show most: of the most applications, and then the most pods."""
        pods = self._ready()
        count = Counter(pod.spec.node_name for pod in pods)
        apps = Counter(
            node for node, _ in {(pod.spec.node_name, pod.metadata.labels.get("app")) for pod in pods}
        )
        return max(sorted(count), key=lambda node: (apps[node], count[node]))

    def _allowed(self, name: str) -> int:
        budget = self._budgets.reader.get(NAMESPACE, name)
        return budget.status.disruptions_allowed if budget else 0


_STEPS_WIDTH = 36  # of the column beside the strip
_MIN_BAR, _MAX_BAR = 12, 48


@dataclass
class Summary:
    """The figures of the drain."""

    replicas: int
    at_least: int
    lowest: int = 1_000_000
    seconds: float = 0.0


def report(summary: Summary, node: str, timeline: Timeline, width: int) -> list[str]:
    """All of it, line by line: at most 24 lines for the pods of the demo, so that none scrolls away."""
    return [*timeline_lines(timeline, width), *_figures(summary, node, timeline), *next_steps()]


def timeline_lines(timeline: Timeline, width: int) -> list[str]:
    """Each pod beside a strip of the time that its eviction took, and the steps that it went through."""
    names = sorted(timeline.pods)
    widest = max(map(len, names), default=0)
    size = min(max(width - widest - _STEPS_WIDTH - 6, _MIN_BAR), _MAX_BAR)
    lines = [f"Timeline, 0 s to {timeline.length:.1f} s   {LEGEND}"]
    for name in names:
        pod_timeline = timeline.pods[name]
        strip = bar(pod_timeline, timeline.length, size)
        for number, step in enumerate(steps_of(pod_timeline) or [""]):
            first = (name, strip) if not number else ("", "")
            lines.append(f"  {first[0].ljust(widest)}  {first[1].ljust(size)}  {step}".rstrip())
    return lines


def next_steps() -> list[str]:
    """What to try after the demo."""
    name, export = program_name(), path_export()
    return [
        "Try next",
        *([f"  {export}"] if export else []),
        f"  {name} up                      a cluster to keep; says how to use kubectl",
        f"  {name} drain NODE --dry-run    the pods in order, and what would block",
        f"  {name} drain NODE              drain it; Ctrl-C detaches, --cancel stops it",
        f"  {name} explain POD             why a pod is not evicted yet, and what to do",
        "  docs/tutorial/first-interceptor.md    prepare a pod's eviction yourself",
    ]


def print_report(summary: Summary, node: str, timeline: Timeline) -> None:
    """Print it as wide as the terminal is."""
    terminal.echo_lines(report(summary, node, timeline, terminal.console().width))


def _figures(summary: Summary, node: str, timeline: Timeline) -> list[str]:
    gone = sum(pod_timeline.gone for pod_timeline in timeline.pods.values())
    refused = sum(timeline.refusals.values())
    lowest = min(summary.lowest, summary.replicas)
    return [
        "Summary",
        f"  {node} was drained of {counted(gone, 'pod')} in {summary.seconds:.1f} s",
        f"  {counted(refused, 'eviction')} refused by a disruption budget at first",
        f"  {lowest} of {summary.replicas} web pods ready at least; the budget demands {summary.at_least}",
    ]
