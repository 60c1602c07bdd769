"""Which nodes a pod asks for by their labels or names: `nodeSelector` and node affinity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vacate.api.integers import parse_integer
from vacate.api.objects import dig
from vacate.api.types import Node, Pod

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def requires_node_labels(pod: Pod) -> bool:
    """Whether the pod requires anything of its node's labels or name."""
    return bool(pod.spec.node_selector) or dig(pod.spec.affinity, "nodeAffinity", _REQUIRED) is not None


def has_preferences(pod: Pod) -> bool:
    """Whether the pod likes some nodes better than others."""
    return bool(dig(pod.spec.affinity, "nodeAffinity", _PREFERRED))


def wants_node(pod: Pod, node: Node) -> bool:
    """Whether the node meets all that the pod requires of it."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    required = dig(pod.spec.affinity, "nodeAffinity", _REQUIRED)
    return required is None or selects_node(required, node)


def selects_node(selector: Mapping[str, Any], node: Node) -> bool:
    """Whether any term of a node selector matches the node."""
    return any(_term_matches(term, node) for term in selector.get("nodeSelectorTerms") or ())


def preference(pod: Pod, node: Node) -> int:
    """The sum of the weights of the preferences that the node meets."""
    preferred = dig(pod.spec.affinity, "nodeAffinity", _PREFERRED) or ()
    return sum(one.get("weight", 0) for one in preferred if _term_matches(one.get("preference") or {}, node))


def _term_matches(term: Mapping[str, Any], node: Node) -> bool:
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    names = {"metadata.name": node.metadata.name}
    return all(requirement_met(one, node.metadata.labels) for one in expressions) and all(
        requirement_met(one, names) for one in fields
    )


def requirement_met(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """One `key operator values` against labels, or against fields that look like labels."""
    value = labels.get(requirement.get("key", ""))
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _compare(value, values) > 0
        case "Lt":
            return _compare(value, values) < 0
        case _:
            return False


def _compare(value: str | None, values: Any) -> int:
    """The sign of value minus bound, zero where either is no whole number, which meets neither operator."""
    have, bound = parse_integer(value or ""), parse_integer(str(values[0])) if values else None
    if have is None or bound is None:
        return 0
    return (have > bound) - (have < bound)
