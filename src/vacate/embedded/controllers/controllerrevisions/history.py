"""Keeps the revisions of one kind of workload: adds new ones, renumbers old ones, drops the rest."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from vacate.api.kinds import CONTROLLERREVISIONS, Kind
from vacate.api.options import DeleteOptions
from vacate.api.selectors.labels import Selector
from vacate.api.types import ControllerRevision, ObjectMeta
from vacate.cache.indexes import CONTROLLED, CONTROLLER, orphans_of
from vacate.embedded.controllers.claims import Claims
from vacate.embedded.controllers.controllerrevisions.revisions import (
    forgotten,
    new_revision,
    newest_with,
    next_number,
    template_of,
)
from vacate.embedded.controllers.deployment.revisions import comparable
from vacate.errors import AlreadyExists, Conflict, NotFound
from vacate.kube.patches import guarded
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Key


@dataclass(frozen=True, slots=True)
class Recorded:
    """All revisions of an owner, and the one of its present template."""

    revisions: Sequence[ControllerRevision]
    update: ControllerRevision

    def named(self, name: str) -> ControllerRevision:
        """The revision of that name; the present one where it is unknown."""
        return next((one for one in self.revisions if one.metadata.name == name), self.update)


class Collision(Exception):
    """Another object has the name that the template's hash gives; another count gives another name."""


class RevisionHistory:
    """The revisions of all owners of a kind."""

    def __init__(self, deps: Dependencies, owners: Kind) -> None:
        self._client = deps.client
        self._owners = owners
        self._informer = deps.informers.informer(CONTROLLERREVISIONS, ControllerRevision, indexes=CONTROLLED)
        self._expectations = Expectations(deps.clock)
        self._claims = Claims(deps.client, owners, CONTROLLERREVISIONS, self._expectations)

    def forget_owner(self, key: Key) -> None:
        """The owner is gone."""
        self._expectations.forget(key)

    def settled(self, key: Key) -> bool:
        """Whether the cache shows all that was written for the owner."""
        return self._expectations.satisfied(key, self._informer.reader)

    async def record(
        self, owner: ObjectMeta, selector: Selector, template: Mapping[str, Any], collisions: int | None
    ) -> Recorded:
        """The owner's revisions, the present template among them; Collision where its name is taken."""
        own = self._informer.reader.by_index(CONTROLLER, owner.uid)
        orphans = self._informer.reader.by_index(CONTROLLER, orphans_of(owner.namespace))
        known = await self._claims.claim(owner, selector, [*own, *orphans])
        found = newest_with(template, known)
        if found is None:
            found = await self._create(owner, template, collisions, next_number(known))
            return Recorded([*known, found], found)
        if found.revision < next_number(known) - 1:
            found = await self._move_to_front(owner, found, next_number(known))
            known = [one for one in known if one.metadata.name != found.metadata.name] + [found]
        return Recorded(known, found)

    async def drop_old(
        self, revisions: Sequence[ControllerRevision], live: Collection[str], limit: int | None
    ) -> None:
        """Delete what is beyond the limit."""
        for one in forgotten(revisions, live, limit):
            meta = one.metadata
            with contextlib.suppress(NotFound, Conflict):
                await self._client.delete(
                    CONTROLLERREVISIONS, meta.name, meta.namespace, DeleteOptions(uid=meta.uid)
                )

    async def _create(
        self, owner: ObjectMeta, template: Mapping[str, Any], collisions: int | None, number: int
    ) -> ControllerRevision:
        body = new_revision(self._owners, owner, template, collisions, number)
        try:
            written = await self._client.create(CONTROLLERREVISIONS, body, owner.namespace)
        except AlreadyExists:
            return await self._existing(owner, template, body["metadata"]["name"])
        self._wrote(owner, written["metadata"]["resourceVersion"])
        return msgspec.convert(written, ControllerRevision, strict=False)

    async def _existing(
        self, owner: ObjectMeta, template: Mapping[str, Any], name: str
    ) -> ControllerRevision:
        found = await self._client.get(CONTROLLERREVISIONS, name, owner.namespace, into=ControllerRevision)
        controller = found.metadata.controller
        ours = controller is not None and controller.uid == owner.uid
        if not ours or comparable(template_of(found)) != comparable(template):
            raise Collision(name)
        self._wrote(owner, found.metadata.resource_version)
        return found

    async def _move_to_front(
        self, owner: ObjectMeta, old: ControllerRevision, number: int
    ) -> ControllerRevision:
        meta = old.metadata
        patch = guarded(meta, {"revision": number})
        written = await self._client.patch(CONTROLLERREVISIONS, meta.name, patch, meta.namespace)
        self._wrote(owner, written["metadata"]["resourceVersion"])
        return msgspec.structs.replace(old, revision=number)

    def _wrote(self, owner: ObjectMeta, resource_version: str) -> None:
        self._expectations.created(Key(owner.namespace, owner.name), resource_version)
