"""The interceptor: waits for the surge of its pod, reports, and hands over."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakValueDictionary

from vacate.admission.pods.workloads import AUTOSCALER_INTERCEPTOR, DEPLOYMENT_INTERCEPTOR
from vacate.api.types import Deployment, Pod
from vacate.errors import ApiError, TransportError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.interceptors.deployment.batches import decide_batch
from vacate.interceptors.deployment.decision import Decision, Wait, Waited, decide, left_to_autoscaler
from vacate.interceptors.surge.view import SurgeView, is_handed_over, pod_uid
from vacate.kube.evictionbatches import goes_in_batches
from vacate.kube.surge import is_rolling_out, is_settled, record_of, stands
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Deps
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.interceptors.controller import build as interceptor_controller
from vacate.sdk.interceptors.interceptor import Interceptor
from vacate.sdk.values import Finished, Outcome

LOOK_EVERY = 1.0
"""Seconds between two looks at the caches."""
READ_EVERY = dt.timedelta(seconds=10)
"""Between two reads of a Deployment's pods, unless the Deployment has changed."""
CONCURRENCY = 1_000
"""Turns wait for the surges of others, so many are open at once; each costs a look at the caches."""


# One for all APIs of a process: it remembers which pods it has just handed over. By the identity of the
# informers, which live as long as the handler.
_TURNS: WeakValueDictionary[int, DeploymentTurns] = WeakValueDictionary()


def build(deps: Deps, dialect: Dialect = EVICTION_REQUEST) -> Controller:
    """The interceptor as a controller, for the requests of one API."""
    handler = _TURNS.setdefault(id(deps.informers), DeploymentTurns(deps))
    one = Interceptor(DEPLOYMENT_INTERCEPTOR, handler.handle, concurrency=CONCURRENCY)
    return interceptor_controller(deps, one, dialect)


def build_evacuator(deps: Deps) -> Controller:
    """The same for Evacuations."""
    return build(deps, EVACUATION)


class DeploymentTurns:
    """Handles turns. All writes but those of the turn itself are the surge controller's."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._view = SurgeView(deps)
        self._given: dict[str, str] = {}  # pods that were handed over in batches, and their Deployments

    async def handle(self, context: EvictionContext) -> Outcome:
        """Wait until the pod's replacement is available, or until it is clear that it will not be."""
        turn = _Turn(context.pod, [one.name for one in context.request.spec.interceptors])
        said = ""
        while True:
            decision = await self._look(turn)
            if not isinstance(decision, Wait):
                return decision
            if decision.message != said:
                said = decision.message
                await context.report(said)
            context.progress()
            await self._deps.clock.sleep(LOOK_EVERY)

    async def _look(self, turn: _Turn) -> Decision:
        now = self._deps.clock.now()
        deployment = self._view.deployment_of(turn.pod)
        if deployment is None:
            return decide(None, turn.uid, None, turn.waited, now)
        if AUTOSCALER_INTERCEPTOR in turn.interceptors:
            for autoscaler in self._view.autoscalers_of(deployment):
                return left_to_autoscaler(deployment, autoscaler, turn.uid, turn.interceptors)
        turn.see(deployment, now)
        if goes_in_batches(deployment):
            return await self._batch(turn, deployment, now)
        pods = await self._pods(turn, deployment, now) if turn.in_surge else None
        return decide(deployment, turn.uid, pods, turn.waited, now)

    async def _batch(self, turn: _Turn, deployment: Deployment, now: dt.datetime) -> Decision:
        """Whether the pod may go now. Before it does, the pods are read anew: a list may be behind.

        Those that were handed over before that read count as gone, whether the list has them still or not.
        """
        name = deployment.metadata.name
        pods = await self._pods(turn, deployment, now)
        if pods is None:
            return Wait(f"Waiting for the server's list of the pods of Deployment {name}.")
        before = self._handed_over(deployment)
        decision = decide_batch(deployment, turn.uid, pods, before, turn.waited, now)
        if isinstance(decision, Finished):
            turn.read_at = None
            pods = await self._pods(turn, deployment, now)
            handed = before | self._handed_over(deployment)
            decision = decide_batch(deployment, turn.uid, pods or (), handed, turn.waited, now)
        if isinstance(decision, Finished):
            self._given[turn.uid] = deployment.metadata.uid
        turn.see_batch(str(decision), now)
        return decision

    def _handed_over(self, deployment: Deployment) -> set[str]:
        """The pods of the Deployment that were handed over, and may be there still.

        What was just decided is not in the cache yet, and is remembered until the request is over.
        """
        requests = {pod_uid(one): one for one in self._view.open_requests(deployment)}
        uid = deployment.metadata.uid
        for one in [pod for pod, owner in self._given.items() if owner == uid and pod not in requests]:
            del self._given[one]
        given = {pod for pod, owner in self._given.items() if owner == uid}
        return given | {name for name, one in requests.items() if is_handed_over(one)}

    async def _pods(self, turn: _Turn, deployment: Deployment, now: dt.datetime) -> list[Pod] | None:
        """The Deployment's pods, read when it may matter; None where that is not now, or did not work."""
        version = deployment.metadata.resource_version
        due = turn.read_at is None or version != turn.read_version or now >= turn.read_at + READ_EVERY
        if not due:
            return turn.pods
        try:
            turn.pods = await self._view.live_pods(deployment)
        except (ApiError, TransportError):
            return None
        turn.read_at, turn.read_version = now, version
        return turn.pods


class _Turn:
    """What one turn remembers between two looks."""

    def __init__(self, pod: Pod, interceptors: Sequence[str]) -> None:
        self.pod = pod
        self.interceptors = interceptors
        self.uid = pod.metadata.uid
        self.waited = Waited()
        self.held_up = ""
        self.in_surge = False
        self.pods: list[Pod] | None = None
        self.read_at: dt.datetime | None = None
        self.read_version = ""

    def see_batch(self, said: str, now: dt.datetime) -> None:
        """Note since when the next batch is held up by the same."""
        if said != self.held_up:
            self.held_up, self.waited = said, replace(self.waited, unchanged_since=now)

    def see(self, deployment: Deployment, now: dt.datetime) -> None:
        """Note a rollout that begins or ends, and a surge that others have ended."""
        record = record_of(deployment)
        inside = record is not None and stands(record, deployment) and self.uid in record.pods
        if self.in_surge and not inside:
            self.waited = replace(self.waited, gave_way=self.waited.gave_way + 1)
        self.in_surge = inside
        rolling = is_rolling_out(deployment) or not is_settled(deployment)
        since = self.waited.rolling_since or now if rolling and not inside else None
        self.waited = replace(self.waited, rolling_since=since)
