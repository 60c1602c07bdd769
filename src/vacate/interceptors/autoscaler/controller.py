"""The floor controller: the one writer of floors and their records, by what the open requests need.

It is level-triggered, as the surge controller is: each look derives the next step from requests, pods and the
record on the autoscaler.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

import msgspec

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS
from vacate.api.types import Deployment, HorizontalPodAutoscaler, Pod, ReplicaSet, condition
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR
from vacate.cache.owners import changes_hands
from vacate.errors import NotFound
from vacate.eviction.dialects.turn_conditions import declined_type
from vacate.interceptors.autoscaler import events
from vacate.interceptors.autoscaler.plan import BringBack, Nothing, Remove, Step, WriteFloor, plan
from vacate.interceptors.surge.deletioncost import PodMarks
from vacate.interceptors.surge.downscale import is_downscale
from vacate.interceptors.surge.plan import Turn
from vacate.interceptors.surge.record import is_last_writer, remove_manager, remove_record, writers
from vacate.interceptors.surge.view import SurgeView, lists_autoscaler, turn_of
from vacate.interceptors.turns import GIVE_WAYS
from vacate.kube.deletionorder import is_active
from vacate.kube.minreplicas import FloorRecord, floor_record_of, is_raised
from vacate.kube.patches import guarded
from vacate.kube.surge import SURGE, is_covered, is_settled
from vacate.kube.surgepods import naming_earlier, surplus_pods
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome
from vacate.runtime.refusals import WriteRefusals

RECHECK_AFTER = dt.timedelta(seconds=5)
"""While a floor is raised: a pod becomes available by waiting alone, without a change that wakes us."""


def build(deps: Dependencies) -> Controller:
    """The controller, woken by requests, by pods under request, and by autoscalers that are raised."""
    floors = FloorController(deps)
    view, surge = floors.view, floors.view.surge
    sources: tuple[Source[Any], ...] = (
        *(Source(one, view.keys_of_request) for one in surge.requests.values()),
        Source(surge.pods, view.keys_of_pod),
        Source(surge.replica_sets, view.keys_of_replicaset, when=changes_hands),
        Source(surge.deployments, view.keys_of_deployment, when=floors.concerns_deployment),
        Source(surge.autoscalers, when=floors.concerns),
    )
    return Controller("autoscaler-floor", floors, sources, deps, workers=2)


class FloorController:
    """Brings one autoscaler, and its Deployment, one step closer to what the requests need."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._marks = PodMarks(deps.client)
        self._refusals = WriteRefusals(deps)
        self._give_ways = GIVE_WAYS.of(deps)
        self._records: dict[Key, FloorRecord] = {}  # of autoscalers that are raised, should one be deleted
        self._open: dict[Key, None] = {}
        self.view = AutoscalerView(deps)

    def concerns(self, old: HorizontalPodAutoscaler | None, new: HorizontalPodAutoscaler | None) -> bool:
        """Whether a change of an autoscaler matters: few are ever raised."""
        found = new or old
        if found is None:
            return False
        meta = found.metadata
        return old is None or SURGE in meta.annotations or Key(meta.namespace, meta.name) in self._open

    def concerns_deployment(self, old: Deployment | None, new: Deployment | None) -> bool:
        """The same of a Deployment."""
        if new is None:
            return old is not None
        return old is None or any(key in self._open for key in self.view.keys_of_deployment(new))

    async def reconcile(self, key: Key) -> Outcome:
        """Take the next step."""
        autoscaler = self.view.surge.autoscalers.reader.get(*key)
        if autoscaler is None:
            self._open.pop(key, None)
            await self._after_deletion(key)
            return Done()
        record = floor_record_of(autoscaler)
        deployment = self.view.target_of(autoscaler)
        requested = self.view.requested(deployment) if deployment is not None else {}
        if record is None and not requested:
            self._open.pop(key, None)
            self._records.pop(key, None)
            return Done()
        self._open[key] = None
        if record is not None:
            self._records[key] = record
        try:
            with self._refusals.reported(HORIZONTALPODAUTOSCALERS, autoscaler):
                await self._step(autoscaler, deployment)
        except NotFound:
            return Done()  # one of both is gone, and its informer will say so
        return Later(self._deps.clock.now() + RECHECK_AFTER)

    async def _step(self, autoscaler: HorizontalPodAutoscaler, deployment: Deployment | None) -> None:
        now, record = self._deps.clock.now(), floor_record_of(autoscaler)
        pods, covered = list[Pod](), False
        requested = {}
        if deployment is not None and self.view.is_alone(autoscaler, deployment):
            requested = self.view.requested(deployment)
        if deployment is not None and record is not None:
            pods = await self.view.surge.live_pods(deployment)
            covered = is_covered(deployment, record.surge, pods, now)
        running = {pod.metadata.uid for pod in pods if is_active(pod)}
        step: Step = plan(autoscaler, deployment, requested, running, now, covered=covered)
        if isinstance(step, WriteFloor) and record is not None and not await self._is_ours(autoscaler):
            step = Remove(gave_way=True)
        changed = record is not None and bool(record.surge.pods) and not is_raised(autoscaler, record)
        match step:
            case WriteFloor():
                await self._write(autoscaler, deployment, step, pods, now)
            case BringBack(count) if deployment is not None:
                await self._bring_back(deployment, count)
            case Remove(gave_way):
                await self._remove(autoscaler, deployment, gave_way=gave_way)
            case BringBack() | Nothing():
                return
        if changed and not isinstance(step, BringBack):
            self._give_ways.note(autoscaler.metadata.uid)

    async def _is_ours(self, autoscaler: HorizontalPodAutoscaler) -> bool:
        client, kind = self._deps.client, HORIZONTALPODAUTOSCALERS
        return await is_last_writer(client, kind, autoscaler.metadata, "minReplicas")

    async def _write(
        self,
        autoscaler: HorizontalPodAutoscaler,
        deployment: Deployment | None,
        step: WriteFloor,
        pods: list[Pod],
        now: dt.datetime,
    ) -> None:
        """Mark first and await the answers: a mark that comes after the new count has no effect."""
        before = floor_record_of(autoscaler)
        record, surge = step.record, before.surge if before is not None else None
        if deployment is not None:
            pods = pods or await self.view.surge.live_pods(deployment)
            going = [pod for pod in pods if pod.metadata.uid in step.removed]
            if surge is not None:
                going += surplus_pods(surge, pods, record.surge.pods, step.surplus)
            if is_settled(deployment):
                requests = {one.pod_uid for one in self.view.surge.open_requests(deployment)}
                staying = [pod for pod in pods if is_active(pod) and pod not in going]
                await self._marks.spare(staying, requests)
            for pod in going:
                await self._marks.set(pod)
            uids = {pod.metadata.uid for pod in going}
            named = naming_earlier(record.surge, surge, pods, uids, now)
            record = msgspec.structs.replace(record, surge=named)
        meta = autoscaler.metadata
        patch = {
            "metadata": {"annotations": {SURGE: record.text()}},
            "spec": {"minReplicas": record.to_floor},
        }
        await self._deps.client.patch(
            HORIZONTALPODAUTOSCALERS, meta.name, guarded(meta, patch), meta.namespace
        )
        if record.to_floor != autoscaler.spec.min_replicas:
            self._note(autoscaler, NORMAL, *events.floor_changed(autoscaler, step))

    async def _bring_back(self, deployment: Deployment, count: int) -> None:
        meta = deployment.metadata
        patch = guarded(meta, {"spec": {"replicas": count}})
        await self._deps.client.patch(DEPLOYMENTS, meta.name, patch, meta.namespace)

    async def _remove(
        self, autoscaler: HorizontalPodAutoscaler, deployment: Deployment | None, *, gave_way: bool
    ) -> None:
        """Remove the record, last of all. The user's next server-side apply meets no conflict, on either."""
        if deployment is not None:
            await remove_manager(self._deps.client, DEPLOYMENTS, deployment.metadata)
        found = await remove_record(self._deps.client, HORIZONTALPODAUTOSCALERS, autoscaler.metadata)
        if gave_way:
            by = writers(found, "minReplicas")
            self._note(autoscaler, WARNING, "SurgeGaveWay", events.gave_way(autoscaler, by))

    async def _after_deletion(self, key: Key) -> None:
        """The record went with the autoscaler: bring back the count that only its floor had caused."""
        record = self._records.get(key)
        if record is None:
            return
        for deployment in self.view.surge.deployments.reader.list(key.namespace):
            if deployment.metadata.uid == record.surge.deployment:
                await self._undo(deployment, record)
        self._records.pop(key, None)

    async def _undo(self, deployment: Deployment, record: FloorRecord) -> None:
        surge = record.surge
        lowering = record.lowering.to_replicas if record.lowering is not None else surge.from_replicas
        if deployment.spec.replicas != record.to_floor or lowering >= record.to_floor:
            return
        pods = await self.view.surge.live_pods(deployment)
        for pod in surplus_pods(surge, pods, (), record.to_floor - lowering):
            await self._marks.set(pod)
        await self._bring_back(deployment, lowering)
        await remove_manager(self._deps.client, DEPLOYMENTS, deployment.metadata)

    def _note(self, autoscaler: HorizontalPodAutoscaler, kind: str, reason: str, message: str) -> None:
        about = regarding(HORIZONTALPODAUTOSCALERS, autoscaler)
        self._deps.recorder.record(EventNote(about, kind, reason, message))


