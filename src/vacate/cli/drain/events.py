"""The events that `vacate drain -o json` prints."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.times import format_time
from vacate.cli.common.output import json_text


def event_line(type_: str, maintenance: str, now: dt.datetime, **fields: Any) -> str:
    """One event as a line of JSON."""
    made = {"type": type_, "maintenance": maintenance, "time": format_time(now), **fields}
    return json_text(made, indent=False)
