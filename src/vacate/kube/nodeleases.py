"""The Lease by which a node shows that it lives."""

from __future__ import annotations

import datetime as dt

from vacate.api.objects import Obj
from vacate.api.times import format_micro_time

LEASE_NAMESPACE = "kube-node-lease"


def lease_object(node: str, uid: str, now: dt.datetime, seconds: int) -> Obj:
    """The Lease of a node; it goes with the Node."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {"holderIdentity": node, "leaseDurationSeconds": seconds, **renewal(now)["spec"]},
    }


def renewal(now: dt.datetime) -> Obj:
    """The patch that renews a lease: small, and needs no reading before."""
    return {"spec": {"renewTime": format_micro_time(now)}}
