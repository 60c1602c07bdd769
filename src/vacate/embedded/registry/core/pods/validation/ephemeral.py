"""Ephemeral containers: helpers that join a pod for a while, and may ask for little."""

from __future__ import annotations

from vacate.admission.rules import table
from vacate.api.fielderrors import ErrorType, FieldError, duplicate, forbidden, not_found
from vacate.api.lenient import maps, text
from vacate.api.objects import Obj
from vacate.embedded.registry.core.pods.validation.containers import common_errors, white_space_error

_NOT_FOR_THEM = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe",
    "readinessProbe", "startupProbe", "lifecycle",
)  # fmt: skip
_DETAIL = "cannot be set for an Ephemeral Container"

RULES = table(
    "Pod",
    (
        "spec.ephemeralContainers[].name",
        ErrorType.DUPLICATE,
        "unique among all containers; other rules as theirs",
    ),
    ("spec.ephemeralContainers[].targetContainerName", ErrorType.NOT_FOUND, "names a container"),
    (
        "spec.ephemeralContainers[].ports",
        ErrorType.FORBIDDEN,
        "not allowed, nor are resources, probes, hooks, restarts",
    ),
    (
        "spec.ephemeralContainers[].volumeMounts[].subPath",
        ErrorType.FORBIDDEN,
        "not allowed, nor is subPathExpr",
    ),
)


def ephemeral_errors(spec: Obj, path: str, volumes: set[str]) -> list[FieldError]:
    """Errors of the ephemeral containers."""
    found: list[FieldError] = []
    others = [
        text(one.get("name")) for key in ("containers", "initContainers") for one in maps(spec.get(key))
    ]
    names = set(others)
    for index, container in enumerate(maps(spec.get("ephemeralContainers"))):
        where, name = f"{path}.ephemeralContainers[{index}]", text(container.get("name"))
        found += common_errors(container, where, volumes, spec) + white_space_error(container, where)
        if name in names:
            found.append(duplicate(f"{where}.name", name))
        names.add(name)
        target = text(container.get("targetContainerName"))
        if target and target not in others:
            found.append(not_found(f"{where}.targetContainerName", target))
        found += [forbidden(f"{where}.{key}", _DETAIL) for key in _NOT_FOR_THEM if _is_set(container, key)]
        found += _mount_errors(container, f"{where}.volumeMounts")
    return found


def _is_set(container: Obj, key: str) -> bool:
    value = container.get(key)
    return (
        bool(value)
        if key in ("ports", "resources", "resizePolicy", "restartPolicyRules")
        else value is not None
    )


def _mount_errors(container: Obj, path: str) -> list[FieldError]:
    return [
        forbidden(f"{path}[{index}].{key}", _DETAIL)
        for index, mount in enumerate(maps(container.get("volumeMounts")))
        for key in ("subPath", "subPathExpr")
        if mount.get(key)
    ]
