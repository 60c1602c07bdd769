"""Strategic merge patch: lists that merge, either maps by a key or sets of scalars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vacate.api.objects import Obj
from vacate.embedded.apiserver.patch import refusals
from vacate.embedded.apiserver.patch.directives import ORDER, PATCH, without_markers
from vacate.embedded.apiserver.patch.elementorder import identity, in_order_of


def _never(_current: Obj, patch: Obj) -> Obj:
    return patch


@dataclass(frozen=True, slots=True)
class ListMeta:
    """How a list merges."""

    merges: bool = False
    merge_key: str = ""
    merge_items: Callable[[Obj, Obj], Obj] = _never


def merge_lists(live: list[Any], patch: list[Any], meta: ListMeta, *, deletes: bool) -> list[Any]:
    """One list and its patch; `deletes` where the patch lists the scalars to remove."""
    if not live and not patch:
        return live
    if not _holds_maps(live, patch):
        return _merge_scalars(live, patch, deletes=deletes)
    if not meta.merge_key:
        raise refusals.failed("cannot merge lists without merge key for struct")
    live, patch = _carry_out_directives(live, patch, meta.merge_key)
    return in_order_of(_merge_items(live, patch, meta), patch, live, meta.merge_key)


def check_order(patch: list[Any], order: list[Any], meta: ListMeta) -> None:
    """The patch may name no items that its `$setElementOrder` does not, nor in another order."""
    if not order or not patch:
        return
    for item in patch if meta.merge_key else ():
        if not isinstance(item, dict):
            raise refusals.bad_type("map", item)
    ordered = iter(order)
    for item in patch:
        if isinstance(item, dict) and PATCH in item:
            continue
        wanted = _key_of(item, meta.merge_key)
        if not any(_key_of(one, meta.merge_key) == wanted for one in ordered):
            raise refusals.failed(
                f"the order of {refusals.shown(patch)} is not that of {ORDER}: {refusals.shown(order)}"
            )


def _key_of(item: Any, merge_key: str) -> Any:
    if merge_key and not isinstance(item, dict):
        raise refusals.bad_type("map", item)
    if merge_key and merge_key not in item:
        raise refusals.no_merge_key(item, merge_key)
    return identity(item, merge_key)


def _holds_maps(*lists: list[Any]) -> bool:
    kinds = list(dict.fromkeys(type(item) for items in lists for item in items))
    if kinds[0] is list:
        raise refusals.rejected()
    if len(kinds) > 1:
        raise refusals.failed(f"list element types are not identical: {refusals.shown([*lists])}")
    return kinds[0] is dict


def _merge_scalars(live: list[Any], patch: list[Any], *, deletes: bool) -> list[Any]:
    if deletes:
        unwanted = {identity(item, "") for item in patch}
        return [item for item in live if identity(item, "") not in unwanted]
    return in_order_of(list(dict.fromkeys([*live, *patch])), patch, live, "")


def _carry_out_directives(live: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Items with `$patch: delete` and a key remove theirs; one with `$patch: replace` replaces the list."""
    plain, removed, replace = [], set(), False
    for item in patch:
        directive = item.get(PATCH)
        if PATCH not in item:
            plain.append(item)
        elif directive == "delete":
            if key not in item:
                raise refusals.no_merge_key(item, key)
            removed.add(identity(item, key))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise refusals.failed("merging lists cannot yet be specified in the patch")
        else:
            raise refusals.bad_directive(directive, item)
    if replace:
        return without_markers(plain), []
    return [item for item in live if identity(item, key) not in removed], plain


def _merge_items(live: list[Any], patch: list[Any], meta: ListMeta) -> list[Any]:
    merged = list(live)
    places: dict[Any, int] = {}
    for place, item in enumerate(merged):
        if meta.merge_key in item:
            places.setdefault(identity(item, meta.merge_key), place)
    for item in patch:
        if meta.merge_key not in item:
            raise refusals.no_merge_key(item, meta.merge_key)
        key = identity(item, meta.merge_key)
        if key in places:
            merged[places[key]] = meta.merge_items(merged[places[key]], item)
        else:
            places[key] = len(merged)
            merged.append(without_markers(item))
    return merged
