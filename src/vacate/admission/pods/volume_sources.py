"""Where the content of a volume comes from. The plain sources; nothing looks into projections and claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacate.admission.faults import complaints, unsupported
from vacate.admission.formats import dns_label
from vacate.admission.pods.profiles import descending_faults
from vacate.admission.quantities import quantity_of
from vacate.admission.rules import table
from vacate.admission.shape import integer, maps, text
from vacate.api.field import Fault, FieldError, forbidden, invalid, required, too_long
from vacate.api.names import dns1123_subdomain
from vacate.api.objects import Obj, dig

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

# What a source must say; some are reported under another name.
_NEEDED: dict[str, tuple[str, ...]] = {
    "gitRepo": ("repository",), "gcePersistentDisk": ("pdName",), "awsElasticBlockStore": ("volumeID",),
    "secret": ("secretName",), "nfs": ("server", "path"), "glusterfs": ("endpoints", "path"),
    "persistentVolumeClaim": ("claimName",), "rbd": ("monitors", "image"), "cinder": ("volumeID",),
    "cephfs": ("monitors",), "flexVolume": ("driver",), "configMap": ("name",),
    "azureFile": ("secretName", "shareName"), "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",), "portworxVolume": ("volumeID",), "storageos": ("volumeName",),
    "scaleIO": ("gateway", "system", "volumeName"), "csi": ("driver",), "ephemeral": ("volumeClaimTemplate",),
}  # fmt: skip
_CALLED = {"gcePersistentDisk": "persistentDisk"}
_HOST_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_PARTITION = "must be between 1 and 255, inclusive"
_LONGEST_DRIVER = 63

RULES = table(
    "Pod",
    ("spec.volumes[].configMap.name", Fault.REQUIRED, "the name or path of any source; others too"),
    ("spec.volumes[].emptyDir.sizeLimit", Fault.FORBIDDEN, "not negative"),
    ("spec.volumes[].hostPath.path", Fault.INVALID, "without .."),
    ("spec.volumes[].hostPath.type", Fault.NOT_SUPPORTED, "a known type, or none"),
    ("spec.volumes[].gitRepo.directory", Fault.INVALID, "relative and without .."),
    ("spec.volumes[].persistentDisk.partition", Fault.INVALID, "1 to 255; awsElasticBlockStore too"),
    ("spec.volumes[].nfs.path", Fault.INVALID, "absolute"),
    ("spec.volumes[].secret.defaultMode", Fault.INVALID, "0 to 0777; configMap too"),
    ("spec.volumes[].secret.items[].path", Fault.REQUIRED, "as key; configMap too"),
    ("spec.volumes[].secret.items[].path", Fault.INVALID, "relative, not beginning with ..; configMap too"),
    ("spec.volumes[].secret.items[].mode", Fault.INVALID, "0 to 0777; configMap too"),
    ("spec.volumes[].csi.driver", Fault.TOO_LONG, "at most 63 characters"),
    ("spec.volumes[].csi.driver", Fault.INVALID, "a DNS subdomain, in any case"),
    ("spec.volumes[].image.pullPolicy", Fault.NOT_SUPPORTED, "Always, IfNotPresent or Never"),
    ("spec.volumes[].storageos.volumeName", Fault.INVALID, "a DNS label"),
    ("spec.volumes[].cinder.secretRef.name", Fault.REQUIRED, "where there is one; storageos too"),
)  # fmt: skip


def source_faults(sort: str, source: Obj, path: str, *, is_pod: bool) -> list[FieldError]:
    """Faults of one source; `path` is that of the volume."""
    where = f"{path}.{_CALLED.get(sort, sort)}"
    found = [required(f"{where}.{key}") for key in _NEEDED.get(sort, ()) if not source.get(key)]
    if sort == "image" and is_pod and not source.get("reference"):
        found.append(required(f"{where}.reference"))
    if sort in _MORE:
        found += _MORE[sort](source, where)
    if sort in ("cinder", "storageos") and source.get("secretRef") is not None:
        found += [] if dig(source, "secretRef", "name") else [required(f"{where}.secretRef.name")]
    return found


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


def _partition(source: Obj, path: str) -> list[FieldError]:
    partition = integer(source.get("partition"))
    return [] if 0 <= partition <= 255 else [invalid(f"{path}.partition", partition, _PARTITION)]


def _nfs(source: Obj, path: str) -> list[FieldError]:
    place = text(source.get("path"))
    return [] if place.startswith("/") else [invalid(f"{path}.path", place, "must be an absolute path")]


def _keys(source: Obj, path: str) -> list[FieldError]:
    found = _mode(source.get("defaultMode"), f"{path}.defaultMode")
    for index, item in enumerate(maps(source.get("items"))):
        where = f"{path}.items[{index}]"
        found += [required(f"{where}.{key}") for key in ("key", "path") if not item.get(key)]
        found += local_path_faults(text(item.get("path")), f"{where}.path")
        found += _mode(item.get("mode"), f"{where}.mode")
    return found


def _mode(mode: Any, path: str) -> list[FieldError]:
    return [] if mode is None or 0 <= integer(mode) <= 0o777 else [invalid(path, mode, _MODE)]


def local_path_faults(place: str, path: str) -> list[FieldError]:
    """A path below a volume, away from the names that Kubernetes keeps for itself."""
    found = descending_faults(place, path)
    if place.startswith("..") and not place.startswith("../"):
        found.append(invalid(path, place, "must not start with '..'"))
    return found


def _csi(source: Obj, path: str) -> list[FieldError]:
    driver = text(source.get("driver"))
    if not driver:
        return []
    found = [too_long(f"{path}.driver", _LONGEST_DRIVER)] if len(driver) > _LONGEST_DRIVER else []
    return found + complaints(f"{path}.driver", driver, dns1123_subdomain(driver.lower()))


def _image(source: Obj, path: str) -> list[FieldError]:
    policy = text(source.get("pullPolicy"))
    return [] if policy in _PULL_POLICIES else [unsupported(f"{path}.pullPolicy", policy, _PULL_POLICIES)]


def _storage_os(source: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for key in ("volumeName", "volumeNamespace"):
        if name := text(source.get(key)):
            found += complaints(f"{path}.{key}", name, dns_label(name))
    return found


def _git(source: Obj, path: str) -> list[FieldError]:
    return descending_faults(text(source.get("directory")), f"{path}.directory")


_MORE: dict[str, Callable[[Obj, str], list[FieldError]]] = {
    "emptyDir": _empty, "hostPath": _host_path, "gitRepo": _git, "gcePersistentDisk": _partition,
    "awsElasticBlockStore": _partition, "nfs": _nfs, "secret": _keys, "configMap": _keys, "csi": _csi,
    "image": _image, "storageos": _storage_os,
}  # fmt: skip
