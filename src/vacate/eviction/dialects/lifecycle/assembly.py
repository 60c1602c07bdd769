"""An Eviction and its EvictionRequests: what each says of the other, as values."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from vacate.api.kinds import LIFECYCLE_REQUESTS
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types.evictionrequest import (
    SHUTDOWN_DEADLINE,
    EvictionRequest,
    RequestCondition,
    Requester,
)
from vacate.api.types.lifecycle import (
    EVICTION,
    EVICTOR,
    EVICTOR_PRIORITY,
    FAILED,
    FINAL_CONDITIONS,
    MAX_REQUESTERS,
    TARGET_EVICTED,
    WITHDRAWN,
    EvictionRequester,
    LifecycleRequest,
    Reason,
    State,
    turn_order,
)
from vacate.api.types.meta import OwnerReference, condition
from vacate.eviction.dialects.lifecycle.requests import LifecycleRequestRecord
from vacate.eviction.dialects.lifecycle.translation import LifecycleRecord, has_begun
from vacate.eviction.requesternames import DIGEST, digest

NOT_BEGUN = "No controller has begun the eviction yet."
DUPLICATE = "Active Eviction already exists for the same target."
_NUMBER = re.compile(r"pod-(\d{1,9})-")
_MAX_NAME = 253


def eviction_name(number: int, pod_name: str) -> str:
    """What the next Eviction of a pod is called: of a name that is too long the end differs by pod."""
    name = f"pod-{number}-{pod_name}"
    if len(name) <= _MAX_NAME:
        return name
    return f"{name[: _MAX_NAME - DIGEST - 1].rstrip('-.')}-{digest(pod_name)}"


def next_number(names: Iterable[str]) -> int:
    """The number after those of the Evictions of pods of that name."""
    found = (_NUMBER.match(name) for name in names)
    return max((int(one[1]) for one in found if one), default=0) + 1


def requesters_of(
    known: Sequence[EvictionRequester], requests: Sequence[LifecycleRequest]
) -> list[EvictionRequester]:
    """Who requests the eviction, and who no longer does: those that are known first, then the oldest."""
    wanted: dict[str, str] = {one.name: WITHDRAWN for one in known}
    for one in sorted(requests, key=_precedence):
        wants = one.wants_eviction or wanted.get(one.spec.requester) == EVICTION
        wanted[one.spec.requester] = EVICTION if wants else WITHDRAWN
    listed = [EvictionRequester(name=name, intent=intent) for name, intent in wanted.items()]
    return listed[:MAX_REQUESTERS]


def _precedence(one: LifecycleRequest) -> tuple[bool, bool, str, str]:
    meta = one.metadata
    made = format_time(meta.creation_timestamp) if meta.creation_timestamp else ""
    return meta.deletion_timestamp is not None, one.spec.intent != EVICTION, made, meta.name


def concerning(found: Iterable[EvictionRequest], *, are_all: bool = False) -> list[EvictionRequest]:
    """What concerns pods, of all that there is: this is what people are shown, and what they act on.

    An Eviction with the requesters that its requests name now, which its status may not show yet; and one
    record for the requests of a pod whose Eviction has not begun. Requests of other APIs stay as they are.
    `are_all`: no request is missing, so that an Eviction without any is requested by nobody.
    """
    evictions: dict[str, list[LifecycleRecord]] = {}
    requests: dict[str, list[LifecycleRequestRecord]] = {}
    others: list[EvictionRequest] = []
    for one in found:
        if isinstance(one, LifecycleRecord):
            evictions.setdefault(one.pod_uid, []).append(one)
        elif isinstance(one, LifecycleRequestRecord):
            requests.setdefault(one.pod_uid, []).append(one)
        else:
            others.append(one)
    for uid, about in requests.items():
        if waiting := [one for one in about if _awaits_eviction(one, evictions.get(uid, ()))]:
            evictions[uid] = [one for one in evictions.get(uid, ()) if has_begun(one.eviction)]
            others.append(_joined(waiting))
    return [
        *(
            _as_requested(one, requests.get(uid, ())) if are_all or uid in requests else one
            for uid, those in evictions.items()
            for one in those
        ),
        *others,
    ]


def _awaits_eviction(request: LifecycleRequestRecord, evictions: Sequence[LifecycleRecord]) -> bool:
    """Whether a request is wanted, or was refused, and no Eviction says more about it."""
    if not request.spec.requesters or any(not one.complete and has_begun(one.eviction) for one in evictions):
        return False
    # One that was failed as a second one of its pod says nothing about the pod.
    ended = [one for one in evictions if one.complete and failure_of(one) != Reason.INVALID]
    return not ended or (not request.complete and all(failure_of(one) for one in ended))


def _joined(requests: Sequence[LifecycleRequestRecord]) -> LifecycleRequestRecord:
    """The requests for one pod as one, which has the name of the oldest."""
    those = [one for one in requests if not one.complete] or requests
    first = min(those, key=lambda one: _precedence(one.request))
    names = [one.name for one in requesters_of((), [one.request for one in those])]
    spec = msgspec.structs.replace(first.spec, requesters=[Requester(name=one) for one in names])
    if first.complete:
        return msgspec.structs.replace(first, spec=spec)
    awaited = condition(first.request.status.conditions, FAILED)
    why = (awaited.message if awaited is not None and awaited.status != "True" else "") or NOT_BEGUN
    status = msgspec.structs.replace(first.status, message=why)
    return msgspec.structs.replace(first, spec=spec, status=status)


def _as_requested(record: LifecycleRecord, requests: Sequence[LifecycleRequestRecord]) -> LifecycleRecord:
    """The Eviction with those who request it now."""
    if record.complete:
        return record
    now = requesters_of(record.eviction.requesters, [one.request for one in requests])
    names = [Requester(name=one.name) for one in now if one.intent == EVICTION]
    return msgspec.structs.replace(record, spec=msgspec.structs.replace(record.spec, requesters=names))


def labels_of(requesters: Iterable[str], responders: Iterable[str]) -> dict[str, str]:
    """The labels by which those who take part find the Eviction."""
    found = dict.fromkeys(requesters, "requester")
    for name in responders:
        found[name] = "requester-responder" if name in found else "responder"
    return found


def owners_of(requests: Iterable[LifecycleRequest]) -> list[OwnerReference]:
    """The requests that keep the Eviction: without any it is collected."""
    found = sorted(requests, key=lambda one: one.metadata.name)
    kind = LIFECYCLE_REQUESTS
    return [
        OwnerReference(
            api_version=kind.api_version, kind=kind.kind, name=one.metadata.name, uid=one.metadata.uid
        )
        for one in found
        if one.metadata.deletion_timestamp is None
    ]


def shutdown_deadline(requests: Iterable[LifecycleRequest]) -> str | None:
    """When the pod is ended at the latest, as the node that shuts down says in its request."""
    found = [one.metadata.annotations.get(SHUTDOWN_DEADLINE) for one in requests if one.wants_eviction]
    return min((one for one in found if one), default=None)


def metadata_change(record: LifecycleRecord, requests: Sequence[LifecycleRequest]) -> Obj:
    """What of labels, owners and the deadline is not as it should be; labels of others stay."""
    status, meta = record.eviction, record.metadata
    wanted = labels_of(
        [one.name for one in status.requesters], [one.name for one in status.target_responders]
    )
    labels = {key: value for key, value in wanted.items() if meta.labels.get(key) != value}
    change: Obj = {}
    owners = owners_of(requests)
    if labels:
        change["labels"] = labels
    kept = [one for one in meta.owner_references if one.kind != LIFECYCLE_REQUESTS.kind]
    ours = [one for one in meta.owner_references if one.kind == LIFECYCLE_REQUESTS.kind]
    deadline = shutdown_deadline(requests)
    if meta.annotations.get(SHUTDOWN_DEADLINE) != deadline:
        change["annotations"] = {SHUTDOWN_DEADLINE: deadline}
    if owners and {one.uid for one in owners} != {one.uid for one in ours}:
        change["ownerReferences"] = [msgspec.to_builtins(one) for one in (*kept, *owners)]
    return change


def first_status(
    generation: int, responders: Mapping[str, int], requesters: Sequence[EvictionRequester], now: dt.datetime
) -> Obj:
    """The first status of an Eviction: both lists, and the first responder in its turn."""
    named = {**responders, EVICTOR: EVICTOR_PRIORITY}
    ordered = sorted(named.items(), key=lambda one: turn_order(*one))
    first = ordered[0][0]
    return {
        "observedGeneration": max(generation, 1),
        "conditions": [_written(one) for one in awaiting(now)],
        "requesters": [msgspec.to_builtins(one) for one in requesters],
        "targetResponders": [
            {"name": name, "priority": priority, "state": State.ACTIVE if name == first else State.INACTIVE}
            for name, priority in ordered
        ],
        "responders": [
            {"name": name, "startTime": format_time(now)} if name == first else {"name": name}
            for name, _ in ordered
        ],
    }


def failed_status(record: LifecycleRecord, reason: Reason, message: str, now: dt.datetime) -> Obj:
    """The end of an Eviction that evicts nothing: whoever is active no longer is."""
    status: Obj = {
        "observedGeneration": max(record.metadata.generation, 1),
        "conditions": [_written(one) for one in failed(reason, message, now)],
    }
    if record.active is not None:
        done = record.report(record.active.name).completion_time is not None
        state = State.COMPLETED if done else State.CANCELED
        status["targetResponders"] = [{"name": record.active.name, "state": state}]
    return status


def awaiting(now: dt.datetime, message: str = "") -> list[RequestCondition]:
    """Both conditions of an eviction that is under way."""
    return _pair("False", Reason.AWAITING, "False", Reason.AWAITING, message, now)


def failed(reason: Reason, message: str, now: dt.datetime) -> list[RequestCondition]:
    """Both conditions of one that has failed."""
    return _pair("False", Reason.EVICTION_FAILED, "True", reason, message, now)


def _pair(
    evicted: str, why: Reason, has_failed: str, reason: Reason, message: str, now: dt.datetime
) -> list[RequestCondition]:
    return [
        RequestCondition(
            type=sort, status=status, reason=one.value, message=message, last_transition_time=now
        )
        for sort, status, one in ((TARGET_EVICTED, evicted, why), (FAILED, has_failed, reason))
    ]


def final_conditions(record: LifecycleRecord) -> list[RequestCondition]:
    """The two conditions of an Eviction, which its requests have too."""
    found = record.eviction.conditions
    return [one for sort in FINAL_CONDITIONS if (one := condition(found, sort)) is not None]


def failure_of(record: LifecycleRecord) -> str:
    """The reason for which an Eviction has failed; empty where it has not."""
    found = condition(record.eviction.conditions, FAILED)
    return found.reason if found is not None and found.status == "True" else ""


def request_status(request: LifecycleRequest, conditions: Sequence[RequestCondition]) -> Obj | None:
    """What of a request's status is news; None where nothing is."""
    generation, status = request.metadata.generation, request.status
    change: Obj = {}
    news = [
        one
        for one in conditions
        if (old := condition(status.conditions, one.type)) is None
        or (old.status, old.reason, old.message) != (one.status, one.reason, one.message)
    ]
    if news:
        change["conditions"] = [
            _written(msgspec.structs.replace(one, observed_generation=generation)) for one in news
        ]
    if generation > status.observed_generation:
        change["observedGeneration"] = generation
    return change or None


def _written(one: RequestCondition) -> Obj:
    written: Obj = msgspec.to_builtins(one)
    written |= {"reason": one.reason, "message": one.message}
    if one.last_transition_time is not None:
        written["lastTransitionTime"] = format_time(one.last_transition_time)
    return written
