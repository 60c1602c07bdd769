"""What a pod asks of a node: whole numbers, cpu in thousandths and everything else in its own unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from vacate.api.quantity import parse_quantity
from vacate.api.types.core import Container, ContainerPort, Pod

Amounts = dict[str, int]
Quantities = Mapping[str, str | int | float]
Port = tuple[str, str, int]
"""Address, protocol and number of a port on the host."""

# A container that asks for nothing still takes something; else the scores of idle nodes would all tie.
_ASSUMED: Quantities = {"cpu": "100m", "memory": "200Mi"}
_POD_LEVEL = ("cpu", "memory")
ANY_ADDRESS = "0.0.0.0"  # noqa: S104  compared, never bound


@lru_cache(maxsize=4096)
def amount(resource: str, quantity: str | int | float) -> int:
    """The quantity as a whole number, rounded up, cpu in thousandths."""
    parsed = parse_quantity(quantity)
    return parsed.milli() if resource == "cpu" else parsed.value()


def amounts(quantities: Quantities) -> Amounts:
    """All of them as whole numbers."""
    return {resource: amount(resource, quantity) for resource, quantity in quantities.items()}


def pod_requests(pod: Pod) -> Amounts:
    """The most that the pod needs at any moment of its life, overhead included."""
    return _with_overhead(pod, _of_containers(pod, {}))


def assumed_requests(pod: Pod) -> Amounts:
    """As `pod_requests`, with a modest guess for containers that name no cpu or memory. For scores only."""
    return _with_overhead(pod, _of_containers(pod, _ASSUMED))


def _with_overhead(pod: Pod, total: Amounts) -> Amounts:
    if pod.spec.resources is not None:
        stated = pod.spec.resources.requests
        total |= amounts({name: stated[name] for name in stated if _is_pod_level(name)})
    _add(total, amounts(pod.spec.overhead))
    return total


def _is_pod_level(resource: str) -> bool:
    return resource in _POD_LEVEL or resource.startswith("hugepages-")


def _of_containers(pod: Pod, missing: Quantities) -> Amounts:
    total: Amounts = {}
    for container in pod.spec.containers:
        _add(total, _of(container, missing))
    started: Amounts = {}
    peak: Amounts = {}
    for container in pod.spec.init_containers:
        need = _of(container, missing)
        if container.restart_policy == "Always":
            _add(total, need)
            _add(started, need)
            _raise_to(peak, started)
        else:
            _add(need, started)
            _raise_to(peak, need)
    _raise_to(total, peak)
    return total


def _of(container: Container, missing: Quantities) -> Amounts:
    return amounts({**missing, **container.resources.requests})


def _add(total: Amounts, more: Amounts) -> None:
    for resource, value in more.items():
        total[resource] = total.get(resource, 0) + value


def _raise_to(total: Amounts, floor: Amounts) -> None:
    for resource, value in floor.items():
        total[resource] = max(total.get(resource, 0), value)


def host_ports(pod: Pod) -> list[Port]:
    """The ports that the pod takes from its host."""
    long_lived = [one for one in pod.spec.init_containers if one.restart_policy == "Always"]
    return [
        _port(port) for one in (*pod.spec.containers, *long_lived) for port in one.ports if port.host_port
    ]


def _port(port: ContainerPort) -> Port:
    return (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)


def ports_collide(wanted: Sequence[Port], taken: Sequence[Port]) -> bool:
    """Whether two of them are the same port on one address, or on every address."""
    return any(
        want[1:] == have[1:] and (want[0] == have[0] or ANY_ADDRESS in (want[0], have[0]))
        for want in wanted
        for have in taken
    )
