"""Callers of the eviction API for whom an EvictionRequest stands, as the eviction bridge records them in it.

One annotation holds them all: by requester name, until when the caller counts as waiting, whether it named
the pod by UID, its grace period, and whether it has had its final answer. The time is coarse: it is written
anew only once a tenth of the waiting time has passed, so that a caller that asks every few seconds costs
hardly any writes. Any replica of the webhook, and the controller that withdraws requesters, reads it there.

While there are callers the request has no owner: it outlives its pod, so that a pod which is created again
under the same name can be distinguished from the one that the callers meant.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from vacate.api.integers import fits
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.times import after, format_time, parse_time
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.requesternames import dotted
from vacate.wire.json import decode_json

CALLERS = "bridge.vacate.dev/callers"
"""The annotation that holds them."""

POD_LABEL = "bridge.vacate.dev/pod"
"""The label by which requests for pods of a name are found."""

SUFFIX = "bridge.vacate.dev"
DEFAULT_WAIT = dt.timedelta(minutes=10)
_MAX_LABEL = 63
_DIGEST = 16
_DIGEST_AT_END = re.compile(rf"-[0-9a-f]{{{_DIGEST}}}$")
_ACCOUNT = "system:serviceaccount:"
_MAX_CALLERS = 100
_SHARE = 10  # one write for each tenth of the waiting time


class UnverifiedCallers(StrEnum):
    """What becomes of callers of whom it cannot be learnt whether they may evict."""

    REFUSE = "refuse"  # their evictions are refused
    REQUEST = "request"  # their evictions are requested all the same


@dataclass(frozen=True, slots=True)
class Caller:
    """One caller of the eviction API."""

    until: dt.datetime  # without another attempt it counts as gone from then on
    by_uid: bool = False  # it names the pod by UID: it can never mean another of the same name
    grace: int | None = None  # the grace period that it asked for, in seconds
    answered: bool = False  # it has had the answer that the pod is evicted or gone


def caller_name(user: str, limit: int = 253) -> str:
    """A user as a requester: `USER.bridge.vacate.dev`, of at most `limit` characters.

    Whatever a DNS name cannot hold is made a dash. Where that, or a cut, loses anything, the name ends in a
    digest of the whole: no two users have one name. A user whose own name ends like that gets one as well.
    """
    room = min(_MAX_LABEL, limit - len(SUFFIX) - 1)
    shown = re.sub("[^a-z0-9]+", "-", user.lower().removeprefix(_ACCOUNT)).strip("-") or "someone"
    if shown != user or len(shown) > room or _DIGEST_AT_END.search(shown):
        digest = hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
        shown = f"{shown[: room - _DIGEST - 1].rstrip('-')}-{digest}"
    return f"{shown}.{SUFFIX}"


def callers_of(annotations: Mapping[str, str]) -> dict[str, Caller]:
    """The callers, as far as they can be read: what anybody may write is never a reason to fail."""
    try:
        found = decode_json(annotations.get(CALLERS, "{}"), object)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    ours = [(name, value) for name, value in found.items() if dotted(name).endswith(f".{SUFFIX}")]
    read = {name: _caller(value) for name, value in ours[:_MAX_CALLERS]}
    return {name: one for name, one in read.items() if one is not None}


def written_callers(callers: Mapping[str, Caller]) -> str | None:
    """The annotation's value; None, which removes it, where there are none."""
    if not callers:
        return None
    return msgspec.json.encode({name: _written(one) for name, one in sorted(callers.items())}).decode()


def attempt(now: dt.datetime, wait: dt.timedelta, *, by_uid: bool, grace: int | None) -> Caller:
    """A caller that asks now: it waits for the whole time at least, and a tenth longer at most."""
    return Caller(after(after(now, wait), wait / _SHARE), by_uid, grace)


def needs_write(recorded: Caller | None, new: Caller, wait: dt.timedelta) -> bool:
    """Whether an attempt tells something that the record does not: another answer, or a tenth of the time."""
    if recorded is None:
        return True
    same = (recorded.by_uid, recorded.grace, recorded.answered) == (new.by_uid, new.grace, new.answered)
    return not same or abs(new.until - recorded.until) >= wait / _SHARE


def grace_period(request: EvictionRequest) -> int | None:
    """The grace period for an eviction by the controller: the longest, where all requesters gave one.

    None is the pod's own, for a caller that named none. It is never 0: that would be a force
    deletion, which nobody but the caller itself may ask for.
    """
    callers = callers_of(request.metadata.annotations)
    graces: list[int] = []
    for one in request.spec.requesters:
        caller = callers.get(one.name)
        if caller is None or caller.grace is None:
            return None
        graces.append(max(1, caller.grace))
    return max(graces, default=None)


def pod_label(name: str) -> str:
    """A pod's name as the value of a label, which is shorter than a name may be."""
    return name if len(name) <= _MAX_LABEL else hashlib.sha256(name.encode()).hexdigest()[:40]


def pod_owner(name: str, uid: str) -> Obj:
    """The owner reference with which a request is collected together with its pod."""
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "name": name,
        "uid": uid,
        "blockOwnerDeletion": False,
    }


def _caller(value: object) -> Caller | None:
    if not isinstance(value, dict):
        return None
    grace = value.get("gracePeriodSeconds")
    try:
        until = parse_time(str(value.get("until")))
    except ValueError:
        return None
    return Caller(
        until,
        value.get("byUID") is True,
        grace if isinstance(grace, int) and fits(grace, "int32") and grace >= 0 else None,
        value.get("answered") is True,
    )


def _written(one: Caller) -> Obj:
    made: Obj = {"until": format_time(one.until)}
    if one.by_uid:
        made["byUID"] = True
    if one.grace is not None:
        made["gracePeriodSeconds"] = one.grace
    if one.answered:
        made["answered"] = True
    return made
