"""What the parts are reached by and reach, and certificates that cert-manager makes."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.install.names import (
    CA_SECRET,
    CERTIFICATES,
    MANAGER,
    METRICS_PORT,
    TLS_SECRET,
    WEBHOOK,
    WEBHOOK_PORT,
    labels,
)
from vacate.install.settings import Settings

_CERT_MANAGER = "cert-manager.io/v1"


def network_policies(settings: Settings) -> list[Obj]:
    """One for each part that runs in the cluster."""
    made = []
    if settings.deploy_manager:
        made.append(_policy(MANAGER, [METRICS_PORT], settings))
    if settings.deploys_webhook:
        made.append(_policy(WEBHOOK, [WEBHOOK_PORT, METRICS_PORT], settings))
        if settings.own_certificates:
            made.append(_policy(CERTIFICATES, [], settings))
    return made


def _policy(name: str, ports: list[int], settings: Settings) -> Obj:
    """API servers are no pods, so that nobody can be named: ports are what can be narrowed."""
    marks = labels(name.removeprefix("vacate-"))
    dns = [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]
    servers = [{"port": port, "protocol": "TCP"} for port in (443, 6443)]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": settings.namespace, "labels": marks},
        "spec": {
            "podSelector": {"matchLabels": marks},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"ports": [{"port": port, "protocol": "TCP"} for port in ports]}] if ports else [],
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
