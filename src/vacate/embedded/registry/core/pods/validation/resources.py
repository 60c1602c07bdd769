"""What containers ask for and are limited to."""

from __future__ import annotations

from typing import Any

from vacate.admission.nameformats import label_key
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import mapping
from vacate.embedded.registry.core.quantities import (
    count_errors,
    is_extended,
    is_huge_pages,
    is_native,
    quantity_of,
)

_OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
_STANDARD = frozenset({
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
    "limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services",
    "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims", "storage",
    "requests.storage", "services.nodeports", "services.loadbalancers",
})  # fmt: skip


def resource_errors(resources: Any, path: str) -> list[FieldError]:
    """Errors of one container's requests and limits."""
    limits, requests = (mapping(mapping(resources).get(key)) for key in ("limits", "requests"))
    found: list[FieldError] = []
    for name, amount in limits.items():
        found += _amount_errors(name, amount, f"{path}.limits[{name}]")
    for name, amount in requests.items():
        found += _amount_errors(name, amount, f"{path}.requests[{name}]")
        found += _limit_errors(name, amount, limits, path)
    return found + _huge_page_errors({**limits, **requests}, path)


def _amount_errors(name: str, amount: Any, path: str) -> list[FieldError]:
    if name in _OF_CONTAINERS:
        return count_errors(name, amount, path)
    found = _name_errors(name, path)
    if "/" not in name:
        if not is_huge_pages(name):
            found.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        found.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return found + count_errors(name, amount, path)


def _name_errors(name: str, path: str) -> list[FieldError]:
    if found := complaints(path, name, label_key(name)):
        return found
    if "/" in name or name in _STANDARD or name.startswith(("hugepages-", "requests.hugepages-")):
        return []
    return [invalid(path, name, "must be a standard resource type or fully qualified")]


def _limit_errors(name: str, amount: Any, limits: Obj, path: str) -> list[FieldError]:
    overcommitted = is_native(name) and not is_huge_pages(name)
    if name not in limits:
        detail = "Limit must be set for non overcommitable resources"
        return [] if overcommitted else [required(f"{path}.limits", detail)]
    if amount == limits[name]:
        return []
    asked, limit = quantity_of(amount), quantity_of(limits[name])
    if asked != limit and not overcommitted:
        return [invalid(f"{path}.requests", str(asked), f"must be equal to {name} limit of {limit}")]
    if asked > limit:
        detail = f"must be less than or equal to {name} limit of {limit}"
        return [invalid(f"{path}.requests", str(asked), detail)]
    return []


def _huge_page_errors(amounts: Obj, path: str) -> list[FieldError]:
    if "cpu" in amounts or "memory" in amounts or not any(map(is_huge_pages, amounts)):
        return []
    return [forbidden(path, "HugePages require cpu or memory")]
