"""Paths that must stay below where they begin."""

from __future__ import annotations

from vacate.api.fielderrors import FieldError, invalid


def descending_errors(place: str, path: str) -> list[FieldError]:
    """A path that stays below where it starts."""
    found = [invalid(path, place, "must be a relative path")] if place.startswith("/") else []
    return [*found, invalid(path, place, "must not contain '..'")] if ".." in place.split("/") else found
