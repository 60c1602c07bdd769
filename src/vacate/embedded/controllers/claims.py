"""Carries out claims: keeps what a controller owns, adopts orphans, releases strays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.selectors.labels import Selector
from vacate.api.types import ObjectMeta
from vacate.client.client import Client
from vacate.client.requests import STRATEGIC_PATCH
from vacate.errors import Conflict, Invalid, NotFound
from vacate.kube.ownership import Claim, adoption_patch, claim, release_patch
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Key


class Owned(Protocol):
    """Anything with metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata."""
        ...


O = TypeVar("O", bound=Owned)  # noqa: E741


class Claims:
    """Claims objects of one kind for controllers of another."""

    def __init__(self, client: Client, owners: Kind, owned: Kind, expectations: Expectations) -> None:
        self._client = client
        self._owners = owners
        self._owned = owned
        self._expectations = expectations

    async def claim(self, owner: ObjectMeta, selector: Selector, candidates: Iterable[O]) -> list[O]:
        """Those of the candidates that belong to the owner now."""
        claimed: list[O] = []
        may_adopt: bool | None = None
        for one in candidates:
            match claim(owner, selector, one.metadata):
                case Claim.KEEP:
                    claimed.append(one)
                case Claim.RELEASE:
                    await self._release(owner, one.metadata)
                case Claim.ADOPT:
                    if may_adopt is None:
                        may_adopt = await self._still_there(owner)
                    if may_adopt and await self._adopt(owner, one.metadata):
                        claimed.append(one)
                case Claim.IGNORE:
                    pass
        return claimed

    async def _still_there(self, owner: ObjectMeta) -> bool:
        """Ask the server, not the cache: an owner that is being deleted must not gather new pods."""
        try:
            fresh: Obj = await self._client.get(self._owners, owner.name, owner.namespace)
        except NotFound:
            return False
        metadata = fresh["metadata"]
        return metadata["uid"] == owner.uid and not metadata.get("deletionTimestamp")

    async def _adopt(self, owner: ObjectMeta, orphan: ObjectMeta) -> bool:
        return await self._patch(owner, orphan, adoption_patch(self._owners, owner, orphan))

    async def _release(self, owner: ObjectMeta, stray: ObjectMeta) -> None:
        try:
            await self._patch(owner, stray, release_patch(owner.uid, stray))
        except Invalid:
            return  # the reference, or the object that had this name, is gone already

    async def _patch(self, owner: ObjectMeta, target: ObjectMeta, patch: Obj) -> bool:
        try:
            written = await self._client.patch(
                self._owned, target.name, patch, target.namespace, patch_type=STRATEGIC_PATCH
            )
        except (NotFound, Conflict):
            return False
        key = Key(owner.namespace, owner.name)
        self._expectations.created(key, written["metadata"]["resourceVersion"])
        return True
