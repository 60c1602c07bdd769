"""What the store keeps and returns: keys, entries, changes, pages.

Two heads. `tip` includes writes that are on their way to the disk: compare-and-swap goes against it.
`committed` is what readers and watchers see; it moves only after the disk has the write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Key(NamedTuple):
    """Where an object lives. The namespace is empty for cluster-wide kinds."""

    resource: str  # `pods`, `deployments.apps`
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Attributes:
    """What selectors ask about, taken out of the bytes once when they are written."""

    labels: Mapping[str, str]
    fields: Mapping[str, str]


Project = Callable[[Key, bytes], Attributes]
"""Reads the attributes out of a value; must depend on nothing but its arguments."""

Encode = Callable[[int], bytes]
"""Makes the value for a revision: the resourceVersion is part of the bytes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One object at one revision."""

    key: Key
    value: bytes
    revision: int  # of this value
    created: int  # revision at which the key came to be
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Change:
    """One step of the log.

    `after` of a deletion holds the object's last state with the revision of the deletion, as watchers
    receive it. `frames` remembers encoded forms, so that a change is encoded once for all its watchers.
    """

    revision: int
    key: Key
    before: Entry | None
    after: Entry
    deleted: bool
    frames: dict[object, bytes] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a listing, all of one revision, in key order."""

    entries: Sequence[Entry]
    revision: int
    remaining: int  # entries after this page


@dataclass(frozen=True, slots=True)
class Scope:
    """What a watcher is indexed by; empty means any."""

    resource: str
    namespace: str = ""
    name: str = ""
    node: str = ""  # matches the attribute field `spec.nodeName`
