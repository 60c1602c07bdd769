"""Many simulated nodes in one process: one watch on pods, one timer queue, one heart each.

They speak only the Kubernetes API, so they work against any server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from vacate.api.kinds import LEASES, NODES, PODS
from vacate.api.types import Node
from vacate.embedded.nodes.kubelet import PodReconciler
from vacate.embedded.nodes.nodeobjects import NodeShape
from vacate.embedded.nodes.projections import BY_NODE, SimulatedPod
from vacate.embedded.nodes.registration import NodeReconciler
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.nodes.simulatednode import Machine
from vacate.errors import ApiError, TransportError
from vacate.kube.nodeleases import LEASE_NAMESPACE, renewal
from vacate.queue.limits import Backoff
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.manager import Manager, Runnable
from vacate.runtime.reconcile import Key

_MAX_RETRY_DELAY = 10.0  # a node never gives up on its server for longer


class NodePool:
    """The nodes, and what a manager needs to run them.

    The informers of `deps` must be the pool's own: it reads pods and nodes in its own way.
    """

    def __init__(
        self,
        deps: Dependencies,
        shapes: Iterable[NodeShape] = (),
        settings: NodeSettings | None = None,
    ) -> None:
        settings = settings or NodeSettings()
        self.machines: dict[str, Machine] = {}
        self._clock = deps.clock
        self._informers = deps.informers
        pods = deps.informers.informer(
            PODS,
            SimulatedPod,
            field_selector="spec.nodeName!=",
            indexes={BY_NODE: lambda pod: (pod.spec.node_name,)},
        )
        nodes = deps.informers.informer(NODES, Node)
        self.pods = pods.reader
        self._pods = Controller(
            "simulated-pods",
            PodReconciler(deps, pods.reader, self.machines, settings),
            [Source(pods)],
            deps,
            workers=settings.workers,
            backoff=Backoff(longest=_MAX_RETRY_DELAY),
        )
        self._nodes = Controller(
            "simulated-nodes",
            NodeReconciler(deps, nodes.reader, pods.reader, self.machines, settings.lease_seconds),
            [Source(nodes)],
            deps,
            workers=4,
            backoff=Backoff(longest=_MAX_RETRY_DELAY),
        )
        self._quiet = settings.quiet
        self._hearts = Heartbeats(deps, settings.heartbeat_seconds, self._look_after)
        for shape in shapes:
            self.add(shape)

    def manager(self, *runnables: Runnable) -> Manager:
        """What runs the pool until it is stopped, and others beside it, such as its recorder of events."""
        if self._quiet:
            return Manager(self._informers, [self._pods], runnables=runnables)
        return Manager(self._informers, [self._nodes, self._pods], runnables=[*runnables, self._hearts])

    def add(self, shape: NodeShape) -> None:
        """One more node; it registers itself as soon as the pool runs."""
        machine = self.machines[shape.name] = Machine(shape)
        self._hearts.add(machine)
        self._look_after(machine)

    async def wait_registered(self) -> None:
        """Return when the API has had the Node of every machine that is on."""
        for machine in [one for one in self.machines.values() if one.active]:
            await machine.registered.wait()

    def stop(self, name: str) -> None:
        """End the node process. Its containers run on, unwatched."""
        machine = self.machines[name]
        machine.up = False
        machine.forget_pods()

    def crash(self, name: str) -> None:
        """Pull the plug: the node process and all containers are gone."""
        self.stop(name)
        self.machines[name].booted = self._clock.now()

    def start(self, name: str) -> None:
        """Start the node process again; it finds its pods through the API."""
        machine = self.machines[name]
        if machine.booted is not None:
            machine.booted = self._clock.now()
        machine.up = True
        self._look_after(machine)

    def isolate(self, name: str) -> None:
        """Cut the node off: it hears of nothing and reaches nobody, and its pods run on."""
        self.machines[name].isolated = True

    def rejoin(self, name: str) -> None:
        """Undo `isolate`."""
        machine = self.machines[name]
        machine.isolated = False
        machine.leased = False  # to be renewed at once
        self._look_after(machine)

    def _look_after(self, machine: Machine) -> None:
        name = machine.shape.name
        self._nodes.queue.add(Key("", name))
        for pod in self.pods.by_index(BY_NODE, name):
            self._pods.queue.add(Key(pod.metadata.namespace, pod.metadata.name))


_JITTER = 0.04  # as the kubelet has it


class Heartbeats:
    """A heart for each machine. One that fails is left to the node's reconciler, which tries again."""

    name = "heartbeats"

    def __init__(self, deps: Dependencies, interval: float, failed: Callable[[Machine], None]) -> None:
        self._client = deps.client
        self._clock = deps.clock
        self._entropy = deps.entropy
        self._interval = interval
        self._failed = failed
        self._machines: list[Machine] = []
        self._group: asyncio.TaskGroup | None = None

    def add(self, machine: Machine) -> None:
        """Beat for this machine, from now on or as soon as `run` runs."""
        self._machines.append(machine)
        if self._group is not None:
            self._group.create_task(self._beat(machine), name=f"heartbeat {machine.shape.name}")

    async def run(self) -> None:
        """Beat until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for machine in self._machines:
                group.create_task(self._beat(machine), name=f"heartbeat {machine.shape.name}")
            await asyncio.Event().wait()  # machines may come later

    async def _beat(self, machine: Machine) -> None:
        interval, jitter = self._interval, self._interval * _JITTER
        while True:
            await self._clock.sleep(interval + self._entropy.uniform(0, jitter))
            if machine.active and machine.leased:
                await self._renew(machine)

    async def _renew(self, machine: Machine) -> None:
        try:
            await self._client.patch(LEASES, machine.shape.name, renewal(self._clock.now()), LEASE_NAMESPACE)
        except (ApiError, TransportError):
            machine.leased = False
            self._failed(machine)
