"""The command lines of a control plane on loopback. Files and ports are given; nothing is started here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"
SERVICE_NETWORK, KUBERNETES_SERVICE = "10.96.0.0/16", "10.96.0.1"
_NODE_NETWORKS = "node-ipam-controller"  # wants networks between nodes, and there are none
# Without containers no pod trusts an authority that it is given.
_FOR_CONTAINERS = "root-ca-certificate-publisher-controller"
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
    def kubelet_client(self) -> Path:
        """Certificate and key with which the API server asks kubelets for logs."""
        return self.pki / "admin.pem"

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


# Many cases in little time, from one user: what is tested is not how the server queues them.
_UNLIMITED = (
    "--enable-priority-and-fairness=false",
    "--max-requests-inflight=0",
    "--max-mutating-requests-inflight=0",
)
# So few seats that one of the usual 246 shares is one seat.
_FAIR = ("--max-requests-inflight=100", "--max-mutating-requests-inflight=50")
# Upstream's EvictionRequest and Eviction: alpha, so that both the gate and the version have to be asked for.
_LIFECYCLE = (
    "--feature-gates=EvictionRequestAPI=true", "--runtime-config=lifecycle.k8s.io/v1alpha1=true",
)  # fmt: skip


def api_server(
    layout: Layout, ports: Ports, *,
    audit: bool = False, address: str = "", fairness: bool = False, lifecycle: bool = False,
    confined_nodes: bool = False,
) -> list[str]:  # fmt: skip
    """On loopback for simulated pods, or at the address of a node whose pods really run.

    With `lifecycle` it serves lifecycle.k8s.io/v1alpha1, which releases before 1.37 do not have. Where pods
    really run, and with `confined_nodes`, each identity of a node has the rights of its own node.
    """
    written = [f"--audit-policy-file={layout.audit_policy}", f"--audit-log-path={layout.audit_log}"]
    return [
        *(written if audit else ()),
        *(_for_containers(layout, address) if address else _WITHOUT_PROCESSES),
        *(_CONFINED_NODES if address or confined_nodes else ("--authorization-mode=RBAC",)),
        f"--etcd-servers=http://{HOST}:{ports.etcd}",
        f"--secure-port={ports.api}",
        f"--kubelet-client-certificate={layout.kubelet_client}",
        f"--kubelet-client-key={layout.kubelet_client}",
        f"--tls-cert-file={layout.server}", f"--tls-private-key-file={layout.server}",
        f"--client-ca-file={layout.authority}",
        "--allow-privileged=true",  # as everywhere
        f"--service-account-issuer=https://{HOST}:{ports.api}",
        f"--service-account-key-file={layout.service_account_public}",
        f"--service-account-signing-key-file={layout.service_account_key}",
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
        *(_FAIR if fairness else _UNLIMITED),
        *(_LIFECYCLE if lifecycle else ()),
        "--shutdown-delay-duration=0s",
    ]  # fmt: skip


# Default admission but for ServiceAccount: no tokens are mounted into simulated pods.
_WITHOUT_PROCESSES = (
    f"--bind-address={HOST}", f"--advertise-address={HOST}", "--endpoint-reconciler-type=none",
    "--disable-admission-plugins=ServiceAccount",
)  # fmt: skip
_CONFINED_NODES = ("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction")


def _for_containers(layout: Layout, address: str) -> list[str]:
    return [
        "--bind-address=0.0.0.0", f"--advertise-address={address}",
        f"--kubelet-certificate-authority={layout.authority}",
        "--kubelet-preferred-address-types=InternalIP",
    ]  # fmt: skip


def controller_manager(
    layout: Layout, ports: Ports, *, everything: bool = True, containers: bool = False, lost_after: int = 0
) -> list[str]:
    """All default controllers that make sense on one machine, or those of the API alone.

    Autoscalers look every 3 s instead of every 15 s: tests wait for several looks.
    """
    off = (_NODE_NETWORKS,) if containers else (_FOR_CONTAINERS, _NODE_NETWORKS)
    controllers = ",".join(["*", *(f"-{name}" for name in off)]) if everything else _OF_THE_API
    return [
        *_part(layout, "kube-controller-manager", ports.controllers),
        f"--controllers={controllers}",
        "--use-service-account-credentials=true",
        "--horizontal-pod-autoscaler-sync-period=3s",
        f"--service-account-private-key-file={layout.service_account_key}",
        f"--root-ca-file={layout.authority}",
        *([f"--node-monitor-grace-period={lost_after}s"] if lost_after else ()),
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
