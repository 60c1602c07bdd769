"""Containers and init containers."""

from __future__ import annotations

from typing import Any

from vacate.admission.nameformats import dns_label
from vacate.api.fielderrors import FieldError, complaints, duplicate, forbidden, invalid, required
from vacate.api.objects import Obj
from vacate.api.untyped import maps, text
from vacate.embedded.registry.core.pods.validation.environment import environment_errors
from vacate.embedded.registry.core.pods.validation.mounts import mount_errors
from vacate.embedded.registry.core.pods.validation.ports import host_port_errors, port_errors
from vacate.embedded.registry.core.pods.validation.probes import hook_errors, probe_errors
from vacate.embedded.registry.core.pods.validation.resources import resource_errors
from vacate.embedded.registry.core.pods.validation.restarts import restart_errors
from vacate.embedded.registry.core.pods.validation.security import context_errors

_ONLY_FOR_SIDECARS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


def container_errors(spec: Obj, path: str, volumes: set[str]) -> list[FieldError]:
    """Errors of the regular containers."""
    containers = maps(spec.get("containers"))
    if not containers:
        return [required(f"{path}.containers")]
    found: list[FieldError] = []
    names: set[str] = set()
    grace = spec.get("terminationGracePeriodSeconds")
    for index, container in enumerate(containers):
        where = f"{path}.containers[{index}]"
        found += _common_errors(container, where, volumes)
        name = text(container.get("name"))
        if name in names:
            found.append(duplicate(f"{where}.name", name))
        names.add(name)
        found += _running_errors(container, where, grace)
        found += restart_errors(container, where)
    return found + host_port_errors(containers, f"{path}.containers")


def init_container_errors(spec: Obj, path: str, volumes: set[str]) -> list[FieldError]:
    """Errors of the init containers, those that go on running as sidecars among them."""
    containers = maps(spec.get("initContainers"))
    if not containers:
        return []
    found: list[FieldError] = []
    names = {text(container.get("name")) for container in maps(spec.get("containers"))}
    for index, container in enumerate(containers):
        where = f"{path}.initContainers[{index}]"
        found += _common_errors(container, where, volumes)
        found += restart_errors(container, where)
        name = text(container.get("name"))
        if name in names:
            found.append(duplicate(f"{where}.name", name))
        elif name:
            names.add(name)
        # One after the other they run, so that their ports meet only their own; the path names the list.
        found += host_port_errors([container], f"{path}.initContainers")
        found += _init_only_errors(container, where, spec.get("terminationGracePeriodSeconds"))
    return found


def white_space_errors(spec: Obj, path: str) -> list[FieldError]:
    """Images of pods that run; templates have always been let through."""
    return [
        field_error
        for key in ("containers", "initContainers")
        for index, container in enumerate(maps(spec.get(key)))
        for field_error in _white_space_error(container, f"{path}.{key}[{index}]")
    ]


def _white_space_error(container: Obj, path: str) -> list[FieldError]:
    """The image of one container."""
    image = text(container.get("image"))
    if image == image.strip():
        return []
    return [invalid(f"{path}.image", image, "must not have leading or trailing whitespace")]


def _common_errors(container: Obj, path: str, volumes: set[str]) -> list[FieldError]:
    """What holds for containers of every sort."""
    found: list[FieldError] = []
    if name := text(container.get("name")):
        found += complaints(f"{path}.name", name, dns_label(name))
    else:
        found.append(required(f"{path}.name"))
    if not text(container.get("image")):
        found.append(required(f"{path}.image"))
    if "ports" in container:
        found += port_errors(maps(container["ports"]), f"{path}.ports")
    if "env" in container or "envFrom" in container:
        found += environment_errors(container, path)
    if "volumeMounts" in container:
        found += mount_errors(container, f"{path}.volumeMounts", volumes)
    if resources := container.get("resources"):
        found += resource_errors(resources, f"{path}.resources")
    if "securityContext" in container:
        found += context_errors(container["securityContext"], f"{path}.securityContext")
    return found


def _running_errors(container: Obj, path: str, grace: Any) -> list[FieldError]:
    found: list[FieldError] = []
    if type(lifecycle := container.get("lifecycle")) is dict:
        found += hook_errors(lifecycle, f"{path}.lifecycle", grace)
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if type(probe := container.get(key)) is dict:
            found += probe_errors(probe, f"{path}.{key}", readiness=key == "readinessProbe")
    return found


def _init_only_errors(container: Obj, path: str, grace: Any) -> list[FieldError]:
    if container.get("restartPolicy") == "Always":
        return _running_errors(container, path, grace)
    detail = "may not be set for init containers without restartPolicy=Always"
    return [
        forbidden(f"{path}.{key}", detail) for key in _ONLY_FOR_SIDECARS if container.get(key) is not None
    ]
