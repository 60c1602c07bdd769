"""The pods of a maintenance: their evictions requested and withdrawn, or the pods deleted.

Every method can be repeated after a crash: what is done is seen and not done again.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

from vacate.api.kinds import PODS
from vacate.api.options import DeleteOptions
from vacate.api.terminationreason import EVICTION
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import PRIORITY, NodeMaintenance
from vacate.client import requests
from vacate.client.codec import codec_for
from vacate.controllers.nodemaintenance.attempts import Attempt, WriteAttempts
from vacate.controllers.nodemaintenance.caches import MaintenanceCaches
from vacate.controllers.nodemaintenance.concurrency import for_each, remembered
from vacate.errors import (
    AlreadyExists,
    ApiError,
    ConfigError,
    Conflict,
    Invalid,
    NotFound,
)
from vacate.eviction.attempts import why_refused
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import checked_served, dialect_of
from vacate.eviction.dialects.registry import dialect_for as dialect_for_pod
from vacate.eviction.registration import registering_part
from vacate.maintenance.model import MaintenancePlan
from vacate.maintenance.names import dialect_for, requester_of
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.errors import CancellationForbidden, HeldByFinalizers
from vacate.sdk.requesters.requester import Requester


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """What could not be taken back, by pod: what an interceptor forbids, and what the server refused."""

    kept: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class Evictions:
    """What the controller writes about pods, in the name of a maintenance."""

    def __init__(self, deps: Dependencies, view: MaintenanceCaches) -> None:
        self._deps = deps
        self._view = view

    async def request(
        self, maintenance: NodeMaintenance, pods: Sequence[Pod], attempts: WriteAttempts
    ) -> None:
        """Request the evictions that are due. A refusal of one harms only that one; it is tried again."""
        now = self._deps.clock.now()
        if maintenance.spec.order != PRIORITY:
            due = [pod for pod in pods if attempts.due(pod, now) is None]
            return await self._request_all(maintenance, due, attempts, now)
        for tier in attempts.due_by_tier(pods, now):
            await self._request_all(maintenance, tier, attempts, now)
        return None

    async def _request_all(
        self, maintenance: NodeMaintenance, pods: Sequence[Pod], attempts: WriteAttempts, now: dt.datetime
    ) -> None:
        async def one(pod: Pod) -> None:
            before = attempts.by_pod.get(pod.metadata.uid)
            attempt = Attempt(now, before.count + 1 if before else 1)
            try:
                attempt.request = await self._request(maintenance, pod)
            except NotFound:
                return  # the pod is gone, and its informer will say so
            except ApiError as error:
                attempt.refused, attempt.unclear = str(error), not error.is_refusal
            except (ConfigError, HeldByFinalizers) as error:
                attempt.refused = str(error)
            attempts.by_pod[pod.metadata.uid] = attempt

        await for_each(pods, one)

    async def _request(self, maintenance: NodeMaintenance, pod: Pod) -> EvictionRequest:
        """One call where the caches are right, which is mostly so; else the requester reads what is there.

        A request that goes on is joined, by whichever API it was made: a pod has one. A new one is made by
        the API that the maintenance names, or by that of evacuators where the pod registers no others.
        """
        reason = maintenance.spec.reason
        found = self._view.request_for(pod)
        goes_on = found is not None and not found.complete
        dialect = dialect_of(found) if found is not None and goes_on else dialect_for(maintenance)
        if not goes_on:
            served = tuple(self._view.requests)
            dialect = dialect_for_pod(registering_part(pod), served, checked_served(dialect, served))
        requester = self._requester(maintenance.metadata.name, dialect)
        seconds = maintenance.spec.heartbeat_deadline_seconds if dialect.sets_deadline else None
        if found is None:
            own = dialect.for_requester(requester.name)
            made = own.new_request(pod, requester.name, reason, seconds)
            try:
                answer = await self._deps.client.send(requests.create(own.kind, made))
                return own.read(codec_for(own.wire).decode(answer))
            except (AlreadyExists, Conflict, NotFound) as error:
                if error.is_refusal:  # a webhook's, which may have any code
                    raise
            except Invalid:
                pass  # the cache may be behind: the requester looks at the server
        return await requester.request(pod, reason=reason, deadline_seconds=seconds)

    async def withdraw(self, name: str, made: Sequence[EvictionRequest]) -> Withdrawn:
        """Take the maintenance's name out of requests."""
        result = Withdrawn()

        async def one(request: EvictionRequest) -> None:
            pod = f"{request.metadata.namespace}/{request.pod_name or request.metadata.name}"
            try:
                with remembered(result.refused, pod):
                    await self._requester(name, dialect_of(request)).withdraw(request)
            except CancellationForbidden as error:
                result.kept[pod] = str(error)

        await for_each(made, one)
        return result

    async def delete(self, plan: MaintenancePlan, attempts: WriteAttempts) -> list[Pod]:
        """Delete pods, these and no others of their names; those that the API server has deleted now.

        Past a request only where the server itself still has it: the cache may be behind.
        """
        refused: dict[str, str] = {}
        deleted: list[Pod] = []

        async def one(pod: Pod) -> None:
            meta = pod.metadata
            with remembered(refused, meta.uid), contextlib.suppress(Conflict):
                if meta.uid in plan.pinned and not (meta.uid in plan.overdue or await self._is_held(pod)):
                    return  # another request can be made
                options = DeleteOptions(uid=meta.uid, reason=EVICTION)
                await self._deps.client.delete(PODS, meta.name, meta.namespace, options)
                deleted.append(pod)

        await for_each(plan.delete, one)
        attempts.deletions = refused
        return deleted

    async def evict(self, pods: Sequence[Pod], attempts: WriteAttempts) -> list[Pod]:
        """Evict pods by the eviction API, within their budgets; those whose eviction was accepted now."""
        now = self._deps.clock.now()
        accepted: list[Pod] = []

        async def one(pod: Pod) -> None:
            meta = pod.metadata
            before = attempts.evictions.get(meta.uid)
            attempt = Attempt(now, before.count + 1 if before else 1)
            try:
                if not await self._is_held(pod):
                    attempts.evictions[meta.uid] = attempt
                    return  # only the cache shows it; another request can be made
                await self._deps.client.evict(meta.name, meta.namespace, DeleteOptions(uid=meta.uid))
                accepted.append(pod)
            except (NotFound, Conflict):
                pass  # another pod has the name, or it is just being changed
            except ApiError as error:
                attempt.refused = why_refused(error)
            attempts.evictions[meta.uid] = attempt

        await for_each(pods, one)
        return accepted

    async def _is_held(self, pod: Pod) -> bool:
        """Whether the server itself still has the request that is over: the cache may be behind."""
        found = self._view.request_for(pod)
        if found is None:
            return False
        dialect, meta = dialect_of(found), found.metadata
        try:
            live = await self._deps.client.get(dialect.kind, meta.name, meta.namespace, into=dialect.wire)
        except NotFound:
            return False
        return bool(live.metadata.uid == meta.uid)

    def _requester(self, maintenance: str, dialect: Dialect) -> Requester:
        deps, name = self._deps, requester_of(maintenance, dialect)
        return Requester(deps.client, name, clock=deps.clock, entropy=deps.entropy, dialect=dialect)
