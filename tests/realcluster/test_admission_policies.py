"""Definition and admission policies without a webhook: who may not delete the pod may not request."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from support.arms import objects as make
from support.arms.arm import MERGE_PATCH, As, Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.realcluster.crd_open import NO_RIGHT, OPEN, Open
from support.realcluster.crd_steps import request, status
from support.realcluster.definitions import asking, installed, until
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.crds.definition import definition
from vacate.install.manifests.policies import policies
from vacate.install.objectkinds import path_of

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("labs"),
    pytest.mark.asyncio(loop_scope="module"),
]

COLLECTION = KIND.collection_path("default")
DRAINER = As("drainer")


def rights() -> list[Obj]:
    """The requester's role for both, and the right to delete pods called web for one of them."""
    group = "rbac.authorization.k8s.io/v1"
    role, binding = asking(NO_RIGHT.name)
    binding["subjects"].append({**binding["subjects"][0], "name": DRAINER.name})
    deleting = make.role("deletes-web", make.rule("delete", "pods", resourceNames=["web"]))
    bound = make.binding("deletes-web", "ClusterRole", "deletes-web", DRAINER.name)
    return [
        role,
        binding,
        {"apiVersion": group, "kind": "ClusterRole", **deleting},
        {"apiVersion": group, "kind": "ClusterRoleBinding", **bound},
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def guarded() -> AsyncIterator[KubeArm]:
    """A real server that has definition and policies, and goes by them."""
    arm = KubeArm(Path(os.environ[KUBECONFIG]))

    async def in_force() -> bool:
        held = [row for row in OPEN if row.held_by_policies]
        return all([(await row.attempt(arm)).failed for row in held])

    try:
        async with installed(arm, definition(), [*rights(), *policies()]):
            await until(in_force)
            yield arm
    finally:
        await arm.aclose()


@pytest.mark.parametrize("row", OPEN, ids=lambda row: row.title)
async def test_what_the_policies_hold(guarded: KubeArm, row: Open) -> None:
    answer = await row.attempt(guarded)
    assert answer.failed is row.held_by_policies, answer


async def test_who_may_delete_the_pod_may_request_and_withdraw(guarded: KubeArm) -> None:
    made = (await guarded.call("POST", COLLECTION, body=request(), as_user=DRAINER)).ok(201)
    path = KIND.object_path(made["metadata"]["name"], "default")
    withdrawn = await guarded.call(
        "PATCH", path, body={"spec": {"requesters": []}}, content_type=MERGE_PATCH, as_user=DRAINER
    )
    withdrawn.ok()
    (await guarded.call("DELETE", path, as_user=DRAINER)).ok()


async def test_who_may_delete_another_pod_may_not(guarded: KubeArm) -> None:
    other = request()
    other["spec"]["target"]["podRef"]["name"] = "db"
    answer = await guarded.call("POST", COLLECTION, body=other, as_user=DRAINER)
    answer.refused(403, "Forbidden")


async def test_the_refusal_says_what_is_missing(guarded: KubeArm) -> None:
    answer = await guarded.call("POST", COLLECTION, body=request(), as_user=NO_RIGHT)
    answer.refused(403, "Forbidden")
    assert answer.message is not None
    wanted = 'User "asks-only" cannot delete resource "pods" in API group "" in the namespace "default"'
    assert answer.message.endswith(wanted)


async def test_a_requester_cannot_touch_status(guarded: KubeArm) -> None:
    made = (await guarded.call("POST", COLLECTION, body=request())).ok(201)
    path = KIND.object_path(made["metadata"]["name"], "default", "status")
    answer = await guarded.call(
        "PATCH", path, body=status(message="mine"), content_type=MERGE_PATCH, as_user=DRAINER
    )
    answer.refused(403, "Forbidden")


async def test_the_server_finds_nothing_to_warn_of_in_the_policies(guarded: KubeArm) -> None:
    """API servers check the types of a policy's expressions when it is kept, and note what they find."""
    for policy in policies()[::2]:
        kept = (await guarded.call("GET", path_of(policy))).ok()
        assert not kept.get("status", {}).get("typeChecking", {}).get("expressionWarnings"), kept["status"]
