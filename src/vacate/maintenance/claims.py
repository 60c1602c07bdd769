"""What maintenances have done to a node, recorded on the node in the same write that does it.

The record is an annotation: whether a maintenance cordoned the node, and which maintenances want it so. It
is written by guarded patches together with the cordon and the taint, so that a crash at any time leaves
neither without the other, and undoing undoes exactly what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import msgspec
import orjson

from vacate.api.objects import Obj
from vacate.api.types import Node
from vacate.kube.patches import guarded
from vacate.maintenance.names import CLAIMS, TAINT


@dataclass(frozen=True, slots=True)
class Claims:
    """What the record says: who wants the node cordoned (name, UID), who wants the taint, and our cordon."""

    cordoned: bool = False
    by: Mapping[str, str] = field(default_factory=dict)
    tainting: frozenset[str] = frozenset()


_NONE = Claims(by=MappingProxyType({}))


def claims_of(node: Node) -> Claims:
    """The record of a node. One that cannot be read counts as none: what is not known to be ours stays."""
    text = node.metadata.annotations.get(CLAIMS)
    return _NONE if not text else _read(text)


@lru_cache(maxsize=128)
def _read(text: str) -> Claims:
    """Remembered: the nodes of a drain have one record, which is asked for at every change of a pod."""
    try:
        found: Any = orjson.loads(text)
        by = {str(name): str(uid) for name, uid in found["by"].items()}
        tainting = frozenset(str(name) for name in found.get("taint", ()) if name in by)
        return Claims(found.get("cordoned") is True, MappingProxyType(by), tainting)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        return _NONE


def claim_patch(
    node: Node, name: str, uid: str, *, taint: bool, known: Callable[[str, str], bool]
) -> Obj | None:
    """The change that cordons the node for a maintenance; None where nothing is to be changed.

    Claims of maintenances that do not exist any more (`known` tells) are dropped.
    """
    old = claims_of(node)
    by = {**_living(old, known), name: uid}
    tainting = {one for one in old.tainting if one in by and one != name} | ({name} if taint else set())
    new = Claims(old.cordoned or not node.spec.unschedulable, by, frozenset(tainting))
    return _patch(node, old, new, unschedulable=True)


def release_patch(node: Node, name: str, *, known: Callable[[str, str], bool]) -> Obj | None:
    """The change that takes a maintenance's claim back; the last one to go uncordons what we cordoned."""
    old = claims_of(node)
    if name not in old.by:
        return None
    by = {one: uid for one, uid in _living(old, known).items() if one != name}
    new = Claims(old.cordoned, by, frozenset(one for one in old.tainting if one in by))
    keep = node.spec.unschedulable if by or not old.cordoned else False
    return _patch(node, old, new, unschedulable=keep)


def _living(claims: Claims, known: Callable[[str, str], bool]) -> dict[str, str]:
    return {name: uid for name, uid in claims.by.items() if known(name, uid)}


def _patch(node: Node, old: Claims, new: Claims, *, unschedulable: bool) -> Obj | None:
    spec: Obj = {}
    if node.spec.unschedulable != unschedulable:
        spec["unschedulable"] = True if unschedulable else None
    wanted = bool(new.tainting)
    mine = [taint for taint in node.spec.taints if _is_ours(taint)]
    if bool(mine) != wanted and (wanted or old.tainting):
        others = [msgspec.to_builtins(taint) for taint in node.spec.taints if not _is_ours(taint)]
        spec["taints"] = [*others, *([msgspec.to_builtins(TAINT)] if wanted else [])] or None
    if not spec and new == old:
        return None
    patch = guarded(node.metadata, {"metadata": {"annotations": {CLAIMS: _text(new)}}})
    return {**patch, "spec": spec} if spec else patch


def _is_ours(taint: Any) -> bool:
    return bool(taint.key == TAINT.key and taint.effect == TAINT.effect)


def _text(claims: Claims) -> str | None:
    if not claims.by:
        return None
    made = {"by": dict(sorted(claims.by.items())), "cordoned": claims.cordoned}
    if claims.tainting:
        made["taint"] = sorted(claims.tainting)
    return orjson.dumps(made).decode()
