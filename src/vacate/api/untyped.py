"""Reading JSON that may not have the expected shape: a value of the wrong type counts as absent.

The server refuses wrong types before it asks a strategy. These readers keep a strategy from failing where
something slipped through, at the price of one comparison each.
"""

from __future__ import annotations

from typing import Any

from vacate.api.objects import Obj, dig


def mapping(value: Any) -> Obj:
    """The value if it is an object, else a new empty one."""
    return value if type(value) is dict else {}


def sequence(value: Any) -> list[Any]:
    """The value if it is a list, else a new empty one."""
    return value if type(value) is list else []


def text(value: Any) -> str:
    """The value if it is a string, else an empty one."""
    return value if type(value) is str else ""


def integer(value: Any, otherwise: int = 0) -> int:
    """The value if it is a whole number, else the other one."""
    return value if type(value) is int else otherwise


def maps(value: Any) -> list[Obj]:
    """The list's items, each as an object, so that positions stay what they are."""
    if type(value) is not list:
        return []
    return [item if type(item) is dict else {} for item in value]


def child(parent: Obj, key: str) -> Obj:
    """The object below this key, put there where it is missing."""
    found = parent.get(key)
    if found is None:
        found = parent[key] = {}
    return found if type(found) is dict else {}


def fill(target: Obj, key: str, value: Any) -> None:
    """Set the value where there is none, or an empty text or zero, which Go cannot tell from none."""
    if not target.get(key) and target.get(key) is not False:
        target[key] = value


def controller_of(obj: Any) -> Obj:
    """The reference to the owner that controls the object; empty where there is none."""
    owners = maps(dig(obj, "metadata", "ownerReferences"))
    return next((one for one in owners if one.get("controller") is True), {})


def has_condition(obj: Any, type_: str) -> bool:
    """Whether a condition in the object's status is True."""
    conditions = maps(dig(obj, "status", "conditions"))
    return any(one.get("type") == type_ and one.get("status") == "True" for one in conditions)


_NO_NAME = "Unknown"


def attempted_name(obj: Obj) -> str:
    """The name by which a refusal calls an object that may not have one yet."""
    meta = mapping(obj.get("metadata"))
    return str(meta.get("name") or meta.get("generateName") or _NO_NAME)
