"""PURE. What a writer has written and its cache may not show yet."""

from __future__ import annotations

from typing import Protocol, TypeVar

from vacate.api.types.meta import ObjectMeta


class _Object(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=_Object)


def newer(written: T | None, cached: T) -> T:
    """What the last write returned, until the cache has caught up with it."""
    if written is None or written.metadata.uid != cached.metadata.uid:
        return cached
    return max(cached, written, key=_version)


def _version(one: _Object) -> int:
    text = one.metadata.resource_version
    return int(text) if text.isdigit() else 0
