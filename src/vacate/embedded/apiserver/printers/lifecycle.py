"""EvictionRequests and Evictions of lifecycle.k8s.io."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age, since
from vacate.api.objects import Obj, dig, name_of
from vacate.api.times import parse_time
from vacate.api.types.lifecycle import ENDED, FINAL_CONDITIONS, WITHDRAWN, State
from vacate.api.untyped import integer, maps, text
from vacate.embedded.apiserver.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Column,
    Printer,
    field,
    wide,
)


def _target(obj: Obj) -> list[str]:
    name = dig(obj, "spec", "target", "pod", "name")
    return [text(name), "Pod"] if name else [UNSET, UNSET]


def _status(obj: Obj) -> str:
    conditions = {one.get("type"): one for one in maps(dig(obj, "status", "conditions"))}
    for sort in FINAL_CONDITIONS:
        if (found := conditions.get(sort, {})).get("status") == "True":
            return f"{sort} ({found.get('reason')})"
    return "Progressing" if integer(dig(obj, "status", "observedGeneration")) > 0 else "Pending"


def _eviction(obj: Obj, now: dt.datetime) -> list[Any]:
    targets = maps(dig(obj, "status", "targetResponders"))
    begun = [one for one in targets if one.get("state") in (State.ACTIVE, *ENDED)]
    active = next((one for one in begun if one.get("state") == State.ACTIVE), begun[-1] if begun else {})
    records = {one.get("name"): one for one in maps(dig(obj, "status", "responders"))}
    record = records.get(active.get("name"), {})
    state = text(active.get("state")) or UNSET
    expected, reported = UNKNOWN, state
    if state == State.ACTIVE and record.get("startTime"):
        reported = f"Started ({since(record['startTime'], now)} ago)"
        if ends := record.get("expectedCompletionTime"):
            ahead = parse_time(ends) - now
            past = ahead <= dt.timedelta()
            expected = f"{since(ends, now)} ago" if past else f"in {since_now(ahead)}"
    elif state in ENDED:
        expected = "-"
        if state == State.COMPLETED and record.get("completionTime"):
            reported = f"{state} ({since(record['completionTime'], now)} ago)"
    responder = f"{active.get('name', UNSET)} ({len(begun)}/{len(targets)})"
    heartbeat = f"{since(record['heartbeatTime'], now)} ago" if record.get("heartbeatTime") else UNSET
    message = text(record.get("message")).strip() or UNSET
    shown = [responder, reported, expected, _requesters(obj)]
    return [name_of(obj), *_target(obj), _status(obj), *shown, age(obj, now), heartbeat, message]


def since_now(ahead: dt.timedelta) -> str:
    """How long until something, as tables show it."""
    return since("1970-01-01T00:00:00Z", dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + ahead)


def _requesters(obj: Obj) -> str:
    listed = maps(dig(obj, "status", "requesters"))
    names = sorted(text(one.get("name")) for one in listed if one.get("intent") != WITHDRAWN)
    if not names:
        return "<withdrawn>" if listed else NONE
    return names[0] if len(names) == 1 else f"{names[0]} + {len(names) - 1} more..."


_TARGET = (
    Column("Target", "What is to be evicted.", lambda obj, _: _target(obj)[0]),
    Column("Target Type", "What is to be evicted.", lambda obj, _: _target(obj)[1]),
    Column("Status", "How far the eviction is.", lambda obj, _: _status(obj)),
)
REQUESTS = Printer(
    NAME,
    *_TARGET,
    Column("Requester", "Who requests the eviction.", field("spec", "requester")),
    Column("Intent", "Whether the eviction is requested, or no longer.", field("spec", "intent")),
    AGE,
)
EVICTIONS = Printer(
    NAME,
    *_TARGET,
    Column("Active Responder", "Whose turn it is."),
    Column("Responder Status", "How far that turn is."),
    Column("Responder Expected Finish", "When that turn is expected to end."),
    Column("Requesters", "Who requests the eviction."),
    AGE,
    wide("Responder Heartbeat", "When the responder last reported."),
    wide("Responder Status Message", "What the responder last said."),
    cells=_eviction,
)
