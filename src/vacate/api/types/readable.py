"""PURE. The part of a stored EvictionRequest that can be decoded, for those who have to go on with it.

A request may have been stored by a server without our rules. A write that puts its status right is checked
against the fields that can be read: the others say nothing.
"""

from __future__ import annotations

from typing import Any

import msgspec

from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import (
    COMPLETE,
    EvictionRequest,
    EvictionRequestStatus,
    RequestCondition,
)
from vacate.api.types.lifecycle import FINAL_CONDITIONS
from vacate.api.types.meta import ObjectMeta
from vacate.api.untyped import mapping, maps

UNREADABLE = "Unreadable"
"""What tables show in place of the stage of a request that cannot be decoded."""

_MISFITS = (ValueError, OverflowError)


def decodes(obj: Any, shape: type = EvictionRequest) -> bool:
    """Whether the whole request can be decoded."""
    return _fits(obj, shape)


def is_complete(obj: Obj) -> bool:
    """Whether the request has ended, of any API."""
    return any(
        one.get("type") in (COMPLETE, *FINAL_CONDITIONS) and one.get("status") == "True"
        for one in maps(mapping(obj.get("status")).get("conditions"))
    )


def readable_part(obj: Obj) -> EvictionRequest:
    """The request without what cannot be decoded: single fields of its status, or all of another part."""
    try:
        return msgspec.convert(obj, EvictionRequest)
    except _MISFITS:
        kept: Obj = {"status": readable_status(obj.get("status"))}
        if _fits(obj.get("metadata"), ObjectMeta):
            kept["metadata"] = obj["metadata"]
        if _fits({"spec": obj.get("spec")}, EvictionRequest):
            kept["spec"] = obj["spec"]
        return msgspec.convert(kept, EvictionRequest)


def readable_status(status: Any, shape: type = EvictionRequestStatus) -> Obj:
    """The fields of a status that can be decoded, as they are; of the conditions each that can be."""
    if not isinstance(status, dict):
        return {}
    kept = {key: value for key, value in status.items() if _fits({key: value}, shape)}
    conditions = status.get("conditions")
    if "conditions" not in kept and isinstance(conditions, list):
        kept["conditions"] = [one for one in conditions if _fits(one, RequestCondition)]
    return kept


def _fits(value: Any, shape: type) -> bool:
    try:
        msgspec.convert(value, shape)
    except _MISFITS:
        return False
    return True
