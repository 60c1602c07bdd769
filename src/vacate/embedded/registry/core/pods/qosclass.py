"""The quality-of-service class of a pod."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.api.quantity import Quantity
from vacate.api.untyped import mapping, maps
from vacate.embedded.registry.core.quantities import without_zeroes

_COUNTED = ("cpu", "memory")


def quality_of(spec: Obj) -> str:
    """Guaranteed, Burstable or BestEffort, from what the containers or the pod itself ask for."""
    if spec.get("resources") is not None:
        parts = [mapping(spec["resources"])]
        owners_without_limits_count = False
    else:
        owners = maps(spec.get("containers")) + maps(spec.get("initContainers"))
        parts = [mapping(owner.get("resources")) for owner in owners]
        owners_without_limits_count = True
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    for part in parts:
        if not part and owners_without_limits_count:
            guaranteed = False
            continue
        _add(requests, mapping(part.get("requests")))
        limited = _add(limits, mapping(part.get("limits")))
        if limited < len(_COUNTED) and (owners_without_limits_count or part.get("limits")):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _add(total: dict[str, Quantity], amounts: Obj) -> int:
    counted = {name: amounts[name] for name in _COUNTED if name in amounts}
    found = {name: amount for name, amount in without_zeroes(counted).items() if amount.sign > 0}
    for name, amount in found.items():
        total[name] = total[name] + amount if name in total else amount
    return len(found)
