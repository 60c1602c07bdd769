"""What the schema of a label selector cannot say, for every kind of ours that has one."""

from __future__ import annotations

from typing import Any

from vacate.admission.nameformats import label_key
from vacate.api.objects import Obj
from vacate.crds.declaration import CelRule

_KEY = (
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    "([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$"
)


def not_empty_rule(selector: str, message: str) -> CelRule:
    """The selector must ask for something."""
    return CelRule(
        selector,
        "(has(self.matchLabels) && size(self.matchLabels) > 0)"
        " || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
        message,
        _selects_something,
    )


def keys_rule(selector: str) -> CelRule:
    """Its labels must be labels."""
    return CelRule(
        f"{selector}.matchLabels",
        f"self.all(key, key.matches('{_KEY}'))",
        "a label key is a name of at most 63 characters with an optional DNS prefix, as app or "
        "example.com/app",
        _keys_are_labels,
    )


def values_rule(selector: str) -> CelRule:
    """Its expressions must have as many values as their operators take."""
    return CelRule(
        f"{selector}.matchExpressions[]",
        "(has(self.values) && size(self.values) > 0) == (self.operator in ['In', 'NotIn'])",
        "In and NotIn need values, Exists and DoesNotExist take none",
        _values_fit_operator,
        field="values",
    )


def _selects_something(selector: Obj) -> bool:
    return bool(selector.get("matchLabels")) or bool(selector.get("matchExpressions"))


def _keys_are_labels(labels: dict[str, Any]) -> bool:
    return not any(label_key(key) for key in labels)


def _values_fit_operator(requirement: Obj) -> bool:
    has_values = bool(requirement.get("values"))
    return has_values == (requirement.get("operator") in ("In", "NotIn"))
