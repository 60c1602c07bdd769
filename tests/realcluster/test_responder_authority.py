"""Whose word counts in the status of an Eviction, on a real API server: the policy about bound responders."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from hack.kubelab.control_plane import running
from hack.kubelab.obtain import ASSETS

from support.arms import objects as make
from support.arms.arm import STRATEGIC_PATCH, Answer, As, Obj
from support.arms.kube import KubeArm
from support.realcluster.definitions import until
from vacate.api.installednames import RESPONDER_AUTHORITY
from vacate.api.kinds import LIFECYCLE_EVICTIONS as KIND
from vacate.api.times import format_time
from vacate.api.types.lifecycle import EVICTOR
from vacate.eviction.dialects.turn_conditions import declined_type, failed_type
from vacate.install.manifests.policies import policies
from vacate.install.objectkinds import path_of
from vacate.install.settings import Settings

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("labs"),
    pytest.mark.asyncio(loop_scope="module"),
]

BACKUP, MANAGER, ALICE = As("backup"), As("manager"), As("alice")
FIRST = "backup.example.com/backup"
SETTINGS = Settings(
    interceptor_accounts={"backup.backup.example.com": (BACKUP.name,)}, manager_users=("manager",)
)
POLICIES = [one for one in policies(SETTINGS) if one["metadata"]["name"] == RESPONDER_AUTHORITY]


def now() -> str:
    return format_time(dt.datetime.now(dt.UTC))


def turns(*states: str) -> list[Obj]:
    named = ((FIRST, 20_000), (EVICTOR, 100))
    return [
        {"name": name, "priority": priority, "state": state}
        for (name, priority), state in zip(named, states, strict=True)
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def arm(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KubeArm]:
    """A server that serves lifecycle.k8s.io, with the policy in force and all rights for three users."""
    folder = tmp_path_factory.mktemp("plane")
    with running(Path(os.environ[ASSETS]), folder, controllers=False, lifecycle=True) as plane:
        arm = KubeArm(plane.kubeconfig)
        group = "rbac.authorization.k8s.io/v1"
        try:
            for user in (BACKUP, MANAGER, ALICE):
                bound = make.binding(user.name, "ClusterRole", "cluster-admin", user.name)
                body = {"apiVersion": group, "kind": "ClusterRoleBinding", **bound}
                (await arm.call("POST", path_of(body, collection=True), body=body)).ok(201)
            for policy in POLICIES:
                (await arm.call("POST", path_of(policy, collection=True), body=policy)).ok(201)
            await eviction(arm, "probe")

            async def in_force() -> bool:
                answer = await write(arm, "probe", ALICE, dry=True, **begun())
                return answer.code == 403

            await until(in_force)
            yield arm
        finally:
            await arm.aclose()


async def eviction(arm: KubeArm, name: str) -> None:
    target = {"pod": {"name": "web", "uid": "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"}}
    head = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": name}}
    made = await arm.call("POST", KIND.collection_path("default"), body={**head, "spec": {"target": target}})
    made.ok(201)


async def write(arm: KubeArm, name: str, user: As, *, dry: bool = False, **status: object) -> Answer:
    path = KIND.object_path(name, "default", "status")
    body = {"status": status}
    query = {"dryRun": "All"} if dry else {}
    return await arm.call("PATCH", path, body=body, content_type=STRATEGIC_PATCH, as_user=user, query=query)


def begun() -> Obj:
    return {
        "observedGeneration": 1,
        "targetResponders": turns("Active", "Inactive"),
        "responders": [{"name": FIRST, "startTime": now()}, {"name": EVICTOR}],
    }


async def test_only_its_account_reports_for_a_bound_responder(arm: KubeArm) -> None:
    await eviction(arm, "one")
    (await write(arm, "one", MANAGER, **begun())).ok()
    report: Obj = {"responders": [{"name": FIRST, "heartbeatTime": now(), "message": "half"}]}
    for other in (ALICE, MANAGER):
        (await write(arm, "one", other, **report)).refused(403, "Forbidden")
    (await write(arm, "one", BACKUP, **report)).ok()
    for result in (failed_type, declined_type):
        condition = make.condition(result(FIRST), reason="HandedOver", message="")
        (await write(arm, "one", ALICE, conditions=[condition])).refused(403, "Forbidden")
        (await write(arm, "one", BACKUP, conditions=[condition])).ok()
        (await write(arm, "one", MANAGER, conditions=[{**condition, "message": "skipped"}])).ok()
        (await write(arm, "one", ALICE, conditions=[{**condition, "status": "False"}])).refused(
            403, "Forbidden"
        )
        removed = {"$patch": "delete", "type": condition["type"]}
        (await write(arm, "one", ALICE, conditions=[removed])).refused(403, "Forbidden")
        (await write(arm, "one", ALICE, conditions=[{**condition, "type": result(EVICTOR)}])).ok()
    done: Obj = {"responders": [{"name": FIRST, "completionTime": now()}]}
    (await write(arm, "one", ALICE, **done)).refused(403, "Forbidden")
    (await write(arm, "one", BACKUP, **done)).ok()
    handed: Obj = {
        "targetResponders": turns("Completed", "Active"),
        "responders": [{"name": EVICTOR, "startTime": now()}],
    }
    (await write(arm, "one", BACKUP, **handed)).refused(403, "Forbidden")
    (await write(arm, "one", MANAGER, **handed)).ok()
    # The last responder is bound to no account.
    (await write(arm, "one", ALICE, responders=[{"name": EVICTOR, "message": "soon"}])).ok()


async def test_the_server_finds_nothing_to_warn_of_in_the_policy(arm: KubeArm) -> None:
    kept = (await arm.call("GET", path_of(POLICIES[0]))).ok()
    assert not kept.get("status", {}).get("typeChecking", {}).get("expressionWarnings"), kept["status"]
