"""The HorizontalPodAutoscaler controller: floor, ceiling, and External metrics that the user writes down."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS, REPLICASETS, STATEFULSETS, Kind
from vacate.api.objects import dig
from vacate.api.types import Deployment, HorizontalPodAutoscaler, ReplicaSet, StatefulSet
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.controllers.podautoscaler.plan import conditions_after, plan, status_after
from vacate.embedded.controllers.status import write_status
from vacate.errors import NotFound
from vacate.kube.patches import guarded
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome

_Scalable = Deployment | ReplicaSet | StatefulSet
_SCALABLE: dict[Kind, type[Any]] = {
    DEPLOYMENTS: Deployment,
    REPLICASETS: ReplicaSet,
    STATEFULSETS: StatefulSet,
}


def build(deps: Dependencies) -> Controller:
    """The controller, woken by autoscalers, and by workloads whose count changes."""
    autoscalers = PodAutoscalerController(deps)
    informers = deps.informers
    sources: list[Source[Any]] = [
        Source(informers.informer(HORIZONTALPODAUTOSCALERS, HorizontalPodAutoscaler))
    ]
    for kind, typed in _SCALABLE.items():
        informer = informers.informer(kind, typed)
        sources.append(Source(informer, keys=autoscalers.of(kind), when=_count_changed))
    return Controller(
        "horizontalpodautoscaler", autoscalers, tuple(sources), deps, workers=2, backoff=retry_backoff()
    )


def _count_changed(old: _Scalable | None, new: _Scalable | None) -> bool:
    return new is not None and (old is None or old.spec.replicas != new.spec.replicas)


class PodAutoscalerController:
    """Brings the count of one workload between the bounds, and to what its metrics want."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._autoscalers = deps.informers.informer(HORIZONTALPODAUTOSCALERS, HorizontalPodAutoscaler).reader

    def of(self, kind: Kind) -> Callable[[_Scalable], Iterable[Key]]:
        """Finds the autoscalers of workloads of that kind."""

        def keys(workload: _Scalable) -> Iterable[Key]:
            meta = workload.metadata
            for one in self._autoscalers.list(meta.namespace):
                ref = one.spec.scale_target_ref
                if (ref.kind, ref.name) == (kind.kind, meta.name):
                    yield Key(meta.namespace, one.metadata.name)

        return keys

    async def reconcile(self, key: Key) -> Outcome:
        """Read the scale, decide, scale, and say so."""
        autoscaler = self._autoscalers.get(*key)
        if autoscaler is None or autoscaler.metadata.deletion_timestamp is not None:
            return Done()
        kind = _kind_of(autoscaler)
        try:
            if kind is None:
                raise NotFound("no such kind is served with a scale")
            await self._scale(autoscaler, kind)
        except NotFound as error:
            await self._not_found(autoscaler, error)
        return Done()

    async def _scale(self, autoscaler: HorizontalPodAutoscaler, kind: Kind) -> None:
        name, meta, client = autoscaler.spec.scale_target_ref.name, autoscaler.metadata, self._deps.client
        scale = await client.get(kind, name, meta.namespace, subresource="scale")
        current = int(dig(scale, "spec", "replicas") or 0)
        step = plan(autoscaler, current)
        if step.replicas != current:
            patch = guarded(scale["metadata"], {"spec": {"replicas": step.replicas}})
            await client.patch(kind, name, patch, meta.namespace, subresource="scale")
            message = f"New size: {step.replicas}; reason: {step.reason}"
            self._note(autoscaler, NORMAL, "SuccessfulRescale", message)
        seen = int(dig(scale, "status", "replicas") or 0)
        after = msgspec.structs.replace(
            status_after(autoscaler, current, step, self._deps.clock.now()), current_replicas=seen
        )
        await write_status(client, HORIZONTALPODAUTOSCALERS, meta, autoscaler.status, after)

    async def _not_found(self, autoscaler: HorizontalPodAutoscaler, error: NotFound) -> None:
        message = f"the HPA controller was unable to get the target's current scale: {error}"
        texts = {"AbleToScale": ("False", "FailedGetScale", message)}
        conditions = conditions_after(autoscaler, texts, self._deps.clock.now())
        after = msgspec.structs.replace(autoscaler.status, conditions=conditions)
        if after != autoscaler.status:
            self._note(autoscaler, WARNING, "FailedGetScale", str(error))
        meta = autoscaler.metadata
        await write_status(self._deps.client, HORIZONTALPODAUTOSCALERS, meta, autoscaler.status, after)

    def _note(self, autoscaler: HorizontalPodAutoscaler, kind: str, reason: str, message: str) -> None:
        about = regarding(HORIZONTALPODAUTOSCALERS, autoscaler)
        self._deps.recorder.record(EventNote(about, kind, reason, message))


def _kind_of(autoscaler: HorizontalPodAutoscaler) -> Kind | None:
    ref = autoscaler.spec.scale_target_ref
    group = ref.api_version.partition("/")[0]
    return next((kind for kind in _SCALABLE if (kind.group, kind.kind) == (group, ref.kind)), None)
