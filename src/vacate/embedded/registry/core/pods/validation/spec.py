"""The spec of a pod or of a template, in the order in which kube-apiserver looks at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vacate.admission.checks import labels_errors, unsupported
from vacate.admission.context import Context
from vacate.admission.nameformats import dns_label, in_range, name_is_subdomain
from vacate.admission.pods.interceptors import interceptor_errors, responder_errors
from vacate.admission.pods.paths import descending_errors
from vacate.api.fielderrors import ErrorType, FieldError, complaints, duplicate, forbidden, invalid, required
from vacate.api.integers import MAX_INT32, fits
from vacate.api.objects import Obj
from vacate.api.untyped import integer, mapping, maps, text
from vacate.embedded.registry.core.pods.admissionplugins import MIRROR
from vacate.embedded.registry.core.pods.validation.affinity import affinity_errors
from vacate.embedded.registry.core.pods.validation.containers import container_errors, init_container_errors
from vacate.embedded.registry.core.pods.validation.placement import (
    gate_errors,
    spread_errors,
    toleration_errors,
)
from vacate.embedded.registry.core.pods.validation.ports import host_network_errors
from vacate.embedded.registry.core.pods.validation.resources import resource_errors
from vacate.embedded.registry.core.pods.validation.security import context_errors
from vacate.embedded.registry.core.quantities import quantity_of
from vacate.embedded.registry.scheduling.priorityclasses import preemption_errors

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_SUBDOMAINS = ("serviceAccountName", "nodeName")


def spec_errors(spec: Obj, path: str, ctx: Context, *, is_pod: bool) -> list[FieldError]:
    """Every rule that the spec breaks; `path` is where the spec stands."""
    volumes, found = volume_errors(spec.get("volumes"), f"{path}.volumes")
    found += container_errors(spec, path, volumes)
    found += init_container_errors(spec, path, volumes)
    found += host_network_errors(spec, path, is_pod=is_pod)
    found += _choice_errors(spec, "restartPolicy", _RESTART_POLICIES, path)
    if "nodeSelector" in spec:
        found += labels_errors(spec["nodeSelector"], f"{path}.nodeSelector")
    found += context_errors(spec.get("securityContext"), f"{path}.securityContext")
    if "affinity" in spec:
        found += affinity_errors(spec["affinity"], f"{path}.affinity")
    if "readinessGates" in spec or "schedulingGates" in spec:
        found += gate_errors(spec, path)
    if "topologySpreadConstraints" in spec:
        found += spread_errors(spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints")
    found += _name_errors(spec, path)
    if "evictionInterceptors" in spec:
        found += interceptor_errors(spec, path, ctx)
    if "evictionResponders" in spec:
        found += responder_errors(spec, path)
    return found


def annotation_errors(annotations: Obj, spec: Obj, path: str) -> list[FieldError]:
    """Annotations that mean something for pods."""
    found: list[FieldError] = []
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        found.append(invalid(f"{path}[{MIRROR}]", annotations[MIRROR], detail))
    if DELETION_COST in annotations and not _is_int32(text(annotations[DELETION_COST])):
        cost = annotations[DELETION_COST]
        found.append(invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer"))
    return found


def annotation_change_errors(new: Obj, old: Obj, path: str) -> list[FieldError]:
    """The mark of a mirror pod neither comes nor goes nor changes."""
    before, after = mapping(old).get(MIRROR), mapping(new).get(MIRROR)
    if before == after:
        return []
    done = "add" if before is None else "remove or update"
    return [FieldError(f"{path}[{MIRROR}]", ErrorType.FORBIDDEN, f"may not {done} mirror pod annotation")]


def _choice_errors(spec: Obj, key: str, known: tuple[str, ...], path: str) -> list[FieldError]:
    chosen = spec.get(key)
    if chosen in known:
        return []
    return [unsupported(f"{path}.{key}", text(chosen), known) if chosen else required(f"{path}.{key}")]


def _name_errors(spec: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for key in _SUBDOMAINS:
        if name := text(spec.get(key)):
            found += complaints(f"{path}.{key}", name, name_is_subdomain(name, False))
    if (deadline := spec.get("activeDeadlineSeconds")) is not None:
        wrong = in_range(integer(deadline), 1, MAX_INT32)
        found += complaints(f"{path}.activeDeadlineSeconds", deadline, wrong)
    for key in ("hostname", "subdomain"):
        if name := text(spec.get(key)):
            found += complaints(f"{path}.{key}", name, dns_label(name))
    if "tolerations" in spec:
        found += toleration_errors(spec["tolerations"], f"{path}.tolerations")
    if name := text(spec.get("priorityClassName")):
        found += complaints(f"{path}.priorityClassName", name, name_is_subdomain(name, False))
    found += preemption_errors(spec, f"{path}.")
    if "overhead" in spec:
        found += resource_errors({"limits": spec["overhead"]}, f"{path}.overhead")
    return found


def _is_int32(value: str) -> bool:
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 10:
        return False
    if value[0] == "0" and value != "0":
        return False
    return fits(int(value), "int32")


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
