"""Metadata, conditions and selectors, as all kinds have them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import msgspec

from vacate.api.times import ACCEPTABLE, is_acceptable


class Projection(msgspec.Struct, rename="camel", gc=False, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all projections: camelCase on the wire, immutable, unknown to the cyclic collector."""


def check_times(*moments: dt.datetime | None) -> None:
    """ValueError unless all are acceptable times, which is what admission and the CRD let through."""
    for moment in moments:
        if moment is not None and not is_acceptable(moment):
            raise ValueError(f"{moment.isoformat()} is not an acceptable time: {ACCEPTABLE}")


class OwnerReference(Projection, frozen=True):
    """Who an object belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Projection, frozen=True):
    """`metadata` of any object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: list[OwnerReference] = msgspec.field(default_factory=list)
    finalizers: list[str] = msgspec.field(default_factory=list)
    creation_timestamp: dt.datetime | None = None
    deletion_timestamp: dt.datetime | None = None
    deletion_grace_period_seconds: int | None = None
    reason: str = ""  # why a pod is being deleted; only where the server serves PodTerminationReason

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages this object."""
        for ref in self.owner_references:  # a generator takes twice as long
            if ref.controller:
                return ref
        return None


class Condition(Projection, frozen=True):
    """One entry of a status' conditions."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: dt.datetime | None = None
    last_update_time: dt.datetime | None = None
    observed_generation: int = 0


class LabelSelector(Projection, frozen=True):
    """A label selector as objects carry it; `vacate.api.selectors.labels` evaluates it."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: list[dict[str, Any]] = msgspec.field(default_factory=list)


class _Typed(Protocol):
    @property
    def type(self) -> str: ...


C = TypeVar("C", bound=_Typed)


def condition(conditions: Iterable[C], type_: str) -> C | None:
    """The condition of that type, if there is one."""
    for one in conditions:  # a generator takes twice as long
        if one.type == type_:
            return one
    return None
