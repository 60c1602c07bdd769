"""The directives of a strategic merge patch, and what they do to a map or to values that are new."""

from __future__ import annotations

from typing import Any

from vacate.api.objects import Obj
from vacate.embedded.apiserver.patch import refusals
from vacate.embedded.apiserver.patch.mergepatch import without_nulls

PATCH = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_FROM_LIST = "$deleteFromPrimitiveList"
ORDER = "$setElementOrder"
_FORMATS = {DELETE_FROM_LIST: "primitive list", ORDER: "setElementOrder list"}


def whole_map(patch: Obj) -> Obj:
    """`$patch: replace` takes the patch for the map, `$patch: delete` empties it."""
    directive = patch[PATCH]
    if directive == "replace":
        replaced: Obj = without_markers(patch)
        return replaced
    if directive == "delete":
        return {}
    raise refusals.bad_directive(directive, patch)


def retain_keys(original: Obj, patch: Obj) -> None:
    """`$retainKeys` removes all other keys; the patch may set none but those that it retains."""
    if RETAIN_KEYS not in patch:
        return
    retained = patch.pop(RETAIN_KEYS)
    if not isinstance(retained, list):
        raise refusals.bad_format("retainKeys")
    kept = {key for key in retained if isinstance(key, str)}
    for key, value in patch.items():
        if value is not None and key not in kept and not key.startswith((DELETE_FROM_LIST, ORDER)):
            raise refusals.bad_format("retainKeys")
    for key in [key for key in original if key not in kept]:
        del original[key]


def named_list(directive: str, prefix: str) -> str:
    """The list that a directive such as `$setElementOrder/containers` is about."""
    head, slash, name = directive.partition("/")
    if head != prefix or not slash:
        raise refusals.bad_format(_FORMATS[prefix])
    return name


def place(original: Obj, key: str, value: Any) -> None:
    """Put a value where none of its type was: without nulls, without what it says is to be deleted."""
    if isinstance(value, dict) and PATCH in value:
        original.pop(key, None)
    else:
        original[key] = without_removed(without_nulls(value))


def without_removed(value: Any) -> Any:
    """A value without the maps in it that carry `$patch`, and without other directives."""
    if isinstance(value, dict):
        return {
            key: without_removed(item)
            for key, item in value.items()
            if not _is_marker(key) and not (isinstance(item, dict) and PATCH in item)
        }
    if isinstance(value, list):
        return [without_removed(item) for item in value if not (isinstance(item, dict) and PATCH in item)]
    return value


def without_markers(value: Any) -> Any:
    """A value without directives; the maps that carried them stay, as decoding them would leave them."""
    if isinstance(value, dict):
        return {key: without_markers(item) for key, item in value.items() if not _is_marker(key)}
    if isinstance(value, list):
        return [without_markers(item) for item in value]
    return value


def _is_marker(key: str) -> bool:
    return key in (PATCH, RETAIN_KEYS) or key.startswith((f"{DELETE_FROM_LIST}/", f"{ORDER}/"))
