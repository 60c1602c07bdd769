"""Declined turns whose cause is gone: the interceptor takes its refusal back, and gets another turn.

An interceptor of workloads declines where it cannot have the pod replaced: no room below `maxReplicas`, a
strategy without a surge, a replacement that does not come, a scale-down that removed the replacement. If a
budget blocks the eviction then, this controller looks every few seconds whether the interceptor would decline
again. Where it would not, it sets the interceptor's condition Declined to False, and the eviction request
controller does the rest. Some causes are seen in another turn only, such as a program that sets the count
back: if the same is declined soon again, the next turn comes ever later, up to five minutes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vacate.api.times import after
from vacate.api.types import Deployment, condition
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import (
    AUTOSCALER_INTERCEPTOR,
    DEPLOYMENT_INTERCEPTOR,
    REPLICASET_INTERCEPTOR,
    SURGE_INTERCEPTORS,
)
from vacate.errors import NotFound
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.dialects.turn_conditions import declined_type
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import recorded_stage
from vacate.interceptors.autoscaler.decision import decide as decide_by_autoscaler
from vacate.interceptors.deployment.decision import WaitState, decide, is_unready
from vacate.interceptors.surge.view import SurgeView
from vacate.kube.evictionbatches import goes_in_batches, unavailable_limit
from vacate.kube.surge import is_rolling_out, is_settled
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome
from vacate.sdk.interceptors.patches import status_patch
from vacate.sdk.values import Condition, Declined, Report

LOOK_AGAIN = dt.timedelta(seconds=5)
"""Between two looks at a Deployment with declined turns."""

PAUSE = 15
"""Seconds for which a refusal stands at least: the next one may have the same cause."""

MAX_PAUSE = 300
"""The same for one that was taken back in vain again and again."""


def build(deps: Dependencies) -> Controller:
    """The controller, woken by requests; it looks at Deployments only that have declined turns.

    Each Deployment is looked at once when it is seen first: a request may be in the cache before the pod and
    the owners that tell whose it is, and then no change of it may come for many minutes.
    """
    found = Reconsidering(deps)
    sources: list[Source[Any]] = [Source(one, found.key_of) for one in found.view.requests.values()]
    sources.append(Source(found.view.deployments, when=_is_new))
    return Controller("declined-turns", found, sources, deps, workers=2)


def _is_new(old: Deployment | None, new: Deployment | None) -> bool:
    return old is None and new is not None


@dataclass(frozen=True, slots=True)
class _Try:
    """Another turn for what was declined so, after how many in a row that were declined again soon."""

    at: dt.datetime
    message: str
    earlier: int


class Reconsidering:
    """Looks at the declined turns of one Deployment."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._tries: dict[Key, dict[tuple[str, str], _Try]] = {}  # by the pod's UID and the interceptor
        self.view = SurgeView(deps)

    def key_of(self, request: EvictionRequest) -> Iterable[Key]:
        """The Deployment of a request that was declined and is blocked; of no other."""
        return self.view.key_of_request(request) if _is_declined(request) else ()

    async def reconcile(self, key: Key) -> Outcome:
        """Take back what would not be declined again."""
        deployment = self.view.deployments.reader.get(*key)
        requests = self.view.open_requests(deployment) if deployment is not None else []
        declined = [one for one in requests if _is_declined(one)]
        if deployment is None:
            self._tries.pop(key, None)
            return Done()
        if not declined:
            return Done()
        tries = self._known_tries(key, deployment)
        now = self._deps.clock.now()
        for request in declined:
            mover = self._mover(deployment, request)
            name = mover if _has_declined(request, mover) else REPLICASET_INTERCEPTOR
            if name == REPLICASET_INTERCEPTOR and goes_in_batches(deployment):
                continue  # it always declines there: the pod is replaced after its eviction
            refused = condition(request.status.conditions, declined_type(name))
            if refused is None or refused.status != "True" or refused.last_transition_time is None:
                continue
            which, since = (request.pod_uid, name), refused.last_transition_time
            in_vain = _in_vain(tries.get(which), refused.message, since)
            if now >= after(since, min(PAUSE * 2**in_vain, MAX_PAUSE)) and await self._can_help(
                deployment, request, mover, now
            ):
                tries[which] = _Try(now, refused.message, in_vain)
                await self._take_back(request, name, now)
        return Later(now + LOOK_AGAIN)

    def _known_tries(self, key: Key, deployment: Deployment) -> dict[tuple[str, str], _Try]:
        """The tries for pods that are still there; a manager that starts knows of none, and begins anew."""
        there = {pod.metadata.uid for pod in self.view.cached_pods(deployment)}
        kept = {which: one for which, one in self._tries.get(key, {}).items() if which[0] in there}
        self._tries[key] = kept
        return kept

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
        uid, nothing = request.pod_uid, WaitState()
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
                dialect.kind,
                meta.name,
                dialect.status_patch(patch, request, now),
                meta.namespace,
                patch_type=dialect.status_patch_type,
                subresource="status",
            )
        except NotFound:
            return  # the request is gone, and its informer will say so


def _in_vain(last: _Try | None, message: str, since: dt.datetime) -> int:
    """How many tries in a row were declined again for the same, each of them soon."""
    soon = last is not None and last.message == message and since < after(last.at, MAX_PAUSE)
    return min(last.earlier + 1, 10) if last is not None and soon else 0


def _is_declined(request: EvictionRequest) -> bool:
    """Whether one of ours declined and a budget blocks the eviction."""
    if request.complete or recorded_stage(request) is not Stage.BLOCKED:
        return False
    return any(_has_declined(request, name) for name in SURGE_INTERCEPTORS)


def _has_declined(request: EvictionRequest, name: str) -> bool:
    found = condition(request.status.conditions, declined_type(name))
    return found is not None and found.status == "True"
