"""What the schema of NodeMaintenance cannot say."""

from __future__ import annotations

from typing import Any

from vacate.admission.nameformats import label_key
from vacate.api.objects import Obj
from vacate.api.types.nodemaintenance import DELETE, MAX_NAME
from vacate.crds.declaration import CelRule

_SELECTORS = ("spec.nodeSelector", "spec.pods.selector")
_KEY = (
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    "([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$"
)


def _name_is_short(obj: Obj) -> bool:
    meta = obj.get("metadata") or {}
    return len(str(meta.get("name") or "")) <= MAX_NAME


def _nodes_are_named_once(spec: Obj) -> bool:
    return ("nodes" in spec) != ("nodeSelector" in spec)


def _some_node_is_named(spec: Obj) -> bool:
    return spec.get("nodes") != []


def _selects_something(selector: Obj) -> bool:
    return bool(selector.get("matchLabels")) or bool(selector.get("matchExpressions"))


def _deletes_after_a_deadline(spec: Obj) -> bool:
    return spec.get("onDeadline") != DELETE or "deadlineSeconds" in spec


def _keys_are_labels(labels: dict[str, Any]) -> bool:
    return not any(label_key(key) for key in labels)


def _values_fit_operator(requirement: Obj) -> bool:
    has_values = bool(requirement.get("values"))
    return has_values == (requirement.get("operator") in ("In", "NotIn"))


RULES = (
    CelRule(
        "",
        f"size(self.metadata.name) <= {MAX_NAME}",
        f"must be no more than {MAX_NAME} characters: it is part of the requester's name",
        _name_is_short,
        field="metadata.name",
    ),
    CelRule(
        "spec",
        "has(self.nodes) != has(self.nodeSelector)",
        "name the nodes in nodes or select them with nodeSelector, and not both",
        _nodes_are_named_once,
        field="nodes",
    ),
    CelRule(
        "spec",
        "!has(self.nodes) || size(self.nodes) > 0",
        "must name at least one node",
        _some_node_is_named,
        field="nodes",
        reason="FieldValueRequired",
    ),
    CelRule(
        "spec",
        f"!has(self.onDeadline) || self.onDeadline != '{DELETE}' || has(self.deadlineSeconds)",
        "is needed to delete pods when it has passed",
        _deletes_after_a_deadline,
        field="deadlineSeconds",
        reason="FieldValueRequired",
    ),
    CelRule(
        "spec.nodeSelector",
        "(has(self.matchLabels) && size(self.matchLabels) > 0)"
        " || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
        "an empty selector would drain every node: name at least one label",
        _selects_something,
    ),
    *(
        rule
        for selector in _SELECTORS
        for rule in (
            CelRule(
                f"{selector}.matchLabels",
                f"self.all(key, key.matches('{_KEY}'))",
                "a label key is a name of at most 63 characters with an optional DNS prefix, as app or "
                "example.com/app",
                _keys_are_labels,
            ),
            CelRule(
                f"{selector}.matchExpressions[]",
                "(has(self.values) && size(self.values) > 0) == (self.operator in ['In', 'NotIn'])",
                "In and NotIn need values, Exists and DoesNotExist take none",
                _values_fit_operator,
                field="values",
            ),
        )
    ),
)
