"""Eviction requests: how far each has come, at a glance. The CRD's printer columns are these columns."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age
from vacate.api.columns import AGE, NAME, Column, Printer
from vacate.api.objects import Obj, dig, name_of
from vacate.api.types.readable import UNREADABLE, decodes, readable_part
from vacate.eviction.dialects.evictionrequest.reader import shown_stage


def _request(obj: Obj, now: dt.datetime) -> list[Any]:
    return [
        name_of(obj),
        dig(obj, "spec", "target", "podRef", "name"),
        shown_stage(readable_part(obj)).value if decodes(obj) else UNREADABLE,
        dig(obj, "status", "activeInterceptorName"),
        dig(obj, "status", "expectedInterceptorFinishTime"),
        dig(obj, "status", "podEvictionStatus", "failedAPIEvictionCounter"),
        age(obj, now),
    ]


EVICTIONREQUESTS = Printer(
    (
        NAME,
        Column("Pod", "The pod to evict."),
        Column("Stage", "The progress of the eviction."),
        Column("Interceptor", "The interceptor whose turn it is."),
        Column("Expected Finish", "When the active interceptor expects to be done."),
        Column("Failed Evictions", "How many evictions were refused.", type="integer"),
        AGE,
    ),
    _request,
)
