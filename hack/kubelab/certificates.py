"""Certificates and kubeconfigs of a control plane, made with Vacate's own authority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hack.kubelab.flags import HOST, Layout

from vacate.client.kubeconfigwriter import KubeconfigEntry, write_kubeconfig
from vacate.client.privatefile import write_private
from vacate.clock import SystemClock
from vacate.embedded.bootstrap.identities import ADMIN, CONTROLLER_MANAGER, SCHEDULER
from vacate.embedded.cluster.certificates import Pki
from vacate.wire.message import Peer

PARTS = {"": ADMIN, "kube-controller-manager": CONTROLLER_MANAGER, "kube-scheduler": SCHEDULER}
"""Whose kubeconfigs are written; the administrator's has no prefix."""


def write_certificates(layout: Layout, api_port: int, hosts: Sequence[str] = ()) -> None:
    """Everything that the programs read when they start; `hosts` are further names of this machine."""
    pki = Pki(layout.pki, SystemClock())
    pki.server(hosts)
    # Tokens are signed by a key of its own; who holds a certificate with it does not matter.
    signer = pki.client("service-account", "service-account")
    write_private(layout.service_account_key, signer.key_pem)
    write_private(layout.service_account_public, signer.certificate_pem)
    write_kubeconfigs(layout, api_port, PARTS)


def write_kubeconfigs(layout: Layout, api_port: int, parts: Mapping[str, Peer], host: str = HOST) -> None:
    """One for every part, under its name; `host` is where that part reaches the API server."""
    pki = Pki(layout.pki, SystemClock())
    for name, peer in parts.items():
        write_kubeconfig(
            layout.kubeconfig(name), _entry(pki, name or "admin", peer, f"https://{host}:{api_port}")
        )


def _entry(pki: Pki, name: str, peer: Peer, address: str) -> KubeconfigEntry:
    pair = pki.client(name, peer.name, peer.groups)
    authority = pki.authority.certificate_pem
    return KubeconfigEntry(
        address,
        authority,
        pair.certificate_pem,
        pair.key_pem,
        cluster="vacate-kube",
        user="vacate-kube-admin",
        context="vacate-kube",
    )
