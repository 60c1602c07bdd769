"""Labels that a pod compares its own value of: `matchLabelKeys` and `mismatchLabelKeys`."""

from __future__ import annotations

from vacate.api.objects import Obj, dig
from vacate.api.untyped import mapping, maps, sequence

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))


def apply_label_keys(spec: Obj, labels: Obj) -> None:
    """Write the pod's own values into the selectors of its constraints and of its affinity to pods."""
    terms = maps(spec.get("topologySpreadConstraints"))
    for sort in ("podAffinity", "podAntiAffinity"):
        preferred = maps(dig(spec, "affinity", sort, _PREFERRED))
        terms += [mapping(one.get("podAffinityTerm")) for one in preferred]
        terms += maps(dig(spec, "affinity", sort, _REQUIRED))
    for term in terms:
        if type(selector := term.get("labelSelector")) is dict:
            _write(selector, term, labels)


def _write(selector: Obj, term: Obj, labels: Obj) -> None:
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for name, operator in _OPERATORS
        for key in sequence(term.get(name))
        if type(key) is str and key in labels
    ]
    if added:
        selector["matchExpressions"] = sequence(selector.get("matchExpressions")) + added
