"""Nodes and EvictionRequests of lifecycle.k8s.io, in a cluster without an installation too."""

from __future__ import annotations

import pytest

from support.embedded import embedded
from vacate.api.identity import MASTERS, node_user
from vacate.api.kinds import LIFECYCLE_REQUESTS, PODS
from vacate.features import parse_feature_gates
from vacate.wire.message import Peer

pytestmark = pytest.mark.unit


async def test_a_node_requests_evictions_of_its_own_pods_only() -> None:
    uid = "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"
    pod = {"metadata": {"name": "web", "namespace": "d", "uid": uid}, "spec": {"nodeName": "node-1"}}
    own, other = (Peer(node_user(name), (MASTERS,)) for name in ("node-1", "node-2"))
    collection = LIFECYCLE_REQUESTS.collection_path("d")
    async with embedded(gates=parse_feature_gates("LifecycleAPI=true")) as server:
        await server.seed(PODS, pod)
        for peer, target, code in (
            (other, uid, 403),
            (own, uid.replace("7", "8"), 403),  # a pod that is not there
            (own, uid, 201),
        ):
            wanted = {
                "metadata": {"name": "one"},
                "spec": {
                    "target": {"pod": {"name": "web", "uid": target}},
                    "requester": "shutdown.vacate.dev/node-1",
                    "intent": "Eviction",
                },
            }
            answer = await server.ask("POST", collection, wanted, peer=peer)
            assert answer.code == code, answer
        withdrawn = {"spec": {"intent": "Withdrawn"}}
        path = LIFECYCLE_REQUESTS.object_path("one", "d")
        merge = "application/merge-patch+json"
        for peer, code in ((other, 403), (own, 200)):
            answer = await server.ask("PATCH", path, withdrawn, peer=peer, content_type=merge)
            assert answer.code == code, answer
