"""`vacate demo`: a node is drained under a disruption budget, for everyone to watch."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from vacate.api.kinds import DEPLOYMENTS, NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.types import Pod, PodDisruptionBudget
from vacate.cli.changes import Changes
from vacate.cli.demo_app import APP, BUDGET, DEPLOYMENT, MIN_AVAILABLE, REPLICAS
from vacate.cli.demo_view import Screen, Story, print_summary
from vacate.cli.run import run_until_signalled
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.errors import NotFound, TooManyRequests, VacateError
from vacate.node.settings import NodeSettings
from vacate.node.timings import PodTimings
from vacate.runtime.deps import InformerFactory
from vacate.wiring.local import LocalCluster, LocalSettings

NAMESPACE = "default"
_PATIENCE_SECONDS = 120.0


@click.command()
def demo() -> None:
    """Drain a node of a throw-away cluster, live, and clean up."""
    run_until_signalled(_in_temporary_folder)


async def _in_temporary_folder() -> None:
    with tempfile.TemporaryDirectory(prefix="vacate-demo-") as folder:
        behaviour = NodeSettings(timings=PodTimings(start=1.0, ready=0.5, stop=1.0))
        cluster = LocalCluster(LocalSettings(Path(folder), port=0, nodes=3, behaviour=behaviour))
        await cluster.start()
        try:
            await cluster.wait_ready()
            transport = HttpTransport(load_cluster([cluster.folder.kubeconfig]), SystemClock())
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    await Demo(Client(transport, user_agent="vacate/demo")).play()
            except TimeoutError:
                raise VacateError(f"the demo did not end within {_PATIENCE_SECONDS:.0f} seconds") from None
            finally:
                await transport.aclose()
        finally:
            await cluster.stop()


class Demo:
    """The play: it speaks to the cluster over HTTPS, as any client would."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._clock = SystemClock()
        self._story = Story(self._clock.monotonic())
        informers = InformerFactory(client, self._clock, system_entropy())
        self._pods = informers.informer(PODS, Pod, namespace=NAMESPACE)
        self._budgets = informers.informer(PODDISRUPTIONBUDGETS, PodDisruptionBudget, namespace=NAMESPACE)
        self._informers = informers
        self._changes = Changes()

    async def play(self) -> None:
        """From an empty cluster to a drained node, and a summary of how it went."""
        for informer in (self._pods, self._budgets):
            informer.subscribe(lambda _old, _new: self._changes.tell())
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(informer.run()) for informer in self._informers.all()]
            with Screen(self._story, self._view) as screen:
                drawing = group.create_task(self._draw(screen))
                node = await self._deploy()
                await self._drain(node)
            for task in (*watching, drawing):
                task.cancel()
        print_summary(self._story, node, REPLICAS, MIN_AVAILABLE)

    async def _deploy(self) -> str:
        say = self._story.say
        say(
            f"Deploying {APP}: {REPLICAS} replicas, and a budget that keeps {MIN_AVAILABLE} of them available"
        )
        await self._client.create(PODDISRUPTIONBUDGETS, BUDGET, NAMESPACE)
        await self._client.create(DEPLOYMENTS, DEPLOYMENT, NAMESPACE)
        await self._until(lambda: len(self._ready()) == REPLICAS and self._allowed() > 0)
        node = sorted(pod.spec.node_name for pod in self._ready())[0]
        say(f"All {REPLICAS} replicas are ready; {len(self._on(node))} of them run on {node}")
        return node

    async def _drain(self, node: str) -> None:
        self._story.begin_drain(self._clock.monotonic())
        await self._client.patch(NODES, node, {"spec": {"unschedulable": True}})
        self._story.say(f"Cordoned {node}: no new pod goes there")
        leaving = sorted(self._on(node), key=lambda pod: pod.metadata.name)
        for pod in leaving:
            await self._evict(pod)
        await self._until(lambda: not self._on(node) and len(self._ready()) == REPLICAS)
        self._story.end_drain(self._clock.monotonic())
        self._story.say(f"{node} is empty, and all {REPLICAS} replicas are ready elsewhere")

    async def _evict(self, pod: Pod) -> None:
        name = pod.metadata.name
        while True:
            try:
                await self._client.evict(name, NAMESPACE, uid=pod.metadata.uid)
            except TooManyRequests as refusal:
                self._story.refused(name, refusal)
                await self._until(lambda: self._allowed() > 0)
                continue
            except NotFound:
                return
            self._story.evicted(name)
            return

    async def _draw(self, screen: Screen) -> None:
        while True:
            await self._changes.wait()
            if self._story.draining:
                self._story.lowest_ready = min(self._story.lowest_ready, len(self._ready()))
            screen.refresh()

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._changes.wait()

    def _view(self) -> tuple[list[Pod], PodDisruptionBudget | None]:
        return self._pods.reader.list(NAMESPACE), self._budgets.reader.get(NAMESPACE, APP)

    def _ready(self) -> list[Pod]:
        return [pod for pod in self._pods.reader.list(NAMESPACE) if pod.ready and not pod.terminating]

    def _on(self, node: str) -> list[Pod]:
        return [pod for pod in self._pods.reader.list(NAMESPACE) if pod.spec.node_name == node]

    def _allowed(self) -> int:
        budget = self._budgets.reader.get(NAMESPACE, APP)
        return budget.status.disruptions_allowed if budget else 0
