"""Declined turns whose cause is gone: the interceptor takes its refusal back, and gets another turn.

An interceptor of workloads declines where it cannot have the pod replaced: no room below `maxReplicas`, a
strategy without a surge, a replacement that does not come, a scale-down that removed the replacement. If a
budget blocks the eviction then, this controller looks every few seconds whether the interceptor would decline
again. Where it would not, it sets the interceptor's condition Declined to False, and the eviction request
controller does the rest.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from vacate.api.times import after
from vacate.api.types import Deployment, condition
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR, REPLICASET_INTERCEPTOR
from vacate.errors import NotFound
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.dialects.turn_conditions import declined_type
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import recorded_stage
from vacate.interceptors.autoscaler.decision import decide as decide_by_autoscaler
from vacate.interceptors.deployment.decision import WaitState, decide, is_unready
from vacate.interceptors.surge.view import SurgeView, pod_uid
from vacate.kube.evictionbatches import goes_in_batches, unavailable_limit
from vacate.kube.surge import is_rolling_out, is_settled
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Deps
from vacate.runtime.reconcile import Done, Key, Later, Outcome
from vacate.sdk.interceptors.patches import status_patch
from vacate.sdk.values import Condition, Declined, Report

LOOK_AGAIN = dt.timedelta(seconds=5)
"""Between two looks at a Deployment with declined turns."""

PAUSE = 15
"""Seconds for which a refusal stands at least: the next one may have the same cause."""

_NAMES = (AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR, REPLICASET_INTERCEPTOR)


def build(deps: Deps) -> Controller:
    """The controller, woken by requests; it looks at Deployments only that have declined turns."""
    found = Reconsidering(deps)
    sources = [Source(one, found.key_of) for one in found.view.requests.values()]
    return Controller("declined-turns", found, tuple(sources), deps, workers=2)


class Reconsidering:
    """Looks at the declined turns of one Deployment."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self.view = SurgeView(deps)

    def key_of(self, request: EvictionRequest) -> Iterable[Key]:
        """The Deployment of a request that was declined and is blocked; of no other."""
        return self.view.key_of_request(request) if _is_declined(request) else ()

    async def reconcile(self, key: Key) -> Outcome:
        """Take back what would not be declined again."""
        deployment = self.view.deployments.reader.get(*key)
        requests = self.view.open_requests(deployment) if deployment is not None else []
        declined = [one for one in requests if _is_declined(one)]
        if deployment is None or not declined:
            return Done()
        now = self._deps.clock.now()
        for request in declined:
            mover = self._mover(deployment, request)
            name = mover if _has_declined(request, mover) else REPLICASET_INTERCEPTOR
            if name == REPLICASET_INTERCEPTOR and goes_in_batches(deployment):
                continue  # it always declines there: the pod is replaced after its eviction
            refused = condition(request.status.conditions, declined_type(name))
            if refused is None or refused.status != "True" or refused.last_transition_time is None:
                continue
            if now >= after(refused.last_transition_time, PAUSE) and await self._can_help(
                deployment, request, mover, now
            ):
                await self._take_back(request, name, now)
        return Later(now + LOOK_AGAIN)

    def _mover(self, deployment: Deployment, request: EvictionRequest) -> str:
        """The interceptor that would have the pod replaced."""
        listed = [one.name for one in request.spec.interceptors]
        scaled = AUTOSCALER_INTERCEPTOR in listed and bool(self.view.autoscalers_of(deployment))
        return AUTOSCALER_INTERCEPTOR if scaled else DEPLOYMENT_INTERCEPTOR

    async def _can_help(
        self, deployment: Deployment, request: EvictionRequest, name: str, now: dt.datetime
    ) -> bool:
        """Whether the interceptor would not decline again, as far as can be known before its turn."""
        if is_rolling_out(deployment) or not is_settled(deployment):
            return False
        uid, nothing = pod_uid(request), WaitState()
        if name == AUTOSCALER_INTERCEPTOR:
            scalers = self.view.autoscalers_of(deployment)
            decision = decide_by_autoscaler(scalers, deployment, uid, None, nothing, now)
        elif goes_in_batches(deployment):
            least = deployment.spec.replicas - unavailable_limit(deployment)
            return deployment.status.available_replicas > least
        else:
            decision = decide(deployment, uid, None, nothing, now)
        if isinstance(decision, Declined):
            return False
        pods = await self.view.live_pods(deployment)
        return not any(pod.metadata.uid == uid and is_unready(pod, now) for pod in pods)

    async def _take_back(self, request: EvictionRequest, name: str, now: dt.datetime) -> None:
        withdrawn = Condition(declined_type(name), False, "Reconsidered", "The pod can be replaced by now.")
        dialect, meta = dialect_of(request), request.metadata
        patch = status_patch(request, Report(conditions=(withdrawn,)), now, beat=False)
        if patch is None:
            return
        try:
            await self._deps.client.patch(
                dialect.kind, meta.name, dialect.status_patch(patch), meta.namespace, subresource="status"
            )
        except NotFound:
            return  # the request is gone, and its informer will say so


def _is_declined(request: EvictionRequest) -> bool:
    """Whether one of ours declined, and a budget blocks the eviction."""
    if request.complete or recorded_stage(request) is not Stage.BLOCKED:
        return False
    return any(_has_declined(request, name) for name in _NAMES)


def _has_declined(request: EvictionRequest, name: str) -> bool:
    found = condition(request.status.conditions, declined_type(name))
    return found is not None and found.status == "True"
