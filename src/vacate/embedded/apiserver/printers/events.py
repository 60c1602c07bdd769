"""Events."""

from __future__ import annotations

import datetime as dt

from vacate.api.ages import since
from vacate.api.objects import Obj
from vacate.embedded.apiserver.printers.columns import NAME, Column, Printer, field, wide


def _seen(event: Obj, now: dt.datetime) -> tuple[str, str, int]:
    """When the event was seen first and last, and how often."""
    first = since(event.get("firstTimestamp") or event.get("eventTime"), now)
    last = since(event["lastTimestamp"], now) if event.get("lastTimestamp") else first
    series = event.get("series")
    if series is not None:
        return first, since(series.get("lastObservedTime"), now), series.get("count", 0)
    return first, last, event.get("count") or 1


def _target(event: Obj, _: dt.datetime) -> str:
    involved = event.get("involvedObject") or {}
    kind, name = str(involved.get("kind", "")).lower(), involved.get("name")
    return f"{kind}/{name}" if name else kind


def _source(event: Obj, _: dt.datetime) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance") or ""
    return f"{component}, {instance}" if instance else component


EVENTS = Printer(
    Column("Last Seen", "How long ago it happened last.", lambda obj, now: _seen(obj, now)[1]),
    Column("Type", "Normal or Warning.", field("type")),
    Column("Reason", "A word for why it happened.", field("reason")),
    Column("Object", "What it is about.", _target),
    wide("Subobject", "The part of the object that it is about.", field("involvedObject", "fieldPath")),
    wide("Source", "Who reported it.", _source),
    Column("Message", "What happened.", lambda obj, _: str(obj.get("message") or "").strip()),
    wide("First Seen", "How long ago it happened first.", lambda obj, now: _seen(obj, now)[0]),
    wide("Count", "How often it happened.", lambda obj, now: _seen(obj, now)[2]),
    wide("Name", "The event's own name.", NAME.read, format_="name"),
)
