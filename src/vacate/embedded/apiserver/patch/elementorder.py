"""The order of a merged list: the patch's items in the patch's order, the others between them in theirs."""

from __future__ import annotations

from typing import Any

import orjson

from vacate.embedded.apiserver.patch import refusals


def identity(item: Any, merge_key: str) -> Any:
    """What makes two items of a list the same: the merge key's value, or the item itself; hashable."""
    value = item.get(merge_key) if merge_key and isinstance(item, dict) else item
    return orjson.dumps(value) if isinstance(value, dict | list) else (type(value), value)


def in_order_of(merged: list[Any], wanted: list[Any], live: list[Any], merge_key: str) -> list[Any]:
    """Sort the merged items by the wanted order, and let those that it does not name keep to the live one."""
    _check_items((*merged, *wanted), merge_key)
    by_patch, by_server = _positions(wanted, merge_key), _positions(live, merge_key)
    named = [item for item in merged if identity(item, merge_key) in by_patch]
    others = [item for item in merged if identity(item, merge_key) not in by_patch]
    named.sort(key=lambda item: by_patch[identity(item, merge_key)])
    others.sort(key=lambda item: by_server.get(identity(item, merge_key), len(live)))
    places = [(by_server.get(identity(item, merge_key), -1), item) for item in others]
    return _interleaved(places, [(by_server.get(identity(item, merge_key), -1), item) for item in named])


def _interleaved(left: list[tuple[int, Any]], right: list[tuple[int, Any]]) -> list[Any]:
    """An item of the left goes before one of the right only where both are live and it stood before it."""
    result = []
    rest = iter(left)
    waiting = next(rest, None)
    for place, item in right:
        while waiting is not None and 0 <= waiting[0] < place:
            result.append(waiting[1])
            waiting = next(rest, None)
        result.append(item)
    if waiting is not None:
        result.append(waiting[1])
    return result + [item for _, item in rest]


def _positions(items: list[Any], merge_key: str) -> dict[Any, int]:
    positions: dict[Any, int] = {}
    for position, item in enumerate(items):
        positions.setdefault(identity(item, merge_key), position)
    return positions


def _check_items(items: tuple[Any, ...], merge_key: str) -> None:
    if not merge_key:
        return
    for item in items:
        if not isinstance(item, dict):
            raise refusals.bad_type("map", item)
        if merge_key not in item:
            raise refusals.no_merge_key(item, merge_key)
