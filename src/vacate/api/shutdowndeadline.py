"""When a node that goes down ends a pod whatever its interceptors do: an annotation of eviction requests."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

from vacate.api.times import parse_time

SHUTDOWN_DEADLINE = "vacate.dev/shutdown-deadline"


def shutdown_deadline(annotations: Mapping[str, str]) -> dt.datetime | None:
    """The moment, or None where the node does not go down or the annotation cannot be read."""
    try:
        return parse_time(annotations[SHUTDOWN_DEADLINE])
    except (KeyError, ValueError):
        return None
