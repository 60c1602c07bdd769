"""Carries the effects of the list-and-watch machine out on a table, item by item; notifies subscribers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from vacate.api.kinds import Kind
from vacate.api.objectidentity import Unreadable, identity_of
from vacate.cache import listwatch as machine
from vacate.cache.listwatch import Effect
from vacate.cache.orderedmap import CacheKey
from vacate.cache.store import Change, ObjectTable, key_of, place_of
from vacate.client.codec import WatchEvent
from vacate.wire.framing import DELETED

T = TypeVar("T")

log = logging.getLogger(__name__)

Handler = Callable[[T | None, T | None], None]
"""Called as fn(old, new) after the readers see the change; None where there is no object."""

UnreadableHandler = Callable[[Unreadable], None]
"""Called for each state of an object that cannot be decoded, projected or indexed."""

Projection = Callable[[T], T]
"""Cuts an object down to what those who share the informer look at, before it is kept."""


class Reflector(Generic[T]):
    """The only writer of a table. An object whose projection or index raises harms only itself."""

    def __init__(self, kind: Kind, table: ObjectTable[T], project: Projection[T] | None) -> None:
        self._kind = kind
        self._table = table
        self._project = project
        self._aside: dict[CacheKey, T] = {}  # a listing that is not whole yet
        self._aside_unreadable: dict[CacheKey, Unreadable] = {}  # what of it cannot be read
        self.handlers: list[Handler[T]] = []
        self.unreadable_handlers: list[UnreadableHandler] = []
        self.synced = asyncio.Event()

    def perform(self, effects: Sequence[Effect]) -> None:
        """Do all that takes no time; the last effect is for the caller."""
        for effect in effects[:-1]:
            match effect:
                case machine.Apply(events, version):
                    self._apply(events, version)
                case machine.Forget():
                    self._aside, self._aside_unreadable = {}, {}
                case machine.Collect(items, unreadable):
                    self._collect(items, unreadable)
                case machine.Amend(events):
                    self._amend(events)
                case machine.Swap(version):
                    self._swap(version)

    def _projected(self, obj: Any) -> tuple[T | None, Unreadable | None]:
        """The object as it is kept, or why it cannot be: an odd object must not end the informer."""
        if self._project is None:
            return cast(T, obj), None
        try:
            return self._project(obj), None
        except Exception as error:  # whatever the object leads to is the object's fault
            place = identity_of(obj)
            reason = f"{place.namespace}/{place.name} cannot be projected: {type(error).__name__}: {error}"
            return None, Unreadable(place, reason)

    def _collect(self, items: Sequence[T], unreadable: Sequence[Unreadable] = ()) -> None:
        odd = list(unreadable)
        for item in items:
            kept, why = self._projected(item)
            if kept is None or why is not None:
                odd += [why] if why else []
                continue
            key = key_of(kept)
            self._aside[key] = kept
            self._aside_unreadable.pop(key, None)
        for one in odd:
            key = place_of(one.identity)
            self._aside_unreadable[key] = one
            self._aside.pop(key, None)

    def _apply(self, events: Sequence[WatchEvent[Any]], version: str) -> None:
        for event in events:
            deleted = event.type == DELETED
            kept, why = (None, event.unreadable) if event.unreadable else self._projected(event.object)
            if why is not None:
                changes, odd = self._table.apply_unreadable(why, deleted=deleted)
            else:
                changes, odd = self._table.apply(kept, deleted=deleted)
            self._table.resource_version = event.resource_version
            self._notify(changes, odd)
        self._table.resource_version = version

    def _amend(self, events: Sequence[WatchEvent[Any]]) -> None:
        for event in events:
            if event.type == DELETED:
                gone = place_of(event.unreadable.identity) if event.unreadable else key_of(event.object)
                self._aside.pop(gone, None)
                self._aside_unreadable.pop(gone, None)
            elif event.unreadable is not None:
                self._collect((), (event.unreadable,))
            elif event.object is not None:
                self._collect((event.object,))

    def _swap(self, version: str) -> None:
        items, self._aside = self._aside, {}
        unreadable, self._aside_unreadable = self._aside_unreadable, {}
        changes, odd = self._table.replace(items.values(), version, unreadable.values())
        self.synced.set()
        self._notify(changes, odd)

    def _notify(self, changes: Sequence[Change[T]], unreadable: Sequence[Unreadable]) -> None:
        for one in unreadable:
            log.warning("%s: skipped until it changes: %s", self._kind.resource, one.reason)
            for report in self.unreadable_handlers:
                report(one)
        for old, new in changes:
            for handler in self.handlers:
                handler(old, new)
