"""Taint-based eviction: deletes pods that do not tolerate their node's NoExecute taints, or no longer do.

Deletion is always graceful. A node that does not answer keeps its pods until it is back or removed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence

from vacate.api.kinds import NODES, PODS
from vacate.api.options import DeleteOptions
from vacate.api.terminationreason import INTOLERABLE_TAINT
from vacate.api.times import EARLIEST, after, format_time
from vacate.api.types import Node, Pod, Taint, condition
from vacate.cache.indexes import NODE, PLACED
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.nodelifecycle import events
from vacate.errors import NotFound
from vacate.kube.podend import DISRUPTION_TARGET
from vacate.kube.scheduling.taints import tolerates
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome


def build(deps: Dependencies) -> Controller:
    """The controller, woken by pods that come to a node and by nodes whose NoExecute taints change."""
    pods = deps.informers.informer(PODS, Pod, indexes=PLACED)
    nodes = deps.informers.informer(NODES, Node)
    controller = TaintEviction(deps)
    nodes.subscribe(controller.on_node)
    sources = (
        Source(pods, when=_came),
        Source(nodes, keys=controller.pods_on, when=_no_execute_changed),
    )
    return Controller("taint-eviction", controller, sources, deps, workers=2, backoff=retry_backoff())


def _came(old: Pod | None, new: Pod | None) -> bool:
    if new is None or not new.spec.node_name:
        return False
    return old is None or old.spec != new.spec


def _no_execute_changed(old: Node | None, new: Node | None) -> bool:
    before = no_execute(old.spec.taints) if old else []
    after = no_execute(new.spec.taints) if new else []
    return before != after


class TaintEviction:
    """Reconciles a pod with the taints of its node."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._nodes = deps.informers.informer(NODES, Node).reader
        # Taints need not say since when they are there; then the moment counts at which they were seen.
        self._seen: dict[str, dict[tuple[str, str], dt.datetime]] = {}

    def on_node(self, old: Node | None, new: Node | None) -> None:
        """Remember when each taint was first seen."""
        if new is None:
            if old is not None:
                self._seen.pop(old.metadata.name, None)
            return
        before = self._seen.get(new.metadata.name, {})
        now = self._deps.clock.now()
        names = [(one.key, one.value) for one in no_execute(new.spec.taints)]
        self._seen[new.metadata.name] = {name: before.get(name, now) for name in names}

    def pods_on(self, node: Node) -> Iterable[Key]:
        """The pods of the node."""
        found = self._pods.by_index(NODE, node.metadata.name)
        return [Key(pod.metadata.namespace, pod.metadata.name) for pod in found]

    async def reconcile(self, key: Key) -> Outcome:
        """Delete the pod if it is time, else come back when it is."""
        pod = self._pods.get(*key)
        node = self._nodes.get("", pod.spec.node_name) if pod is not None and pod.spec.node_name else None
        if pod is None or node is None or pod.terminating:
            return Done()
        at = evict_at(pod, node.spec.taints, lambda taint: self._since(node, taint))
        if at is None:
            return Done()
        if self._deps.clock.now() < at:
            return Later(at)
        await self._evict(pod)
        return Done()

    def _since(self, node: Node, taint: Taint) -> dt.datetime:
        seen = self._seen.get(node.metadata.name, {}).get((taint.key, taint.value))
        return taint.time_added or seen or self._deps.clock.now()

    async def _evict(self, pod: Pod) -> None:
        meta = pod.metadata
        self._deps.recorder.record(events.evicted_by_taint(pod))
        try:
            await self._mark(pod)
            await self._deps.client.delete(
                PODS, meta.name, meta.namespace, DeleteOptions(uid=meta.uid, reason=INTOLERABLE_TAINT)
            )
        except NotFound:
            return  # a Conflict is tried again: the cache says by then whether another pod has its name

    async def _mark(self, pod: Pod) -> None:
        known = condition(pod.status.conditions, DISRUPTION_TARGET)
        if known is not None and known.status == "True" and known.reason == DELETION_REASON:
            return
        mark = {
            "type": DISRUPTION_TARGET,
            "status": "True",
            "reason": DELETION_REASON,
            "message": DELETION_MESSAGE,
            "lastTransitionTime": format_time(self._deps.clock.now()),
        }
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid}, "status": {"conditions": [mark]}}
        await self._deps.client.patch_status(PODS, meta.name, patch, meta.namespace)


DELETION_REASON = "DeletionByTaintManager"
DELETION_MESSAGE = "Taint manager: deleting due to NoExecute taint"


def no_execute(taints: Sequence[Taint]) -> list[Taint]:
    """The taints that drive pods out."""
    return [one for one in taints if one.effect == "NoExecute"]


def evict_at(pod: Pod, taints: Sequence[Taint], since: Callable[[Taint], dt.datetime]) -> dt.datetime | None:
    """When the pod must go, None for never.

    A taint that nothing tolerates means at once. Otherwise the shortest of the toleration times that apply
    counts, from the moment when both the taint and the pod were there.
    """
    moments = []
    for taint in no_execute(taints):
        start = max(since(taint), _placed(pod))
        accepting = [one for one in pod.spec.tolerations if tolerates(one, taint)]
        if not accepting:
            return start
        limits = [one.toleration_seconds for one in accepting if one.toleration_seconds is not None]
        if limits:
            moments.append(after(start, max(0, min(limits))))
    return min(moments, default=None)


def _placed(pod: Pod) -> dt.datetime:
    """When the pod came to its node, as far as it tells."""
    scheduled = condition(pod.status.conditions, "PodScheduled")
    known = scheduled.last_transition_time if scheduled and scheduled.status == "True" else None
    return known or pod.metadata.creation_timestamp or EARLIEST
