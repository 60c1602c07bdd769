"""Amounts of resources: canonical on the way in, never negative, whole where halves make no sense."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from vacate.admission.checks import NEGATIVE
from vacate.admission.nameformats import label_key
from vacate.api.fielderrors import FieldError, invalid
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.quantity import ZERO, Quantity, parse_quantity
from vacate.errors import BadRequest

_WHOLE = frozenset({
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
})  # fmt: skip
_MILLI = -3


def canonical_list(amounts: Any, kind: Kind) -> None:
    """Write each amount as Kubernetes stores it; a text that is no quantity makes the request a bad one."""
    if type(amounts) is not dict:
        return
    for name, written in amounts.items():
        try:
            amounts[name] = _canonical(written)
        except ValueError as field_error:
            message = (
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {field_error}'
            )
            raise BadRequest(message) from None


def _canonical(written: Any) -> str:
    return _canonical_text(written if type(written) is str else _number(written))


def _number(written: Any) -> str:
    return str(written) if type(written) in (int, float) else ""


def _canonical_text(written: str) -> str:
    return _remembered(written) if len(written) <= _REMEMBERED_CHARACTERS else _rewritten(written)


def _rewritten(written: str) -> str:
    quantity = parse_quantity(written)
    if quantity.exponent < _MILLI:
        quantity = Quantity(quantity.milli(), _MILLI, quantity.format)
    return str(quantity)


_REMEMBERED_CHARACTERS = 64
_remembered = lru_cache(maxsize=4096)(_rewritten)


def quantity_of(written: Any) -> Quantity:
    """The amount, zero where it cannot be read."""
    try:
        return parse_quantity(written) if isinstance(written, str | int | float) else ZERO
    except ValueError:
        return ZERO


def count_errors(resource: str, amount: Any, path: str) -> list[FieldError]:
    """Not negative, and whole for what is counted in pieces."""
    quantity = quantity_of(amount)
    found = [invalid(path, str(quantity), NEGATIVE)] if quantity.sign < 0 else []
    if quantity.milli() % 1000 and (resource in _WHOLE or is_extended(resource)):
        found.append(invalid(path, str(quantity), "must be an integer"))
    return found


def is_native(resource: str) -> bool:
    """Whether the resource is Kubernetes' own."""
    return "/" not in resource or "kubernetes.io/" in resource


def is_extended(resource: str) -> bool:
    """Whether the resource is one that a vendor names, such as `example.com/gpu`."""
    if is_native(resource) or resource.startswith("requests."):
        return False
    return not label_key(f"requests.{resource}")


def is_huge_pages(resource: str) -> bool:
    """Whether the resource is memory in huge pages."""
    return resource.startswith("hugepages-")


def without_zeroes(amounts: Obj) -> dict[str, Quantity]:
    """The amounts as numbers, those left out that are zero."""
    return {name: quantity for name, written in amounts.items() if (quantity := quantity_of(written))}
