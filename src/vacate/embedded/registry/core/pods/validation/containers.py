"""Containers and init containers."""

from __future__ import annotations

from typing import Any

from vacate.admission.checks import not_negative, unsupported
from vacate.admission.nameformats import dns_label
from vacate.admission.pods.paths import descending_errors
from vacate.admission.pods.reasondelivery import delivery_errors
from vacate.api.fielderrors import FieldError, complaints, duplicate, forbidden, invalid, not_found, required
from vacate.api.names import env_name, port_name, port_number
from vacate.api.objects import Obj
from vacate.api.untyped import integer, mapping, maps, sequence, text
from vacate.embedded.registry.core.pods.validation.ports import host_port_errors, port_errors
from vacate.embedded.registry.core.pods.validation.resources import resource_errors
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


_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_ONE_OF = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
)
_TOO_MANY = "may not have more than one field specified at a time"


def environment_errors(container: Obj, path: str) -> list[FieldError]:
    """Errors of single variables, then of those that come by the dozen."""
    found: list[FieldError] = []
    for index, variable in enumerate(maps(container.get("env"))):
        where = f"{path}.env[{index}]"
        if name := text(variable.get("name")):
            found += complaints(f"{where}.name", name, env_name(name))
        else:
            found.append(required(f"{where}.name"))
        if type(source := variable.get("valueFrom")) is dict:
            found += _source_errors(source, text(variable.get("value")), f"{where}.valueFrom")
    for index, source in enumerate(maps(container.get("envFrom"))):
        found += _bulk_errors(source, f"{path}.envFrom", index)
    return found


def _source_errors(source: Obj, value: str, path: str) -> list[FieldError]:
    count = sum(source.get(key) is not None for key in _SOURCES)
    if count == 0:
        return [invalid(path, "", _ONE_OF)]
    if value:
        return [invalid(path, "", "may not be specified when `value` is not empty")]
    return [invalid(path, "", _TOO_MANY)] if count > 1 else []


def _bulk_errors(source: Obj, path: str, index: int) -> list[FieldError]:
    prefix = text(source.get("prefix"))
    found = complaints(f"{path}[{index}].prefix", prefix, env_name(prefix)) if prefix else []
    count = sum(source.get(key) is not None for key in ("configMapRef", "secretRef"))
    if count == 0:
        found.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
    elif count > 1:
        found.append(invalid(path, "", _TOO_MANY))
    return found


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


_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
_SCHEMES = ("HTTP", "HTTPS")


def probe_errors(probe: Obj, path: str, *, readiness: bool) -> list[FieldError]:
    """Errors of a probe; readiness alone may ask for several successes."""
    found = _handler_errors(probe, path, _PROBE_HANDLERS, None)
    for key in _NUMBERS:
        found += not_negative(path, probe, key)
    where, grace = f"{path}.terminationGracePeriodSeconds", probe.get("terminationGracePeriodSeconds")
    if type(grace) is int and grace <= 0:
        found.append(invalid(where, grace, "must be greater than 0"))
    if readiness:
        if grace is not None:
            found.append(invalid(where, grace, "must not be set for readinessProbes"))
    elif (needed := integer(probe.get("successThreshold"))) != 1:
        found.append(invalid(f"{path}.successThreshold", needed, "must be 1"))
    return found


def hook_errors(lifecycle: Obj, path: str, grace: Any) -> list[FieldError]:
    """Errors of what runs after the start and before the stop."""
    found: list[FieldError] = []
    for key in ("postStart", "preStop"):
        if type(handler := lifecycle.get(key)) is dict:
            found += _handler_errors(handler, f"{path}.{key}", _HOOK_HANDLERS, grace)
            if key == "preStop" and "reasonDelivery" in handler:
                found += delivery_errors(handler, f"{path}.{key}")
    return found


def _handler_errors(owner: Obj, path: str, known: tuple[str, ...], grace: Any) -> list[FieldError]:
    given = [key for key in known if owner.get(key) is not None]
    if not given:
        return [required(path, "must specify a handler type")]
    found = _action_errors(given[0], mapping(owner[given[0]]), f"{path}.{given[0]}", grace)
    detail = "may not specify more than 1 handler type"
    return found + [forbidden(f"{path}.{key}", detail) for key in given[1:]]


def _action_errors(sort: str, action: Obj, path: str, grace: Any) -> list[FieldError]:
    if sort == "exec":
        return [] if sequence(action.get("command")) else [required(f"{path}.command")]
    if sort == "sleep":
        return _sleep_errors(integer(action.get("seconds")), path, grace)
    found = [required(f"{path}.path")] if sort == "httpGet" and not text(action.get("path")) else []
    found += _port_errors(action.get("port"), f"{path}.port")
    if sort == "httpGet" and action.get("scheme") not in _SCHEMES:
        found.append(unsupported(f"{path}.scheme", text(action.get("scheme")), _SCHEMES))
    return found


def _port_errors(port: Any, path: str) -> list[FieldError]:
    if type(port) is str:
        return complaints(path, port, port_name(port))
    number = integer(port)
    return complaints(path, number, port_number(number))


def _sleep_errors(seconds: int, path: str, grace: Any) -> list[FieldError]:
    if type(grace) is not int or 0 <= seconds <= grace:
        return []
    detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
    return [invalid(path, seconds, detail)]


_POLICIES = ("Always", "Never", "OnFailure")


def restart_errors(container: Obj, path: str) -> list[FieldError]:
    """The policy of a container, which rules may refine."""
    policy, where = container.get("restartPolicy"), f"{path}.restartPolicy"
    if policy is None and container.get("restartPolicyRules"):
        return [required(where, "must specify restartPolicy when restart rules are used")]
    return [] if policy is None or policy in _POLICIES else [unsupported(where, text(policy), _POLICIES)]
