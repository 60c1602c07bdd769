"""JSON patch, RFC 6902, with the leniency of kube-apiserver.

Beyond the standard, negative indices count from the end, and `replace` sets a member that is not there yet.
A patch that does not apply is refused as a whole, with one answer for all reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from vacate.embedded.apiserver.patch import refusals
from vacate.embedded.schema.mismatch import mismatch
from vacate.errors import BadRequest, RequestTooLarge

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
MAX_COPIED_VALUES = 50_000
"""A list that is copied into itself again and again doubles each time."""
_INDEX = re.compile("[+-]?[0-9]{1,18}")
_MEMBERS = ("op", "path", "from")


def apply_json_patch(document: Any, patch: Any) -> Any:
    """Apply the operations in their order, in place where possible; the result may be a new document."""
    operations = _checked(patch)
    state = _Patching(document)
    for operation in operations:
        apply = _OPERATIONS.get((operation or {}).get("op") or "")
        if apply is None:
            raise refusals.rejected()
        apply(state, operation)
    return state.document


def _checked(patch: Any) -> list[dict[str, Any]]:
    if not isinstance(patch, list | None):
        raise _undecodable("list", patch)
    operations = patch or []
    for index, operation in enumerate(operations):
        if not isinstance(operation, dict | None):
            raise _undecodable("map", operation, f"[{index}]")
        for member in _MEMBERS:
            value = (operation or {}).get(member)
            if not isinstance(value, str | None):
                raise _undecodable("string", value, f"[{index}].{member}")
    if len(operations) > MAX_OPERATIONS:
        raise RequestTooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(operations)}"
        )
    return operations


def _undecodable(form: str, value: Any, path: str = "") -> BadRequest:
    return BadRequest(f"error decoding patch: {mismatch(form, value, path)}")


@dataclass(slots=True)
class _Patching:
    document: Any
    copied: int = 0
    copied_values: int = 0

    def add(self, operation: dict[str, Any]) -> None:
        self._put(_text(operation, "path"), operation.get("value"))

    def remove(self, operation: dict[str, Any]) -> None:
        self._take(_text(operation, "path"))

    def replace(self, operation: dict[str, Any]) -> None:
        path, value = _text(operation, "path"), operation.get("value")
        if path == "":
            if not isinstance(value, dict | list):
                raise refusals.rejected()
            self.document = value
            return
        parent, key = self._parent(path)
        if isinstance(parent, list):
            parent[_index(key, len(parent))] = value
        else:
            parent[key] = value

    def move(self, operation: dict[str, Any]) -> None:
        value = self._take(_text(operation, "from"))
        self._put(_text(operation, "path"), value)

    def copy(self, operation: dict[str, Any]) -> None:
        value = self._get(_text(operation, "from"))
        try:
            encoded = orjson.dumps(value)
        except TypeError:
            raise refusals.too_deep() from None
        self.copied += 0 if value is None else len(encoded)
        self.copied_values += 1 + encoded.count(b",") + encoded.count(b"[") + encoded.count(b"{")
        if self.copied > MAX_COPIED_BYTES or self.copied_values > MAX_COPIED_VALUES:
            raise refusals.rejected()
        self._put(_text(operation, "path"), orjson.loads(encoded))

    def test(self, operation: dict[str, Any]) -> None:
        path = _text(operation, "path")
        actual = self.document if path == "" else self._get(path)
        if not same(actual, operation.get("value")):
            raise refusals.rejected()

    def _parent(self, path: str) -> tuple[Any, str]:
        # What stands before the first slash is ignored, as the server does.
        steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
        if not steps:
            raise refusals.rejected()
        parent = self.document
        for step in steps[:-1]:
            parent = _child(parent, step)
        if not isinstance(parent, dict | list):
            raise refusals.rejected()
        return parent, steps[-1]

    def _get(self, path: str) -> Any:
        return _child(*self._parent(path))

    def _put(self, path: str, value: Any) -> None:
        parent, key = self._parent(path)
        if isinstance(parent, dict):
            parent[key] = value
        else:
            length = len(parent)
            parent.insert(length if key == "-" else _index(key, length + 1), value)

    def _take(self, path: str) -> Any:
        parent, key = self._parent(path)
        if isinstance(parent, list):
            return parent.pop(_index(key, len(parent)))
        if key not in parent:
            raise refusals.rejected()
        return parent.pop(key)


_OPERATIONS: dict[str, Callable[[_Patching, dict[str, Any]], None]] = {
    "add": _Patching.add,
    "remove": _Patching.remove,
    "replace": _Patching.replace,
    "move": _Patching.move,
    "copy": _Patching.copy,
    "test": _Patching.test,
}


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values that tells numbers from booleans and whole numbers from fractions."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _text(operation: dict[str, Any], member: str) -> str:
    found = operation.get(member)
    if not isinstance(found, str):
        raise refusals.rejected()
    return found


def _child(parent: Any, step: str) -> Any:
    if isinstance(parent, dict):
        return parent.get(step)
    if isinstance(parent, list):
        return parent[_index(step, len(parent))]
    raise refusals.rejected()


def _index(text: str, length: int) -> int:
    index = int(text) if _INDEX.fullmatch(text) else length
    if not -length <= index < length:
        raise refusals.rejected()
    return index % length
