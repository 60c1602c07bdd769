"""The interceptors of a pod: from its field, else its annotations, read in one place for pods and requests.

A stock cluster does not know the field, so annotations stand in for it, of two prefixes:

    interceptor.evictionrequest.coordination.k8s.io/priority_NAME: PRIORITY[/ROLE]
    evacuation.coordination.k8s.io/priority_CLASS: PRIORITY[/ROLE]

The name behind `priority_` has at most 54 characters. A longer one is written as the value of `hash_KEY`, and
its priority under `priority_KEY`; the key may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vacate.api.fielderrors import (
    ErrorType,
    FieldError,
    complaints,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
)
from vacate.api.names import dns1123_subdomain
from vacate.api.objects import Obj, dig
from vacate.api.types.core import Pod
from vacate.api.untyped import integer, maps, text
from vacate.api.workloads import OWN_RESPONDERS

PREFIXES = ("interceptor.evictionrequest.coordination.k8s.io", "evacuation.coordination.k8s.io")
"""Whose annotations count; those of the second only where there are none of the first."""

ALLOWED_KUBERNETES_NAMES = (
    "deployment.apps.k8s.io",
    "replicaset.apps.k8s.io",
    "statefulset.apps.k8s.io",
    "daemonset.apps.k8s.io",
    "horizontalpodautoscaler.autoscaling.k8s.io",
)
MAX_INTERCEPTORS = 100
MAX_PRIORITY = 100_000
MAX_ROLE = 253
CONTROLLER, CONTROLLER_PRIORITY = "controller", 10_000
RESERVED = "names with the suffix k8s.io are reserved for Kubernetes"

_PRIORITY, _HASH = "priority_", "hash_"
_OWN = {f"{PREFIXES[0]}/{_PRIORITY}{name}" for name in OWN_RESPONDERS}
_DIGITS = re.compile("[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Registration:
    """The interceptors in the order of the list, whose last runs first, and what is wrong with them."""

    interceptors: tuple[str, ...] = ()
    field_errors: tuple[FieldError, ...] = ()
    entries: tuple[Entry, ...] = ()  # where they are registered by annotations


@dataclass(frozen=True, slots=True)
class Entry:
    """One annotation that registers an interceptor, or what stands for it."""

    path: str
    name: str
    value: str
    priority: int | None
    role: str


def resolve(pod: Obj, allowed: Sequence[str] = ()) -> Registration:
    """The interceptors of the pod, in order. `allowed` are names below k8s.io beside those of Kubernetes."""
    listed = dig(pod, "spec", "evictionInterceptors")
    if isinstance(listed, list) and listed:
        return _listed(listed, allowed)
    annotations = annotations_of(pod)
    for prefix in PREFIXES:
        if any(key.startswith((f"{prefix}/{_PRIORITY}", f"{prefix}/{_HASH}")) for key in annotations):
            return _registered(prefix, annotations, allowed)
    return Registration()


def resolve_evacuators(pod: Obj, allowed: Sequence[str] = ()) -> Registration:
    """The evacuators of a pod, with priorities and roles; else its interceptors, in the same order."""
    found = _registered(PREFIXES[1], annotations_of(pod), allowed)
    if found.entries or found.field_errors:
        return found
    others = resolve(pod, allowed)
    named = others.entries or tuple(
        Entry("", name, "", priority, "") for priority, name in enumerate(others.interceptors)
    )
    return replace(others, entries=named)


def registering_part(pod: Pod) -> Obj:
    """As much of the pod's object as registers interceptors, or decides by which API it is evicted."""
    listed = [{"name": one.name} for one in pod.spec.eviction_interceptors]
    responders = [{"name": one.name, "priority": one.priority} for one in pod.spec.eviction_responders]
    spec = {
        "evictionInterceptors": listed,
        "evictionResponders": responders,
        "schedulingGroup": pod.spec.scheduling_group,
    }
    return {"metadata": {"annotations": pod.metadata.annotations}, "spec": spec}


def listed_responders(pod: Obj) -> list[tuple[str, int]]:
    """Name and priority of each responder of lifecycle.k8s.io that the pod lists."""
    listed = maps(dig(pod, "spec", "evictionResponders"))
    return [(text(one.get("name")), integer(one.get("priority"))) for one in listed]


def registers_evacuators_only(pod: Obj) -> bool:
    """Whether the pod has evacuators and no interceptors: an EvictionRequest is nothing to those."""
    interceptors, evacuators = _registers(pod)
    return evacuators and not interceptors


def registers_responders_only(pod: Obj) -> bool:
    """Whether the pod has responders of lifecycle.k8s.io, and nobody who has turns in another API.

    Vacate's own, which workloads have in every API, decide nothing.
    """
    listed = {name for name, _ in listed_responders(pod)}
    annotations = {key: value for key, value in annotations_of(pod).items() if key not in _OWN}
    author = {"metadata": {"annotations": annotations}, "spec": pod.get("spec")}
    return bool(listed - {*OWN_RESPONDERS.values()}) and not any(_registers(author))


def _registers(pod: Obj) -> tuple[bool, bool]:
    """Whether the pod has interceptors, and whether it has evacuators."""
    interceptors, evacuators = (
        any(key.startswith((f"{prefix}/{_PRIORITY}", f"{prefix}/{_HASH}")) for key in annotations_of(pod))
        for prefix in PREFIXES
    )
    return interceptors or bool(dig(pod, "spec", "evictionInterceptors")), evacuators


def registered_names(pod: Obj) -> tuple[str, ...]:
    """The names in a pod's annotations of either prefix, whatever is wrong with them."""
    annotations = annotations_of(pod)
    return tuple(name for prefix in PREFIXES for name in _registered(prefix, annotations, ()).interceptors)


