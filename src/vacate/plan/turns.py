"""By which API each pod's eviction is requested in a plan, and whose turns that makes. Pure."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence

from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig
from vacate.errors import ApiError, ConfigError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import dialect_for, dialect_of_kind, served_dialects
from vacate.eviction.registration import listed_responders
from vacate.eviction.requesternames import keyed
from vacate.features import FeatureGates
from vacate.plan.loading import has_vacate
from vacate.plan.observer import OWN_NAMES
from vacate.plan.snapshot import Snapshot

ASSUMED_TURN = 300.0
"""Seconds that an interceptor is assumed to take of which nothing is known."""


def requested_by(spec: Obj) -> Dialect:
    """The API that a drain names."""
    return dialect_of_kind(spec.get("requestKind", EVICTION_REQUEST.request_kind))


def is_served(snapshot: Snapshot, dialect: Dialect) -> bool:
    """Whether the cluster has the API, or would have it once Vacate is installed."""
    if snapshot.apis is None or dialect.name in snapshot.apis:
        return True
    return bool(dialect.kind.custom) and not has_vacate(snapshot)


def gates_for(snapshot: Snapshot, spec: Obj) -> FeatureGates:
    """The gates of the manager that drains: that of the API which the drain names, and of lifecycle.k8s.io
    where the cluster is known to serve it."""
    wanted = [requested_by(spec)] if is_served(snapshot, requested_by(spec)) else []
    if snapshot.apis is not None and LIFECYCLE.name in snapshot.apis:
        wanted.append(LIFECYCLE)
    return FeatureGates(tuple((gate, True) for gate in dict.fromkeys(one.kind.gate for one in wanted)))


def foreign_interceptors(snapshot: Snapshot, nodes: Collection[str], spec: Obj) -> dict[str, tuple[str, ...]]:
    """The interceptors of pods of these nodes that are not Vacate's own, each with the APIs of its turns."""
    served, preferred = served_dialects(gates_for(snapshot, spec)), requested_by(spec)
    found: dict[str, dict[str, None]] = {}
    for pod in snapshot.of(PODS):
        if dig(pod, "spec", "nodeName") not in nodes:
            continue
        with contextlib.suppress(ApiError, ConfigError, ValueError):
            dialect = dialect_for(pod, served, preferred)
            for name in dialect.registration(pod).interceptors:
                if name not in OWN_NAMES:
                    found.setdefault(name, {})[dialect.name] = None
    return {name: tuple(apis) for name, apis in sorted(found.items())}


def unheard_responders(snapshot: Snapshot, nodes: Collection[str], spec: Obj) -> int:
    """Pods of these nodes with responders that have no turn, because another API evicts these pods."""
    served, preferred = served_dialects(gates_for(snapshot, spec)), requested_by(spec)
    return sum(
        bool(_responders(pod)) and dialect_for(pod, served, preferred) is not LIFECYCLE
        for pod in snapshot.of(PODS)
        if dig(pod, "spec", "nodeName") in nodes
    )


def _responders(pod: Obj) -> Sequence[str]:
    return [name for name, _ in listed_responders(pod) if name not in {"", *OWN_NAMES}]


def turn_of(name: str, given: Mapping[str, float | None]) -> tuple[float | None, bool]:
    """Seconds that an interceptor takes, None where it never answers; and whether that was given.

    A name such as backup.example.com also stands for the responder example.com/backup.
    """
    for one, seconds in given.items():
        if name in (one, keyed(one)):
            return seconds, True
    return ASSUMED_TURN, False
