"""Ephemeral containers: helpers that join a pod for a while, and may ask for little."""

from __future__ import annotations

from vacate.admission.rules import table
from vacate.api.fielderrors import Fault, FieldError, duplicate, forbidden, not_found
from vacate.api.lenient import maps, text
from vacate.api.objects import Obj
from vacate.embedded.registry.core.pods.validation.containers import common_faults, white_space_fault

_NOT_FOR_THEM = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe",
    "readinessProbe", "startupProbe", "lifecycle",
)  # fmt: skip
_DETAIL = "cannot be set for an Ephemeral Container"

RULES = table(
    "Pod",
    (
        "spec.ephemeralContainers[].name",
        Fault.DUPLICATE,
        "unique among all containers; other rules as theirs",
    ),
    ("spec.ephemeralContainers[].targetContainerName", Fault.NOT_FOUND, "names a container"),
    ("spec.ephemeralContainers[].ports", Fault.FORBIDDEN, "as resources, probes, hooks and what restarts"),
    ("spec.ephemeralContainers[].volumeMounts[].subPath", Fault.FORBIDDEN, "as subPathExpr"),
)


def ephemeral_faults(spec: Obj, path: str, volumes: set[str]) -> list[FieldError]:
    """Faults of the ephemeral containers."""
    found: list[FieldError] = []
    others = [
        text(one.get("name")) for key in ("containers", "initContainers") for one in maps(spec.get(key))
    ]
    names = set(others)
    for index, container in enumerate(maps(spec.get("ephemeralContainers"))):
        where, name = f"{path}.ephemeralContainers[{index}]", text(container.get("name"))
        found += common_faults(container, where, volumes, spec) + white_space_fault(container, where)
        if name in names:
            found.append(duplicate(f"{where}.name", name))
        names.add(name)
        target = text(container.get("targetContainerName"))
        if target and target not in others:
            found.append(not_found(f"{where}.targetContainerName", target))
        found += [forbidden(f"{where}.{key}", _DETAIL) for key in _NOT_FOR_THEM if _is_set(container, key)]
        found += _mount_faults(container, f"{where}.volumeMounts")
    return found


def _is_set(container: Obj, key: str) -> bool:
    value = container.get(key)
    return (
        bool(value)
        if key in ("ports", "resources", "resizePolicy", "restartPolicyRules")
        else value is not None
    )


def _mount_faults(container: Obj, path: str) -> list[FieldError]:
    return [
        forbidden(f"{path}[{index}].{key}", _DETAIL)
        for index, mount in enumerate(maps(container.get("volumeMounts")))
        for key in ("subPath", "subPathExpr")
        if mount.get(key)
    ]
