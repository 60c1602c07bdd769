"""The scheduler: one pod at a time is given the best node, and the binding is written.

Decisions are made one after the other on a view that counts promised places, so that several bindings may be
under way at once without overcommitting a node. A pod that finds no node waits without cost until a node or
another pod changes in a way that could help. There is no preemption.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable

from vacate.api.kinds import NAMESPACES, NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from vacate.api.times import format_time
from vacate.api.types import Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, condition
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.scheduler import changes, events
from vacate.errors import Conflict, Forbidden, NotFound
from vacate.kube.scheduling.clusterview import ClusterView
from vacate.kube.scheduling.placement import NoFit, Placed, awaits_scheduling, place
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome

_BINDINGS_AT_ONCE = 8
_NAMESPACE_TERMINATING = "NamespaceTerminating"


def build(deps: Dependencies) -> Controller:
    """The scheduler as a controller."""
    scheduler = Scheduler(deps)
    pods = deps.informers.informer(PODS, Pod)
    nodes = deps.informers.informer(NODES, Node)
    namespaces = deps.informers.informer(NAMESPACES, Namespace)
    claims = deps.informers.informer(PERSISTENTVOLUMECLAIMS, PersistentVolumeClaim)
    volumes = deps.informers.informer(PERSISTENTVOLUMES, PersistentVolume)
    # The view must know of a change before any key that it causes is worked on.
    pods.subscribe(scheduler.on_pod)
    nodes.subscribe(scheduler.on_node)
    namespaces.subscribe(scheduler.on_namespace)
    claims.subscribe(scheduler.on_claim)
    volumes.subscribe(scheduler.on_volume)
    sources = (
        Source(pods, when=lambda old, new: new is not None and changes.worth_trying(old, new)),
        Source(pods, keys=scheduler.wake, when=changes.pod_frees_resources),
        Source(pods, keys=scheduler.wake_affinity_pods, when=changes.pod_came),
        Source(nodes, keys=scheduler.wake, when=changes.node_offers_more),
        Source(claims, keys=scheduler.wake, when=changes.claim_was_bound),
        Source(volumes, keys=scheduler.wake, when=changes.volume_came),
    )
    return Controller(
        "scheduler", scheduler, sources, deps, workers=_BINDINGS_AT_ONCE, backoff=retry_backoff()
    )


class Scheduler:
    """Reconciles pods without a node. Which key wakes it does not matter: all who wait in line are served.

    One wake serves all of them, since there may be fewer wakes than pods: a key that is tried again after it
    stood for another pod is not given out twice for its own.
    """

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._pods = deps.informers.informer(PODS, Pod).reader
        self._claims: dict[tuple[str, str], PersistentVolumeClaim] = {}
        self._view = ClusterView(claims=self._claims)
        self._pending = PendingPods()
        self._promised: dict[str, str] = {}
        self._unreported: dict[Key, Pod] = {}  # no node takes them, and the write that says so has failed

    def on_pod(self, old: Pod | None, new: Pod | None) -> None:
        """Keep the view and the pending pods up to date."""
        pod = new or old
        assert pod is not None
        key = Key(pod.metadata.namespace, pod.metadata.name)
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._forget(old.metadata.uid)
        if new is None or not awaits_scheduling(new):
            self._pending.remove(key)
        elif changes.worth_trying(old, new):
            self._pending.admit(key, new)
        if new is not None:
            self._note(new)

    def _note(self, pod: Pod) -> None:
        uid = pod.metadata.uid
        if pod.spec.node_name:
            self._promised.pop(uid, None)
        self._view.set_pod(pod, self._promised.get(uid, ""))

    def _forget(self, uid: str) -> None:
        self._promised.pop(uid, None)
        self._view.remove_pod(uid)

    def on_node(self, old: Node | None, new: Node | None) -> None:
        """Keep the view of nodes up to date."""
        if new is not None:
            self._view.set_node(new)
        elif old is not None:
            self._view.remove_node(old.metadata.name)

    def on_namespace(self, old: Namespace | None, new: Namespace | None) -> None:
        """Affinity terms may select namespaces by their labels."""
        if old is not None:
            self._view.namespaces.pop(old.metadata.name, None)
        if new is not None:
            self._view.namespaces[new.metadata.name] = new.metadata.labels

    def on_claim(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        """Keep the view of claims up to date."""
        if old is not None:
            self._claims.pop((old.metadata.namespace, old.metadata.name), None)
        if new is not None:
            self._claims[new.metadata.namespace, new.metadata.name] = new

    def on_volume(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        """Keep the view of volumes up to date."""
        if old is not None:
            self._view.volumes.pop(old.metadata.name, None)
        if new is not None:
            self._view.volumes[new.metadata.name] = new

    def wake(self, _: object) -> Iterable[Key]:
        """Everyone who found no node may try again."""
        return self._readmit(self._pending.stuck())

    def wake_affinity_pods(self, _: object) -> Iterable[Key]:
        """Those may try again for whom it matters where other pods are."""
        return self._readmit(
            [(key, pod) for key, pod in self._pending.stuck() if changes.depends_on_other_pods(pod)]
        )

    def _readmit(self, stuck: list[tuple[Key, Pod]]) -> list[Key]:
        for key, pod in stuck:
            self._pending.admit(key, pod)
        return [key for key, _ in stuck]

    async def reconcile(self, _: Key) -> Outcome:
        """Serve the line, the first in it first; after a failure whoever is left waits for the next try.

        A pod whose status could not be written is looked at again, and keeps no other pod from a node.
        """
        again, self._unreported = self._unreported, {}
        self._readmit(list(again.items()))
        failure: Exception | None = None
        while (key := self._pending.next()) is not None:
            failure = await self._serve(key) or failure
            await asyncio.sleep(0)  # a look that needs no answer never waits, and others must come to work
        if failure is not None:
            raise failure
        return Done()

    async def _serve(self, key: Key) -> Exception | None:
        """Give one pod a node, or report why there is none; returns the error of that report."""
        pod = self._pods.get(*key)
        if pod is None or not awaits_scheduling(pod) or pod.metadata.uid in self._promised:
            return None
        match place(pod, self._view):
            case Placed(node):
                await self._bind(key, pod, node)
            case NoFit(message):
                self._pending.set_aside(key, pod)
                try:
                    await self._report(pod, message)
                except Exception as error:
                    self._unreported[key] = pod
                    return error
        return None

    async def _bind(self, key: Key, pod: Pod, node: str) -> None:
        meta = pod.metadata
        self._promised[meta.uid] = node
        self._view.set_pod(pod, node)
        try:
            await self._deps.client.bind(meta.name, meta.namespace, node, uid=meta.uid)
        except (NotFound, Conflict):
            # Gone, replaced, or bound by someone else: the cache will say which.
            self._take_back(pod)
        except Exception as error:
            self._take_back(pod)
            if isinstance(error, Forbidden) and error.has_cause(_NAMESPACE_TERMINATING):
                return  # and takes the pod along
            self._pending.admit(key, pod)
            raise
        else:
            self._deps.recorder.record(events.scheduled(pod, node))

    def _take_back(self, pod: Pod) -> None:
        if self._promised.pop(pod.metadata.uid, None) is not None:
            self._view.remove_pod(pod.metadata.uid)

    async def _report(self, pod: Pod, message: str) -> None:
        known = condition(pod.status.conditions, "PodScheduled")
        if known is not None and (known.status, known.reason, known.message) == (
            "False",
            "Unschedulable",
            message,
        ):
            return
        since = known.last_transition_time if known is not None and known.status == "False" else None
        unscheduled = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastProbeTime": None,
            "lastTransitionTime": format_time(since or self._deps.clock.now()),
        }
        meta = pod.metadata
        patch = {"metadata": {"uid": meta.uid}, "status": {"conditions": [unscheduled]}}
        self._deps.recorder.record(events.failed(pod, message))
        try:
            await self._deps.client.patch_status(PODS, meta.name, patch, meta.namespace)
        except NotFound:
            return


class PendingPods:
    """Pods without a node. Higher priority goes first, then who came first."""

    def __init__(self) -> None:
        self._arrivals = 0
        self._line: list[tuple[int, int, Key]] = []
        # The place in line that counts; older entries of the same pod in the line are skipped.
        self._open: dict[Key, int] = {}
        self._stuck: dict[Key, Pod] = {}

    def admit(self, key: Key, pod: Pod) -> None:
        """The pod is to be tried, again or for the first time."""
        self._stuck.pop(key, None)
        self._arrivals += 1
        self._open[key] = self._arrivals
        heapq.heappush(self._line, (-(pod.spec.priority or 0), self._arrivals, key))

    def set_aside(self, key: Key, pod: Pod) -> None:
        """No node took the pod; it waits until something changes."""
        if key not in self._open:
            self._stuck[key] = pod

    def remove(self, key: Key) -> None:
        """The pod no longer needs a node."""
        self._open.pop(key, None)
        self._stuck.pop(key, None)

    def next(self) -> Key | None:
        """Take the first in line."""
        while self._line:
            _, arrival, key = heapq.heappop(self._line)
            if self._open.get(key) == arrival:
                del self._open[key]
                return key
        return None

    def stuck(self) -> list[tuple[Key, Pod]]:
        """Everyone who waits for a change, first come first."""
        return list(self._stuck.items())
