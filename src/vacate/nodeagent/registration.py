"""Registers this machine as a Node, says how it is, and renews the Lease that shows that its agent lives."""

from __future__ import annotations

import datetime as dt
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.kinds import LEASES, NODES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.options import ListOptions
from vacate.api.types import Node, condition
from vacate.cache.reader import Reader
from vacate.client.hedging import first_answer
from vacate.client.privatefile import write_private
from vacate.entropy import Entropy
from vacate.errors import AlreadyExists, ApiError, ConfigError, NotFound, TransportError
from vacate.kube.nodeleases import LEASE_NAMESPACE, lease_object, renewal
from vacate.kube.patches import guarded
from vacate.nodeagent.nodeobject import AGENT, node_conditions, node_object, node_status, shows
from vacate.nodeagent.pods import PodReconciler
from vacate.nodeagent.podworker import PodWorker
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.shutdown.state import Marks
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome, Terminal

log = logging.getLogger(__name__)

_GOING_DOWN = "node is shutting down"
_RECHECK_INTERVAL = dt.timedelta(seconds=2)
"""After so long a node looks again whether what was removed while it was away has ended."""
_NAMED = 3


@dataclass(eq=False)
class NodeReconciler:
    """The node is there, well, and holds its lease, which `run` renews."""

    name = "heartbeat"

    deps: Dependencies
    nodes: Reader[Node]
    settings: AgentSettings
    runtime: str
    boot: str
    pods: PodReconciler
    leased: bool = False
    shutting_down: bool = False  # the node is not ready then; its lease is renewed all the same
    marks: Marks | None = None  # whether it would terminate its pods in order; None: not asked to
    pressures: frozenset[str] = frozenset()  # conditions of the node that are True
    foreign: bool = False  # whether the Node of our name belongs to another agent or kubelet now
    _described: bool = False  # whether this agent has described the machine anew
    _identity: str = ""
    _answered: bool = False  # whether the server has had a Node of our name, so that it knows nodes

    async def run(self) -> None:
        """Renew the lease until cancelled; one that cannot be renewed is left to the reconciler."""
        interval, name = self.settings.heartbeat_seconds, self.settings.name
        while True:
            await self.deps.clock.sleep(interval + self.deps.entropy.uniform(0, interval * 0.04))
            try:
                if self.foreign or not self.leased:
                    await self.reconcile(Key("", name))
                    continue
                await self.deps.client.patch(LEASES, name, renewal(self.deps.clock.now()), LEASE_NAMESPACE)
            except (ApiError, TransportError, Terminal):
                self.leased = False

    async def claim(self) -> None:
        """Register, or see that the Node is ours; ConfigError where another agent or a kubelet has the name.

        Waits for an API server that does not answer, or is unwell: what runs goes on meanwhile.
        """
        self._identity = own_identity(self.settings, self.deps.entropy)
        pause = 1.0
        while True:
            try:
                return await self._claim()
            except (TransportError, ApiError) as error:
                deleted = isinstance(error, NotFound) and self._answered  # in this moment
                if isinstance(error, ApiError) and not (deleted or error.is_passing):
                    raise
                log.warning("node %s: waiting for the API server: %s", self.settings.name, error)
            await self.deps.clock.sleep(pause)
            pause = min(2 * pause, 10.0)

    async def _claim(self) -> None:
        name = self.settings.name
        await self._register(self.deps.clock.now())
        found = await self.deps.client.get(NODES, name)
        owner = _owner(found)
        if owner != self._identity and not self.settings.take_over:
            whose = "another agent's" if owner else "a kubelet's or another program's"
            raise ConfigError(
                f"--name: node {name} exists and is {whose}: its pods would run twice; choose another name, "
                f"or delete it first: kubectl delete node {name}"
            )
        if owner != self._identity:
            mine = {"metadata": {"annotations": {AGENT: self._identity}}}
            await self.deps.client.patch(NODES, name, mine)
        if dig(found, "status", "nodeInfo", "bootID") != self.boot:
            # Before anything starts: what runs under a boot that is not reported would pass, after a
            # storage fence, for what a restart has ended.
            booted = {"status": {"nodeInfo": {"bootID": self.boot}}}
            await self.deps.client.patch_status(NODES, name, booted)

    async def reconcile(self, key: Key) -> Outcome:
        """Register where the Node is missing; say that it is well where someone doubts it."""
        if key.name != self.settings.name:
            return Done()
        node = self.nodes.get("", key.name)
        self.foreign = node is not None and node.metadata.annotations.get(AGENT) != self._identity
        if self.foreign:
            raise Terminal(
                f"node {key.name} belongs to another agent now; nothing more is started or terminated"
            )
        now = self.deps.clock.now()
        uid = node.metadata.uid if node is not None else await self._register(now)
        clear = node is None or await self._describe(node, now)
        if not self.leased:
            await self._lease(uid, now)
            self.leased = True
        return Done() if clear else Later(now + _RECHECK_INTERVAL)

    async def _register(self, now: dt.datetime) -> str:
        left = why_not_ready(await self._orphans())
        status = {**self._machine(), "conditions": self._wanted_conditions(now, left)}
        try:
            wanted = node_object(self.settings, self._identity, status)
            made = await first_answer(lambda: self.deps.client.create(NODES, wanted))
            self._answered = True
        except AlreadyExists:
            self._answered = True
            made = await self.deps.client.get(NODES, self.settings.name)
        return str(dig(made, "metadata", "uid"))

    async def _describe(self, node: Node, now: dt.datetime) -> bool:
        """Write what is new. Whether nothing is left of pods that were removed, as far as we looked.

        Only upon the version that was read: a write that arrives late must not call a node ready that was
        cut off once more meanwhile.
        """
        ready = condition(node.status.conditions, "Ready")
        left = ""
        if not (self._described and ready is not None and ready.status == "True") and not self.shutting_down:
            found = await self._orphans()
            for held in found:  # again: one that was being started runs by then
                self.pods.kill(held)
            left = why_not_ready(found)
        wanted = self._wanted_conditions(now, left)
        wrong = [one for one in wanted if not shows(node, one)]
        patch: Obj = {} if self._described else self._machine()
        if node.status.volumes_in_use != (listing := self.pods.volumes_in_use.listing):
            patch = {**patch, "volumesInUse": listing}
        if wrong or patch:
            patch = {**patch, "conditions": wrong if self._described else wanted}
            change = guarded(node.metadata, {"status": patch})
            await self.deps.client.patch_status(NODES, node.metadata.name, change)
        self._described = True
        return not left

    async def _orphans(self) -> list[PodWorker]:
        """The pods that run here and are gone from the API server, or have come back under another UID.

        A node that is ready is believed to remove pods only after their processes, which is not true of one
        that was removed while this node was cut off or its agent was away. A cache does not do: it may not
        know yet what was removed. A pod that is held was bound to this node before the list is read, so that
        it has ended for good where the list lacks it.
        """
        running = [one for one in self.pods.held.values() if one.progress.busy]
        if not running:
            return []
        options = ListOptions(field_selector=f"spec.nodeName={self.settings.name}")
        there = {one["metadata"]["uid"] for one in (await self.deps.client.list(PODS, options=options)).items}
        return [one for one in running if one.uid not in there and one.progress.busy]

    def _machine(self) -> Obj:
        status = node_status(self.settings, self.runtime, self.boot)
        return {**status, "volumesInUse": self.pods.volumes_in_use.listing}

    def _wanted_conditions(self, now: dt.datetime, left: str) -> list[Obj]:
        not_ready = _GOING_DOWN if self.shutting_down else left
        return node_conditions(now, not_ready=not_ready, pressures=self.pressures, marks=self.marks)

    async def _lease(self, uid: str, now: dt.datetime) -> None:
        name, seconds = self.settings.name, max(math.ceil(4 * self.settings.heartbeat_seconds), 1)
        try:
            await self.deps.client.create(LEASES, lease_object(name, uid, now, seconds))
        except AlreadyExists:
            await self.deps.client.patch(LEASES, name, renewal(now), LEASE_NAMESPACE)


def own_identity(settings: AgentSettings, entropy: Entropy) -> str:
    """The identity of the agent's folder, made when the folder is new."""
    file = settings.folder / "identity"
    if not file.exists():
        write_private(file, entropy.uid().encode("ascii"), mode=0o644)
    return file.read_text("ascii").strip()


def _owner(node: Obj) -> str:
    return str((dig(node, "metadata", "annotations") or {}).get(AGENT, ""))


def why_not_ready(found: Sequence[PodWorker]) -> str:
    """The message of the condition Ready, for as long as something is left; empty where nothing is."""
    if not found:
        return ""
    names = sorted(str(one.key) for one in found)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        "processes of pods that were removed from the API server while this node was away have not ended: "
        f"{', '.join(names[:_NAMED])}{more}"
    )
