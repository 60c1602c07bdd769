"""Where containers find the pod's volumes: as folders, and as devices."""

from __future__ import annotations

from vacate.admission.checks import unsupported
from vacate.admission.pods.paths import descending_errors
from vacate.admission.rules import table
from vacate.api.fielderrors import ErrorType, FieldError, forbidden, invalid, not_found, required
from vacate.api.lenient import maps, text
from vacate.api.objects import Obj, dig

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY = ("Disabled", "Enabled", "IfPossible")
_MOUNTS = "spec.containers[].volumeMounts"
_DEVICES = "spec.containers[].volumeDevices[]"

RULES = table(
    "Pod",
    (f"{_MOUNTS}[].name", ErrorType.REQUIRED, "not empty"),
    (f"{_MOUNTS}[].name", ErrorType.NOT_FOUND, "names a volume of the pod"),
    (f"{_MOUNTS}[].name", ErrorType.INVALID, "not also a device"),
    (f"{_MOUNTS}[].mountPath", ErrorType.REQUIRED, "not empty"),
    (f"{_MOUNTS}[].mountPath", ErrorType.INVALID, "unique in the container"),
    (f"{_MOUNTS}[].mountPath#device", ErrorType.INVALID, "not also that of a device"),
    (f"{_MOUNTS}.subPath", ErrorType.INVALID, "relative and without .."),
    (f"{_MOUNTS}[].subPathExpr", ErrorType.INVALID, "not beside subPath"),
    (f"{_MOUNTS}.subPathExpr", ErrorType.INVALID, "relative and without .."),
    (f"{_MOUNTS}.mountPropagation", ErrorType.NOT_SUPPORTED, "Bidirectional, HostToContainer or None"),
    (f"{_MOUNTS}.mountPropagation", ErrorType.FORBIDDEN, "Bidirectional only for privileged containers"),
    (f"{_MOUNTS}.recursiveReadOnly", ErrorType.NOT_SUPPORTED, "Disabled, Enabled or IfPossible"),
    (f"{_MOUNTS}.recursiveReadOnly", ErrorType.FORBIDDEN, "only with readOnly and without propagation"),
    (f"{_DEVICES}.name", ErrorType.REQUIRED, "not empty"),
    (f"{_DEVICES}.name", ErrorType.NOT_FOUND, "names a volume of the pod"),
    (f"{_DEVICES}.name", ErrorType.INVALID, "unique, a claim, and not also mounted"),
    (f"{_DEVICES}.devicePath", ErrorType.REQUIRED, "not empty"),
    (f"{_DEVICES}.devicePath", ErrorType.INVALID, "unique, without .., and no mount's path"),
)  # fmt: skip


def mount_errors(container: Obj, path: str, volumes: set[str]) -> list[FieldError]:
    """Errors of one container's mounts."""
    found: list[FieldError] = []
    taken: set[str] = set()
    devices = _paths(container, "volumeDevices", "devicePath")
    for index, mount in enumerate(maps(container.get("volumeMounts"))):
        where, name, place = f"{path}[{index}]", text(mount.get("name")), text(mount.get("mountPath"))
        if not name:
            found.append(required(f"{where}.name"))
        if name not in volumes:
            found.append(not_found(f"{where}.name", name))
        if not place:
            found.append(required(f"{where}.mountPath"))
        if place in taken:
            found.append(invalid(f"{where}.mountPath", place, "must be unique"))
        taken.add(place)
        if name in devices:
            found.append(invalid(f"{where}.name", name, "must not already exist in volumeDevices"))
        if place in devices.values():
            detail = "must not already exist as a path in volumeDevices"
            found.append(invalid(f"{where}.mountPath", place, detail))
        found += _sub_path_errors(mount, path, where) + _mode_errors(mount, container, path)
    return found


def _sub_path_errors(mount: Obj, path: str, where: str) -> list[FieldError]:
    below, expression = text(mount.get("subPath")), text(mount.get("subPathExpr"))
    found = descending_errors(below, f"{path}.subPath") if below else []
    if expression and below:
        detail = "subPathExpr and subPath are mutually exclusive"
        found.append(invalid(f"{where}.subPathExpr", expression, detail))
    return found + (descending_errors(expression, f"{path}.subPathExpr") if expression else [])


def _mode_errors(mount: Obj, container: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    propagation, read_only = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
    if propagation is not None and propagation not in _PROPAGATIONS:
        found.append(unsupported(f"{path}.mountPropagation", text(propagation), _PROPAGATIONS))
    if propagation == "Bidirectional" and not dig(container, "securityContext", "privileged"):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        found.append(forbidden(f"{path}.mountPropagation", detail))
    where = f"{path}.recursiveReadOnly"
    if read_only is not None and read_only not in _READ_ONLY:
        return [*found, unsupported(where, text(read_only), _READ_ONLY)]
    if read_only in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            found.append(forbidden(where, "may only be specified when readOnly is true"))
        if propagation not in (None, "None"):
            detail = "may only be specified when mountPropagation is None or not specified"
            found.append(forbidden(where, detail))
    return found


def device_errors(container: Obj, path: str, volumes: set[str], spec: Obj) -> list[FieldError]:
    """Errors of one container's devices."""
    found: list[FieldError] = []
    names: set[str] = set()
    places: set[str] = set()
    mounts = _paths(container, "volumeMounts", "mountPath")
    for index, device in enumerate(maps(container.get("volumeDevices"))):
        where, name, place = f"{path}[{index}]", text(device.get("name")), text(device.get("devicePath"))
        found += _device_name_errors(name, f"{where}.name", volumes, names, spec)
        found += _device_path_errors(place, f"{where}.devicePath", places)
        if name in mounts:
            found.append(invalid(f"{where}.name", name, "must not already exist in volumeMounts"))
        if place in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            found.append(invalid(f"{where}.devicePath", place, detail))
        names |= {name} if name else set()
    return found


def _device_name_errors(
    name: str, where: str, volumes: set[str], names: set[str], spec: Obj
) -> list[FieldError]:
    found = [] if name else [required(where)]
    if name in names:
        found.append(invalid(where, name, "must be unique"))
    if name not in volumes:
        found.append(not_found(where, name))
    elif not _is_claim(name, spec):
        detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        found.append(invalid(where, name, detail))
    return found


def _device_path_errors(place: str, where: str, places: set[str]) -> list[FieldError]:
    found = [] if place else [required(where)]
    if place in places:
        found.append(invalid(where, place, "must be unique"))
    if ".." in place.split("/"):
        return [*found, invalid(where, place, "can not contain backsteps ('..')")]
    places.add(place)
    return found


def _is_claim(name: str, spec: Obj) -> bool:
    return any(
        volume.get("persistentVolumeClaim") is not None or volume.get("ephemeral") is not None
        for volume in maps(spec.get("volumes"))
        if volume.get("name") == name
    )


def _paths(container: Obj, key: str, place: str) -> dict[str, str]:
    return {text(one.get("name")): text(one.get(place)) for one in maps(container.get(key))}
