"""How much one request may ask of the server, which answers all of them on one loop.

An object is walked several times in Python before it is stored: what counts is not its bytes but its values.
The limits are far above what clusters hold, and below what would keep others waiting. Kubernetes has no such
limits; SCOPE.md names them.
"""

from __future__ import annotations

from typing import Any

from vacate.errors import RequestTooLarge

MAX_ENTRIES = 2_500
"""Most entries of one list or map."""
MAX_VALUES = 20_000
"""Most values in one object, lists and maps included."""
MAX_REQUIREMENTS = 100
"""Most requirements of a selector: each is compared with each object."""
MAX_SELECTOR_CHARACTERS = 8 * 1024
"""Longest selector, which is what a request line can carry."""


def may_be_large(body: bytes) -> bool:
    """Whether it is worth counting: what has few commas has few values, and most bodies have few."""
    return body.count(b",") >= MAX_ENTRIES


def check_size(value: Any) -> None:
    """Refuse what has too many entries in one place or too many values; names the place."""
    level: list[tuple[str, Any]] = [("", value)] if _holds(value) else []
    values = 0
    while level:
        below: list[tuple[str, Any]] = []
        for path, item in level:
            if len(item) > MAX_ENTRIES:
                raise _too_large(
                    f"{path or 'the body'} has {len(item)} entries, and {MAX_ENTRIES} is the most"
                )
            values += len(item)
            if isinstance(item, dict):
                below += [
                    (f"{path}.{key}" if path else key, child) for key, child in item.items() if _holds(child)
                ]
            else:
                below += [(f"{path}[]", child) for child in item if _holds(child)]
        if values > MAX_VALUES:
            raise _too_large(f"the object has more than {MAX_VALUES} values")
        level = below


def _holds(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _too_large(why: str) -> RequestTooLarge:
    return RequestTooLarge(f"Request entity too large: {why}; divide it into several objects")
