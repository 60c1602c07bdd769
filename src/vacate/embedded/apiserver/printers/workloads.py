"""Workloads and their revisions."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age
from vacate.api.columns import AGE, CONTAINERS, IMAGES, NAME, Column, Printer, wide
from vacate.api.objects import Obj, dig, name_of
from vacate.api.selectors.labels import selector_of
from vacate.api.untyped import controller_of
from vacate.errors import BadRequest


def _deployment(obj: Obj, now: dt.datetime) -> list[Any]:
    status = obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{_desired(obj)}"
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    row = [name_of(obj), ready, updated, available, age(obj, now)]
    return row + container_cells(obj) + [selector_cell(obj, invalid="<invalid>")]


def _replica_set(obj: Obj, now: dt.datetime) -> list[Any]:
    status = obj.get("status") or {}
    current, ready = status.get("replicas", 0), status.get("readyReplicas", 0)
    row = [name_of(obj), _desired(obj), current, ready, age(obj, now)]
    return row + container_cells(obj) + [selector_cell(obj, invalid="<error>") or "<none>"]


def _stateful_set(obj: Obj, now: dt.datetime) -> list[Any]:
    ready = f"{(obj.get('status') or {}).get('readyReplicas', 0)}/{_desired(obj)}"
    return [name_of(obj), ready, age(obj, now), *container_cells(obj)]


def _daemon_set(obj: Obj, now: dt.datetime) -> list[Any]:
    status = obj.get("status") or {}
    counts = [status.get(key, 0) for key in _DAEMON_COUNTS]
    chosen = dig(obj, "spec", "template", "spec", "nodeSelector") or {}
    nodes = ",".join(f"{key}={value}" for key, value in sorted(chosen.items())) or "<none>"
    row = [name_of(obj), *counts, nodes, age(obj, now)]
    return row + container_cells(obj) + [selector_cell(obj, invalid="<invalid>")]


_DAEMON_COUNTS = (
    "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
    "numberAvailable",
)  # fmt: skip


def _controller_revision(obj: Obj, now: dt.datetime) -> list[Any]:
    owner, shown = controller_of(obj), "<none>"
    if owner:
        group, slash, _ = str(owner.get("apiVersion", "")).partition("/")
        kind = str(owner.get("kind", "")).lower()
        shown = f"{kind}.{group}/{owner.get('name')}" if slash else f"{kind}/{owner.get('name')}"
    return [name_of(obj), shown, obj.get("revision", 0), age(obj, now)]


def _desired(obj: Obj) -> Any:
    replicas = dig(obj, "spec", "replicas")
    return 1 if replicas is None else replicas


def container_cells(obj: Obj) -> list[Any]:
    """Names and images of the containers."""
    containers = dig(obj, "spec", "template", "spec", "containers") or ()
    return [",".join(str(one.get(part, "")) for one in containers) for part in ("name", "image")]


def selector_cell(obj: Obj, *, invalid: str) -> str:
    """The selector, or how one is shown that cannot be read."""
    try:
        return str(selector_of(dig(obj, "spec", "selector")))
    except BadRequest:
        return invalid


_SELECTOR = wide("Selector", "Which pods belong to it.")

DEPLOYMENTS = Printer(
    (
        NAME,
        Column("Ready", "How many of the wanted pods are ready."),
        Column("Up-to-date", "How many pods have the newest template."),
        Column("Available", "How many pods have been ready for long enough."),
        AGE,
        CONTAINERS,
        IMAGES,
        _SELECTOR,
    ),
    _deployment,
)
REPLICASETS = Printer(
    (
        NAME,
        Column("Desired", "How many pods are wanted.", type="integer"),
        Column("Current", "How many pods there are.", type="integer"),
        Column("Ready", "How many pods are ready.", type="integer"),
        AGE,
        CONTAINERS,
        IMAGES,
        _SELECTOR,
    ),
    _replica_set,
)
STATEFULSETS = Printer(
    (NAME, Column("Ready", "How many of the wanted pods are ready."), AGE, CONTAINERS, IMAGES), _stateful_set
)
DAEMONSETS = Printer(
    (
        NAME,
        Column("Desired", "On how many nodes a pod is wanted.", type="integer"),
        Column("Current", "On how many of them one runs.", type="integer"),
        Column("Ready", "On how many of them one is ready.", type="integer"),
        Column("Up-to-date", "On how many of them one has the newest template.", type="integer"),
        Column("Available", "On how many of them one has been ready for long enough.", type="integer"),
        Column("Node Selector", "Which nodes get a pod."),
        AGE,
        CONTAINERS,
        IMAGES,
        _SELECTOR,
    ),
    _daemon_set,
)
CONTROLLERREVISIONS = Printer(
    (
        NAME,
        Column("Controller", "Whose revision it is."),
        Column("Revision", "Its number.", type="integer"),
        AGE,
    ),
    _controller_revision,
)
