"""Events."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import since
from vacate.api.columns import Column, Printer, wide
from vacate.api.objects import Obj, name_of


def _cells(obj: Obj, now: dt.datetime) -> list[Any]:
    first, last, count = _seen(obj, now)
    involved = obj.get("involvedObject") or {}
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        _target(involved),
        involved.get("fieldPath", ""),
        _source(obj),
        str(obj.get("message") or "").strip(),
        first,
        count,
        name_of(obj),
    ]


def _seen(event: Obj, now: dt.datetime) -> tuple[str, str, int]:
    """When the event was seen first and last, and how often."""
    first = since(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = since(event["lastTimestamp"], now) if event.get("lastTimestamp") else first
    series = event.get("series")
    if series is not None:
        return first, since(series.get("lastObservedTime"), now), series.get("count", 0)
    return first, last, event.get("count") or 1


def _target(involved: Obj) -> str:
    kind, name = str(involved.get("kind", "")).lower(), involved.get("name")
    return f"{kind}/{name}" if name else kind


def _source(event: Obj) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


EVENTS = Printer(
    (
        Column("Last Seen", "How long ago it happened last."),
        Column("Type", "Normal or Warning."),
        Column("Reason", "A word for why it happened."),
        Column("Object", "What it is about."),
        wide("Subobject", "The part of the object that it is about."),
        wide("Source", "Who reported it."),
        Column("Message", "What happened."),
        wide("First Seen", "How long ago it happened first."),
        wide("Count", "How often it happened."),
        wide("Name", "The event's own name.", format_="name"),
    ),
    _cells,
)
