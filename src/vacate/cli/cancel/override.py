"""The administrator's way out: every requester removed, and Forbid undone where it is in the way."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import ALLOW, EvictionRequest
from vacate.cli.common.connection import Cluster
from vacate.cli.common.events import OVERRIDDEN, note
from vacate.cli.identity import cluster_user
from vacate.client.codec import codec_for
from vacate.errors import Conflict, VacateError
from vacate.eviction.dialects.registry import dialect_of
from vacate.kube.patches import guarded
from vacate.views.phrases import listed

STAYS = "is not evicted:"
_ATTEMPTS = 20


async def override(cluster: Cluster, request: EvictionRequest, requester: str) -> str:
    """Remove every requester; what was done, as the rest of a sentence that begins with the pod."""
    overriding = Overriding(cluster, request)
    try:
        await overriding.run()
    finally:
        noted = await overriding.note(await _user(cluster, requester))
    first = "the interceptor's Forbid was set to Allow, and " if overriding.allowed else ""
    last = "" if noted else "; no Event could be written about it"
    phrase = dialect_of(request).phrase
    return f"{STAYS} {phrase(f'{first}all requesters')} were removed ({overriding.removed or 'none'}){last}"


class Overriding:
    """One request that is cancelled for all requesters, and what is done so far."""

    def __init__(self, cluster: Cluster, request: EvictionRequest) -> None:
        self._cluster = cluster
        self._request = request
        self.allowed = False  # whether Forbid was set and is undone
        self._names: list[str] = []
        self._are_all = False

    @property
    def removed(self) -> str:
        """Whose names are removed so far."""
        return listed(self._names)

    async def run(self) -> None:
        """Do it, however others write meanwhile; VacateError where it cannot be done."""
        for _ in range(_ATTEMPTS):
            try:
                return await self._once()
            except Conflict:
                self._request = await _read(self._cluster, self._request)
            if self._request.complete:
                raise VacateError(f"it is too late: {self._request.status.message}")
        raise VacateError("the request changes too quickly; try again")

    async def note(self, who: str) -> bool:
        """Say by an Event who has done what, also where it was not all; whether that was possible."""
        whom = f"{dialect_of(self._request).terms.requester}s"
        whom = f"all {whom}" if self._are_all else whom
        removed = f"removed {whom} ({self.removed})" if self.removed else ""
        allowed = "set the cancellation policy from Forbid to Allow" if self.allowed else ""
        done = " and ".join(part for part in (allowed, removed) if part)
        if not done:
            return True
        return await note(self._cluster, self._request, OVERRIDDEN, f"{who} {done}.", warning=True)

    async def _once(self) -> None:
        if self._request.forbids_cancellation:
            self._request = await _allow(self._cluster, self._request)
            self.allowed = True
        requests = await _requests_of_requesters(self._cluster, self._request)
        for one in (each for each in requests if each.spec.requesters):
            await _patch(self._cluster, one, dialect_of(one).requesters_patch(one, ()))
            self._names += [who.name for who in one.spec.requesters]
        self._are_all = True


async def _allow(cluster: Cluster, request: EvictionRequest) -> EvictionRequest:
    change = guarded(request.metadata, {"status": {"evictionRequestCancellationPolicy": ALLOW}})
    patch = dialect_of(request).status_patch(change, request, cluster.clock.now())
    return await _patch(cluster, request, patch, "status")


async def _requests_of_requesters(cluster: Cluster, request: EvictionRequest) -> list[EvictionRequest]:
    """The objects that requesters are on: the request itself, or those that each of them has."""
    own = dialect_of(request).for_requester("")
    if request.kind.custom or not request.pod_uid:
        return [request]
    found = (await cluster.client.list(own.kind, request.metadata.namespace, into=own.wire)).items
    wanted = [one for one in map(own.read, found) if one.spec.requesters]
    return [one for one in wanted if one.pod_uid == request.pod_uid]


async def _patch(
    cluster: Cluster, request: EvictionRequest, patch: Obj, subresource: str = ""
) -> EvictionRequest:
    meta, dialect = request.metadata, dialect_of(request)
    changed = await cluster.client.patch(
        dialect.kind, meta.name, patch, meta.namespace, subresource=subresource
    )
    return dialect.read(codec_for(dialect.wire).convert(changed))


async def _read(cluster: Cluster, request: EvictionRequest) -> EvictionRequest:
    meta, dialect = request.metadata, dialect_of(request)
    return dialect.read(await cluster.client.get(dialect.kind, meta.name, meta.namespace, into=dialect.wire))


async def _user(cluster: Cluster, requester: str) -> str:
    """The user as the server knows it; the requester's name where that is unknown."""
    return await cluster_user(cluster) or requester
