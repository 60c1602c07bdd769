"""The interceptor: waits for the surge of its pod, reports, and hands over."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import replace

from vacate.api.types import Deployment, Pod
from vacate.api.types.evictionrequest import SUPERSEDES
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.interceptors.decision import Decision, Wait
from vacate.interceptors.deployment.decision import (
    UNREADY,
    WaitState,
    decide,
    is_overdue,
    is_unready,
    left_to_autoscaler,
    limit_of,
    seen,
    unless_refused,
)
from vacate.interceptors.surge.downscale import decide_replicasets
from vacate.interceptors.surge.holding import Holding
from vacate.interceptors.surge.livepods import LivePods
from vacate.interceptors.surge.view import SurgeView, is_handed_over
from vacate.interceptors.turns import GIVE_WAYS, SharedHandlers, decided, interceptor_for
from vacate.kube.availability import is_available
from vacate.kube.deletionorder import is_active
from vacate.kube.evictionbatches import goes_in_batches, unavailable_limit
from vacate.kube.surge import is_in_surge, is_rolling_out, record_of
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.values import Declined, Finished, Outcome
from vacate.views.phrases import counted

POLL_SECONDS = 1.0
"""Seconds between two looks at the caches."""


def build(deps: Dependencies, dialect: Dialect = EVICTION_REQUEST) -> Controller:
    """The interceptor as a controller, for the requests of one API."""
    return interceptor_for(deps, DEPLOYMENT_INTERCEPTOR, _HANDLERS.of(deps).handle, dialect)


class DeploymentTurns:
    """Handles turns. All writes but those of the turn itself are the surge controller's."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._view = SurgeView(deps)
        self._refusals = deps.refusals
        self._give_ways = GIVE_WAYS.of(deps)
        self._holding = Holding(deps)
        self._given: dict[str, str] = {}  # pods that were handed over in batches, and their Deployments

    async def handle(self, context: EvictionContext) -> Outcome:
        """Wait until the pod's replacement is available, or until it is clear that it will not be."""
        interceptors = [one.name for one in context.request.spec.interceptors]
        turn = _Turn(context.pod, interceptors, LivePods(self._view), self._deps.clock.now())
        turn.again = SUPERSEDES in context.request.metadata.annotations
        return await decided(context, self._deps.clock, POLL_SECONDS, lambda: self._look(turn))

    async def _look(self, turn: _Turn) -> Decision:
        now = self._deps.clock.now()
        deployment = self._view.deployment_of(turn.pod)
        if deployment is None:
            return decide(None, turn.uid, None, turn.waited, now)
        if turn.uid in self._view.chosen(deployment):
            return decide_replicasets(deployment, self._view.owned(deployment), turn.began, now)
        if AUTOSCALER_INTERCEPTOR in turn.interceptors:
            for autoscaler in self._view.autoscalers_of(deployment):
                return left_to_autoscaler(deployment, autoscaler, turn.uid, turn.interceptors)
        if is_unready(turn.pod, turn.began):
            return Declined(UNREADY)
        turn.see(deployment, self._give_ways.of(deployment.metadata.uid), now)
        if goes_in_batches(deployment):
            return await self._batch(turn, deployment, now)
        pods = await turn.pods.look(deployment, now) if turn.in_surge else None
        if any(pod.metadata.uid == turn.uid and is_unready(pod, now) for pod in pods or ()):
            return Declined(UNREADY)
        decision = decide(
            deployment,
            turn.uid,
            pods,
            turn.waited,
            now,
            again=turn.again,
            held=self._holding.why(
                turn.pod, deployment, record_of(deployment), turn.interceptors, again=turn.again
            ),
        )
        return unless_refused(decision, deployment, self._refusals.of(deployment.metadata.uid), now)

    async def _batch(self, turn: _Turn, deployment: Deployment, now: dt.datetime) -> Decision:
        """Whether the pod may go now. Before it does, the pods are read anew: a list may be behind.

        Those that were handed over before that read count as gone, whether the list has them still or not.
        """
        name = deployment.metadata.name
        pods = await turn.pods.look(deployment, now)
        if pods is None:
            return Wait(f"Waiting for the server's list of the pods of Deployment {name}.")
        before = self._handed_over(deployment)
        decision = decide_batch(deployment, turn.uid, pods, before, turn.waited, now)
        if isinstance(decision, Finished):
            turn.pods.forget()
            pods = await turn.pods.look(deployment, now)
            handed = before | self._handed_over(deployment)
            decision = decide_batch(deployment, turn.uid, pods or (), handed, turn.waited, now)
        if isinstance(decision, Finished):
            self._given[turn.uid] = deployment.metadata.uid
        turn.on_batch(str(decision), now)
        return decision

    def _handed_over(self, deployment: Deployment) -> set[str]:
        """The pods of the Deployment that were handed over, and may be there still.

        What was just decided is not in the cache yet, and is remembered until the request is over.
        """
        requests = {one.pod_uid: one for one in self._view.open_requests(deployment)}
        uid = deployment.metadata.uid
        for one in [pod for pod, owner in self._given.items() if owner == uid and pod not in requests]:
            del self._given[one]
        given = {pod for pod, owner in self._given.items() if owner == uid}
        return given | {name for name, one in requests.items() if is_handed_over(one)}


_HANDLERS = SharedHandlers(DeploymentTurns)


class _Turn:
    """What one turn remembers between two looks."""

    def __init__(self, pod: Pod, interceptors: Sequence[str], pods: LivePods, began: dt.datetime) -> None:
        self.pod = pod
        self.began = began
        self.pods = pods
        self.interceptors = interceptors
        self.uid = pod.metadata.uid
        self.waited = WaitState()
        self.held_up = ""
        self.again = False  # whether this is another turn, in a request that took over
        self.in_surge = False

    def on_batch(self, message: str, now: dt.datetime) -> None:
        """Note since when the next batch is held up by the same."""
        if message != self.held_up:
            self.held_up, self.waited = message, replace(self.waited, unchanged_since=now)

    def see(self, deployment: Deployment, gave_way: int, now: dt.datetime) -> None:
        """Note a rollout that begins or ends, and how often others have ended a surge."""
        self.in_surge = is_in_surge(deployment, self.uid)
        self.waited = seen(self.waited, deployment, gave_way, now, inside=self.in_surge)


def decide_batch(
    deployment: Deployment,
    uid: str,
    pods: Sequence[Pod],
    handed_over: Collection[str],
    waited: WaitState,
    now: dt.datetime,
) -> Decision:
    """The decision about the pod of that UID. Pods that were handed over count as gone already."""
    name = deployment.metadata.name
    if is_rolling_out(deployment):
        if is_overdue(waited.rolling_since, deployment, now):
            return Declined(f"a rollout of Deployment {name} is in progress and does not end")
        return Wait(f"Waiting for the rollout of Deployment {name} to end.")
    limit, wait = unavailable_limit(deployment), deployment.spec.min_ready_seconds
    staying = [pod for pod in pods if is_active(pod) and pod.metadata.uid not in (*handed_over, uid)]
    available = sum(is_available(pod, wait, now) for pod in staying)
    if available >= deployment.spec.replicas - limit:
        return Finished(f"Deployment {name} may have {counted(limit, 'unavailable pod')}.")
    wanted = deployment.spec.replicas
    counts = f"{available} other pods of Deployment {name} are available, and {wanted - limit} must be"
    if is_overdue(waited.unchanged_since, deployment, now):
        seconds = limit_of(deployment)
        return Declined(f"{counts}: that has not changed for {seconds} s")
    return Wait(f"Waiting for the next batch: {counts}.")
