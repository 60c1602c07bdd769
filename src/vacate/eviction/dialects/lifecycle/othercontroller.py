"""PURE. Whether another controller works on lifecycle.k8s.io: by what it has written.

The version of a cluster does not tell, nor do roles and service accounts, which are there before and after
a controller runs. The API server notes for each field of an Eviction who wrote it last: whose turn it is and
who requests the eviction are written by controllers only, and kube-controller-manager is known by its name.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from vacate.api.times import EARLIEST, is_time, parse_time
from vacate.api.types.lifecycle import ManagedFields
from vacate.api.untyped import mapping

ABANDONED_AFTER = dt.timedelta(minutes=30)
"""Longer than any pause in an eviction: a responder that is silent for 20 minutes loses its turn."""

_KUBERNETES = ("kube-controller-manager", "evictionrequest-controller", "eviction-request-controller")
_PROCESS = ("f:targetResponders", "f:requesters")


class LifecycleController(StrEnum):
    """Whether Vacate is the controller of lifecycle.k8s.io."""

    AUTO = "auto"  # unless Kubernetes has one of its own that works
    ON = "on"
    OFF = "off"


class ProcessWrite(NamedTuple):
    """Another controller's last write to the process of an Eviction."""

    at: dt.datetime
    name: str


def last_process_write(entries: Iterable[ManagedFields]) -> ProcessWrite | None:
    """The last write to the process by a controller of Kubernetes; None without one."""
    found = [
        ProcessWrite(parse_time(one.time) if is_time(one.time) else EARLIEST, one.manager)
        for one in entries
        if one.manager.startswith(_KUBERNETES) and _writes_process(one)
    ]
    return max(found, default=None)


def _writes_process(entry: ManagedFields) -> bool:
    fields = mapping(entry.fields_v1.get("f:status"))
    return any(key in fields for key in _PROCESS)
