"""The configuration of the programs of a node. Nothing is started here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

NODE_INTERFACE, POD_INTERFACE = "node0", "cni0"
POD_NETWORKS = "10.244.0.0/16"
"""Of all nodes; each has a part of it."""
MAX_NODES = 9
CLUSTER_DNS = "10.96.0.10"  # nobody answers there: addresses are enough
PAUSE, BUSYBOX = "localhost/pause:smoke", "localhost/busybox:smoke"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
KUBELET_PORT, KUBELET_HEALTH_PORT, PROXY_HEALTH_PORT = 10250, 10248, 10256

# What a kubelet sets for the whole machine when it starts. It finds these values set, in its own view only.
KERNEL_SETTINGS = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}

CONTAINERD = f"""\
version = 2
[grpc]
address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
# Without the capability to lower it, containers die in their first moment.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/etc/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".registry]
config_path = "/etc/containerd/certs.d"
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """What distinguishes the nodes of a cluster. The first one shares its network with the control plane."""

    number: int

    @property
    def name(self) -> str:
        return f"node-{self.number}"

    @property
    def address(self) -> str:
        return f"192.0.2.{self.number}"

    @property
    def pod_network(self) -> str:
        return f"10.244.{self.number - 1}.0/24"


FIRST = Identity(1)
NODE, NODE_ADDRESS = FIRST.name, FIRST.address
REGISTRY = f"{NODE_ADDRESS}:5000"
REGISTRY_HOSTS = f'[host."http://{REGISTRY}"]\n'
"""For containerd: the registry of images speaks no TLS."""


def container_network(node: Identity) -> dict[str, Any]:
    """A bridge for the pods of a node; routes between the nodes join the bridges."""
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge",
                "bridge": POD_INTERFACE,
                "isGateway": True,
                "hairpinMode": True,  # a pod may be its own Service's endpoint
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": node.pod_network}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }
        ],
    }


@dataclass(frozen=True, slots=True)
class NodeCredentials:
    """Files that the programs of the node read."""

    authority: Path
    server: Path
    kubelet: Path
    proxy: Path


def kubelet(credentials: NodeCredentials, node: Identity = FIRST) -> dict[str, Any]:
    """Everything is evicted by Vacate or not at all: the kubelet's own reasons are off."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.address,
        "port": KUBELET_PORT,
        "healthzPort": KUBELET_HEALTH_PORT,
        "tlsCertFile": str(credentials.server),
        "tlsPrivateKeyFile": str(credentials.server),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(credentials.authority)},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "failCgroupV1": False,
        "failSwapOn": False,
        "oomScoreAdj": 0,
        "clusterDNS": [CLUSTER_DNS],
        "clusterDomain": "cluster.local",
        "evictionHard": {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "registerNode": True,
        # A change of a pod is written at once, and a mounted object is read again soon.
        "syncFrequency": "10s",
        "nodeStatusUpdateFrequency": "4s",
        "nodeLeaseDurationSeconds": 8,  # renewed every 2 s
    }


def proxy(credentials: NodeCredentials, node: Identity = FIRST) -> dict[str, Any]:
    """Services by nftables; limits that are the machine's and not this network's stay untouched."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(credentials.proxy)},
        "hostnameOverride": node.name,
        "clusterCIDR": POD_NETWORKS,
        "healthzBindAddress": f"{node.address}:{PROXY_HEALTH_PORT}",
        "metricsBindAddress": "127.0.0.1:10249",
        "oomScoreAdj": 0,
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }


def kubelet_command(
    program: Path, config: Path, credentials: NodeCredentials, node: Identity = FIRST
) -> list[str]:
    """The kubelet's command line."""
    return [
        str(program), f"--config={config}", f"--kubeconfig={credentials.kubelet}",
        f"--hostname-override={node.name}", f"--node-ip={node.address}", "--v=2",
    ]  # fmt: skip
