"""Volumes."""

from __future__ import annotations

from typing import Any

from vacate.admission.nameformats import dns_label
from vacate.api.fielderrors import FieldError, complaints, duplicate, forbidden, required
from vacate.api.objects import Obj
from vacate.api.untyped import maps, text
from vacate.embedded.registry.core.pods.validation.volumesources import SOURCES, source_errors


def volume_errors(volumes: Any, path: str) -> tuple[set[str], list[FieldError]]:
    """The names of the volumes that are sound, and the errors of the others."""
    names: set[str] = set()
    found: list[FieldError] = []
    for index, volume in enumerate(maps(volumes)):
        where, name = f"{path}[{index}]", text(volume.get("name"))
        own = _source_errors(volume, where)
        own += complaints(f"{where}.name", name, dns_label(name)) if name else [required(f"{where}.name")]
        if name in names:
            own.append(duplicate(f"{where}.name", name))
        if not own:
            names.add(name)
        found += own
    return names, found


def _source_errors(volume: Obj, path: str) -> list[FieldError]:
    given = [key for key in SOURCES if type(volume.get(key)) is dict]
    if not given:
        return [required(path, "must specify a volume type")]
    first = given[0]
    detail = "may not specify more than 1 volume type"
    found = [forbidden(f"{path}.{SOURCES[key]}", detail) for key in given[1:]]
    return source_errors(first, volume[first], path) + found
