"""What the schema of a label selector cannot say, for every kind of ours that has one."""

from __future__ import annotations

from vacate.crds.customresource import CelRule

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
    )


def keys_rule(selector: str) -> CelRule:
    """Its labels must be labels."""
    return CelRule(
        f"{selector}.matchLabels",
        f"self.all(key, key.matches('{_KEY}'))",
        "a label key is a name of at most 63 characters with an optional DNS prefix, as app or "
        "example.com/app",
    )


def values_rule(selector: str) -> CelRule:
    """Its expressions must have as many values as their operators take."""
    return CelRule(
        f"{selector}.matchExpressions[]",
        "(has(self.values) && size(self.values) > 0) == (self.operator in ['In', 'NotIn'])",
        "In and NotIn need values, Exists and DoesNotExist take none",
        field="values",
    )
