"""Every dialect, and which one a record belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vacate.api.kinds import Kind
from vacate.api.objects import Obj, dig
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.errors import ConfigError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE, LIFECYCLE_REQUEST
from vacate.eviction.registration import registers_evacuators_only, registers_responders_only
from vacate.features import FeatureGates

DIALECTS: Mapping[Kind, Dialect] = {one.kind: one for one in (EVICTION_REQUEST, EVACUATION, LIFECYCLE)}

READ_DIALECTS: tuple[Dialect, ...] = (*DIALECTS.values(), LIFECYCLE_REQUEST)
"""By what all that concerns pods is read, before `lifecycle.assembly.concerning` sorts it."""

DIALECT_NAMES: tuple[str, ...] = tuple(one.name for one in DIALECTS.values())
"""The APIs by the names that commands and settings have for them."""

OWN_DIALECTS: tuple[Dialect, ...] = tuple(one for one in DIALECTS.values() if one.kind.custom)
"""Those of kinds of our own: every installation has their definitions."""


def served_dialects(gates: FeatureGates) -> tuple[Dialect, ...]:
    """The dialects whose feature gates are open."""
    return tuple(one for one in DIALECTS.values() if gates.enabled(one.kind.gate))


def dialect_for(pod: Obj, served: Sequence[Dialect], preferred: Dialect = EVICTION_REQUEST) -> Dialect:
    """In which of the served APIs the pod's eviction is requested: those whom it registers watch that one.

    An Evacuation for a pod that registers evacuators only, lifecycle.k8s.io for one that lists responders
    only, and what the requester prefers for every other. lifecycle.k8s.io evicts no pod of a scheduling
    group. Where that API is not served, another stands in.
    """
    if dig(pod, "spec", "schedulingGroup"):
        served = tuple(one for one in served if one is not LIFECYCLE) or served
        preferred = EVICTION_REQUEST if preferred is LIFECYCLE else preferred
    wanted = [preferred]
    if registers_evacuators_only(pod):
        wanted.insert(0, EVACUATION)
    elif registers_responders_only(pod):
        wanted.insert(0, LIFECYCLE)
    return next((one for one in wanted if one in served or not served), next(iter(served), preferred))


def dialect_of(request: EvictionRequest) -> Dialect:
    """The dialect in whose API the request was made."""
    return dialect_with(request.kind)


def dialect_with(kind: Kind) -> Dialect:
    """The dialect of objects of this kind."""
    return LIFECYCLE_REQUEST if kind == LIFECYCLE_REQUEST.kind else DIALECTS[kind]


def api_of(request: EvictionRequest) -> Dialect:
    """The API of a record; of an EvictionRequest of one requester that of the Eviction which comes of it."""
    return dialect_named(dialect_of(request).name)


def checked_served(wanted: Dialect, served: Sequence[Dialect]) -> Dialect:
    """The API that requests are to be made in; ConfigError where its feature gate is closed."""
    if wanted not in served:
        raise ConfigError(
            f"{wanted.kind.plural} are not served: open the feature gate {wanted.kind.gate}, or set "
            f"requestKind: {served[0].request_kind}"
        )
    return wanted


def dialect_of_kind(request_kind: str) -> Dialect:
    """The dialect of requests of this kind, as NodeMaintenances and DeschedulingPolicies name it."""
    return {one.request_kind: one for one in DIALECTS.values()}[request_kind]


def dialect_named(name: str) -> Dialect:
    """The dialect of this name, such as evacuation; KeyError for another name."""
    return {one.name: one for one in DIALECTS.values()}[name]