class AutoscalerView:
    """Reads; writes nothing. Caches fill in any order, so every kind leads to the autoscaler by names."""

    def __init__(self, deps: Dependencies) -> None:
        self.surge = SurgeView(deps)

    def target_of(self, autoscaler: HorizontalPodAutoscaler) -> Deployment | None:
        """The Deployment that the autoscaler scales."""
        keys = self.surge.key_of_autoscaler(autoscaler)
        return next((self.surge.deployments.reader.get(*key) for key in keys), None)

    def is_alone(self, autoscaler: HorizontalPodAutoscaler, deployment: Deployment) -> bool:
        """Whether no other one scales the same Deployment."""
        found = self.surge.autoscalers_of(deployment)
        return [one.metadata.uid for one in found] == [autoscaler.metadata.uid]

    def requested(self, deployment: Deployment) -> dict[str, Turn]:
        """The pods that are to be moved by way of the autoscaler, by UID, the oldest request first."""
        found = self.surge.open_requests(deployment)
        return {one.pod_uid: turn_of(one) for one in found if is_for_autoscaler(one)}

    def keys_of_request(self, request: EvictionRequest) -> Iterable[Key]:
        """The autoscalers of the pod's Deployment."""
        return self._keys(self.surge.key_of_request(request)) if lists_autoscaler(request) else ()

    def keys_of_pod(self, pod: Pod) -> Iterable[Key]:
        """The same of a pod that is under request."""
        return self._keys(self.surge.key_of_pod(pod))

    def keys_of_replicaset(self, replica_set: ReplicaSet) -> Iterable[Key]:
        """The same of a ReplicaSet."""
        return self._keys(self.surge.key_of_replicaset(replica_set))

    def keys_of_deployment(self, deployment: Deployment) -> Iterable[Key]:
        """The same of a Deployment."""
        return self._keys([Key(deployment.metadata.namespace, deployment.metadata.name)])

    def _keys(self, deployments: Iterable[Key]) -> Iterable[Key]:
        for key in deployments:
            for one in self.surge.autoscalers_of_key(key):
                yield Key(key.namespace, one.metadata.name)


def is_for_autoscaler(request: EvictionRequest) -> bool:
    """Whether the interceptor is to have the pod of an open request replaced, or has."""
    if is_downscale(request):
        return False
    declined = condition(request.status.conditions, declined_type(AUTOSCALER_INTERCEPTOR))
    return lists_autoscaler(request) and (declined is None or declined.status != "True")
