"""What a plan reads of a cluster: one list of each kind, reduced to the fields that a drain depends on.

A saved snapshot holds no more than what the plan saw, and a file that others wrote is reduced to the same
fields.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import gzip
import io
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from vacate.api.kinds import EVICTIONREQUESTS, NODEMAINTENANCES, Kind
from vacate.api.objects import Obj, copied, dig
from vacate.api.times import format_time, parse_time
from vacate.client.client import Client
from vacate.client.privatefile import OWNER_ONLY
from vacate.clock import Clock
from vacate.embedded.schema import settle
from vacate.errors import ConfigError, Forbidden, MethodNotAllowed, NotFound, VacateError
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import DIALECT_NAMES, DIALECTS
from vacate.plan.fields import KINDS, NOT_EVERYWHERE, READS, reduced

FORMAT, VERSION = "vacate.dev/plan-snapshot", 1
MAX_BYTES = 256 * 1024 * 1024
"""A snapshot is read up to this size, unpacked."""
MAX_OBJECTS = 200_000
MAX_VALUES = 8_000_000
"""Parsed, a value takes up to two hundred bytes, whatever it takes in the file. An object has about sixty."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at one moment."""

    taken: dt.datetime
    objects: Mapping[Kind, Sequence[Obj]] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)  # by resource that was not read: what is unknown
    changed: int = 0  # objects of later lists that are newer than the first list
    images: bool = False  # whether it has the images of containers
    apis: tuple[str, ...] | None = None  # for evictions, by which the cluster serves; None where unknown

    def of(self, kind: Kind) -> Sequence[Obj]:
        """The objects of a kind."""
        return self.objects.get(kind, ())

    def having(self, kind: Kind, objects: Sequence[Obj]) -> Snapshot:
        """The snapshot with other objects of one kind."""
        return replace(self, objects={**self.objects, kind: objects})


async def read_snapshot(client: Client, clock: Clock, *, images: bool = False) -> Snapshot:
    """List what a plan needs. Kinds that may not be listed are left out and named, but nodes and pods."""
    taken = clock.now()
    apis = await _served(client)
    objects: dict[Kind, Sequence[Obj]] = {}
    missing: dict[str, str] = {}
    first, changed = 0, 0
    total = 0
    for kind, read in READS.items():
        found, broken = list[Obj](), 0
        try:
            async for page in client.pages(kind):
                first = first or _number(page.resource_version)
                for one in page.items:
                    changed += _number(dig(one, "metadata", "resourceVersion")) > first > 0
                    try:
                        found.append(reduced(kind, one, images=images))
                    except VacateError:
                        broken += 1
                total += len(page.items)
                if total > MAX_OBJECTS:
                    raise ConfigError(f"the cluster has more than {MAX_OBJECTS:,} objects: too many to plan")
        except (Forbidden, NotFound, MethodNotAllowed) as error:
            if not read.unknown:
                raise
            own = kind in (EVICTIONREQUESTS, NODEMAINTENANCES)
            absent = own and apis is not None and EVICTION_REQUEST.name not in apis
            if kind not in NOT_EVERYWHERE or (isinstance(error, Forbidden) and not absent):
                missing[kind.resource] = read.unknown
            continue
        if broken:
            of = len(found) + broken
            missing[f"{broken} of {of} {kind.resource}"] = "these objects: they cannot be read"
        objects[kind] = found
    return Snapshot(taken, objects, missing, changed, images, apis)


async def _served(client: Client) -> tuple[str, ...] | None:
    """The APIs for evictions that the cluster serves; None for those who may not ask."""
    found = []
    for dialect in DIALECTS.values():
        try:
            if await client.serves(dialect.kind):
                found.append(dialect.name)
        except Forbidden:
            return None
    return tuple(found)


def _number(version: Any) -> int:
    """A resource version as one that can be compared; 0 where it cannot be."""
    return int(version) if isinstance(version, str) and version.isascii() and version.isdigit() else 0


def save(snapshot: Snapshot, path: Path) -> None:
    """Write the snapshot, compressed, readable by its owner only."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "taken": format_time(snapshot.taken),
        "changed": snapshot.changed,
        "images": snapshot.images,
        "apis": snapshot.apis,
        "missing": dict(snapshot.missing),
        "objects": {kind.resource: list(found) for kind, found in snapshot.objects.items()},
    }
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY)
        if stat.S_ISREG(os.fstat(handle).st_mode):
            os.fchmod(handle, OWNER_ONLY)  # a file that was there keeps its mode otherwise
        with os.fdopen(handle, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            packed.write(orjson.dumps(document))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def load(path: Path) -> Snapshot:
    """Read a snapshot that was saved; a ConfigError where it is damaged, or of another version."""
    body = _content(path)
    if sum(map(body.count, (b"{", b"[", b","))) > MAX_VALUES:
        raise ConfigError(f"{path} has more than {MAX_VALUES:,} values: too many to read")
    document: Any = None
    with contextlib.suppress(orjson.JSONDecodeError, RecursionError):
        document = orjson.loads(body)
    del body
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ConfigError(f"{path} is no snapshot of `vacate plan --save`")
    if document.get("version") != VERSION:
        raise ConfigError(
            f"{path} is a snapshot of version {document.get('version')!r:.20}, and this program reads "
            f"version {VERSION}: save it again with this program"
        )
    try:
        taken = parse_time(document["taken"])
        missing = {str(key): str(value) for key, value in document.get("missing", {}).items()}
        images = document.get("images") is True
        objects = _objects(document["objects"], path, images=images)
    except ConfigError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ConfigError(f"{path} is damaged: {error}") from error
    changed = document.get("changed")
    newer = changed if isinstance(changed, int) and changed > 0 else 0
    served = document.get("apis")
    apis = tuple(one for one in DIALECT_NAMES if one in served) if isinstance(served, list) else None
    return Snapshot(taken, objects, missing, newer, images, apis)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            source: io.BufferedIOBase = gzip.GzipFile(fileobj=file) if packed else file
            body = source.read(MAX_BYTES + 1)
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"{path} cannot be read: {why}") from error
    except Exception as error:  # zlib.error has no base of its own
        raise ConfigError(f"{path} is damaged: {error}") from error
    if len(body) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than {MAX_BYTES >> 20} MiB, unpacked")
    return body


def _objects(given: Any, path: Path, *, images: bool) -> dict[Kind, Sequence[Obj]]:
    by_resource = {kind.resource: kind for kind in KINDS}
    if sum(len(found) for found in given.values()) > MAX_OBJECTS:
        raise ConfigError(f"{path} has more than {MAX_OBJECTS:,} objects")
    objects: dict[Kind, Sequence[Obj]] = {}
    for resource, found in given.items():
        kind = by_resource.get(resource)
        if kind is None:
            raise ConfigError(f"{path} has objects of another kind: {resource!r:.80}")
        kept = []
        for number, one in enumerate(found):
            found[number] = None  # what is reduced is held once
            try:
                kept.append(_checked(kind, reduced(kind, one, images=images)))
            except (VacateError, TypeError, AttributeError, ValueError, RecursionError) as error:
                raise ConfigError(f"{path} is damaged: {resource}[{number}]: {error}") from error
        if len({(one["metadata"].get("namespace"), one["metadata"]["name"]) for one in kept}) < len(kept):
            raise ConfigError(f"{path} is damaged: {resource} has two objects of one name")
        objects[kind] = kept
    return objects


def _checked(kind: Kind, obj: Obj) -> Obj:
    """The object, if all that is kept of it is of the type that an API server would have made it."""
    if wrong := settle(kind, copied(obj)):
        raise ConfigError(wrong[0])
    return obj
