"""Declined turns of the interceptors that replace pods of Deployments.

They decline where they cannot have the pod replaced: no room below `maxReplicas`, a strategy without a surge,
a replacement that does not come, a scale-down that removed the replacement.
"""

from __future__ import annotations

import datetime as dt

from vacate.api.types import Deployment, Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import (
    AUTOSCALER_INTERCEPTOR,
    DEPLOYMENT_INTERCEPTOR,
    REPLICASET_INTERCEPTOR,
    SURGE_INTERCEPTORS,
)
from vacate.eviction.dialects.base import registered_interceptors
from vacate.eviction.dialects.registry import dialect_of
from vacate.interceptors import reconsidering
from vacate.interceptors.autoscaler.decision import decide as decide_by_autoscaler
from vacate.interceptors.autoscaler.decision import order_error
from vacate.interceptors.deployment.decision import WaitState, decide, is_unready
from vacate.interceptors.reconsidering import has_declined
from vacate.interceptors.surge.view import SurgeView
from vacate.kube.evictionbatches import goes_in_batches, unavailable_limit
from vacate.kube.surge import is_rolling_out, is_settled
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.turnstate import needs_preparation
from vacate.sdk.values import Declined


def build(deps: Dependencies) -> Controller:
    """The controller for pods of Deployments."""
    view = SurgeView(deps)
    return reconsidering.build("declined-turns", deps, view.requests, Replacing(view), SURGE_INTERCEPTORS)


class Replacing:
    """Whether a pod could be replaced by now."""

    def __init__(self, view: SurgeView) -> None:
        self._view = view

    def declined_by(self, request: EvictionRequest) -> str:
        """What would have the pod replaced, else what would remove it once it is."""
        deployment = self._deployment(request)
        if deployment is None:
            return ""
        mover = self._mover(deployment, request)
        if has_declined(request, mover):
            return mover
        # It always declines in batches: the pod is replaced after its eviction.
        return "" if goes_in_batches(deployment) else REPLICASET_INTERCEPTOR

    async def would_help(self, request: EvictionRequest, now: dt.datetime) -> bool:
        """Whether it would be, as far as can be known before the turn."""
        deployment = self._deployment(request)
        if deployment is None or is_rolling_out(deployment) or not is_settled(deployment):
            return False
        uid, nothing = request.pod_uid, WaitState()
        if self._mover(deployment, request) == AUTOSCALER_INTERCEPTOR:
            scalers = self._view.autoscalers_of(deployment)
            decision = decide_by_autoscaler(scalers, deployment, uid, None, nothing, now)
        elif goes_in_batches(deployment):
            least = deployment.spec.replicas - unavailable_limit(deployment)
            return deployment.status.available_replicas > least
        else:
            decision = decide(deployment, uid, None, nothing, now)
        if isinstance(decision, Declined):
            return False
        pods = [pod for pod in await self._view.live_pods(deployment) if pod.metadata.uid == uid]
        return not any(is_unready(pod, now) or _is_out_of_order(request, pod) for pod in pods)

    def _deployment(self, request: EvictionRequest) -> Deployment | None:
        """That of the pod that is to go."""
        pod = self._view.pods.reader.get(request.metadata.namespace, request.pod_name)
        wanted = pod is not None and needs_preparation(request, pod)
        return self._view.deployment_of(pod) if pod is not None and wanted else None

    def _mover(self, deployment: Deployment, request: EvictionRequest) -> str:
        """The interceptor that would have the pod replaced."""
        listed = [one.name for one in request.spec.interceptors]
        scaled = AUTOSCALER_INTERCEPTOR in listed and bool(self._view.autoscalers_of(deployment))
        return AUTOSCALER_INTERCEPTOR if scaled else DEPLOYMENT_INTERCEPTOR


def _is_out_of_order(request: EvictionRequest, pod: Pod) -> bool:
    """Whether a new request would list the autoscaler's interceptor where it cannot work."""
    names = registered_interceptors(dialect_of(request), pod)
    return AUTOSCALER_INTERCEPTOR in names and bool(order_error(names))
