"""The interceptor: waits until the autoscaler has made a replacement for its pod, reports, and hands over."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.kinds import LIFECYCLE_EVICTIONS
from vacate.api.types import Deployment, HorizontalPodAutoscaler, Pod
from vacate.api.types.evictionrequest import SUPERSEDES
from vacate.api.workloads import AUTOSCALER_INTERCEPTOR
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.interceptors.autoscaler.decision import decide, order_error
from vacate.interceptors.decision import Decision, Wait
from vacate.interceptors.deployment.decision import UNREADY, WaitState, is_unready, seen, unless_refused
from vacate.interceptors.surge.downscale import decide_deployment
from vacate.interceptors.surge.holding import Holding
from vacate.interceptors.surge.livepods import LivePods
from vacate.interceptors.surge.view import SurgeView
from vacate.interceptors.turns import GIVE_WAYS, decided, interceptor_for
from vacate.kube.minreplicas import floor_record_of, is_raised
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.values import Declined, Finished, Outcome

POLL_SECONDS = 1.0
"""Seconds between two looks at the caches."""


def build(deps: Dependencies, dialect: Dialect = EVICTION_REQUEST) -> Controller:
    """The interceptor as a controller, for the requests of one API."""
    return interceptor_for(deps, AUTOSCALER_INTERCEPTOR, AutoscalerTurns(deps).handle, dialect)


class AutoscalerTurns:
    """Handles turns. All writes but those of the turn itself are the floor controller's."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._view = SurgeView(deps)
        self._refusals = deps.refusals
        self._give_ways = GIVE_WAYS.of(deps)
        self._holding = Holding(deps)

    async def handle(self, context: EvictionContext) -> Outcome:
        """Wait until the pod's replacement is available, or until it is clear that it will not be."""
        interceptors = [one.name for one in context.request.spec.interceptors]
        if why := order_error(interceptors):
            return Declined(why)
        turn = _Turn(context.pod, interceptors, LivePods(self._view), self._deps.clock.now())
        turn.again = SUPERSEDES in context.request.metadata.annotations
        turn.is_for_all = context.request.kind is LIFECYCLE_EVICTIONS
        return await decided(context, self._deps.clock, POLL_SECONDS, lambda: self._look(turn))

    async def _look(self, turn: _Turn) -> Decision:
        now = self._deps.clock.now()
        deployment = self._view.deployment_of(turn.pod)
        if turn.is_for_all and deployment is not None and not self._view.autoscalers_of(deployment):
            return Finished(f"No HorizontalPodAutoscaler scales Deployment {deployment.metadata.name}.")
        chosen = self._view.chosen(deployment) if deployment is not None else {}
        if deployment is not None and turn.uid in chosen:
            found = await turn.pods.look(deployment, now)
            if found is None:
                return Wait("Waiting for the server's list of the pods.")
            return decide_deployment(deployment, chosen, found, turn.began, now)
        autoscalers = self._view.autoscalers_of(deployment) if deployment is not None else []
        pods: list[Pod] | None = None
        if deployment is not None and autoscalers:
            turn.see(deployment, autoscalers[0], self._give_ways.of(autoscalers[0].metadata.uid), now)
            pods = await turn.pods.look(deployment, now) if turn.in_surge else None
        unready = is_unready(turn.pod, turn.began) or any(
            pod.metadata.uid == turn.uid and is_unready(pod, now) for pod in pods or ()
        )
        if deployment is not None and unready:
            return Declined(UNREADY)
        decision = decide(
            autoscalers,
            deployment,
            turn.uid,
            pods,
            turn.waited,
            now,
            again=turn.again,
            held=self._held(turn, deployment, autoscalers),
        )
        if deployment is None or not autoscalers:
            return decision
        refusal = self._refusals.of(autoscalers[0].metadata.uid)
        return unless_refused(decision, deployment, refusal, now)

    def _held(
        self, turn: _Turn, deployment: Deployment | None, autoscalers: Sequence[HorizontalPodAutoscaler]
    ) -> str:
        if deployment is None or not turn.in_surge:
            return ""
        record = floor_record_of(autoscalers[0])
        surge = record.surge if record is not None else None
        return self._holding.why(turn.pod, deployment, surge, turn.interceptors, again=turn.again)


class _Turn:
    """What one turn remembers between two looks."""

    def __init__(self, pod: Pod, interceptors: Sequence[str], pods: LivePods, began: dt.datetime) -> None:
        self.pod = pod
        self.interceptors = interceptors
        self.began = began
        self.pods = pods
        self.uid = pod.metadata.uid
        self.waited = WaitState()
        self.in_surge = False
        self.again = False  # whether this is another turn, in a request that took over
        # Whether all pods of Deployments list it: where lists cannot follow when an autoscaler comes.
        self.is_for_all = False

    def see(
        self, deployment: Deployment, autoscaler: HorizontalPodAutoscaler, gave_way: int, now: dt.datetime
    ) -> None:
        """Note a rollout that begins or ends, and how often others have ended a surge."""
        record = floor_record_of(autoscaler)
        self.in_surge = record is not None and is_raised(autoscaler, record) and self.uid in record.surge.pods
        self.waited = seen(self.waited, deployment, gave_way, now, inside=self.in_surge)
