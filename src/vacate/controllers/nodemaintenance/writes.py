"""What was decided, done: guarded patches of nodes, requests, deletions; and the same taken back.

Every method can be repeated after a crash: what is done is seen and not done again.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from vacate.api.kinds import NODEMAINTENANCES, NODES, PODS
from vacate.api.types import Node, Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.client import requests
from vacate.client.codec import codec_for
from vacate.client.requests import STRATEGIC_PATCH
from vacate.controllers.nodemaintenance import events
from vacate.controllers.nodemaintenance.view import View
from vacate.errors import (
    AlreadyExists,
    ApiError,
    ConfigError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
)
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import dialect_of
from vacate.maintenance.claims import claim_patch, claims_of, release_patch
from vacate.maintenance.names import FINALIZER, dialect_for, requester_of
from vacate.maintenance.plan import wants_taint
from vacate.maintenance.pods import pods_left
from vacate.maintenance.report import node_conditions_patch
from vacate.runtime.dependencies import Deps
from vacate.sdk.errors import CancellationForbidden, HeldByFinalizers
from vacate.sdk.requesters.requester import Requester

SIDE_BY_SIDE = 8
"""Requests and withdrawals under way: more of them open more connections and end no sooner."""

CACHE_LAG = dt.timedelta(seconds=30)
"""A request that was made is taken as made for so long, though the cache does not show it."""

FIRST_PAUSE, MAX_PAUSE = 1.0, 60.0
"""Seconds between two requests for one pod, when another client deletes the first or it is refused."""

_PASSING = (ServiceUnavailable, Timeout, TooManyRequests, Conflict)
T = TypeVar("T")


@dataclass(slots=True)
class Attempt:
    """A request that was made for a pod: when, how often, and why it was refused."""

    at: dt.datetime
    count: int = 1
    refused: str = ""
    request: EvictionRequest | None = None


@dataclass(slots=True)
class Attempts:
    """What this process remembers of one maintenance. Losing it costs a few requests, and nothing else."""

    by_pod: dict[str, Attempt] = field(default_factory=dict)
    claimed: set[str] = field(default_factory=set)  # the nodes that carried the claim at the last look
    empty: set[str] = field(default_factory=set)  # nodes on which the API server has shown no pods left

    def due(self, pod: Pod, now: dt.datetime) -> dt.datetime | None:
        """When the pod may be requested again; None where at once."""
        found = self.by_pod.get(pod.metadata.uid)
        if found is None:
            return None
        pause = min(FIRST_PAUSE * 2.0 ** min(found.count - 1, 10), MAX_PAUSE)
        due = found.at + dt.timedelta(seconds=pause)
        return due if due > now else None

    def made(self, pod: Pod, now: dt.datetime) -> EvictionRequest | None:
        """The request that was just made for the pod, which the cache may not show yet."""
        found = self.by_pod.get(pod.metadata.uid)
        return found.request if found is not None and now - found.at < CACHE_LAG else None

    def refused(self) -> dict[str, str]:
        """By the UID of the pod: why its last request was refused."""
        return {uid: one.refused for uid, one in self.by_pod.items() if one.refused}

    def keep(self, uids: set[str]) -> None:
        """Forget all other pods."""
        self.by_pod = {uid: one for uid, one in self.by_pod.items() if uid in uids}


class Writes:
    """Everything that the controller writes."""

    def __init__(self, deps: Deps, view: View) -> None:
        self._deps = deps
        self._view = view

    async def add_finalizer(self, maintenance: NodeMaintenance) -> None:
        """So that nothing is done that could not be undone."""
        meta = maintenance.metadata
        names = [*meta.finalizers, FINALIZER]
        await self._patch_finalizers(maintenance, names)

    async def remove_finalizer(self, maintenance: NodeMaintenance) -> None:
        """All is undone."""
        names = [one for one in maintenance.metadata.finalizers if one != FINALIZER]
        with contextlib.suppress(NotFound):
            await self._patch_finalizers(maintenance, names)

    async def exists(self, name: str) -> bool:
        """Whether the server knows the maintenance. The cache may be behind it."""
        try:
            await self._deps.client.get(NODEMAINTENANCES, name)
        except NotFound:
            return False
        return True

    async def goes_on(self, maintenance: NodeMaintenance) -> bool:
        """Whether the server knows it still, and nobody has deleted it."""
        meta = maintenance.metadata
        try:
            found = await self._deps.client.get(NODEMAINTENANCES, meta.name, into=NodeMaintenance)
        except NotFound:
            return False
        return found.metadata.uid == meta.uid and found.metadata.deletion_timestamp is None

    async def claim(self, maintenance: NodeMaintenance, nodes: Sequence[Node]) -> dict[str, str]:
        """Cordon the nodes and record it; by node, why the API server refused that for good."""
        refused: dict[str, str] = {}
        meta, taint = maintenance.metadata, wants_taint(maintenance)

        async def one(node: Node) -> None:
            patch = claim_patch(node, meta.name, meta.uid, taint=taint, known=self._view.exists)
            if patch is None:
                return
            try:
                await self._deps.client.patch(NODES, node.metadata.name, patch)
            except (Forbidden, Invalid) as error:  # no right, or an admission webhook of others
                refused[node.metadata.name] = str(error)
                return
            if not node.spec.unschedulable:
                self._deps.recorder.record(events.node_cordoned(node, meta.name))

        await self._each(nodes, one)
        return refused

    async def release(self, name: str, nodes: Sequence[Node]) -> bool:
        """Take back the claim; whether anything was written."""

        async def one(node: Node) -> bool:
            patch = release_patch(node, name, known=self._view.exists)
            if patch is None:
                return False
            with contextlib.suppress(NotFound):
                if not [one for one in claims_of(node).by if one != name]:
                    # Before the claim goes: after a crash in between, the claim has it done again.
                    await self._show(node, [])
                await self._deps.client.patch(NODES, node.metadata.name, patch)
                free = "unschedulable" in patch.get("spec", {})
                self._deps.recorder.record(events.node_released(node, name, uncordoned=free))
            return True

        return any(await self._each(nodes, one))

    async def request(self, maintenance: NodeMaintenance, pods: Sequence[Pod], attempts: Attempts) -> None:
        """Request the evictions. A refusal of one harms only that one; it is remembered and tried again."""
        now = self._deps.clock.now()

        async def one(pod: Pod) -> None:
            before = attempts.by_pod.get(pod.metadata.uid)
            attempt = Attempt(now, before.count + 1 if before else 1)
            try:
                attempt.request = await self._request(maintenance, pod)
            except NotFound:
                return  # the pod is gone, and its informer will say so
            except _PASSING:
                raise
            except (ApiError, ConfigError, HeldByFinalizers) as error:
                attempt.refused = str(error)
            attempts.by_pod[pod.metadata.uid] = attempt

        await self._each(pods, one)

    async def _request(self, maintenance: NodeMaintenance, pod: Pod) -> EvictionRequest:
        """One call where the caches are right, which is mostly so; else the requester reads what is there.

        A request that goes on is joined, by whichever API it was made: a pod has one. A new one is made by
        the API that the maintenance names.
        """
        reason, seconds = maintenance.spec.reason, maintenance.spec.heartbeat_deadline_seconds
        found = self._view.request_for(pod)
        goes_on = found is not None and not found.complete
        dialect = dialect_of(found) if found is not None and goes_on else dialect_for(maintenance)
        if dialect not in self._view.requests:
            raise ConfigError(
                f"{dialect.kind.plural} are not served: open the feature gate {dialect.kind.gate}, or set "
                f"requestKind: {next(iter(self._view.requests)).kind.kind}"
            )
        requester = self._requester(maintenance.metadata.name, dialect)
        if found is None:
            made = dialect.new_request(pod, requester.name, reason, seconds)
            with contextlib.suppress(AlreadyExists, Conflict, Invalid, NotFound):
                answer = await self._deps.client.send(requests.create(dialect.kind, made))
                return dialect.read(codec_for(dialect.wire).decode(answer))
        return await requester.request(pod, reason=reason, deadline_seconds=seconds)

    async def withdraw(self, name: str, made: Sequence[EvictionRequest]) -> dict[str, str]:
        """Take the maintenance's name out of requests; by pod, why some could not be taken back."""
        kept: dict[str, str] = {}

        async def one(request: EvictionRequest) -> None:
            ref = request.spec.target.pod_ref
            try:
                await self._requester(name, dialect_of(request)).withdraw(request)
            except CancellationForbidden as error:
                pod = ref.name if ref else request.metadata.name
                kept[f"{request.metadata.namespace}/{pod}"] = str(error)

        await self._each(made, one)
        return kept

    async def delete(self, pods: Sequence[Pod]) -> None:
        """Delete pods, these and no others of their names."""

        async def one(pod: Pod) -> None:
            meta = pod.metadata
            with contextlib.suppress(NotFound, Conflict):
                await self._deps.client.delete(PODS, meta.name, meta.namespace, uid=meta.uid)

        await self._each(pods, one)

    async def nodes_with_pods(self, maintenance: NodeMaintenance, nodes: Sequence[str]) -> set[str]:
        """Those of the nodes on which the API server itself has pods left that are to be evicted.

        An administrator switches a drained machine off, and the cache may be behind by as long as its watch
        was cut: a node is not reported as drained on its word alone.
        """

        async def left_on(node: str) -> bool:
            found = await self._deps.client.list(PODS, field_selector=f"spec.nodeName={node}", into=Pod)
            return bool(pods_left(found.items, maintenance.spec.pods))

        left = await self._each(nodes, left_on)
        return {node for node, has_pods in zip(nodes, left, strict=True) if has_pods}

    async def show_on_nodes(self, nodes: Sequence[Node]) -> None:
        """Write the conditions of nodes, from what all maintenances that claim them report."""

        async def one(node: Node) -> None:
            newest = self._view.node(node.metadata.name) or node
            with contextlib.suppress(NotFound):
                await self._show(newest, self._phases(newest))

        await self._each(nodes, one)

    async def _show(self, node: Node, phases: Sequence[str]) -> None:
        patch = node_conditions_patch(node, phases, self._deps.clock.now())
        if patch is not None:
            await self._deps.client.patch(
                NODES, node.metadata.name, patch, patch_type=STRATEGIC_PATCH, subresource="status"
            )

    def _phases(self, node: Node) -> list[str]:
        found = []
        for name in claims_of(node).by:
            one = self._view.maintenance(name)
            if one is not None:
                found += [row.phase for row in one.status.nodes if row.name == node.metadata.name]
        return found

    def _requester(self, maintenance: str, dialect: Dialect) -> Requester:
        deps, name = self._deps, requester_of(maintenance, dialect)
        return Requester(deps.client, name, clock=deps.clock, entropy=deps.entropy, dialect=dialect)

    async def _patch_finalizers(self, maintenance: NodeMaintenance, names: list[str]) -> None:
        meta = maintenance.metadata
        patch = {"metadata": {"resourceVersion": meta.resource_version, "finalizers": names}}
        await self._deps.client.patch(NODEMAINTENANCES, meta.name, patch)

    async def _each(self, items: Sequence[T], do: Callable[[T], Awaitable[R]]) -> list[R]:
        """Some side by side. Where some fail the others are finished first; the first failure is raised."""
        room = asyncio.Semaphore(SIDE_BY_SIDE)

        async def one(item: T) -> R:
            async with room:
                return await do(item)

        ends = await asyncio.gather(*(one(item) for item in items), return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        return [end for end in ends if not isinstance(end, BaseException)]


R = TypeVar("R")
