"""Volumes."""

from __future__ import annotations

from typing import Any

from vacate.admission.faults import complaints
from vacate.admission.formats import dns_label
from vacate.admission.rules import table
from vacate.admission.shape import mapping, maps, text
from vacate.api.field import Fault, FieldError, duplicate, forbidden, invalid, required
from vacate.api.objects import Obj

# What a source must name, by its kind.
_NEEDED = {
    "hostPath": "path",
    "secret": "secretName",
    "persistentVolumeClaim": "claimName",
    "configMap": "name",
}
_BACKSTEP = "must not contain '..'"

RULES = table(
    "Pod",
    ("spec.volumes[].hostPath", Fault.FORBIDDEN, "one source for each volume"),
    ("spec.volumes[].configMap.name", Fault.REQUIRED, "the name or path of any source; others too"),
    ("spec.volumes[].hostPath.path", Fault.INVALID, "without .."),
    ("spec.volumes[].name", Fault.REQUIRED, "not empty"),
    ("spec.volumes[].name", Fault.INVALID, "a DNS label"),
    ("spec.volumes[].name", Fault.DUPLICATE, "unique"),
)  # fmt: skip


def volume_faults(volumes: Any, path: str) -> tuple[set[str], list[FieldError]]:
    """The names of the volumes that are sound, and the faults of the others."""
    names: set[str] = set()
    found: list[FieldError] = []
    for index, volume in enumerate(maps(volumes)):
        where, name = f"{path}[{index}]", text(volume.get("name"))
        own = _source_faults(volume, where)
        own += complaints(f"{where}.name", name, dns_label(name)) if name else [required(f"{where}.name")]
        if name in names:
            own.append(duplicate(f"{where}.name", name))
        if not own:
            names.add(name)
        found += own
    return names, found


def _source_faults(volume: Obj, path: str) -> list[FieldError]:
    given = [key for key in volume if key != "name" and type(volume[key]) is dict]
    if not given:
        return [required(path, "must specify a volume type")]
    # kube-apiserver asks for an emptyDir first and for the rest in the order of its own list.
    given.sort(key=lambda key: key != "emptyDir")
    detail = "may not specify more than 1 volume type"
    found = [forbidden(f"{path}.{key}", detail) for key in given[1:]]
    return _one_source_faults(given[0], mapping(volume[given[0]]), path) + found


def _one_source_faults(sort: str, source: Obj, path: str) -> list[FieldError]:
    needed = _NEEDED.get(sort)
    if needed is None:
        return []
    where = f"{path}.{sort}.{needed}"
    if not (value := text(source.get(needed))):
        return [required(where)]
    return [invalid(where, value, _BACKSTEP)] if sort == "hostPath" and ".." in value.split("/") else []
