"""Small builders of errors that many kinds share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vacate.admission.nameformats import label_key, label_value
from vacate.api.fielderrors import ErrorType, FieldError, complaints, forbidden, invalid, required
from vacate.api.objects import Obj
from vacate.api.selectors.labels import Selector, selector_of
from vacate.api.untyped import integer, mapping, sequence, text
from vacate.errors import ApiError

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"


def unsupported(path: str, value: Any, known: Sequence[str]) -> FieldError:
    """The value is none of those known, which are listed in the order given."""
    listed = ", ".join(f'"{item}"' for item in known)
    return FieldError(path, ErrorType.NOT_SUPPORTED, f"supported values: {listed}", value)


def not_negative(path: str, owner: Obj, key: str) -> list[FieldError]:
    """A error where the number below this key is less than zero."""
    value = integer(owner.get(key))
    return [invalid(f"{path}.{key}", value, NEGATIVE)] if value < 0 else []


def unchanged(path: str, new: Any, old: Any) -> list[FieldError]:
    """A error where the value is not what it was."""
    return [] if same(new, old) else [invalid(path, new, IMMUTABLE)]


def same(new: Any, old: Any) -> bool:
    """Equal, where an empty list is the same as none.

    Objects that the server hands over are complete (`api.schema`) and have no empty maps: where one has an
    empty object and the other has none there is a pointer, which is more than nothing to Kubernetes.
    """
    if new == old:
        return True
    if isinstance(new, dict) and isinstance(old, dict):
        return all(same(new.get(key), old.get(key)) for key in dict.fromkeys((*new, *old)))
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return all(map(same, new, old))
    return not new and not old and isinstance(new, list | None) and isinstance(old, list | None)


def sorted_map(labels: Any) -> Any:
    """A map as Kubernetes shows it: in the order of its keys."""
    return dict(sorted(labels.items())) if type(labels) is dict else labels


def shown_selector(selector: Any) -> Any:
    """A label selector as Kubernetes shows it."""
    if type(selector) is not dict:
        return selector
    shown: Obj = {}
    if labels := selector.get("matchLabels"):
        shown["matchLabels"] = sorted_map(labels)
    if expressions := selector.get("matchExpressions"):
        shown["matchExpressions"] = expressions
    return shown


def labels_errors(labels: Any, path: str) -> list[FieldError]:
    """Keys and values of labels; a node selector is written with them too."""
    found: list[FieldError] = []
    for key, value in mapping(labels).items():
        if wrong := label_key(key):
            found += complaints(path, key, wrong)
        if wrong := label_value(text(value)):
            found += complaints(path, value, wrong)
    return found


def selector_errors(selector: Any, path: str, *, lenient_values: bool = False) -> list[FieldError]:
    """A label selector as objects carry it. Values that an old object had may stay as they are."""
    if type(selector) is not dict:
        return []
    found = labels_errors(selector.get("matchLabels"), f"{path}.matchLabels")
    for index, entry in enumerate(sequence(selector.get("matchExpressions"))):
        found += _requirement_errors(mapping(entry), f"{path}.matchExpressions[{index}]", lenient_values)
    return found


def _requirement_errors(entry: Obj, path: str, lenient_values: bool) -> list[FieldError]:
    operator, values = text(entry.get("operator")), sequence(entry.get("values"))
    found: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if not values:
            found.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(forbidden(f"{path}.values", detail))
    else:
        found.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    key = text(entry.get("key"))
    found += complaints(f"{path}.key", key, label_key(key))
    if not lenient_values:
        for index, value in enumerate(values):
            found += complaints(f"{path}.values[{index}]", value, label_value(text(value)))
    return found


def readable_selector(selector: Any) -> Selector | None:
    """The selector, or None where it cannot be understood."""
    try:
        return selector_of(selector if isinstance(selector, Mapping) else None)
    except (ApiError, ValueError, TypeError, AttributeError):
        return None
