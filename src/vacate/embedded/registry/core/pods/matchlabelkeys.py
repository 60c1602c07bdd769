"""Labels that a pod compares its own value of: `matchLabelKeys` and `mismatchLabelKeys`."""

from __future__ import annotations

from vacate.admission.nameformats import label_key
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid
from vacate.api.lenient import mapping, maps, sequence, text
from vacate.api.objects import Obj, dig

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))


def label_key_errors(term: Obj, path: str) -> list[FieldError]:
    """Errors of the keys of a constraint or of a term, after they were written into its selector."""
    selector = term.get("labelSelector")
    found: list[FieldError] = []
    for name, _ in _OPERATORS:
        keys = sequence(term.get(name))
        if keys and selector is None:
            found.append(forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set"))
        elif keys:
            for index, key in enumerate(keys):
                found += complaints(f"{path}.{name}[{index}]", key, label_key(text(key)))
    found += _repeated(term, path)
    unwanted = sequence(term.get("mismatchLabelKeys"))
    detail = "exists in both matchLabelKeys and mismatchLabelKeys"
    return found + [
        invalid(f"{path}.matchLabelKeys[{index}]", key, detail)
        for index, key in enumerate(sequence(term.get("matchLabelKeys")))
        if key in unwanted
    ]


def _repeated(term: Obj, path: str) -> list[FieldError]:
    """Keys that the selector names beside what the server has written into it."""
    selector = mapping(term.get("labelSelector"))
    places = {text(key): index for index, key in enumerate(sequence(term.get("matchLabelKeys")))}
    named = set(mapping(selector.get("matchLabels")))
    found: list[FieldError] = []
    for expression in maps(selector.get("matchExpressions")):
        key = text(expression.get("key"))
        if key in places and key in named:
            detail = "exists in both matchLabelKeys and labelSelector"
            found.append(invalid(f"{path}[{places[key]}]", key, detail))
        named.add(key)
    return found


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
