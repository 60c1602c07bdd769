"""Affinity of pods to nodes and to other pods."""

from __future__ import annotations

from typing import Any

from vacate.admission.checks import selector_errors
from vacate.admission.nameformats import dns_label, label_key, label_value, name_is_subdomain
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import integer, mapping, maps, sequence, text

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity_errors(affinity: Any, path: str) -> list[FieldError]:
    """Errors of all three sorts."""
    parts = mapping(affinity)
    found: list[FieldError] = []
    if type(nodes := parts.get("nodeAffinity")) is dict:
        found += _node_errors(nodes, f"{path}.nodeAffinity")
    for key in ("podAffinity", "podAntiAffinity"):
        if type(pods := parts.get(key)) is dict:
            found += _pod_errors(pods, f"{path}.{key}")
    return found


def _node_errors(affinity: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if type(needed := affinity.get(_REQUIRED)) is dict:
        where = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        terms = maps(needed.get("nodeSelectorTerms"))
        if not terms:
            found.append(required(where, "must have at least one node selector term"))
        for index, term in enumerate(terms):
            found += _term_errors(term, f"{where}[{index}]", lenient_values=False)
    for index, entry in enumerate(maps(affinity.get(_PREFERRED))):
        where = f"{path}.{_PREFERRED}[{index}]"
        found += _weight_errors(entry, where)
        preference = mapping(entry.get("preference"))
        found += _term_errors(preference, f"{where}.preference", lenient_values=True)
    return found


def _pod_errors(affinity: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for index, term in enumerate(maps(affinity.get(_REQUIRED))):
        found += _pod_term_errors(term, f"{path}.{_REQUIRED}[{index}]")
    for index, entry in enumerate(maps(affinity.get(_PREFERRED))):
        where = f"{path}.{_PREFERRED}[{index}]"
        found += _weight_errors(entry, where)
        found += _pod_term_errors(mapping(entry.get("podAffinityTerm")), f"{where}.podAffinityTerm")
    return found


def _pod_term_errors(term: Obj, path: str) -> list[FieldError]:
    found = selector_errors(term.get("labelSelector"), f"{path}.labelSelector")
    found += selector_errors(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in sequence(term.get("namespaces")):
        found += complaints(f"{path}.namespace", namespace, dns_label(text(namespace)))
    key = text(term.get("topologyKey"))
    if not key:
        found.append(required(f"{path}.topologyKey", "can not be empty"))
    return found + complaints(f"{path}.topologyKey", key, label_key(key))


def _weight_errors(entry: Obj, path: str) -> list[FieldError]:
    weight = integer(entry.get("weight"))
    return [] if 0 < weight <= 100 else [invalid(f"{path}.weight", weight, "must be in the range 1-100")]


def _term_errors(term: Obj, path: str, *, lenient_values: bool) -> list[FieldError]:
    found: list[FieldError] = []
    for index, entry in enumerate(maps(term.get("matchExpressions"))):
        found += _expression_errors(entry, f"{path}.matchExpressions[{index}]", lenient_values)
    for index, entry in enumerate(maps(term.get("matchFields"))):
        found += _field_errors(entry, f"{path}.matchFields[{index}]")
    return found


def _expression_errors(entry: Obj, path: str, lenient_values: bool) -> list[FieldError]:
    operator, values, key = text(entry.get("operator")), sequence(entry.get("values")), text(entry.get("key"))
    found = _operand_errors(operator, values, path)
    found += complaints(f"{path}.key", key, label_key(key))
    if not lenient_values:
        for index, value in enumerate(values):
            found += complaints(f"{path}.values[{index}]", value, label_value(text(value)))
    return found


def _operand_errors(operator: str, values: list[Any], path: str) -> list[FieldError]:
    where = f"{path}.values"
    if operator in ("In", "NotIn"):
        return [] if values else [required(where, "must be specified when `operator` is 'In' or 'NotIn'")]
    if operator in ("Exists", "DoesNotExist"):
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        return [forbidden(where, detail)] if values else []
    if operator in ("Gt", "Lt"):
        detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        return [] if len(values) == 1 else [required(where, detail)]
    return [invalid(f"{path}.operator", operator, "not a valid selector operator")]


def _field_errors(entry: Obj, path: str) -> list[FieldError]:
    operator, values, key = text(entry.get("operator")), sequence(entry.get("values")), text(entry.get("key"))
    found: list[FieldError] = []
    if operator not in ("In", "NotIn"):
        found.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        found.append(required(f"{path}.values", detail))
    if key != "metadata.name":
        return [*found, invalid(f"{path}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        found += complaints(f"{path}.values[{index}]", value, name_is_subdomain(text(value), False))
    return found
