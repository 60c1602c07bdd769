"""PURE. Whether another controller works on lifecycle.k8s.io: by what it has written, and left undone.

The version of a cluster does not tell, nor do roles and service accounts, which are there before and after
a controller runs. The API server notes for each field of an Eviction who wrote it last: whose turn it is and
who requests the eviction are written by controllers only, and kube-controller-manager is known by its name.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from vacate.api.lenient import mapping, maps, text
from vacate.api.objects import Obj, dig
from vacate.api.times import EARLIEST, is_time, parse_time
from vacate.api.types.lifecycle import EVICTION, FINAL_CONDITIONS

ABANDONED_AFTER = dt.timedelta(minutes=30)
"""Longer than any pause in an eviction: a responder that is silent for 20 minutes loses its turn."""

_KUBERNETES = ("kube-controller-manager", "evictionrequest-controller", "eviction-request-controller")
_PROCESS = ("f:targetResponders", "f:requesters")


class LifecycleController(StrEnum):
    """Whether Vacate is the controller of lifecycle.k8s.io."""

    AUTO = "auto"  # unless Kubernetes has one of its own that works
    ON = "on"
    OFF = "off"


class Writer(NamedTuple):
    """Another controller's last write."""

    at: dt.datetime
    name: str
    eviction: Obj


def last_writer(evictions: Iterable[Obj]) -> Writer | None:
    """The last write to the process of any Eviction by a controller of Kubernetes; None without one."""
    found = [
        Writer(_time(entry), text(entry.get("manager")), one)
        for one in evictions
        for entry in maps(dig(one, "metadata", "managedFields"))
        if text(entry.get("manager")).startswith(_KUBERNETES) and _writes_process(entry)
    ]
    return max(found, key=lambda one: one.at, default=None)


def is_abandoned(evictions: Iterable[Obj], requests: Iterable[Obj], now: dt.datetime) -> bool:
    """Whether anything has been left alone for so long that no controller can be at work."""
    open_ones = [one for one in evictions if not _is_over(one)]
    unread = [
        one
        for one in requests
        if dig(one, "spec", "intent") == EVICTION
        and not dig(one, "status", "conditions")
        and not dig(one, "metadata", "deletionTimestamp")
    ]
    return any(_last_change(one) + ABANDONED_AFTER < now for one in (*open_ones, *unread))


def _writes_process(entry: Obj) -> bool:
    fields = mapping(dig(entry, "fieldsV1", "f:status"))
    return any(key in fields for key in _PROCESS)


def _is_over(eviction: Obj) -> bool:
    return any(
        one.get("type") in FINAL_CONDITIONS and one.get("status") == "True"
        for one in maps(dig(eviction, "status", "conditions"))
    )


def _last_change(obj: Obj) -> dt.datetime:
    made = text(dig(obj, "metadata", "creationTimestamp"))
    changes = [_time(entry) for entry in maps(dig(obj, "metadata", "managedFields"))]
    return max([parse_time(made) if is_time(made) else EARLIEST, *changes])


def _time(entry: Obj) -> dt.datetime:
    at = text(entry.get("time"))
    return parse_time(at) if is_time(at) else EARLIEST
