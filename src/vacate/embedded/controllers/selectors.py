"""Selectors of objects, each read once for as long as it stays the same."""

from __future__ import annotations

from vacate.api.selectors.labels import Selector, selector_of
from vacate.api.types import LabelSelector, ObjectMeta
from vacate.runtime.reconcile import Key


class Selectors:
    """Remembers what the selector of each object means: every change of a pod asks for all of them."""

    def __init__(self) -> None:
        self._known: dict[Key, tuple[LabelSelector | None, Selector]] = {}

    def of(self, meta: ObjectMeta, written: LabelSelector | None) -> Selector:
        """What the object's selector means."""
        key = Key(meta.namespace, meta.name)
        known = self._known.get(key)
        if known is None or known[0] != written:
            known = self._known[key] = (written, selector_of(written))
        return known[1]

    def forget(self, key: Key) -> None:
        """The object is gone."""
        self._known.pop(key, None)
