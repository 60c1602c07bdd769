"""Deletion of a Node on the embedded server: only where it has what must not run twice, and may still run it,
is a confirmation needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import Embedded, a_pod, embedded
from support.simulated.volumes import claim, volume
from vacate.admission.pods.forcedeletion import CONFIRMATION, GUARD_LABEL, Guard
from vacate.api.identity import MASTERS
from vacate.api.kinds import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS
from vacate.api.objects import Obj
from vacate.kube.exclusivevolumes import ALL_LISTED, ATTACHMENT, EXCLUSIVE
from vacate.kube.nodes import OUT_OF_SERVICE
from vacate.wire.message import Peer

pytestmark = pytest.mark.unit

ALICE, CLOUD = "alice", "system:serviceaccount:kube-system:cloud-node-lifecycle-controller"
OWNER = {"apiVersion": "apps/v1", "name": "s", "uid": "s", "controller": True}
MEMBER: dict[str, Any] = {"meta": {"ownerReferences": [{**OWNER, "kind": "StatefulSet"}]}}
USES_CLAIM: dict[str, Any] = {
    "spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
}
RECORD = '{"node": "n1", "pods": [{"namespace": "d", "name": "gone", "uid": "gone", "gone": true}]}'
"""Of a pod that was force-deleted; the node has not confirmed."""


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        one.storage.force_guard = Guard(unlabelled=True)
        yield one


def node(ready: str = "Unknown", taint: str = "other", **meta: Any) -> Obj:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return {
        "metadata": {"name": "n1", "uid": "u1", **meta},
        "spec": {"taints": [{"key": taint, "effect": "NoExecute"}]},
        "status": {"conditions": conditions},
    }


async def delete(server: Embedded, user: str = ALICE, **options: Any) -> tuple[int, str]:
    done = await server.ask("DELETE", NODES.object_path("n1", ""), options, peer=Peer(user, (MASTERS,)))
    return done.code, done.message if done.code >= 400 else ""


@pytest.mark.parametrize(
    ("pod", "asked"),
    [
        (a_pod(**MEMBER), True),
        (a_pod(**MEMBER, status={"phase": "Failed"}), False),  # its processes have ended
        (a_pod(meta=MEMBER["meta"], spec={"nodeName": "n2"}), False),
        (a_pod(meta={"ownerReferences": [{**OWNER, "kind": "ReplicaSet"}]}), False),
        (a_pod(**USES_CLAIM), True),
        (None, False),
    ],
    ids=["member", "ended", "elsewhere", "replica", "exclusive-volume", "nothing"],
)
async def test_only_what_must_not_run_twice_is_asked_about(
    server: Embedded, pod: Obj | None, asked: bool
) -> None:
    await server.seed(PERSISTENTVOLUMES, volume("disk"))
    bound = claim("data", volumeName="disk")
    bound["metadata"]["namespace"] = "d"
    await server.seed(PERSISTENTVOLUMECLAIMS, bound)
    await server.seed(NODES, node())
    if pod is not None:
        await server.seed(PODS, pod)
    for dry_run in (["All"], []):
        code, message = await delete(server, dryRun=dry_run)
        assert code == (403 if asked else 200)
        for part in (
            "node n1 is not ready",
            "vacate fence n1",
            f"annotate node n1 {CONFIRMATION}=u1",
        ):
            assert (part in message) is asked
    assert (server.stored(NODES, "n1", "") is not None) is asked


@pytest.mark.parametrize(
    ("record", "in_use", "exclusive", "asked"),
    [
        (RECORD, "", "true", True),
        ("{", "", "true", True),  # it may be of any node
        (None, "disk", "true", True),
        (None, "disk", "false", False),
        (None, "another", "true", False),
    ],
    ids=["recorded", "unreadable", "listed", "shared", "another"],
)
async def test_a_volume_that_the_node_has_not_given_back_is_asked_about(
    server: Embedded, record: str | None, in_use: str, exclusive: str, asked: bool
) -> None:
    kept = volume("disk")
    kept["metadata"]["annotations"] = {EXCLUSIVE: exclusive, **({ATTACHMENT: record} if record else {})}
    await server.seed(PERSISTENTVOLUMES, kept)
    silent = node()
    silent["status"]["volumesInUse"] = [f"{ALL_LISTED}/{in_use}"]
    await server.seed(NODES, silent)
    assert (await delete(server))[0] == (403 if asked else 200)


@pytest.mark.parametrize(
    ("made", "user"),
    [
        (node("True"), ALICE),
        (node(""), ALICE),  # it has never reported
        (node(taint=OUT_OF_SERVICE), ALICE),  # fenced
        (node(labels={GUARD_LABEL: "disabled"}), ALICE),
        (node(), CLOUD),  # the machine is no longer there
        (node(annotations={CONFIRMATION: "u1"}), ALICE),
    ],
)
async def test_what_needs_no_confirmation(server: Embedded, made: Obj, user: str) -> None:
    await server.seed(PODS, a_pod(**MEMBER))
    await server.seed(NODES, made)
    assert (await delete(server, user))[0] == 200


async def test_a_confirmation_holds_for_one_node_only(server: Embedded) -> None:
    await server.seed(PODS, a_pod(**MEMBER))
    await server.seed(NODES, node(annotations={CONFIRMATION: "another"}))
    assert (await delete(server))[0] == 403


async def test_a_cluster_that_is_guarded_by_labels_only_does_not_ask(server: Embedded) -> None:
    server.storage.force_guard = Guard()
    await server.seed(PODS, a_pod(**MEMBER))
    await server.seed(NODES, node())
    assert (await delete(server))[0] == 200
