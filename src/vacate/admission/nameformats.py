"""The formats of names by kind, and memories for the texts that come again with every object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps

from vacate.api import names

_REMEMBERED_CHARACTERS = 256

Check = Callable[[str], tuple[str, ...]]
NameFormat = Callable[[str, bool], Sequence[str]]
"""Complaints about a name, or, where the flag is True, about a prefix that generated names begin with."""


def _remembered(check: Check) -> Check:
    """The check with a memory for texts of a sensible length: others would fill it with megabytes."""
    known = lru_cache(maxsize=8192)(check)

    @wraps(check)
    def look_up(value: str) -> tuple[str, ...]:
        return known(value) if len(value) <= _REMEMBERED_CHARACTERS else check(value)

    return look_up


@_remembered
def label_key(value: str) -> tuple[str, ...]:
    """Complaints about a key of labels: a qualified name."""
    return tuple(names.label_key(value))


@_remembered
def label_value(value: str) -> tuple[str, ...]:
    """Complaints about a value of a label."""
    return tuple(names.label_value(value))


@_remembered
def annotation_key(value: str) -> tuple[str, ...]:
    """Complaints about a key of annotations."""
    return tuple(names.annotation_key(value))


@_remembered
def dns_label(value: str) -> tuple[str, ...]:
    """Complaints about a DNS label; remembered, since few namespaces and containers have many pods."""
    return tuple(names.dns1123_label(value))


def name_is_subdomain(name: str, prefix: bool) -> Sequence[str]:
    """A name that must be a DNS subdomain: most kinds."""
    return names.dns1123_subdomain(names.without_trailing_dash(name) if prefix else name)


def name_is_label(name: str, prefix: bool) -> Sequence[str]:
    """A name that must be a DNS label: namespaces."""
    return dns_label(names.without_trailing_dash(name) if prefix else name)


def name_is_path_segment(name: str, prefix: bool) -> Sequence[str]:
    """The least that every name must be."""
    return names.path_segment_prefix(name) if prefix else names.path_segment(name)


def name_is_role(name: str, prefix: bool) -> Sequence[str]:
    """A name of a role or of a binding; a prefix is no exception."""
    return names.path_segment(name)


def in_range(value: int, low: int, high: int) -> Sequence[str]:
    """Complaints about a number outside of two bounds that belong to the range."""
    return () if low <= value <= high else (f"must be between {low} and {high}, inclusive",)
