"""The surge controller: the one writer of replicas, records and marks, by what the open requests need.

It is level-triggered: each look derives the next step from requests, pods and the record on the Deployment.
A crash, a cancellation or a change by someone else is therefore nothing special. The interceptors themselves
write nothing but their own turns.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import DEPLOYMENTS, REPLICASETS
from vacate.api.types import Deployment, HorizontalPodAutoscaler, ObjectMeta, Pod, ReplicaSet
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.errors import NotFound
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import recorded_stage
from vacate.interceptors.deployment.decision import is_unready
from vacate.interceptors.surge import events
from vacate.interceptors.surge.deletioncost import PodMarks
from vacate.interceptors.surge.downscale import is_downscale
from vacate.interceptors.surge.plan import CleanUp, Nothing, Scale, Turn, plan
from vacate.interceptors.surge.record import is_last_writer, remove_record, writers
from vacate.interceptors.surge.view import SurgeView
from vacate.interceptors.turns import GIVE_WAYS
from vacate.kube.deletionorder import is_active
from vacate.kube.patches import guarded
from vacate.kube.surge import (
    DEPLOYMENT_ANNOTATIONS,
    IN_PROGRESS,
    REPLICAS_TO_EVICT,
    SURGE,
    is_covered,
    is_settled,
    record_of,
    stands,
)
from vacate.kube.surgepods import naming_earlier, surplus_pods
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome
from vacate.runtime.refusals import WriteRefusals

RECHECK_AFTER = dt.timedelta(seconds=10)
"""While a Deployment is raised: a pod becomes available by waiting alone, without a change that wakes us."""


def build(deps: Dependencies) -> Controller:
    """The controller, woken by requests, by pods under request, and by Deployments that are raised."""
    surge = SurgeController(deps)
    view = surge.view
    sources: tuple[Source[Any], ...] = (
        *(Source(one, view.key_of_request) for one in view.requests.values()),
        Source(view.pods, view.key_of_pod),
        Source(view.deployments, when=surge.concerns),
        Source(view.replica_sets, view.key_of_replicaset, when=_carries_record),
        Source(view.autoscalers, view.key_of_autoscaler, when=_record_is_gone),
    )
    return Controller("surge", surge, sources, deps, workers=4)


def _carries_record(old: ReplicaSet | None, new: ReplicaSet | None) -> bool:
    return new is not None and _has_ours(new.metadata)


def _record_is_gone(old: HorizontalPodAutoscaler | None, new: HorizontalPodAutoscaler | None) -> bool:
    """Whether the surge by way of an autoscaler is over, so that marks can be taken back."""
    had = old is not None and _has_ours(old.metadata)
    return had and (new is None or not _has_ours(new.metadata))


class SurgeController:
    """Brings one Deployment one step closer to what the requests for its pods need."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._marks = PodMarks(deps.client)
        self._refusals = WriteRefusals(deps)
        self._give_ways = GIVE_WAYS.of(deps)
        self._open: dict[Key, None] = {}  # Deployments with pods to be moved
        self.view = SurgeView(deps)

    def concerns(self, old: Deployment | None, new: Deployment | None) -> bool:
        """Whether a change of a Deployment matters: few are ever raised."""
        found = new or old
        if found is None:
            return False
        return _has_ours(found.metadata) or _key(found) in self._open

    async def reconcile(self, key: Key) -> Outcome:
        """Take the next step."""
        deployment = self.view.deployments.reader.get(*key)
        if deployment is None:
            self._open.pop(key, None)
            return Done()
        with self._refusals.reported(DEPLOYMENTS, deployment):
            return await self._reconcile(key, deployment)

    async def _reconcile(self, key: Key, deployment: Deployment) -> Outcome:
        await self._mark_requested(deployment)
        requested = self.view.requested(deployment)
        if record_of(deployment) is None and not requested:
            return await self._rest(key, deployment)
        self._open[key] = None
        try:
            await self._step(deployment, requested)
        except NotFound:
            return Done()  # the Deployment is gone, and its informer will say so
        return Later(self._deps.clock.now() + RECHECK_AFTER)

    async def _mark_requested(self, deployment: Deployment) -> None:
        """Have a scale-down by anyone remove the pods under request first."""
        requests = self.view.open_requests(deployment)
        if not requests and not self.view.marked(deployment):
            return
        chosen = {one.pod_uid for one in requests if is_downscale(one)}
        pods = list(self.view.cached_pods(deployment))
        await self._marks.follow(pods, {one.pod_uid for one in requests}, chosen)

    async def _step(self, deployment: Deployment, requested: dict[str, Turn]) -> None:
        now, record = self._deps.clock.now(), record_of(deployment)
        pods: list[Pod] = []
        covered = False
        if record is not None and stands(record, deployment):
            pods = await self.view.live_pods(deployment)
            covered = is_covered(deployment, record, pods, now)
        running = {pod.metadata.uid for pod in pods if is_active(pod)}
        step = plan(deployment, requested, running, now, covered=covered)
        if isinstance(step, Scale):
            pods = pods or await self.view.live_pods(deployment)
            if idle := _unready(pods, step.record.pods.keys() - (record.pods.keys() if record else ()), now):
                worth = {uid: turn for uid, turn in requested.items() if uid not in idle}
                step = plan(deployment, worth, running, now, covered=covered)
        match step:
            case Scale() if record is not None and not await self._is_last_writer(deployment):
                await self._clean_up(deployment, gave_way=True)
            case Scale():
                await self._scale(deployment, step, pods, now)
            case CleanUp(gave_way):
                await self._clean_up(deployment, gave_way=gave_way)
            case Nothing():
                await self._report(deployment)

    async def _is_last_writer(self, deployment: Deployment) -> bool:
        return await is_last_writer(self._deps.client, DEPLOYMENTS, deployment.metadata, "replicas")

    async def _clean_up(self, deployment: Deployment, *, gave_way: bool) -> None:
        """Remove the record. The count stays: it is the user's, or has been taken back already."""
        record = record_of(deployment)
        change = report_change(deployment.metadata.annotations, self.view.open_requests(deployment))
        done = [name for name, value in change.items() if value is None]
        found = await remove_record(self._deps.client, DEPLOYMENTS, deployment.metadata, done)
        if gave_way and record is not None and record.deployment == deployment.metadata.uid:
            self._give_ways.note(deployment.metadata.uid)
            by = writers(found, "replicas")
            self._note(deployment, WARNING, "SurgeGaveWay", events.gave_way(deployment, record, by))

    async def _scale(self, deployment: Deployment, step: Scale, pods: list[Pod], now: dt.datetime) -> None:
        """Mark first and await the answers: a mark that comes after the new count has no effect."""
        before = record_of(deployment)
        going = [pod for pod in pods if pod.metadata.uid in step.removed]
        if before is not None:
            going += surplus_pods(before, pods, step.record.pods, step.surplus)
        if is_settled(deployment):
            requests = {one.pod_uid for one in self.view.open_requests(deployment)}
            await self._marks.spare([pod for pod in pods if is_active(pod) and pod not in going], requests)
        for pod in going:
            await self._marks.set(pod)
        record = naming_earlier(step.record, before, pods, {pod.metadata.uid for pod in going}, now)
        meta = deployment.metadata
        report = report_change(meta.annotations, self.view.open_requests(deployment))
        patch = {
            "metadata": {"annotations": {SURGE: record.text(), **report}},
            "spec": {"replicas": record.to_replicas},
        }
        await self._deps.client.patch(DEPLOYMENTS, meta.name, guarded(meta, patch), meta.namespace)
        self._note(deployment, NORMAL, *events.scaled(deployment, step))

    async def _rest(self, key: Key, deployment: Deployment) -> Outcome:
        """Nobody needs a surge: take back what is left of earlier ones, once the count has come down.

        Copies on ReplicaSets come last: they return as long as the Deployment has what they are copies of.
        """
        if await self._report(deployment) or self.view.is_floor_raised(deployment):
            self._open[key] = None
            return Later(self._deps.clock.now() + RECHECK_AFTER)
        for one in self.view.owned(deployment):
            if _carries_record(None, one):
                await self._forget_copy(one)
        if self.view.marked(deployment):
            if not is_settled(deployment):
                self._open[key] = None
                return Later(self._deps.clock.now() + RECHECK_AFTER)
            for pod in await self.view.live_pods(deployment):
                await self._marks.take_back(pod)
        self._open.pop(key, None)
        return Done()

    async def _report(self, deployment: Deployment) -> bool:
        """Write how many pods are to be evicted, where that has changed; says whether there are any."""
        meta, requests = deployment.metadata, self.view.open_requests(deployment)
        if change := report_change(meta.annotations, requests):
            patch = guarded(meta, {"metadata": {"annotations": change}})
            await self._deps.client.patch(DEPLOYMENTS, meta.name, patch, meta.namespace)
        return bool(requests)

    async def _forget_copy(self, replica_set: ReplicaSet) -> None:
        """Deployment controllers copy annotations to ReplicaSets; `kubectl rollout undo` would restore it."""
        meta = replica_set.metadata
        copied = {name: None for name in DEPLOYMENT_ANNOTATIONS if name in meta.annotations}
        patch = guarded(meta, {"metadata": {"annotations": copied}})
        await self._deps.client.patch(REPLICASETS, meta.name, patch, meta.namespace)

    def _note(self, deployment: Deployment, kind: str, reason: str, message: str) -> None:
        self._deps.recorder.record(EventNote(regarding(DEPLOYMENTS, deployment), kind, reason, message))


