"""What a pod's author need not write: the pod as a whole, its spec and its volumes."""

from __future__ import annotations

from typing import Any

from vacate.admission.pods.container_defaults import default_container
from vacate.admission.quantities import canonical_list
from vacate.admission.rules import Effect, table
from vacate.admission.shape import child, mapping, maps, sequence
from vacate.api.kinds import Kind
from vacate.api.objects import Obj

_FILE_MODE = 0o644
_HOUR = 3600
CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
_SPEC_DEFAULTS = (
    ("restartPolicy", "Always"),
    ("dnsPolicy", "ClusterFirst"),
    ("schedulerName", "default-scheduler"),
)

RULES = table(
    "Pod",
    ("spec.restartPolicy", Effect.DEFAULT, "Always"),
    ("spec.dnsPolicy", Effect.DEFAULT, "ClusterFirst"),
    ("spec.schedulerName", Effect.DEFAULT, "default-scheduler"),
    ("spec.terminationGracePeriodSeconds", Effect.DEFAULT, "30"),
    ("spec.terminationGracePeriodSeconds", Effect.SET, "1 where negative (pods, not templates)"),
    ("spec.securityContext", Effect.DEFAULT, "{}"),
    ("spec.serviceAccount", Effect.SET, "the same as serviceAccountName, and the other way round"),
    ("spec.enableServiceLinks", Effect.DEFAULT, "true (pods, not templates)"),
    ("spec.containers[].ports[].hostPort", Effect.DEFAULT, "containerPort with hostNetwork; only pods"),
    ("spec.containers[].resources.requests", Effect.DEFAULT, "the limits (pods, not templates)"),
    ("spec.overhead.{}", Effect.DEFAULT, "quantities in canonical form"),
    ("spec.volumes[].emptyDir", Effect.DEFAULT, "{} where the volume has no source"),
    ("spec.volumes[].configMap.defaultMode", Effect.DEFAULT, "420; secret, downwardAPI and projected too"),
    ("spec.volumes[].hostPath.type", Effect.DEFAULT, "an empty text"),
    ("spec.volumes[].projected.sources[].serviceAccountToken.expirationSeconds", Effect.DEFAULT, "3600"),
    ("status.podIPs", Effect.DEFAULT, "podIP as the one entry, and the other way round"),
)  # fmt: skip


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
            _default_volume(volume)
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


def _default_volume(volume: Obj) -> None:
    if not any(type(value) is dict for value in volume.values()):
        volume["emptyDir"] = {}
    for key in ("configMap", "secret", "downwardAPI", "projected"):
        if type(source := volume.get(key)) is dict:
            source.setdefault("defaultMode", _FILE_MODE)
            _default_field_references(source.get("items"))
    if type(path := volume.get("hostPath")) is dict:
        path.setdefault("type", "")
    if type(projected := volume.get("projected")) is dict:
        _default_projection(projected)


def _default_projection(projected: Obj) -> None:
    for source in maps(projected.get("sources")):
        if type(token := source.get("serviceAccountToken")) is dict:
            token.setdefault("expirationSeconds", _HOUR)
        if type(downward := source.get("downwardAPI")) is dict:
            _default_field_references(downward.get("items"))


def _default_field_references(items: Any) -> None:
    for item in maps(items):
        if type(reference := item.get("fieldRef")) is dict and not reference.get("apiVersion"):
            reference["apiVersion"] = "v1"


def _default_addresses(status: Obj) -> None:
    single, several = status.get("podIP"), sequence(status.get("podIPs"))
    first = several[0].get("ip") if several and type(several[0]) is dict else None
    if single and single != first:
        status["podIPs"] = [{"ip": single}]
    elif not single and first:
        status["podIP"] = first
