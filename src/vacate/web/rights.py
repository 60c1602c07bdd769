"""PURE. Which rights an action needs: those of the API in which its command would act, as far as is known.

The API server is asked about these. The command decides which API it uses by the requests that go on, by
whom the pod registers, and by what the cluster serves; here the same is read from the caches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vacate.api.kinds import NODEMAINTENANCES, NODES, PODS, Kind
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import dialect_for, dialect_of
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import shown_stage
from vacate.eviction.registration import registering_part
from vacate.maintenance.claims import claims_of
from vacate.maintenance.names import requester_of
from vacate.web.actions import (
    CANCEL,
    CANCEL_DRAIN,
    DRAIN,
    EVICT,
    RETRY,
    RETRY_DRAIN,
    UNCORDON,
    Action,
    Right,
)
from vacate.web.snapshot import Snapshot

_MAX_ASKED = 20
_FIXED = {
    DRAIN.name: (Right("create", NODEMAINTENANCES),),
    CANCEL_DRAIN.name: (Right("delete", NODEMAINTENANCES),),
}


@dataclass(frozen=True, slots=True)
class Needs:
    """The rights, and why there may be others: what decides about them cannot be read."""

    rights: tuple[Right, ...]
    unknown: str = ""


def needs(action: Action, names: Mapping[str, str], snapshot: Snapshot) -> Needs:
    """What the action needs."""
    if action.name in _FIXED:
        return Needs(_FIXED[action.name])
    if action is UNCORDON:
        return _of_uncordon(names["node"], snapshot)
    unknown = snapshot.hidden(EVICTION_REQUEST.kind.plural)
    if action is RETRY_DRAIN:
        pushed = [one for one in snapshot.open_requests if _is_blocked(one, names["drain"])]
        found = [right for one in pushed for right in _of_requests("patch", one.kind, one.metadata.namespace)]
        return Needs((Right("patch", NODEMAINTENANCES), *_distinct(found)), unknown)
    namespace, name = names["namespace"], names["pod"]
    request = snapshot.request_about(namespace, name)
    going = request if request is not None and not request.complete else None
    if action is RETRY:
        kind = going.kind if going is not None else EVICTION_REQUEST.kind
        return Needs(_of_requests("patch", kind, namespace), unknown)
    unknown = unknown or snapshot.hidden(PODS.plural)
    own = _dialect(snapshot, namespace, name, going).for_requester("").kind
    if action is CANCEL:
        return Needs(_of_requests("patch", own, namespace), unknown)
    assert action is EVICT
    if going is not None and own.custom:  # one joins it
        return Needs(_of_requests("patch", own, namespace), unknown)
    found = [*_of_requests("create", own, namespace)]
    pod = snapshot.pod(namespace, name)
    over = request is not None and pod is not None and request.pod_uid == pod.metadata.uid
    if over and own.custom:  # it makes room for the new one
        found.append(Right("delete", own, namespace))
    return Needs(tuple(found), unknown)


def _dialect(snapshot: Snapshot, namespace: str, name: str, going: EvictionRequest | None) -> Dialect:
    """As `vacate evict` chooses it."""
    if going is not None:
        return dialect_of(going)
    pod, preferred = snapshot.pod(namespace, name), snapshot.preferred
    return dialect_for(registering_part(pod), snapshot.apis, preferred) if pod is not None else preferred


def _of_requests(verb: str, kind: Kind, namespace: str) -> tuple[Right, ...]:
    """Who writes a request of a kind of our own must also be allowed to delete the pod."""
    own = (Right("delete", PODS, namespace),) if kind.custom else ()
    return Right(verb, kind, namespace), *own


def _of_uncordon(name: str, snapshot: Snapshot) -> Needs:
    """The node is taken out of the drains that hold it; their controller uncordons what it has cordoned."""
    node = snapshot.node(name)
    if node is None:
        return Needs((Right("patch", NODES),), snapshot.hidden(NODES.plural))
    claims, found = claims_of(node), []
    for holder in claims.by:
        drain = snapshot.maintenance(holder)
        if drain is not None:
            rest = any(one != name for one in drain.spec.nodes)
            found.append(Right("patch" if rest else "delete", NODEMAINTENANCES))
    if not (claims.by and claims.cordoned):
        found.append(Right("patch", NODES))
    return Needs(_distinct(found), snapshot.hidden(NODEMAINTENANCES.plural) if claims.by else "")


def _is_blocked(request: EvictionRequest, drain: str) -> bool:
    own = requester_of(drain, dialect_of(request))
    wanted = any(one.name == own for one in request.spec.requesters)
    return wanted and shown_stage(request) is Stage.BLOCKED


def _distinct(found: Iterable[Right]) -> tuple[Right, ...]:
    kept: Sequence[Right] = list(dict.fromkeys(found))
    return tuple(kept[:_MAX_ASKED])
