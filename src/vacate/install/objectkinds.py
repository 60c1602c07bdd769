"""The kinds of the objects of an installation, most of which the embedded server does not serve."""

from __future__ import annotations

from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CONFIGMAPS,
    DAEMONSETS,
    DEPLOYMENTS,
    LEASES,
    NAMESPACES,
    PODDISRUPTIONBUDGETS,
    PRIORITYCLASSES,
    ROLEBINDINGS,
    ROLES,
    SECRETS,
    SERVICEACCOUNTS,
    VALIDATINGADMISSIONPOLICIES,
    VALIDATINGADMISSIONPOLICYBINDINGS,
    Kind,
)
from vacate.api.objects import Obj, name_of, namespace_of
from vacate.webhook.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

_MONITORING, _CERT_MANAGER = "monitoring.coreos.com", "cert-manager.io"


def _kind(group: str, name: str, plural: str, *, namespaced: bool = True) -> Kind:
    return Kind(group, "v1", name, plural, name.lower(), namespaced=namespaced)


DEFINITIONS = _kind(
    "apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
SERVICES = _kind("", "Service", "services")
NETWORK_POLICIES = _kind("networking.k8s.io", "NetworkPolicy", "networkpolicies")
SERVICE_MONITORS = _kind(_MONITORING, "ServiceMonitor", "servicemonitors")
PROMETHEUS_RULES = _kind(_MONITORING, "PrometheusRule", "prometheusrules")
ISSUERS = _kind(_CERT_MANAGER, "Issuer", "issuers")
CERTIFICATES = _kind(_CERT_MANAGER, "Certificate", "certificates")

OPTIONAL = {_MONITORING: "the Prometheus operator", _CERT_MANAGER: "cert-manager"}
"""Groups that a cluster has only where an operator was installed for them."""

_KINDS = {
    (kind.api_version, kind.kind): kind
    for kind in (
        NAMESPACES, SERVICEACCOUNTS, CONFIGMAPS, SERVICES, SECRETS, LEASES, DEPLOYMENTS, PODDISRUPTIONBUDGETS,
        CLUSTERROLES, CLUSTERROLEBINDINGS, ROLES, ROLEBINDINGS, NETWORK_POLICIES, DEFINITIONS,
        DAEMONSETS, PRIORITYCLASSES, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS,
        VALIDATINGADMISSIONPOLICIES, VALIDATINGADMISSIONPOLICYBINDINGS,
        SERVICE_MONITORS, PROMETHEUS_RULES, ISSUERS, CERTIFICATES,
    )
}  # fmt: skip


def is_known(api_version: str, kind: str) -> bool:
    """Whether objects of this kind can be part of an installation."""
    return (api_version, kind) in _KINDS


def kind_of(obj: Obj) -> Kind:
    """The kind of a rendered object."""
    return _KINDS[obj["apiVersion"], obj["kind"]]


def path_of(obj: Obj, *, collection: bool = False) -> str:
    """Where the object is found, or where it is created."""
    kind = kind_of(obj)
    namespace = namespace_of(obj) if kind.namespaced else None
    return kind.collection_path(namespace) if collection else kind.object_path(name_of(obj), namespace)


def shown(obj: Obj) -> str:
    """As kubectl shows it: `deployment.apps/vacate-manager`."""
    kind = kind_of(obj)
    group = f".{kind.group}" if kind.group else ""
    return f"{kind.singular}{group}/{name_of(obj)}"