def _listed(listed: Sequence[object], allowed: Sequence[str]) -> Registration:
    """The field. What is no longer allowed was allowed when the pod was made, and stays in it."""
    names = [one.get("name") if isinstance(one, dict) else None for one in listed]
    found: list[FieldError] = []
    for index, name in enumerate(names):
        path = f"spec.evictionInterceptors[{index}].name"
        if not isinstance(name, str) or not name:
            found.append(required(path))
        elif reserved_name(name, allowed):
            found.append(forbidden(path, RESERVED))
    return Registration(tuple(name for name in names if isinstance(name, str)), tuple(found))


def annotation_errors(annotations: Mapping[str, str], allowed: Sequence[str] = ()) -> list[FieldError]:
    """What is wrong with the annotations of either prefix, each with its place in a pod."""
    return [
        field_error
        for prefix in PREFIXES
        for field_error in _registered(prefix, annotations, allowed).field_errors
    ]


def registering(annotations: Mapping[str, str]) -> dict[str, str]:
    """Those of a pod's annotations that register interceptors."""
    starts = tuple(f"{prefix}/{part}" for prefix in PREFIXES for part in (_PRIORITY, _HASH))
    return {key: value for key, value in annotations.items() if key.startswith(starts)}


def annotations_of(pod: Obj) -> dict[str, str]:
    """The pod's annotations, as far as they are texts."""
    found = dig(pod, "metadata", "annotations")
    if not isinstance(found, dict):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def reserved_name(name: str, allowed: Sequence[str]) -> bool:
    """Whether the name belongs to Kubernetes and is none that its interceptors have."""
    below = name == "k8s.io" or name.endswith(".k8s.io")
    return below and name not in ALLOWED_KUBERNETES_NAMES and name not in allowed


def _registered(prefix: str, annotations: Mapping[str, str], allowed: Sequence[str]) -> Registration:
    entries = [
        _entry(prefix, key.removeprefix(f"{prefix}/{_PRIORITY}"), value, annotations)
        for key, value in sorted(annotations.items())
        if key.startswith(f"{prefix}/{_PRIORITY}")
    ]
    field_errors = [
        *_entry_errors(entries, allowed),
        *_unused_hashes(prefix, annotations),
        *_role_errors(entries),
        *_count_errors(entries),
    ]
    ordered = sorted(entries, key=lambda one: (one.priority or 0, one.name))
    return Registration(tuple(one.name for one in ordered), tuple(field_errors), tuple(ordered))


def _entry(prefix: str, key: str, value: str, annotations: Mapping[str, str]) -> Entry:
    number, _, role = value.partition("/")
    priority = int(number) if _DIGITS.fullmatch(number) and int(number) <= MAX_PRIORITY else None
    name = annotations.get(f"{prefix}/{_HASH}{key}", key)
    return Entry(f"metadata.annotations[{prefix}/{_PRIORITY}{key}]", name, value, priority, role)


def _entry_errors(entries: Sequence[Entry], allowed: Sequence[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for one in entries:
        yield from _name_errors(one, allowed)
        if one.name in seen:
            yield duplicate(one.path, one.name)
        seen.add(one.name)
        if one.priority is None:
            detail = f"must be PRIORITY or PRIORITY/ROLE with a priority from 0 to {MAX_PRIORITY}"
            yield invalid(one.path, one.value, detail)


def _name_errors(one: Entry, allowed: Sequence[str]) -> Iterator[FieldError]:
    for complaint in dns1123_subdomain(one.name):
        yield invalid(one.path, one.name, complaint)
    if reserved_name(one.name, allowed):
        yield forbidden(one.path, RESERVED)


def _unused_hashes(prefix: str, annotations: Mapping[str, str]) -> Iterator[FieldError]:
    for key in sorted(annotations):
        short = key.removeprefix(f"{prefix}/{_HASH}")
        if short != key and f"{prefix}/{_PRIORITY}{short}" not in annotations:
            other = f"{prefix}/{_PRIORITY}{short}"
            yield required(f"metadata.annotations[{other}]", f"must be given together with {key}")


def _role_errors(entries: Sequence[Entry]) -> Iterator[FieldError]:
    controllers = [one for one in entries if one.role == CONTROLLER]
    for one in controllers[1:]:
        yield forbidden(one.path, f"only one interceptor may have the role {CONTROLLER}")
    for one in entries:
        if len(one.role) > MAX_ROLE:
            yield too_long(one.path, MAX_ROLE)
        if one.priority is None:
            continue
        if one.role == CONTROLLER and one.priority != CONTROLLER_PRIORITY:
            detail = f"the role {CONTROLLER} must have the priority {CONTROLLER_PRIORITY}"
            yield invalid(one.path, one.priority, detail)
        elif one.role != CONTROLLER and one.priority == CONTROLLER_PRIORITY:
            detail = f"the priority {CONTROLLER_PRIORITY} is reserved for the role {CONTROLLER}"
            yield invalid(one.path, one.priority, detail)


def _count_errors(entries: Sequence[Entry]) -> Iterator[FieldError]:
    others = sum(one.role != CONTROLLER for one in entries)
    if others >= MAX_INTERCEPTORS:
        detail = (
            f"must have at most {MAX_INTERCEPTORS - 1} interceptors beside the one with the role {CONTROLLER}"
        )
        yield FieldError("metadata.annotations", ErrorType.TOO_MANY, detail, others)


def name_errors(name: str, path: str, allowed: tuple[str, ...]) -> list[FieldError]:
    """An interceptor is named by a domain that its authors own."""
    if not name:
        return [required(path)]
    found = complaints(path, name, dns1123_subdomain(name))
    if reserved_name(name, allowed):
        found.append(forbidden(path, RESERVED))
    return found
