"""The descheduling controller: looks at all pods from time to time, and requests evictions within limits.

Its own record is the requester's name on each request: a controller that starts in the middle finds what it
requested. Pods are read from the API server page by page at each look and not kept: what the decision needs
of them (tolerations, affinity, requests) is no part of the cached pods, and without a policy nothing is read.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence

from vacate.api.events import NORMAL, EventNote, regarding
from vacate.api.kinds import DESCHEDULINGPOLICIES, NODES, PODS
from vacate.api.times import after
from vacate.api.types import Node, Pod
from vacate.api.types.deschedulingpolicy import EVICT, WAITING, DeschedulingPolicy
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.informer import Informer
from vacate.descheduling.names import policy_of, requester_of
from vacate.descheduling.plan import Decision, DeschedulingPlan, plan_descheduling
from vacate.descheduling.report import limits_of, policy_status, scope_of
from vacate.errors import ApiError, ConfigError, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import (
    checked_served,
    dialect_for,
    dialect_of,
    dialect_of_kind,
    served_dialects,
)
from vacate.eviction.registration import registering_part
from vacate.kube.patches import merge_status_patch
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.podrequests import request_by_any
from vacate.runtime.reconcile import EARLY_SECONDS, MAX_RETRY_SECONDS, Done, Key, Later, Outcome
from vacate.sdk.errors import CancellationForbidden, HeldByFinalizers
from vacate.sdk.requesters.requester import Requester

QUEUE = "deschedulingpolicies"
MIN_PAUSE = 5.0
"""Seconds between two looks of one policy, whatever happens."""

CACHE_LAG = 30.0
"""A request that was made counts for so many seconds, though the cache does not show it."""

WORKERS = 2
_SIDE_BY_SIDE = 8
_REQUESTED = "descheduling-requester"


def build(deps: Dependencies) -> Controller:
    """The controller, woken by policies, nodes that change, and the end of requests and pods that count."""
    view = DeschedulingCaches(deps)
    descheduling = Descheduling(deps, view)
    return Controller(
        QUEUE,
        descheduling,
        (
            Source(view.policies),
            Source(view.nodes, keys=view.of_node, when=node_matters),
            *(
                Source(requests, keys=descheduling.of_request, when=_request_matters)
                for requests in view.requests.values()
            ),
            Source(view.pods, keys=descheduling.of_pod, when=lambda _, new: new is None or new.terminal),
        ),
        deps,
        workers=WORKERS,
        refusals_on=view.policies,
    )


class DeschedulingCaches:
    """The caches, as the controller asks them."""

    def __init__(self, deps: Dependencies) -> None:
        informers = deps.informers
        self.policies = informers.informer(DESCHEDULINGPOLICIES, DeschedulingPolicy)
        self.nodes = informers.informer(NODES, Node)
        self.pods = informers.informer(PODS, Pod)
        self.requests: Mapping[Dialect, Informer[EvictionRequest]] = {
            dialect: informers.requests(dialect, indexes={_REQUESTED: _requesting})
            for dialect in served_dialects(deps.gates)
        }

    def has(self, pod: Pod) -> bool:
        """Whether the pod is in the cache, which will show its end then."""
        found = self.pods.reader.get(pod.metadata.namespace, pod.metadata.name)
        return found is not None and found.metadata.uid == pod.metadata.uid

    def open_request(self, pod: Pod) -> EvictionRequest | None:
        """The open request for this very pod, by whichever API."""
        found = request_by_any(self.requests, pod)
        if found is None or found.complete or found.pod_uid != pod.metadata.uid:
            return None
        return found

    def requested(self, policy: str) -> list[EvictionRequest]:
        """The open requests that carry the name of a policy."""
        return [
            request
            for dialect, informer in self.requests.items()
            for request in informer.reader.by_index(_REQUESTED, requester_of(policy, dialect))
            if not request.complete
        ]

    def of_request(self, request: EvictionRequest) -> Iterable[Key]:
        """The policies whose names are on the request; a name that was cut stands for whose it is."""
        dialect, policies = dialect_of(request), [one.metadata.name for one in self.policies.reader.list()]
        for requester in _requesting(request):
            known = [name for name in policies if requester_of(name, dialect) == requester]
            yield from (Key("", name) for name in known or [policy_of(requester)])

    def of_node(self, _node: Node) -> Iterable[Key]:
        """A node that changes may concern every policy."""
        return [Key("", one.metadata.name) for one in self.policies.reader.list()]


def _requesting(request: EvictionRequest) -> Iterable[str]:
    return [one.name for one in request.spec.requesters if policy_of(one.name)]


def _awaited(plan: DeschedulingPlan, pods: Sequence[Pod], requested: Mapping[str, bool]) -> set[str]:
    """The pods on their way that take up room under the limits, or that the policy wants gone too."""
    others = {uid for uid in plan.misplaced if requested.get(uid) is False}
    if not any(one.state == WAITING for one in plan.decisions):
        return others
    return others | requested.keys() | {pod.metadata.uid for pod in pods if pod.terminating}


def _request_matters(old: EvictionRequest | None, new: EvictionRequest | None) -> bool:
    """Whether room under the limits may have come, or a policy is gone: progress does not matter."""
    return old is None or new is None or old.complete != new.complete


def node_matters(old: Node | None, new: Node | None) -> bool:
    """Whether pods may stand wrong, or have somewhere to go: most changes are heartbeats."""
    if old is None or new is None:
        return True
    return (
        old.metadata.labels != new.metadata.labels
        or old.spec != new.spec
        or old.status.allocatable != new.status.allocatable
    )


class Descheduling:
    """Reconciles a policy with the pods of the cluster."""

    def __init__(self, deps: Dependencies, view: DeschedulingCaches) -> None:
        self._deps = deps
        self._view = view
        # Moments on the monotonic clock: one that is set must not keep a policy from looking.
        self._looked: dict[str, float] = {}
        self._made: dict[str, dict[str, float]] = {}  # by policy and UID: requests of a moment ago
        self._refused: dict[str, dict[str, str]] = {}
        # By policy: the pods whose end, or that of the requests for them, is waited for.
        self._awaited: dict[str, set[str]] = {}

    def of_request(self, request: EvictionRequest) -> Iterable[Key]:
        """The policies whose names are on the request, and those that wait for its end."""
        return dict.fromkeys((*self._view.of_request(request), *self._awaiting(request.pod_uid)))

    def of_pod(self, pod: Pod) -> Iterable[Key]:
        """The policies that wait for the pod to end."""
        return self._awaiting(pod.metadata.uid)

    def _awaiting(self, uid: str) -> list[Key]:
        return [Key("", name) for name, awaited in self._awaited.items() if uid in awaited]

    async def reconcile(self, key: Key) -> Outcome:
        """One look."""
        policy = self._view.policies.reader.get("", key.name)
        if policy is None or policy.metadata.deletion_timestamp is not None:
            # Without a finalizer: the requests themselves say in whose name they were made.
            await self._withdraw(key.name, self._view.requested(key.name))
            for memory in (self._looked, self._made, self._refused, self._awaited):
                memory.pop(key.name, None)
            return Done()
        now, last = self._deps.clock.monotonic(), self._looked.get(key.name)
        if last is not None and now - last < MIN_PAUSE - EARLY_SECONDS:
            return self._later(last + MIN_PAUSE - now)
        self._looked[key.name] = now
        missed = await self._look(policy, now)
        seconds = MIN_PAUSE if missed else float(max(policy.spec.interval_seconds, 1))
        if self._refused.get(key.name):  # no watch shows that a policy or a webhook is no longer in the way
            seconds = min(seconds, MAX_RETRY_SECONDS)
        return self._later(max(seconds + now - self._deps.clock.monotonic(), 0.0))

    def _later(self, seconds: float) -> Later:
        return Later(after(self._deps.clock.now(), seconds))

    async def _look(self, policy: DeschedulingPolicy, now: float) -> bool:
        """Whether something that is waited for was gone before it was waited for."""
        name = policy.metadata.name
        pods = await self._pods()
        own = self._view.requested(name)
        requested = self._open(name, pods, now)
        plan = plan_descheduling(
            scope_of(policy), limits_of(policy), self._view.nodes.reader.list(), pods, requested
        )
        awaited = self._awaited[name] = _awaited(plan, pods, requested)
        missed = any(pod.metadata.uid in awaited and not self._view.has(pod) for pod in pods)
        evicts = policy.spec.mode == EVICT
        wanted = plan.misplaced if evicts else set()
        there = {pod.metadata.uid for pod in pods if not pod.terminating}
        stale = [one for one in own if one.pod_uid not in wanted and one.pod_uid in there]
        await self._withdraw(name, stale)
        if evicts:
            await self._request(policy, plan.request, now)
        refused = self._refused.get(name, {})
        status = policy_status(policy, plan, refused)
        patch = merge_status_patch(policy.metadata, policy.status, status)
        if patch is not None:
            with contextlib.suppress(NotFound):
                await self._deps.client.patch(DESCHEDULINGPOLICIES, name, patch, subresource="status")
        return missed

    async def _pods(self) -> list[Pod]:
        pages = self._deps.client.pages(PODS, into=Pod)
        return [pod async for page in pages for pod in page.items if not pod.terminal]

    def _open(self, name: str, pods: Sequence[Pod], now: float) -> dict[str, bool]:
        """By the UID of the pod: open requests, and whether they are in the policy's name."""
        made = self._made.setdefault(name, {})
        for uid in [uid for uid, at in made.items() if now - at >= CACHE_LAG]:
            del made[uid]
        found = dict.fromkeys(made, True)
        for pod in pods:
            if (request := self._view.open_request(pod)) is not None:
                own = requester_of(name, dialect_of(request))
                found[pod.metadata.uid] = any(one.name == own for one in request.spec.requesters)
        return found

    async def _request(self, policy: DeschedulingPolicy, decisions: Sequence[Decision], now: float) -> None:
        """Request the evictions. A refusal harms only one, and is tried again at the next look."""
        spec, name = policy.spec, policy.metadata.name
        # A new request only: pods that are on their way already count for the limits, and are not requested.
        preferred, served = dialect_of_kind(spec.request_kind), tuple(self._view.requests)
        refused: dict[str, str] = {}
        room = asyncio.Semaphore(_SIDE_BY_SIDE)

        async def one(decision: Decision) -> None:
            pod = decision.violation.pod
            reason = spec.reason or f"{decision.violation.rule}: {decision.violation.message}"
            async with room:
                try:
                    dialect = dialect_for(registering_part(pod), served, checked_served(preferred, served))
                    seconds = spec.heartbeat_deadline_seconds if dialect.sets_deadline else None
                    requester = self._requester(name, dialect)
                    await requester.request(pod, reason=reason, deadline_seconds=seconds)
                except NotFound:
                    return  # the pod is gone
                except (ApiError, ConfigError, HeldByFinalizers) as error:
                    if isinstance(error, ApiError) and not error.is_refusal:
                        raise
                    refused[pod.metadata.uid] = str(error)
                    return
            self._made.setdefault(name, {})[pod.metadata.uid] = now
            text = f"Requested the eviction of pod {pod.metadata.namespace}/{pod.metadata.name}: {reason}."
            self._deps.recorder.record(
                EventNote(regarding(DESCHEDULINGPOLICIES, policy), NORMAL, "EvictionRequested", text[:1024])
            )

        ends = await asyncio.gather(*(one(each) for each in decisions), return_exceptions=True)
        self._refused[name] = refused
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    async def _withdraw(self, name: str, requests: Sequence[EvictionRequest]) -> None:
        """Take the policy's name out of requests, as far as interceptors allow it."""
        for request in requests:
            with contextlib.suppress(CancellationForbidden):
                await self._requester(name, dialect_of(request)).withdraw(request)
            self._made.get(name, {}).pop(request.pod_uid, None)

    def _requester(self, policy: str, dialect: Dialect) -> Requester:
        deps, name = self._deps, requester_of(policy, dialect)
        return Requester(deps.client, name, clock=deps.clock, entropy=deps.entropy, dialect=dialect)
