"""What the parts are reached by and reach, and certificates that cert-manager makes."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.installednames import (
    CA_SECRET,
    CERTIFICATES,
    MANAGER,
    METRICS_PORT,
    REASONS_PORT,
    TLS_SECRET,
    WEBHOOK,
    WEBHOOK_PORT,
    labels,
)
from vacate.api.objects import Obj
from vacate.install.settings import Settings

_CERT_MANAGER = "cert-manager.io/v1"


def network_policies(settings: Settings) -> list[Obj]:
    """One for each part that runs in the cluster."""
    made = []
    if settings.deploy_manager:
        made.append(policy_of(MANAGER, [metrics_ingress(settings)], settings))
    if settings.deploys_webhook:
        reviews = _ingress(WEBHOOK_PORT, settings.webhook_sources)
        # Any pod may have to ask for its reason.
        reasons = [_ingress(REASONS_PORT, ())] if settings.prestop_wrapper else []
        made.append(policy_of(WEBHOOK, [reviews, *reasons, metrics_ingress(settings)], settings))
        if settings.own_certificates:
            made.append(policy_of(CERTIFICATES, [], settings))
    return made


def metrics_ingress(settings: Settings) -> Obj:
    """Of metrics and health."""
    return _ingress(METRICS_PORT, settings.metrics_sources)


def _ingress(port: int, sources: Sequence[str]) -> Obj:
    """API servers are no pods, so that only an administrator can name them, by their addresses."""
    made: Obj = {"ports": [{"port": port, "protocol": "TCP"}]}
    return {**made, "from": [{"ipBlock": {"cidr": one}} for one in sources]} if sources else made


def policy_of(name: str, ingress: list[Obj], settings: Settings) -> Obj:
    """What reaches the pods of a part; they reach names and API servers."""
    marks = labels(name.removeprefix("vacate-"))
    dns = [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]
    servers = [{"port": port, "protocol": "TCP"} for port in (443, 6443)]
    # API servers store no empty list: with one, each apply would be a change.
    allowed = {"ingress": ingress} if ingress else {}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": settings.namespace, "labels": marks},
        "spec": {
            "podSelector": {"matchLabels": marks},
            "policyTypes": ["Ingress", "Egress"],
            **allowed,
            "egress": [{"ports": [*dns, *servers]}],
        },
    }


def certificates(settings: Settings) -> list[Obj]:
    """An authority of our own, and the certificate that it keeps current in the webhook's Secret.

    API servers trust the authority, which stays. If they had to trust each new certificate, none would be
    trusted in the minute between its renewal and its arrival in the pods.
    """
    host = f"{WEBHOOK}.{settings.namespace}.svc"
    authority = {
        "isCA": True,
        "commonName": CA_SECRET,
        "secretName": CA_SECRET,
        "duration": "87600h",
        "issuerRef": {"kind": "Issuer", "name": CA_SECRET},
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
    }
    served = {
        "secretName": TLS_SECRET,
        "dnsNames": [host, f"{host}.cluster.local"],
        "issuerRef": {"kind": "Issuer", "name": WEBHOOK},
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "usages": ["digital signature", "server auth"],
    }
    return [
        _of_cert_manager("Issuer", CA_SECRET, {"selfSigned": {}}, settings),
        _of_cert_manager("Certificate", CA_SECRET, authority, settings),
        _of_cert_manager("Issuer", WEBHOOK, {"ca": {"secretName": CA_SECRET}}, settings),
        _of_cert_manager("Certificate", WEBHOOK, served, settings),
    ]


def _of_cert_manager(kind: str, name: str, spec: Obj, settings: Settings) -> Obj:
    meta = {"name": name, "namespace": settings.namespace, "labels": labels("webhook")}
    return {"apiVersion": _CERT_MANAGER, "kind": kind, "metadata": meta, "spec": spec}
