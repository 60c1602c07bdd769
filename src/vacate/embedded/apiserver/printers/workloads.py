"""Workloads, their templates and revisions, and what scales them."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import human_duration, since
from vacate.api.objects import Obj, dig
from vacate.api.times import parse_time
from vacate.api.untyped import controller_of, mapping, maps
from vacate.embedded.apiserver.printers.columns import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Column,
    Printer,
    containers,
    field,
    pairs,
    selector,
)

_CONTAINERS = containers("spec", "template")


def _desired(obj: Obj, _: dt.datetime) -> Any:
    replicas = dig(obj, "spec", "replicas")
    return 1 if replicas is None else replicas


def _ready(obj: Obj, now: dt.datetime) -> str:
    return f"{dig(obj, 'status', 'readyReplicas') or 0}/{_desired(obj, now)}"


def _count(key: str) -> Any:
    return field("status", key, default=0)


def _owner(obj: Obj, _: dt.datetime) -> str:
    owner = controller_of(obj)
    if not owner:
        return NONE
    group, slash, _version = str(owner.get("apiVersion", "")).partition("/")
    kind = str(owner.get("kind", "")).lower()
    return f"{kind}.{group}/{owner.get('name')}" if slash else f"{kind}/{owner.get('name')}"


DEPLOYMENTS = Printer(
    NAME,
    Column("Ready", "How many of the wanted pods are ready.", _ready),
    Column("Up-to-date", "How many pods have the newest template.", _count("updatedReplicas")),
    Column("Available", "How many pods have been ready for long enough.", _count("availableReplicas")),
    AGE,
    *_CONTAINERS,
    selector("spec", "selector", invalid="<invalid>"),
)
REPLICASETS = Printer(
    NAME,
    Column("Desired", "How many pods are wanted.", _desired, "integer"),
    Column("Current", "How many pods there are.", _count("replicas"), "integer"),
    Column("Ready", "How many pods are ready.", _count("readyReplicas"), "integer"),
    AGE,
    *_CONTAINERS,
    selector("spec", "selector", empty=NONE, invalid="<error>"),
)
STATEFULSETS = Printer(
    NAME, Column("Ready", "How many of the wanted pods are ready.", _ready), AGE, *_CONTAINERS
)
DAEMONSETS = Printer(
    NAME,
    Column("Desired", "On how many nodes a pod is wanted.", _count("desiredNumberScheduled"), "integer"),
    Column("Current", "On how many of them one runs.", _count("currentNumberScheduled"), "integer"),
    Column("Ready", "On how many of them one is ready.", _count("numberReady"), "integer"),
    Column(
        "Up-to-date", "On how many of them one has the newest template.",
        _count("updatedNumberScheduled"), "integer",
    ),
    Column(
        "Available", "On how many of them one has been ready for long enough.",
        _count("numberAvailable"), "integer",
    ),
    Column("Node Selector", "Which nodes get a pod.", pairs("spec", "template", "spec", "nodeSelector")),
    AGE,
    *_CONTAINERS,
    selector("spec", "selector", invalid="<invalid>"),
)  # fmt: skip
CONTROLLERREVISIONS = Printer(
    NAME,
    Column("Controller", "Whose revision it is.", _owner),
    Column("Revision", "Its number.", field("revision", default=0), "integer"),
    AGE,
)
PODTEMPLATES = Printer(
    NAME,
    *containers("template", priority=0),
    Column("Pod Labels", "Labels of the pods to come.", pairs("template", "metadata", "labels")),
)


def _job_state(obj: Obj, _: dt.datetime) -> str:
    conditions = {
        one.get("type") for one in maps(dig(obj, "status", "conditions")) if one.get("status") == "True"
    }
    for kind in ("Complete", "Failed"):
        if kind in conditions:
            return kind
    if dig(obj, "metadata", "deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if kind in conditions:
            return kind
    return "Running"


def _completions(obj: Obj, _: dt.datetime) -> str:
    done, wanted = dig(obj, "status", "succeeded") or 0, dig(obj, "spec", "completions")
    most = dig(obj, "spec", "parallelism") or 0
    if wanted is None:
        return f"{done}/1 of {most}" if most > 1 else f"{done}/1"
    return f"{done}/{wanted}"


def _duration(obj: Obj, now: dt.datetime) -> str:
    start, end = (dig(obj, "status", key) for key in ("startTime", "completionTime"))
    if not start:
        return ""
    return since(start, now) if not end else human_duration(parse_time(end) - parse_time(start))


def _last_schedule(obj: Obj, now: dt.datetime) -> str:
    last = dig(obj, "status", "lastScheduleTime")
    return since(last, now) if last else NONE


_JOB = ("spec", "jobTemplate", "spec")
JOBS = Printer(
    NAME,
    Column("Status", "How it stands.", _job_state),
    Column("Completions", "How many of the wanted pods have succeeded.", _completions),
    Column("Duration", "How long it took, or has been running.", _duration),
    AGE,
    *_CONTAINERS,
    selector("spec", "selector"),
)
CRONJOBS = Printer(
    NAME,
    Column("Schedule", "When it would run.", field("spec", "schedule")),
    Column("Timezone", "By which time zone.", field("spec", "timeZone", default=NONE)),
    Column("Suspend", "Whether it is suspended.", lambda obj, _: str(dig(obj, "spec", "suspend") is True)),
    Column(
        "Active", "How many of its Jobs run.",
        lambda obj, _: len(maps(dig(obj, "status", "active"))), "integer",
    ),
    Column("Last Schedule", "When it ran last.", _last_schedule),
    AGE,
    *containers(*_JOB, "template"),
    selector(*_JOB, "selector", empty=NONE),
)  # fmt: skip

_SHOWN = 2
"""So many metrics are shown, and how many there are beyond them."""
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _targets(obj: Obj, _: dt.datetime) -> str:
    metrics, measured = maps(dig(obj, "spec", "metrics")), maps(dig(obj, "status", "currentMetrics"))
    if not metrics:
        return NONE
    shown = [
        _metric(metric, measured[index] if index < len(measured) else {})
        for index, metric in enumerate(metrics[:_SHOWN])
    ]
    more = f" + {len(metrics) - _SHOWN} more..." if len(metrics) > _SHOWN else ""
    return ", ".join(shown) + more


def _metric(metric: Obj, measured: Obj) -> str:
    key = _SOURCES.get(str(metric.get("type")), "")
    target, current = mapping(dig(metric, key, "target")), mapping(dig(measured, key, "current"))
    average = target.get("averageValue")
    if key in ("resource", "containerResource"):
        name = dig(metric, key, "name")
        if average is not None:
            return f"{name}: {current.get('averageValue', UNKNOWN)}/{average}"
        used = current.get("averageUtilization")
        return f"{name}: {UNKNOWN if used is None else f'{used}%'}/{target.get('averageUtilization')}%"
    if average is not None:
        suffix = "" if key == "pods" else " (avg)"
        return f"{current.get('averageValue', UNKNOWN)}/{average}{suffix}"
    return f"{current.get('value', UNKNOWN)}/{target.get('value')}"


def _floor(obj: Obj, _: dt.datetime) -> str:
    floor = dig(obj, "spec", "minReplicas")
    return UNSET if floor is None else str(floor)


def _scaled(obj: Obj, _: dt.datetime) -> str:
    ref = mapping(dig(obj, "spec", "scaleTargetRef"))
    return f"{ref.get('kind', '')}/{ref.get('name', '')}"


HORIZONTALPODAUTOSCALERS = Printer(
    NAME,
    Column("Reference", "What is scaled.", _scaled),
    Column("Targets", "Each metric: what was measured, and what it should be.", _targets),
    Column("MinPods", "The fewest pods.", _floor),
    Column("MaxPods", "The most pods.", field("spec", "maxReplicas", default=0)),
    Column("Replicas", "How many pods there are.", _count("currentReplicas")),
    AGE,
)
