"""The command lines of a control plane on loopback. Files and ports are given; nothing is started here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
# They want a network, a cloud or containers, and there is none: no pod trusts an authority that it is given.
_CONTROLLERS_OFF = (
    "root-ca-certificate-publisher-controller",
    "node-ipam-controller",
    "service-lb-controller",
    "node-route-controller",
    "cloud-node-lifecycle-controller",
)
# Fills the roles `view`, `edit` and `admin`, which API servers have from the start.
_OF_THE_API = "clusterrole-aggregation-controller"


@dataclass(frozen=True, slots=True)
class Ports:
    """One for every listener."""

    etcd: int
    etcd_peer: int
    api: int
    controllers: int
    scheduler: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What lies where in the folder of a control plane."""

    root: Path

    @property
    def pki(self) -> Path:
        """Certificates and keys."""
        return self.root / "pki"

    @property
    def logs(self) -> Path:
        """One file for every program."""
        return self.root / "logs"

    @property
    def etcd(self) -> Path:
        """All objects."""
        return self.root / "etcd"

    @property
    def authority(self) -> Path:
        """Whom everyone trusts."""
        return self.pki / "ca.crt"

    @property
    def server(self) -> Path:
        """Certificate and key of all that listens on this machine."""
        return self.pki / "server.pem"

    @property
    def service_account_key(self) -> Path:
        """Signs the tokens of service accounts."""
        return self.pki / "service-account.key"

    @property
    def service_account_public(self) -> Path:
        """Shows that they are genuine."""
        return self.pki / "service-account.crt"

    @property
    def audit_policy(self) -> Path:
        """What is written down of requests."""
        return self.root / "audit-policy.json"

    @property
    def audit_log(self) -> Path:
        """A line of JSON for every answered request."""
        return self.logs / "audit.log"

    def kubeconfig(self, who: str = "") -> Path:
        """Of the administrator, or of a part of the control plane."""
        return self.root / (f"{who}.kubeconfig" if who else "kubeconfig")


def etcd(layout: Layout, ports: Ports) -> list[str]:
    """Durability is not wanted here, and syncing every write takes half of the time."""
    client, peer = f"http://{HOST}:{ports.etcd}", f"http://{HOST}:{ports.etcd_peer}"
    return [
        "--name=kube", f"--data-dir={layout.etcd}", "--unsafe-no-fsync",
        f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=kube={peer}",
        "--log-level=warn",
    ]  # fmt: skip


AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        # Which pod an eviction meant, as opposed to which name, stands in its body.
        {"level": "Request", "resources": [{"group": "", "resources": ["pods/eviction"]}]},
        {"level": "Metadata"},
    ],
}
"""Who asked for what, and how it was answered."""


def api_server(layout: Layout, ports: Ports, *, audit: bool = False) -> list[str]:
    """Default admission but for ServiceAccount: no tokens are mounted into pods on paper."""
    written = [f"--audit-policy-file={layout.audit_policy}", f"--audit-log-path={layout.audit_log}"]
    return [
        *(written if audit else ()),
        f"--etcd-servers=http://{HOST}:{ports.etcd}",
        f"--bind-address={HOST}", f"--secure-port={ports.api}", f"--advertise-address={HOST}",
        f"--tls-cert-file={layout.server}", f"--tls-private-key-file={layout.server}",
        f"--client-ca-file={layout.authority}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",  # as everywhere
        "--disable-admission-plugins=ServiceAccount",
        f"--service-account-issuer=https://{HOST}:{ports.api}",
        f"--service-account-key-file={layout.service_account_public}",
        f"--service-account-signing-key-file={layout.service_account_key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--endpoint-reconciler-type=none",
        # Many cases in little time, from one user: what is tested is not how the server queues them.
        "--enable-priority-and-fairness=false", "--max-requests-inflight=0",
        "--max-mutating-requests-inflight=0",
        "--shutdown-delay-duration=0s",
    ]  # fmt: skip


def controller_manager(layout: Layout, ports: Ports, *, everything: bool = True) -> list[str]:
    """All default controllers that make sense without containers and networks, or those of the API alone."""
    controllers = ",".join(["*", *(f"-{name}" for name in _CONTROLLERS_OFF)]) if everything else _OF_THE_API
    return [
        *_part(layout, "kube-controller-manager", ports.controllers),
        f"--controllers={controllers}",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.service_account_key}",
        f"--root-ca-file={layout.authority}",
    ]


def scheduler(layout: Layout, ports: Ports) -> list[str]:
    """The default profile."""
    return _part(layout, "kube-scheduler", ports.scheduler)


def _part(layout: Layout, name: str, port: int) -> list[str]:
    own = layout.kubeconfig(name)
    return [
        f"--kubeconfig={own}", f"--authentication-kubeconfig={own}", f"--authorization-kubeconfig={own}",
        f"--bind-address={HOST}", f"--secure-port={port}",
        f"--tls-cert-file={layout.server}", f"--tls-private-key-file={layout.server}",
        "--leader-elect=false",
    ]  # fmt: skip
