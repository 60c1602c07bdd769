"""Under which names the parts of an embedded cluster speak to its API server."""

from __future__ import annotations

from vacate.api.identity import MASTERS, NODES, node_user, service_account_groups, service_account_user
from vacate.wire.message import Peer

ADMIN = Peer("kubernetes-admin", (MASTERS,))
"""The person whose kubeconfig is written when a cluster starts."""

SCHEDULER = Peer("system:kube-scheduler")
CONTROLLER_MANAGER = Peer("system:kube-controller-manager")
"""May do what all embedded controllers do together."""

BOOTSTRAP = Peer("system:apiserver", (MASTERS,))
"""The server itself, while it puts the default objects in place."""


def controller(name: str) -> Peer:
    """A controller with an identity of its own, such as `deployment-controller`."""
    return Peer(service_account_user("kube-system", name), service_account_groups("kube-system"))


def node(name: str) -> Peer:
    """The agent of a node."""
    return Peer(node_user(name), (NODES,))
