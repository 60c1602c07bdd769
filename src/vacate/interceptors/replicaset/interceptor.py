"""The interceptor: waits until the surge is scaled back to the pod's cost, which removes the pod.

On a stock cluster scaling back deletes at once. It is therefore done in this turn, by the surge controller:
it marks the pod with the lowest deletion cost, awaits the answer, and then takes one replica back.
"""

from __future__ import annotations

import datetime as dt

from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS, PODS
from vacate.api.times import after
from vacate.api.types import Deployment, HorizontalPodAutoscaler, Pod
from vacate.api.workloads import REPLICASET_INTERCEPTOR
from vacate.errors import ApiError, NotFound, TransportError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.interceptors.decision import Decision, Wait
from vacate.interceptors.surge.downscale import decide_removal, is_downscale
from vacate.interceptors.surge.view import SurgeView
from vacate.interceptors.turns import decided, interceptor_for, steady_moment
from vacate.kube.evictionbatches import goes_in_batches
from vacate.kube.minreplicas import floor_record_of, is_raised
from vacate.kube.surge import LOWEST_COST, is_marked, record_of, stands
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.values import Declined, Outcome

POLL_SECONDS = 2.0
IN_SURGE_LIMIT = 600
"""Seconds that a pod waits until its replacement counts as available again."""
REMOVAL_LIMIT = 120
"""Seconds after the scale-down within which the ReplicaSet controller should have deleted the pod."""


def build(deps: Dependencies, dialect: Dialect = EVICTION_REQUEST) -> Controller:
    """The interceptor as a controller, for the requests of one API."""
    return interceptor_for(deps, REPLICASET_INTERCEPTOR, ReplicaSetTurns(deps).handle, dialect)


def decide(
    deployment: Deployment | None,
    pod: Pod,
    began: dt.datetime,
    scaled: dt.datetime | None,
    now: dt.datetime,
    *,
    in_floor: bool = False,
) -> Wait | Declined:
    """The decision while the pod is there; its end ends the turn. `scaled` is when it was seen to be due.

    `in_floor` says that an autoscaler's floor is raised for the pod.
    """
    if deployment is None:
        return Declined("the pod belongs to no Deployment, so nothing was raised for it")
    name, record = deployment.metadata.name, record_of(deployment)
    if in_floor or (record is not None and stands(record, deployment) and pod.metadata.uid in record.pods):
        if now >= after(began, IN_SURGE_LIMIT):
            return Declined(f"other pods of Deployment {name} have not been available for long")
        return Wait(f"Waiting until all other pods of Deployment {name} are available.")
    if goes_in_batches(deployment):
        return Declined(f"Deployment {name} replaces this pod after it is evicted")
    if not is_marked(pod, LOWEST_COST):
        return Declined(f"Deployment {name} was not raised for this pod")
    if scaled is not None and now >= after(scaled, REMOVAL_LIMIT):
        return Declined(f"the scale-down of Deployment {name} has removed another pod")
    return Wait(f"Deployment {name} is scaled back and removes the pod.")


class ReplicaSetTurns:
    """Handles turns; writes nothing but the turn itself."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._view = SurgeView(deps)

    async def handle(self, context: EvictionContext) -> Outcome:
        """Wait for the pod to be removed."""
        clock = self._deps.clock
        began = steady_moment(clock)
        scaled: dt.datetime | None = None

        async def look() -> Decision:
            nonlocal scaled
            deployment, in_floor, pod = await self._read_at_last(context.pod)
            if deployment is not None and is_downscale(context.request):
                return decide_removal(deployment, REMOVAL_LIMIT, began, steady_moment(clock))
            decision = decide(deployment, pod, began, scaled, steady_moment(clock), in_floor=in_floor)
            record = record_of(deployment) if deployment is not None else None
            if scaled is None and not in_floor and (record is None or pod.metadata.uid not in record.pods):
                scaled = steady_moment(clock)
            return decision

        return await decided(context, clock, POLL_SECONDS, look)

    async def _read_at_last(self, pod: Pod) -> tuple[Deployment | None, bool, Pod]:
        """Without an answer of the server there is no progress to speak of."""
        while True:
            try:
                return await self._read(pod)
            except (ApiError, TransportError):
                await self._deps.clock.sleep(POLL_SECONDS)

    async def _read(self, pod: Pod) -> tuple[Deployment | None, bool, Pod]:
        """All as the server has it: a cache that is behind must not make the turn be declined.

        The pod is read last: a pod that is in no record any more was marked before that.
        """
        client, meta = self._deps.client, pod.metadata
        found = self._view.deployment_of(pod)
        if found is None:
            return None, False, pod
        name = found.metadata.name
        try:
            deployment = await client.get(DEPLOYMENTS, name, meta.namespace, into=Deployment)
        except NotFound:
            return None, False, pod
        in_floor = await self._in_floor(deployment, meta.uid)
        return deployment, in_floor, await client.get(PODS, meta.name, meta.namespace, into=Pod)

    async def _in_floor(self, deployment: Deployment, uid: str) -> bool:
        for known in self._view.autoscalers_of(deployment):
            name, namespace = known.metadata.name, known.metadata.namespace
            try:
                found = await self._deps.client.get(
                    HORIZONTALPODAUTOSCALERS, name, namespace, into=HorizontalPodAutoscaler
                )
            except NotFound:
                continue
            record = floor_record_of(found)
            if record is not None and is_raised(found, record) and uid in record.surge.pods:
                return True
        return False
