"""Strategic merge patch: maps. The schema table says which lists merge, and by which key.

Fields that the table does not know merge as a plain JSON merge patch would do it.
"""

from __future__ import annotations

from typing import Any

from vacate.api.objects import Obj
from vacate.embedded.apiserver.patch import directives, refusals
from vacate.embedded.apiserver.patch.elementorder import in_order_of
from vacate.embedded.apiserver.patch.strategiclists import ListMeta, check_order, merge_lists
from vacate.embedded.schema import Field, Struct, table

_UNKNOWN = ListMeta()


def apply_strategic_patch(struct: Struct | None, original: Obj, patch: Obj) -> Obj:
    """Merge the patch into the original, in place; parts of the patch become parts of the result."""
    return merge_maps(original, patch, struct)


def merge_maps(original: Obj, patch: Obj, struct: Struct | None) -> Obj:
    """One map and its patch."""
    if directives.PATCH in patch:
        return directives.whole_map(patch)
    directives.retain_keys(original, patch)
    for key in [key for key in patch if key.startswith(directives.ORDER)]:
        _merge_ordered(original, patch, key, struct)
    for key, value in patch.items():
        _merge_field(original, key, value, struct)
    return original


def _merge_field(original: Obj, key: str, value: Any, struct: Struct | None) -> None:
    deletes = key.startswith(directives.DELETE_FROM_LIST)
    if deletes:
        key = directives.named_list(key, directives.DELETE_FROM_LIST)
    if value is None:
        original.pop(key, None)
        return
    current = original.get(key)
    if isinstance(current, dict) and isinstance(value, dict):
        original[key] = _merged_map(current, value, _field(struct, key))
    elif isinstance(current, list) and isinstance(value, list):
        original[key] = _merged_list(current, value, _field(struct, key), deletes=deletes)
    elif not deletes:
        directives.place(original, key, value)


def _merged_map(current: Obj, value: Obj, field: Field | None) -> Obj:
    if field is not None and "replace" in field.patch_strategies:
        replaced: Obj = directives.without_markers(value)
        return replaced
    return merge_maps(current, value, _struct(field))


def _merged_list(current: list[Any], value: list[Any], field: Field | None, *, deletes: bool) -> list[Any]:
    meta = _list_meta(field)
    if not meta.merges and not deletes:
        replaced: list[Any] = directives.without_markers(value)
        return replaced
    return merge_lists(current, value, meta, deletes=deletes)


def _merge_ordered(original: Obj, patch: Obj, directive: str, struct: Struct | None) -> None:
    """A list whose order the patch prescribes, merged and removed from the patch."""
    order = patch.pop(directive)
    if not isinstance(order, list):
        raise refusals.bad_type("list", order)
    key = directives.named_list(directive, directives.ORDER)
    for found in (original.get(key, order), patch.get(key, order)):
        if not isinstance(found, list):
            raise refusals.bad_type("list", found)
    field = _field(struct, key)
    meta = _list_meta(field)
    check_order(patch.get(key, []), order, meta)
    if key in original:
        live = original[key]
        merged = _merged_list(list(live), patch.pop(key), field, deletes=False) if key in patch else live
    elif key in patch:
        live, merged = [], directives.without_removed(patch.pop(key))
    else:
        return
    original[key] = in_order_of(merged, order, live, meta.merge_key)


def _field(struct: Struct | None, key: str) -> Field | None:
    return None if struct is None else struct.fields.get(key)


def _struct(field: Field | None) -> Struct | None:
    shape = None if field is None else field.shape
    while shape is not None and shape.inner is not None and shape.form == "list":
        shape = shape.inner
    return table().structs[shape.type_name] if shape is not None and shape.form == "struct" else None


def _list_meta(field: Field | None) -> ListMeta:
    if field is None:
        return _UNKNOWN
    struct = _struct(field)
    return ListMeta(
        merges="merge" in field.patch_strategies,
        merge_key=field.merge_key,
        merge_items=lambda current, patch: merge_maps(current, patch, struct),
    )
