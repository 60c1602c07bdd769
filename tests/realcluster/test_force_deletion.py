"""The guard against unsafe force deletion on the real API server: held by admission policies alone."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from support.arms import objects as make
from support.arms.arm import MERGE_PATCH, Answer, As, Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.realcluster.definitions import until
from vacate.admission.pods.forcedeletion import CONFIRMATION, GUARD_LABEL
from vacate.api.identity import MASTERS
from vacate.api.installednames import (
    EXCLUSIVE_GATE,
    FORCE_DELETION,
    FORCE_EVICTION,
    NO_GRACE,
    NODE_DELETION,
    NODE_MARKS,
)
from vacate.api.kinds import NAMESPACES, NODES, PODS
from vacate.install.manifests.policies import policies
from vacate.install.objectkinds import path_of
from vacate.install.settings import Settings
from vacate.kube.exclusivevolumes import GATE, OPT_IN, OPTED_IN
from vacate.kube.nodes import OUT_OF_SERVICE, SAFE_TO_DELETE

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("labs"),
    pytest.mark.asyncio(loop_scope="module"),
]

OF_NAMESPACES = (FORCE_DELETION, FORCE_EVICTION, NO_GRACE, EXCLUSIVE_GATE)
OF_NODES = (NODE_DELETION, NODE_MARKS)
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
WITHOUT_GATE: Obj = {"spec": CLAIM}
GATED: Obj = {"spec": {**CLAIM, "schedulingGates": [{"name": GATE}]}}
MEMBER = [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "1", "controller": True}]
WITHOUT_GRACE: Obj = {"spec": {"terminationGracePeriodSeconds": 0}, "meta": {"ownerReferences": MEMBER}}
GUARDED, OPEN = "guarded-by-label", "not-guarded"
FORCE = {"gracePeriodSeconds": 0}
ALICE = As("alice", (MASTERS,))
BY_MANAGER = As("system:serviceaccount:vacate-system:vacate-manager", (MASTERS,))
OUTAGE, EARLIER = "2026-11-18T18:00:00Z", "2026-11-17T18:00:00Z"
GC = As("system:serviceaccount:kube-system:pod-garbage-collector", (MASTERS,))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arm() -> AsyncIterator[KubeArm]:
    """A real server with the two policies in force, and two namespaces of which one opted in."""
    arm = KubeArm(Path(os.environ[KUBECONFIG]))
    whole = replace(Settings(), guard_unlabelled=True)
    chosen = [one for one in policies() if one["metadata"]["name"] in OF_NAMESPACES]
    chosen += [one for one in policies(whole) if one["metadata"]["name"] in OF_NODES]
    assert len(chosen) == 12
    try:
        for name, labels in ((GUARDED, {GUARD_LABEL: "enabled", OPT_IN: OPTED_IN}), (OPEN, {})):
            body = make.named(name, meta={"labels": labels})
            (await arm.call("POST", NAMESPACES.collection_path(""), body=body)).ok(201)
        for obj in chosen:
            (await arm.call("POST", path_of(obj, collection=True), body=obj)).ok(201)
        await _pod(arm, "probe")

        async def in_force() -> bool:
            dry = {**FORCE, "dryRun": ["All"]}
            deleted = await _delete(arm, "probe", options=dry)
            evicted = await _evict(arm, "probe", FORCE, {})
            await _node(arm, "probed", "False")
            gone = await arm.call(
                "DELETE", NODES.object_path("probed", ""), body={"dryRun": ["All"]}, as_user=ALICE
            )
            marked = await _mark(arm, "probed", "now", ALICE, dry=True)
            made = [await _try_pod(arm, one, dry=True) for one in (WITHOUT_GATE, WITHOUT_GRACE)]
            return all(one.failed for one in (deleted, evicted, gone, marked, *made))

        await until(in_force)
        yield arm
    finally:
        for obj in reversed(chosen):
            await arm.call("DELETE", path_of(obj))
        await arm.call("DELETE", NODES.object_path("probed", ""))
        for name in (GUARDED, OPEN):
            for pod in (await arm.call("GET", PODS.collection_path(name))).obj.get("items", []):
                await arm.call("DELETE", PODS.object_path(pod["metadata"]["name"], name), body=FORCE)
            await arm.call("DELETE", NAMESPACES.object_path(name, ""))
        await arm.aclose()


async def _pod(arm: KubeArm, name: str, namespace: str = GUARDED, **spec: Any) -> str:
    body = make.pod(name, **{"node": "n1", **spec})
    made = (await arm.call("POST", PODS.collection_path(namespace), body=body)).ok(201)
    return str(made["metadata"]["uid"])


async def _try_pod(
    arm: KubeArm, what: Obj, name: str = "tried", namespace: str = GUARDED, *, dry: bool = False
) -> Answer:
    body = make.pod(name, **what["spec"])
    body["metadata"].update(what.get("meta") or {})
    path = PODS.collection_path(namespace)
    return await arm.call("POST", f"{path}?dryRun=All" if dry else path, body=body, as_user=ALICE)


async def _mark(
    arm: KubeArm, name: str, value: str | None, who: As, sub: str = "", *, dry: bool = False
) -> Answer:
    patch = {"metadata": {"annotations": {SAFE_TO_DELETE: value}}}
    path = NODES.object_path(name, None, sub) + ("?dryRun=All" if dry else "")
    return await arm.call("PATCH", path, body=patch, content_type=MERGE_PATCH, as_user=who)


async def _node(arm: KubeArm, name: str, ready: str, since: str | None = None) -> str:
    await arm.call("POST", NODES.collection_path(""), body=make.named(name))
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": since}
    status = {"status": {"conditions": [condition]}}
    path = f"{NODES.object_path(name, '')}/status"
    found = (await arm.call("PATCH", path, body=status, content_type=MERGE_PATCH)).ok()
    return str(found["metadata"]["uid"])


async def _delete(
    arm: KubeArm, name: str, namespace: str = GUARDED, options: Obj | None = None, who: As = ALICE
) -> Answer:
    return await arm.call("DELETE", PODS.object_path(name, namespace), body=options or FORCE, as_user=who)


async def _evict(arm: KubeArm, name: str, options: Obj, annotations: Obj) -> Answer:
    body = {
        "apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": options,
        "metadata": {"name": name, "namespace": GUARDED, "annotations": annotations},
    }  # fmt: skip
    path = f"{PODS.object_path(name, GUARDED)}/eviction"
    return await arm.call("POST", path, body=body, as_user=ALICE)


async def test_a_person_is_refused_until_the_pod_itself_is_confirmed(arm: KubeArm) -> None:
    uid = await _pod(arm, "db-0")
    refused = await _delete(arm, "db-0")
    refused.refused(403, "Forbidden")
    for part in ("node n1", "may go on running", "vacate delete pod db-0 -n guarded-by-label --force", uid):
        assert part in (refused.message or "")
    path = PODS.object_path("db-0", GUARDED)
    for value, failed in (("true", True), ("another-uid", True), (uid, False)):
        patch = {"metadata": {"annotations": {CONFIRMATION: value}}}
        (await arm.call("PATCH", path, body=patch, content_type=MERGE_PATCH, as_user=ALICE)).ok()
        assert (await _delete(arm, "db-0")).failed is failed
    assert (await arm.call("GET", path)).code == 404


async def test_a_node_that_is_not_ready_is_deleted_only_on_confirmation(arm: KubeArm) -> None:
    uid = await _node(arm, "lost", "Unknown")
    path = NODES.object_path("lost", "")
    refused = await arm.call("DELETE", path, as_user=ALICE)
    refused.refused(403, "Forbidden")
    for part in (
        "node lost is not ready",
        "vacate fence lost",
        f"kubectl annotate node lost {CONFIRMATION}={uid}",
    ):
        assert part in (refused.message or "")
    for value, failed in (("true", True), (uid, False)):
        patch = {"metadata": {"annotations": {CONFIRMATION: value}}}
        (await arm.call("PATCH", path, body=patch, content_type=MERGE_PATCH, as_user=ALICE)).ok()
        assert (await arm.call("DELETE", path, as_user=ALICE)).failed is failed
    changes: list[tuple[str, str, Obj]] = [
        ("well", "True", {}),
        ("fenced", "Unknown", {"spec": {"taints": [{"key": OUT_OF_SERVICE, "effect": "NoExecute"}]}}),
        ("autoscaled", "Unknown", {"metadata": {"labels": {GUARD_LABEL: "disabled"}}}),
    ]
    for name, ready, patch in changes:
        await _node(arm, name, ready)
        (await arm.call("PATCH", NODES.object_path(name, ""), body=patch, content_type=MERGE_PATCH)).ok()
        (await arm.call("DELETE", NODES.object_path(name, ""), as_user=ALICE)).ok()
    await _node(arm, "cloud", "Unknown")
    cloud = As("system:cloud-controller-manager", (MASTERS,))
    (await arm.call("DELETE", NODES.object_path("cloud", ""), as_user=cloud)).ok()


async def test_a_node_that_the_manager_has_found_safe_in_this_outage_is_deleted_without_a_question(
    arm: KubeArm,
) -> None:
    await _node(arm, "drained", "Unknown", OUTAGE)
    path = NODES.object_path("drained", "")
    kubelet = As("system:node:drained", ("system:nodes", MASTERS))
    for who, sub in ((ALICE, ""), (ALICE, "status"), (kubelet, ""), (kubelet, "status")):
        forged = await _mark(arm, "drained", OUTAGE, who, sub)
        forged.refused(403, "Forbidden")
        assert "only Vacate's manager sets the annotation" in (forged.message or "")
    with_mark = make.named("made", meta={"annotations": {SAFE_TO_DELETE: OUTAGE}})
    made = await arm.call("POST", NODES.collection_path(""), body=with_mark, as_user=ALICE)
    made.refused(403, "Forbidden")
    (await arm.call("DELETE", path, as_user=ALICE)).refused(403, "Forbidden")
    for value, failed in ((EARLIER, True), ("", True), (None, True), (OUTAGE, False)):
        (await _mark(arm, "drained", value, BY_MANAGER)).ok()
        label = {"metadata": {"labels": {"a": "b"}}}  # others write the Node as before
        (await arm.call("PATCH", path, body=label, content_type=MERGE_PATCH, as_user=ALICE)).ok()
        assert (await arm.call("DELETE", path, as_user=ALICE)).failed is failed


async def test_a_member_of_a_statefulset_needs_a_grace_period(arm: KubeArm) -> None:
    refused = await _try_pod(arm, WITHOUT_GRACE)
    refused.refused(403, "Forbidden")
    assert "terminationGracePeriodSeconds" in (refused.message or "")
    (await _try_pod(arm, {**WITHOUT_GRACE, "spec": {"terminationGracePeriodSeconds": 1}})).ok(201)
    (await _try_pod(arm, {"spec": WITHOUT_GRACE["spec"]}, "of-nobody")).ok(201)
    (await _try_pod(arm, WITHOUT_GRACE, namespace=OPEN)).ok(201)


async def test_a_pod_with_a_claim_needs_the_gate_which_only_the_manager_opens(arm: KubeArm) -> None:
    refused = await _try_pod(arm, WITHOUT_GATE, "ungated")
    refused.refused(403, "Forbidden")
    assert f"needs the scheduling gate {GATE}" in (refused.message or "")
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    own = {"volumes": [{"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": asked}}}]}
    (await _try_pod(arm, {"spec": own}, "ephemeral")).refused(403, "Forbidden")
    (await _try_pod(arm, WITHOUT_GATE, "elsewhere", OPEN)).ok(201)
    (await _try_pod(arm, {"spec": {}}, "claims-nothing")).ok(201)
    (await _try_pod(arm, GATED, "gated")).ok(201)
    path, opened = PODS.object_path("gated", GUARDED), {"spec": {"schedulingGates": None}}
    by_hand = await arm.call("PATCH", path, body=opened, content_type=MERGE_PATCH, as_user=ALICE)
    by_hand.refused(403, "Forbidden")
    assert "only Vacate's manager opens the gate" in (by_hand.message or "")
    labelled = {"metadata": {"labels": {"a": "b"}}}
    (await arm.call("PATCH", path, body=labelled, content_type=MERGE_PATCH, as_user=ALICE)).ok()
    (await arm.call("PATCH", path, body=opened, content_type=MERGE_PATCH, as_user=BY_MANAGER)).ok()


async def test_graceful_deletion_and_a_second_one_with_grace_0(arm: KubeArm) -> None:
    await _pod(arm, "slow")
    assert not (await _delete(arm, "slow", options={"gracePeriodSeconds": 30})).failed
    assert not (await _delete(arm, "slow", options={"gracePeriodSeconds": 1})).failed
    (await _delete(arm, "slow")).refused(403, "Forbidden")


async def test_the_node_and_pod_gc_pass_and_another_node_does_not(arm: KubeArm) -> None:
    await _pod(arm, "by-node")
    (await _delete(arm, "by-node", who=As("system:node:n2", (MASTERS,)))).refused(403, "Forbidden")
    (await _delete(arm, "by-node", who=As("system:node:n1", (MASTERS,)))).ok()
    await _pod(arm, "by-gc")
    (await _delete(arm, "by-gc", who=GC)).ok()


async def test_pods_without_processes_and_pods_that_chose_grace_0_go(arm: KubeArm) -> None:
    await _pod(arm, "unbound", node="")
    (await _delete(arm, "unbound")).ok()
    await _pod(arm, "own-grace", terminationGracePeriodSeconds=0)
    (await _delete(arm, "own-grace")).ok()
    await _pod(arm, "ended")
    ended = {"status": {"phase": "Failed"}}
    path = f"{PODS.object_path('ended', GUARDED)}/status"
    (await arm.call("PATCH", path, body=ended, content_type=MERGE_PATCH)).ok()
    (await _delete(arm, "ended")).ok()


async def test_a_collection_is_held_pod_by_pod(arm: KubeArm) -> None:
    await _pod(arm, "one-of-many")
    answer = await arm.call("DELETE", PODS.collection_path(GUARDED), body=FORCE, as_user=ALICE)
    assert answer.failed
    assert (await arm.call("GET", PODS.object_path("one-of-many", GUARDED))).code == 200


async def test_evictions_with_grace_0(arm: KubeArm) -> None:
    uid = await _pod(arm, "evicted")
    pinned = {**FORCE, "preconditions": {"uid": uid}}
    (await _evict(arm, "evicted", FORCE, {})).refused(403, "Forbidden")
    (await _evict(arm, "evicted", FORCE, {CONFIRMATION: uid})).refused(403, "Forbidden")
    (await _evict(arm, "evicted", pinned, {CONFIRMATION: "true"})).refused(403, "Forbidden")
    (await _evict(arm, "evicted", pinned, {CONFIRMATION: uid})).ok(201)


async def test_namespaces_without_the_label_are_not_guarded(arm: KubeArm) -> None:
    await _pod(arm, "free", OPEN)
    (await _delete(arm, "free", OPEN)).ok()
