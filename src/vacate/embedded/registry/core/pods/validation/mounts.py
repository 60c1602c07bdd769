"""Where containers find the pod's volumes."""

from __future__ import annotations

from vacate.admission.pods.paths import descending_errors
from vacate.api.fielderrors import FieldError, invalid, not_found, required
from vacate.api.objects import Obj
from vacate.api.untyped import maps, text


def mount_errors(container: Obj, path: str, volumes: set[str]) -> list[FieldError]:
    """Errors of one container's mounts."""
    found: list[FieldError] = []
    taken: set[str] = set()
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
        found += _sub_path_errors(mount, path, where)
    return found


def _sub_path_errors(mount: Obj, path: str, where: str) -> list[FieldError]:
    below, expression = text(mount.get("subPath")), text(mount.get("subPathExpr"))
    found = descending_errors(below, f"{path}.subPath") if below else []
    if expression and below:
        detail = "subPathExpr and subPath are mutually exclusive"
        found.append(invalid(f"{where}.subPathExpr", expression, detail))
    return found + (descending_errors(expression, f"{path}.subPathExpr") if expression else [])