def _unready(pods: Iterable[Pod], uids: Collection[str], now: dt.datetime) -> set[str]:
    """Those of the pods that serve no traffic: their interceptor declines, and no pod is started for them."""
    return {pod.metadata.uid for pod in pods if pod.metadata.uid in uids and is_unready(pod, now)}


def _has_ours(meta: ObjectMeta) -> bool:
    return any(name in meta.annotations for name in DEPLOYMENT_ANNOTATIONS)


def _key(deployment: Deployment) -> Key:
    return Key(deployment.metadata.namespace, deployment.metadata.name)


_WITHOUT_INTERCEPTOR = (Stage.EVICTING, Stage.BLOCKED)


def report_change(
    annotations: Mapping[str, str], requests: Sequence[EvictionRequest]
) -> dict[str, str | None]:
    """What to change about the annotations, as a merge patch has it; empty where they are right."""
    wanted: dict[str, str | None] = dict.fromkeys((REPLICAS_TO_EVICT, IN_PROGRESS))
    if requests:
        prepared = any(recorded_stage(one) not in _WITHOUT_INTERCEPTOR for one in requests)
        wanted = {REPLICAS_TO_EVICT: str(len(requests)), IN_PROGRESS: str(prepared).lower()}
    return {key: value for key, value in wanted.items() if annotations.get(key) != value}
