"""What a pod's author need not write: the pod as a whole, its spec and its volumes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.untyped import child, fill, mapping, maps, sequence, text
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


_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_NUMBERS = (
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
)
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*(?::(?P<tag>\w[\w.-]{{0,127}}))?(?P<digest>@\S+)?",
    re.ASCII,
)


def default_container(container: Obj, kind: Kind) -> None:
    """Defaults of any container; unknown images are pulled if they are not there."""
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(text(container.get("image")))
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    resources = container.setdefault("resources", {})
    if type(resources) is dict and resources:
        canonical_list(resources.get("limits"), kind)
        canonical_list(resources.get("requests"), kind)
    for port in maps(container.get("ports")):
        fill(port, "protocol", "TCP")
    if "env" in container:
        _default_environment(container["env"])
    for key in _PROBES:
        if type(probe := container.get(key)) is dict:
            _default_probe(probe)
    if type(lifecycle := container.get("lifecycle")) is dict:
        for key in ("postStart", "preStop"):
            _default_http(mapping(lifecycle.get(key)).get("httpGet"))


def pull_policy(image: str) -> str:
    """How an image is pulled where the container does not say: by its tag."""
    return _remembered_policy(image) if len(image) <= _REMEMBERED_CHARACTERS else _policy(image)


def _policy(image: str) -> str:
    found = _IMAGE.fullmatch(image)
    if not found or (found["tag"] is None and found["digest"]):
        return "IfNotPresent"
    return "Always" if found["tag"] in (None, "latest") else "IfNotPresent"


_REMEMBERED_CHARACTERS = 512  # a few longer texts would take more room than all others
_remembered_policy = lru_cache(maxsize=4096)(_policy)


def _default_environment(variables: Any) -> None:
    for variable in maps(variables):
        source = variable.get("valueFrom")
        reference = source.get("fieldRef") if type(source) is dict else None
        if type(reference) is dict and not reference.get("apiVersion"):
            reference["apiVersion"] = "v1"


def _default_probe(probe: Obj) -> None:
    for key, value in _PROBE_NUMBERS:
        if not probe.get(key):
            probe[key] = value
    _default_http(probe.get("httpGet"))
    if type(grpc := probe.get("grpc")) is dict:
        grpc.setdefault("service", "")


def _default_http(action: Any) -> None:
    if type(action) is not dict:
        return
    if not action.get("path"):
        action["path"] = "/"
    if not action.get("scheme"):
        action["scheme"] = "HTTP"
