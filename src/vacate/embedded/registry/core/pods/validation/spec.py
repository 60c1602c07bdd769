"""The spec of a pod or of a template, in the order in which kube-apiserver looks at it."""

from __future__ import annotations

from vacate.admission.checks import labels_faults, unsupported
from vacate.admission.context import Context
from vacate.admission.nameformats import dns_label, in_range, name_is_subdomain
from vacate.admission.pods.interceptors import interceptor_faults
from vacate.admission.rules import table
from vacate.api.fielderrors import Fault, FieldError, complaints, invalid, required
from vacate.api.lenient import integer, mapping, text
from vacate.api.objects import Obj
from vacate.embedded.registry.core.pods.admissionplugins import MIRROR
from vacate.embedded.registry.core.pods.validation.affinity import affinity_faults
from vacate.embedded.registry.core.pods.validation.containers import container_faults, init_container_faults
from vacate.embedded.registry.core.pods.validation.ephemeral import ephemeral_faults
from vacate.embedded.registry.core.pods.validation.network import (
    alias_faults,
    dns_faults,
    hostname_override_faults,
)
from vacate.embedded.registry.core.pods.validation.placement import (
    gate_faults,
    spread_faults,
    toleration_faults,
)
from vacate.embedded.registry.core.pods.validation.ports import host_network_faults
from vacate.embedded.registry.core.pods.validation.resources import resource_faults
from vacate.embedded.registry.core.pods.validation.security import context_faults
from vacate.embedded.registry.core.pods.validation.volumes import volume_faults
from vacate.embedded.registry.scheduling.priorityclasses import preemption_faults

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_INT32 = 2**31 - 1
_SUBDOMAINS = ("serviceAccountName", "nodeName")

RULES = table(
    "Pod",
    ("metadata.annotations[kubernetes.io/config.mirror]", Fault.INVALID, "only with spec.nodeName"),
    ("metadata.annotations[controller.kubernetes.io/pod-deletion-cost]", Fault.INVALID, "32-bit integer"),
    ("spec.restartPolicy", Fault.NOT_SUPPORTED, "Always, OnFailure or Never"),
    ("spec.dnsPolicy", Fault.NOT_SUPPORTED, "ClusterFirstWithHostNet, ClusterFirst, Default or None"),
    ("spec.nodeSelector", Fault.INVALID, "keys and values of labels"),
    ("spec.serviceAccountName", Fault.INVALID, "a DNS subdomain"),
    ("spec.nodeName", Fault.INVALID, "a DNS subdomain"),
    ("spec.activeDeadlineSeconds", Fault.INVALID, "1 to 2147483647"),
    ("spec.hostname", Fault.INVALID, "a DNS label"),
    ("spec.subdomain", Fault.INVALID, "a DNS label"),
    ("spec.priorityClassName", Fault.INVALID, "a DNS subdomain"),
    ("spec.runtimeClassName", Fault.INVALID, "a DNS subdomain"),
    ("spec.preemptionPolicy", Fault.NOT_SUPPORTED, "PreemptLowerPriority or Never"),
    ("spec.overhead.limits[]", Fault.INVALID, "as limits of a container"),
)  # fmt: skip


def spec_faults(spec: Obj, path: str, ctx: Context, *, is_pod: bool) -> list[FieldError]:
    """Every rule that the spec breaks; `path` is where the spec stands."""
    volumes, found = volume_faults(spec.get("volumes"), f"{path}.volumes")
    found += container_faults(spec, path, volumes)
    found += init_container_faults(spec, path, volumes)
    if "ephemeralContainers" in spec:
        found += ephemeral_faults(spec, path, volumes)
    found += host_network_faults(spec, path, is_pod=is_pod)
    found += _choice_faults(spec, "restartPolicy", _RESTART_POLICIES, path)
    found += _choice_faults(spec, "dnsPolicy", _DNS_POLICIES, path)
    if "nodeSelector" in spec:
        found += labels_faults(spec["nodeSelector"], f"{path}.nodeSelector")
    found += context_faults(spec.get("securityContext"), f"{path}.securityContext")
    if "affinity" in spec:
        found += affinity_faults(spec["affinity"], f"{path}.affinity")
    found += dns_faults(spec, path)
    if "readinessGates" in spec or "schedulingGates" in spec:
        found += gate_faults(spec, path)
    if "topologySpreadConstraints" in spec:
        found += spread_faults(spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints")
    found += hostname_override_faults(spec, path)
    found += _name_faults(spec, path)
    if "evictionInterceptors" in spec:
        found += interceptor_faults(spec, path, ctx)
    return found


def annotation_faults(annotations: Obj, spec: Obj, path: str) -> list[FieldError]:
    """Annotations that mean something for pods."""
    found: list[FieldError] = []
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        found.append(invalid(f"{path}[{MIRROR}]", annotations[MIRROR], detail))
    if DELETION_COST in annotations and not _is_int32(text(annotations[DELETION_COST])):
        cost = annotations[DELETION_COST]
        found.append(invalid(f"{path}[{DELETION_COST}]", cost, "must be a 32bit integer"))
    return found


def annotation_change_faults(new: Obj, old: Obj, path: str) -> list[FieldError]:
    """The mark of a mirror pod neither comes nor goes nor changes."""
    before, after = mapping(old).get(MIRROR), mapping(new).get(MIRROR)
    if before == after:
        return []
    done = "add" if before is None else "remove or update"
    return [FieldError(f"{path}[{MIRROR}]", Fault.FORBIDDEN, f"may not {done} mirror pod annotation")]


def _choice_faults(spec: Obj, key: str, known: tuple[str, ...], path: str) -> list[FieldError]:
    chosen = spec.get(key)
    if chosen in known:
        return []
    return [unsupported(f"{path}.{key}", text(chosen), known) if chosen else required(f"{path}.{key}")]


def _name_faults(spec: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for key in _SUBDOMAINS:
        if name := text(spec.get(key)):
            found += complaints(f"{path}.{key}", name, name_is_subdomain(name, False))
    if (deadline := spec.get("activeDeadlineSeconds")) is not None:
        wrong = in_range(integer(deadline), 1, _INT32)
        found += complaints(f"{path}.activeDeadlineSeconds", deadline, wrong)
    for key in ("hostname", "subdomain"):
        if name := text(spec.get(key)):
            found += complaints(f"{path}.{key}", name, dns_label(name))
    if "tolerations" in spec:
        found += toleration_faults(spec["tolerations"], f"{path}.tolerations")
    if "hostAliases" in spec:
        found += alias_faults(spec["hostAliases"], f"{path}.hostAliases")
    if name := text(spec.get("priorityClassName")):
        found += complaints(f"{path}.priorityClassName", name, name_is_subdomain(name, False))
    if (runtime := spec.get("runtimeClassName")) is not None:
        found += complaints(f"{path}.runtimeClassName", runtime, name_is_subdomain(text(runtime), False))
    found += preemption_faults(spec, f"{path}.")
    if "overhead" in spec:
        found += resource_faults({"limits": spec["overhead"]}, f"{path}.overhead")
    return found


def _is_int32(value: str) -> bool:
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 10:
        return False
    if value[0] == "0" and value != "0":
        return False
    return -(2**31) <= int(value) <= _INT32
