"""Where the content of a volume comes from. The plain sources; nothing looks into projections and claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacate.admission.checks import unsupported
from vacate.admission.pods.paths import descending_errors
from vacate.api.fielderrors import FieldError, forbidden, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import integer, maps, text
from vacate.embedded.registry.core.quantities import quantity_of

SOURCES = {
    "emptyDir": "emptyDir", "hostPath": "hostPath", "gitRepo": "gitRepo",
    "gcePersistentDisk": "gcePersistentDisk", "awsElasticBlockStore": "awsElasticBlockStore",
    "secret": "secret", "nfs": "nfs", "iscsi": "iscsi", "glusterfs": "glusterfs", "flocker": "flocker",
    "persistentVolumeClaim": "persistentVolumeClaim", "rbd": "rbd", "cinder": "cinder", "cephfs": "cephFS",
    "quobyte": "quobyte", "downwardAPI": "downwarAPI", "fc": "fc", "flexVolume": "flexVolume",
    "configMap": "configMap", "azureFile": "azureFile", "vsphereVolume": "vsphereVolume",
    "photonPersistentDisk": "photonPersistentDisk", "portworxVolume": "portworxVolume",
    "azureDisk": "azureDisk", "storageos": "storageos", "projected": "projected", "scaleIO": "scaleIO",
    "csi": "csi", "ephemeral": "ephemeral", "image": "image",
}  # fmt: skip
"""The sources in the order in which the real server looks for them, and what it calls one too many."""

# What a source must say, of those that a node writes or that are looked up.
_NEEDED: dict[str, tuple[str, ...]] = {
    "secret": ("secretName",), "persistentVolumeClaim": ("claimName",), "configMap": ("name",),
}  # fmt: skip
_HOST_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def source_errors(sort: str, source: Obj, path: str) -> list[FieldError]:
    """Errors of one source; `path` is that of the volume."""
    where = f"{path}.{sort}"
    found = [required(f"{where}.{key}") for key in _NEEDED.get(sort, ()) if not source.get(key)]
    return found + _MORE[sort](source, where) if sort in _MORE else found


def _empty(source: Obj, path: str) -> list[FieldError]:
    limit = source.get("sizeLimit")
    if limit is None or quantity_of(limit) >= quantity_of("0"):
        return []
    return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]


def _host_path(source: Obj, path: str) -> list[FieldError]:
    place, sort = text(source.get("path")), source.get("type")
    if not place:
        return [required(f"{path}.path")]
    found = [invalid(f"{path}.path", place, "must not contain '..'")] if ".." in place.split("/") else []
    if sort is not None and sort not in _HOST_TYPES:
        found.append(unsupported(f"{path}.type", text(sort), _HOST_TYPES))
    return found


def _keys(source: Obj, path: str) -> list[FieldError]:
    found = _mode(source.get("defaultMode"), f"{path}.defaultMode")
    for index, item in enumerate(maps(source.get("items"))):
        where = f"{path}.items[{index}]"
        found += [required(f"{where}.{key}") for key in ("key", "path") if not item.get(key)]
        found += local_path_errors(text(item.get("path")), f"{where}.path")
        found += _mode(item.get("mode"), f"{where}.mode")
    return found


def _mode(mode: Any, path: str) -> list[FieldError]:
    return [] if mode is None or 0 <= integer(mode) <= 0o777 else [invalid(path, mode, _MODE)]


def local_path_errors(place: str, path: str) -> list[FieldError]:
    """A path below a volume, away from the names that Kubernetes keeps for itself."""
    found = descending_errors(place, path)
    if place.startswith("..") and not place.startswith("../"):
        found.append(invalid(path, place, "must not start with '..'"))
    return found


_MORE: dict[str, Callable[[Obj, str], list[FieldError]]] = {
    "emptyDir": _empty, "hostPath": _host_path, "secret": _keys, "configMap": _keys,
}  # fmt: skip
