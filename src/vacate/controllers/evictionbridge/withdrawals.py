"""What becomes of a request whose callers stopped asking. No I/O."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import msgspec

from vacate.api.kinds import EVICTIONREQUESTS, LIFECYCLE_REQUESTS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.lifecycle import LifecycleRequest
from vacate.eviction.callers import CALLERS, POD_LABEL, callers_of, pod_owner, written_callers
from vacate.eviction.dialects.registry import dialect_of
from vacate.kube.patches import guarded


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The callers that are gone, or when to look again."""

    names: tuple[str, ...] = ()
    until: dt.datetime | None = None  # when the next caller counts as gone
    forbidden: bool = False  # an interceptor forbids cancellation: the request is looked at when that changes


def due_withdrawal(request: EvictionRequest, now: dt.datetime) -> Withdrawal:
    """Whose time is over. From an Evacuation that is being deleted all are withdrawn: they would hold it."""
    callers, dialect = callers_of(request.metadata.annotations), dialect_of(request)
    if dialect.requesters_hold and request.metadata.deletion_timestamp is not None:
        return Withdrawal(tuple(callers))
    gone = tuple(name for name, one in callers.items() if one.until <= now)
    until = min((one.until for one in callers.values() if one.until > now), default=None)
    return Withdrawal(gone, until, bool(gone) and dialect.fixes_requesters(request) and not request.complete)


def is_bridged(request: EvictionRequest | LifecycleRequest) -> bool:
    """Whether the bridge has written into the request."""
    return CALLERS in request.metadata.annotations


def withdrawal_patch(request: EvictionRequest, names: tuple[str, ...]) -> Obj:
    """One guarded change: names and records of these callers go.

    With the last caller the request belongs to its pod again, and is collected with it, at once where the
    pod is gone. `request` is read from the server: owners of others must be kept.
    """
    meta, ref = request.metadata, request.spec.target.pod_ref
    left = {name: one for name, one in callers_of(meta.annotations).items() if name not in names}
    changed: Obj = {"annotations": {CALLERS: written_callers(left)}}
    if not left and request.kind == EVICTIONREQUESTS:
        changed["labels"] = {POD_LABEL: None}
        if ref is not None and all(one.uid != ref.uid for one in meta.owner_references):
            kept = [msgspec.to_builtins(one) for one in meta.owner_references]
            changed["ownerReferences"] = [*kept, pod_owner(ref.name, ref.uid)]
    requesters = [one.name for one in request.spec.requesters]
    dialect = dialect_of(request)
    # One of lifecycle.k8s.io would ask for another eviction after one that has failed.
    fixed = request.complete and not dialect.requesters_hold and request.kind != LIFECYCLE_REQUESTS
    if fixed or not any(name in names for name in requesters):
        return guarded(meta, {"metadata": changed})
    patch = dialect.requesters_patch(request, [name for name in requesters if name not in names])
    return {**patch, "metadata": {**patch["metadata"], **changed}}
