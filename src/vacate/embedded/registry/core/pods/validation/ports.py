"""Ports of containers and of the hosts that they are opened on."""

from __future__ import annotations

from vacate.admission.checks import unsupported
from vacate.api.fielderrors import FieldError, complaints, duplicate, invalid, required
from vacate.api.names import port_name, port_number
from vacate.api.objects import Obj
from vacate.api.untyped import integer, maps, text

_PROTOCOLS = ("SCTP", "TCP", "UDP")


def port_errors(ports: list[Obj], path: str) -> list[FieldError]:
    """Errors of one container's ports."""
    found: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = f"{path}[{index}]"
        if name := text(port.get("name")):
            if wrong := port_name(name):
                found += complaints(f"{where}.name", name, wrong)
            elif name in names:
                found.append(duplicate(f"{where}.name", name))
            names.add(name)
        found += _number_errors(port, where)
        protocol = text(port.get("protocol"))
        if protocol not in _PROTOCOLS:
            found.append(unsupported(f"{where}.protocol", protocol, _PROTOCOLS))
    return found


def host_port_errors(containers: list[Obj], path: str) -> list[FieldError]:
    """A host's port can be opened once for each protocol and address."""
    found: list[FieldError] = []
    taken: set[str] = set()
    for at, container in enumerate(containers):
        for index, port in enumerate(maps(container.get("ports"))):
            number = integer(port.get("hostPort"))
            if not number:
                continue
            shown = f"{text(port.get('protocol'))}/{text(port.get('hostIP'))}/{number}"
            if shown in taken:
                found.append(duplicate(f"{path}[{at}].ports[{index}].hostPort", shown))
            taken.add(shown)
    return found


def host_network_errors(spec: Obj, path: str, *, is_pod: bool) -> list[FieldError]:
    """On the host's network a container's port is the host's; templates may leave it open."""
    if spec.get("hostNetwork") is not True:
        return []
    detail = "must match `containerPort` when `hostNetwork` is true"
    return [
        invalid(f"{path}.containers[{at}].ports[{index}].hostPort", number, detail)
        for at, container in enumerate(maps(spec.get("containers")))
        for index, port in enumerate(maps(container.get("ports")))
        if (is_pod or (number := integer(port.get("hostPort"))))
        and (number := integer(port.get("hostPort"))) != integer(port.get("containerPort"))
    ]


def _number_errors(port: Obj, path: str) -> list[FieldError]:
    inside, outside = integer(port.get("containerPort")), integer(port.get("hostPort"))
    if inside:
        found = complaints(f"{path}.containerPort", inside, port_number(inside))
    else:
        found = [required(f"{path}.containerPort")]
    return found + (complaints(f"{path}.hostPort", outside, port_number(outside)) if outside else [])
