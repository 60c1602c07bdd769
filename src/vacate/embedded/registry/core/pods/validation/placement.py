"""Where a pod may run: tolerations, gates, spread."""

from __future__ import annotations

from typing import Any

from vacate.admission.checks import selector_errors, unsupported
from vacate.admission.nameformats import label_key, label_value
from vacate.api.fielderrors import FieldError, complaints, duplicate, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import integer, maps, text
from vacate.embedded.registry.core.nodes import effect_errors

_POSITIVE = "must be greater than zero"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_MATCH_ALL = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'


def toleration_errors(tolerations: Any, path: str) -> list[FieldError]:
    """Errors of tolerations."""
    found: list[FieldError] = []
    for index, toleration in enumerate(maps(tolerations)):
        found += _one_toleration_errors(toleration, f"{path}[{index}]")
    return found


def gate_errors(spec: Obj, path: str) -> list[FieldError]:
    """Errors of what keeps a pod from counting as ready, and of what keeps it from being scheduled."""
    found: list[FieldError] = []
    for index, gate in enumerate(maps(spec.get("readinessGates"))):
        sort = text(gate.get("conditionType"))
        found += complaints(f"{path}.readinessGates[{index}].conditionType", sort, label_key(sort))
    seen: set[str] = set()
    for index, gate in enumerate(maps(spec.get("schedulingGates"))):
        where, name = f"{path}.schedulingGates[{index}]", text(gate.get("name"))
        found += complaints(where, name, label_key(name))
        if name in seen:
            found.append(duplicate(where, name))
        seen.add(name)
    return found


def spread_errors(constraints: Any, path: str) -> list[FieldError]:
    """Errors of topology spread constraints."""
    listed = maps(constraints)
    pairs = [(text(one.get("topologyKey")), text(one.get("whenUnsatisfiable"))) for one in listed]
    found: list[FieldError] = []
    for index, constraint in enumerate(listed):
        where, (key, action) = f"{path}[{index}]", pairs[index]
        if (skew := integer(constraint.get("maxSkew"))) <= 0:
            found.append(invalid(f"{where}.maxSkew", skew, _POSITIVE))
        if not key:
            found.append(required(f"{where}.topologyKey", "can not be empty"))
        if action not in _ACTIONS:
            found.append(unsupported(f"{where}.whenUnsatisfiable", action, _ACTIONS))
        if pairs[index] in pairs[index + 1 :]:
            pair = "{topologyKey, whenUnsatisfiable}"
            found.append(duplicate(f"{where}.{pair}", f"{{{key}, {action}}}"))
        found += _constraint_detail_errors(constraint, where, action)
    return found


def _one_toleration_errors(toleration: Obj, path: str) -> list[FieldError]:
    key, operator, effect = (text(toleration.get(part)) for part in ("key", "operator", "effect"))
    found = complaints(f"{path}.key", key, label_key(key)) if key else []
    if not key and operator != "Exists":
        found.append(invalid(f"{path}.operator", operator, _MATCH_ALL))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        found.append(invalid(f"{path}.effect", effect, detail))
    found += _operator_errors(operator, text(toleration.get("value")), f"{path}.operator")
    return found + (effect_errors(effect, f"{path}.effect") if effect else [])


def _operator_errors(operator: str, value: str, path: str) -> list[FieldError]:
    if operator in ("", "Equal"):
        wrong = label_value(value)
        return [invalid(path, value, ";".join(wrong))] if wrong else []
    if operator == "Exists":
        detail = "value must be empty when `operator` is 'Exists'"
        return [invalid(path, value, detail)] if value else []
    known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
    return [unsupported(path, operator, known)]


def _constraint_detail_errors(constraint: Obj, path: str, action: str) -> list[FieldError]:
    found: list[FieldError] = []
    if (domains := constraint.get("minDomains")) is not None:
        where = f"{path}.minDomains"
        if integer(domains) <= 0:
            found.append(invalid(where, domains, _POSITIVE))
        if action != "DoNotSchedule":
            detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            found.append(invalid(where, domains, detail))
    for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if (policy := constraint.get(key)) is not None and policy not in _POLICIES:
            found.append(unsupported(f"{path}.{key}", policy, _POLICIES))
    return found + selector_errors(constraint.get("labelSelector"), f"{path}.labelSelector")
