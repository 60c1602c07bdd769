"""Pod GC: removes pods of nodes that are gone or out of service, and pods that ended long ago.

It is one of the few that may remove a pod without its node. So it never trusts a cache about a node that is
missing or out of service: it asks the server, and waits before that where the node is missing. Each write
holds for one UID.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterable, Sequence

from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.times import EARLIEST, format_time
from vacate.api.types import Node, Pod
from vacate.cache.indexes import NODE, PLACED
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.errors import Conflict, NotFound
from vacate.kube.nodes import out_of_service
from vacate.kube.podend import BY_POD_GC, DISRUPTION_TARGET
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome

QUARANTINE = dt.timedelta(seconds=40)
"""How long a node must be missing before its pods count as orphaned."""
TERMINATED_THRESHOLD = 12_500
"""How many pods that have terminated are kept."""


class Reason(enum.StrEnum):
    """Why a pod is removed, in the words of Kubernetes' metrics."""

    ORPHANED = "orphaned"
    UNSCHEDULED = "unscheduled"
    OUT_OF_SERVICE = "out-of-service"
    TERMINATED = "terminated"


MESSAGES = {
    Reason.ORPHANED: "PodGC: node no longer exists",
    Reason.OUT_OF_SERVICE: "PodGC: node is out of service",
}
"""What the pods say whose processes were not seen to end."""


def reason_to_remove(pod: Pod, node: Node | None) -> Reason | None:
    """Why the pod goes; orphaned pods go only after the quarantine and a live look for their node."""
    if pod.spec.node_name:
        if node is None:
            return Reason.ORPHANED
        return Reason.OUT_OF_SERVICE if pod.terminating and out_of_service(node) else None
    return Reason.UNSCHEDULED if pod.terminating else None


def surplus(ended: Sequence[Pod], threshold: int) -> list[Pod]:
    """The terminated pods above the threshold: those that were evicted first, then the oldest."""
    ordered = sorted(ended, key=_age)
    return ordered[: max(0, len(ended) - threshold)]


def _age(pod: Pod) -> tuple[bool, dt.datetime, str, str]:
    meta = pod.metadata
    evicted = pod.status.phase == "Failed" and pod.status.reason == "Evicted"
    created = meta.creation_timestamp or EARLIEST
    return (not evicted, created, meta.namespace, meta.name)


ENDED = "ended"
_TERMINATED_PODS = Key("", ENDED)


def build(deps: Dependencies, threshold: int = TERMINATED_THRESHOLD) -> Controller:
    """The controller, woken by pods and by nodes that come, go, or are marked out of service."""
    pods = deps.informers.informer(PODS, Pod, indexes={**PLACED, ENDED: _by_end})
    nodes = deps.informers.informer(NODES, Node)
    controller = PodGarbageCollector(deps, threshold)
    nodes.subscribe(controller.on_node)
    sources = (
        Source(pods, when=_matters),
        Source(pods, keys=lambda _: (_TERMINATED_PODS,), when=_ended),
        Source(nodes, keys=controller.pods_on, when=_node_matters),
    )
    return Controller("pod-garbage-collector", controller, sources, deps, workers=2, backoff=retry_backoff())


def _by_end(pod: Pod) -> Iterable[str]:
    return (ENDED,) if pod.terminal else ()


def _matters(old: Pod | None, new: Pod | None) -> bool:
    if new is None:
        return False
    return old is None or old.terminating != new.terminating or old.spec.node_name != new.spec.node_name


def _ended(old: Pod | None, new: Pod | None) -> bool:
    return new is not None and new.terminal and (old is None or not old.terminal)


def _node_matters(old: Node | None, new: Node | None) -> bool:
    if old is None or new is None:
        return True
    return out_of_service(old) != out_of_service(new)


class PodGarbageCollector:
    """Reconciles one pod, or all that have ended."""

    def __init__(self, deps: Dependencies, threshold: int) -> None:
        self._deps = deps
        self._threshold = threshold
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._nodes = deps.informers.informer(NODES, Node).reader
        self._missing: dict[str, dt.datetime] = {}  # nodes that pods name and nobody has, since when

    def on_node(self, _old: Node | None, new: Node | None) -> None:
        """A node that is back was never away."""
        if new is not None:
            self._missing.pop(new.metadata.name, None)

    def pods_on(self, node: Node) -> Iterable[Key]:
        """The pods of the node."""
        found = self._pods.by_index(NODE, node.metadata.name)
        return [Key(pod.metadata.namespace, pod.metadata.name) for pod in found]

    async def reconcile(self, key: Key) -> Outcome:
        """Remove the pod if it is time, else come back when it may be."""
        if key == _TERMINATED_PODS:
            return await self._remove_surplus()
        pod = self._pods.get(*key)
        if pod is None:
            return Done()
        name = pod.spec.node_name
        reason = reason_to_remove(pod, self._nodes.get("", name) if name else None)
        if reason is None:
            return Done()
        if reason is Reason.ORPHANED:
            due = self._missing.setdefault(name, self._deps.clock.now()) + QUARANTINE
            if self._deps.clock.now() < due:
                return Later(due)
            if await self._read(name) is not None:
                return Done()  # the cache lags; the node wakes its pods when it arrives
            self._forget(name)
        if reason is Reason.OUT_OF_SERVICE:
            node = await self._read(name)
            if node is None or reason_to_remove(pod, node) is not reason:
                return Done()  # it is back and ends its pods itself, or is deleted, which the cache will say
        await self._remove(pod, reason)
        return Done()

    async def _remove_surplus(self) -> Outcome:
        for pod in surplus(self._pods.by_index(ENDED, ENDED), self._threshold):
            await self._remove(pod, Reason.TERMINATED)
        return Done()

    async def _read(self, node: str) -> Node | None:
        """The node as the server has it now."""
        try:
            return await self._deps.client.get(NODES, node, into=Node)
        except NotFound:
            return None

    def _forget(self, node: str) -> None:
        """The last pods of a node that is gone take its name with them."""
        if len(self._pods.by_index(NODE, node)) <= 1:
            self._missing.pop(node, None)

    async def _remove(self, pod: Pod, reason: Reason) -> None:
        meta, metrics = pod.metadata, self._deps.metrics
        try:
            if not pod.terminal:
                patch = self._mark(pod, reason)
                await self._deps.client.patch_status(PODS, meta.name, patch, meta.namespace)
            await self._deps.client.delete(
                PODS, meta.name, meta.namespace, DeleteOptions(uid=meta.uid, grace_period_seconds=0)
            )
        except NotFound:
            return
        except Conflict:
            raise  # another pod has its name, or another write came first: the cache will say which
        except BaseException:
            metrics.pod_gc_errors.labels(meta.namespace, reason).inc()
            raise
        metrics.pod_gc_deletions.labels(meta.namespace, reason).inc()

    def _mark(self, pod: Pod, reason: Reason) -> Obj:
        """The pod has failed, as far as anybody will ever know; why, where a disruption is the cause."""
        status: Obj = {"phase": "Failed"}
        if message := MESSAGES.get(reason):
            status["conditions"] = [
                {
                    "type": DISRUPTION_TARGET,
                    "status": "True",
                    "reason": BY_POD_GC,
                    "message": message,
                    "lastTransitionTime": format_time(self._deps.clock.now()),
                }
            ]
        return {"metadata": {"uid": pod.metadata.uid}, "status": status}
