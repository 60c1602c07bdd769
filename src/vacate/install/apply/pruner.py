"""Removing what an earlier `vacate install` has applied and the present one has no longer.

An object goes only where the API server itself says that `vacate install` has applied it, and nobody else.
Definitions and namespaces never go: others have their objects there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vacate.api.kinds import NAMESPACES
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.errors import Forbidden
from vacate.install.apply.inventory import line_of, object_of
from vacate.install.apply.order import in_order_of_removal
from vacate.install.apply.requests import FIELD_MANAGER, deleted, existing
from vacate.install.objectkinds import DEFINITIONS, kind_of, shown
from vacate.install.objects import everything

_NEVER = (DEFINITIONS, NAMESPACES)


class Pruner:
    """One look for what is left over, and its removal."""

    def __init__(self, client: Client, report: Callable[[str], None], *, dry_run: bool = False) -> None:
        self._client = client
        self._report = report
        self._dry_run = dry_run

    async def prune(self, wanted: Sequence[Obj], noted: Sequence[str], namespace: str) -> None:
        """Remove what is noted, or could be from a time before there were notes, and is not wanted."""
        for obj in leftovers(wanted, noted, namespace):
            await self._consider(obj, noted=line_of(obj) in noted)

    async def _consider(self, obj: Obj, *, noted: bool) -> None:
        try:
            found = await existing(self._client, obj)
        except Forbidden as error:
            found, why = None, str(error)
        else:
            why = "" if found is None else why_kept(found)
        if why and noted:
            self._report(f"{shown(obj)} kept: {why}")
        elif found is not None and not why and not found["metadata"].get("deletionTimestamp"):
            await deleted(self._client, obj, uid=found["metadata"]["uid"], dry_run=self._dry_run)
            self._report(f"{shown(obj)} pruned")


def leftovers(wanted: Sequence[Obj], noted: Sequence[str], namespace: str) -> list[Obj]:
    """All that may have been installed and is not wanted, in the order of removal."""
    known = {line_of(obj) for obj in wanted}
    from_notes = [obj for line in noted if (obj := object_of(line)) is not None]
    candidates = {line_of(obj): obj for obj in [*from_notes, *everything(namespace)]}
    return in_order_of_removal([obj for line, obj in candidates.items() if line not in known])


def why_kept(found: Obj) -> str:
    """Why an object of an earlier installation is not removed, or nothing."""
    if kind_of(found) in _NEVER:
        return "others have objects there"
    entries = found["metadata"].get("managedFields") or []
    appliers = [str(one.get("manager")) for one in entries if one.get("operation") == "Apply"]
    if FIELD_MANAGER not in appliers:
        return "it is not from vacate install"
    others = [one for one in appliers if one != FIELD_MANAGER]
    return f"{others[0]} has applied it as well" if others else ""
