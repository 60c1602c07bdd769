"""What a pod's author need not write: the pod as a whole, its spec and its volumes."""

from __future__ import annotations

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.untyped import child, mapping, maps, sequence
from vacate.embedded.registry.core.pods.defaults.container import default_container
from vacate.embedded.registry.core.pods.defaults.volume import default_volume
from vacate.embedded.registry.core.quantities import canonical_list

CONTAINER_LISTS = ("containers", "initContainers")
_SPEC_DEFAULTS = (
    ("restartPolicy", "Always"),
    ("dnsPolicy", "ClusterFirst"),
    ("schedulerName", "default-scheduler"),
)


def default_pod(pod: Obj, kind: Kind) -> None:
    """Defaults of a pod that runs, beyond those that a template has too."""
    spec = child(pod, "spec")
    default_spec(spec, kind)
    grace = spec.get("terminationGracePeriodSeconds")
    if type(grace) is int and grace < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for container in maps(spec.get("containers")) + maps(spec.get("initContainers")):
        _request_what_is_limited(container)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork") is True:
        _open_host_ports(spec)
    if "status" in pod:
        _default_addresses(child(pod, "status"))


def default_spec(spec: Obj, kind: Kind) -> None:
    """Defaults of a pod's spec, be it a pod's or a template's."""
    for key, value in _SPEC_DEFAULTS:
        if not spec.get(key):
            spec[key] = value
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for key in CONTAINER_LISTS:
        for container in maps(spec.get(key)):
            default_container(container, kind)
    if volumes := spec.get("volumes"):
        for volume in maps(volumes):
            default_volume(volume)
    if "overhead" in spec:
        canonical_list(spec["overhead"], kind)
    if "resources" in spec:
        for key in ("requests", "limits"):
            canonical_list(child(spec, "resources").get(key), kind)


def _request_what_is_limited(container: Obj) -> None:
    resources = mapping(container.get("resources"))
    limits = resources.get("limits")
    if type(limits) is not dict:
        return
    requests = child(resources, "requests")
    for name, amount in limits.items():
        requests.setdefault(name, amount)


def _open_host_ports(spec: Obj) -> None:
    for container in maps(spec.get("containers")) + maps(spec.get("initContainers")):
        for port in maps(container.get("ports")):
            if not port.get("hostPort") and port.get("containerPort"):
                port["hostPort"] = port["containerPort"]


def _default_addresses(status: Obj) -> None:
    single, several = status.get("podIP"), sequence(status.get("podIPs"))
    first = several[0].get("ip") if several and type(several[0]) is dict else None
    if single and single != first:
        status["podIPs"] = [{"ip": single}]
    elif not single and first:
        status["podIP"] = first
