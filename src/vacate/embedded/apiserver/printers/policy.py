"""Disruption budgets and priority classes."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age
from vacate.api.columns import AGE, NAME, Column, Printer
from vacate.api.objects import Obj, dig, name_of


def _budget(obj: Obj, now: dt.datetime) -> list[Any]:
    bounds = [dig(obj, "spec", bound) for bound in ("minAvailable", "maxUnavailable")]
    shown = ["N/A" if bound is None else str(bound) for bound in bounds]
    return [name_of(obj), *shown, dig(obj, "status", "disruptionsAllowed") or 0, age(obj, now)]


def _priority_class(obj: Obj, now: dt.datetime) -> list[Any]:
    default, preempts = bool(obj.get("globalDefault")), obj.get("preemptionPolicy") or ""
    return [name_of(obj), obj.get("value", 0), default, age(obj, now), preempts]


PODDISRUPTIONBUDGETS = Printer(
    (
        NAME,
        Column("Min Available", "How many pods must stay available."),
        Column("Max Unavailable", "How many pods may be missing."),
        Column("Allowed Disruptions", "How many pods may be disrupted at the moment.", type="integer"),
        AGE,
    ),
    _budget,
)
PRIORITYCLASSES = Printer(
    (
        NAME,
        Column("Value", "The priority of pods of this class.", type="integer"),
        Column("Global-Default", "Whether pods without a class get this one.", type="boolean"),
        AGE,
        Column("PreemptionPolicy", "Whether pods of this class displace others."),
    ),
    _priority_class,
)
