"""The definition of Evacuations and its admission policies on a real API server, without a webhook."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from support.arms.arm import MERGE_PATCH, Answer, As, Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.realcluster.crd_steps import at, condition
from support.realcluster.definitions import asking, installed, until
from vacate.api.kinds import EVACUATIONS as KIND
from vacate.api.types.evacuation import MAX_INSTIGATOR
from vacate.crds.definition import definition_for
from vacate.entropy import system_entropy
from vacate.eviction.requesternames import fitted_requester
from vacate.install.manifests.confinement import agent_confinement
from vacate.install.manifests.policies import policies
from vacate.install.manifests.shutdownagent import shutdown_agent
from vacate.install.settings import Settings, ShutdownAgent
from vacate.nodeagent.shutdown.requests import REQUESTER_SUFFIX

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("labs"),
    pytest.mark.asyncio(loop_scope="module"),
]

A, B = "a.example.com", "b.example.com"
TWO = {"evacuators": [{"evacuatorClass": B, "priority": 20}, {"evacuatorClass": A, "priority": 10}]}
INSTIGATOR = f"{KIND.group}/instigator_drain.example.com"
STAMP = "vacate.dev/admitted"
NO_RIGHT = As("nobody")
CONTROLLER = As("manager", ("system:masters",))
LONG = f"{'x' * 149}.{'y' * 20}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[KubeArm]:
    """A real server that has definition and policies of Evacuations, and goes by them."""
    arm = KubeArm(Path(os.environ[KUBECONFIG]))
    chosen = Settings(manager_users=(CONTROLLER.name,))
    mine = [one for one in policies(chosen) if one["metadata"]["name"].startswith("vacate-evacuations")]

    async def in_force() -> bool:
        refused = (await create(arm, as_user=NO_RIGHT)).failed
        made = (await create(arm)).ok(201)
        forged = await change(arm, made, {"metadata": {"annotations": {STAMP: "true"}}})
        claimed = await change(arm, made, {"status": {"failedEvictionCounter": 1}})
        return refused and forged.failed and claimed.failed

    try:
        async with installed(arm, definition_for(KIND), [*asking(NO_RIGHT.name), *mine, *agent()]):
            await until(in_force)
            yield arm
            for one in (await arm.call("GET", KIND.collection_path("default"))).ok()["items"]:
                (await change(arm, one, {"metadata": {"finalizers": []}})).ok()  # they hold the definition
    finally:
        await arm.aclose()


def agent() -> list[Obj]:
    """The account of the shutdown agent, its rights, and what holds it to its own node."""
    wanted = (
        "ClusterRole",
        "ClusterRoleBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    )
    settings = Settings(shutdown_agent=ShutdownAgent())
    made = [*shutdown_agent(settings), *agent_confinement(settings)]
    return [one for one in made if one["kind"] in wanted]


def evacuation(pod: str = "web", spec: Obj | None = None, **metadata: Any) -> Obj:
    uid = system_entropy().uid()
    cut = pod[:150].rstrip("-.") if len(pod) > 150 else pod
    meta = {"name": f"{uid}-{cut}", "finalizers": [INSTIGATOR], **metadata}
    whole = {"podRef": {"name": pod, "uid": uid}, **(spec or {})}
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": meta, "spec": whole}


async def create(arm: KubeArm, obj: Obj | None = None, as_user: As | None = None) -> Answer:
    path = KIND.collection_path("default")
    return await arm.call("POST", path, body=obj or evacuation(), as_user=as_user)


async def change(arm: KubeArm, made: Obj, step: Obj, as_user: As | None = None) -> Answer:
    path = KIND.object_path(made["metadata"]["name"], "default", "status" if "status" in step else "")
    return await arm.call("PATCH", path, body=step, content_type=MERGE_PATCH, as_user=as_user)


def refusal(answer: Answer) -> str:
    """Why it was refused."""
    return answer.message or ""


async def made(arm: KubeArm, *steps: Obj, spec: Obj | None = None) -> Obj:
    found: Obj = (await create(arm, evacuation(spec=spec))).ok(201)
    for step in steps:
        found = (await change(arm, found, step, CONTROLLER)).ok()
    return found


def turn(name: str, seconds: float = 0) -> Obj:
    return {
        "status": {
            "activeEvacuatorClass": name,
            "evacuationProgressTimestamp": at(seconds),
            "activeEvacuatorCompleted": None,
        }
    }


def of_node(name: str) -> Obj:
    """Whom a request comes from, if the agent of that node sends it."""
    return {
        "as_user": As("system:serviceaccount:vacate-shutdown-agent:vacate-shutdown-agent"),
        "headers": {"Impersonate-Extra-authentication.kubernetes.io%2Fnode-name": name},
    }


@pytest.mark.parametrize("name", ["node-1", "ip-10-0-12-34.eu-central-1.compute.internal"])
async def test_a_shutdown_agent_is_an_instigator_for_its_own_node_only(server: KubeArm, name: str) -> None:
    own = f"{KIND.group}/instigator_{fitted_requester(name, REQUESTER_SUFFIX, MAX_INSTIGATOR)}"
    other = own.replace("node-1", "node-2").replace("ip-10", "ip-11")
    assert other != own
    collection = KIND.collection_path("default")

    async def joined(found: Obj, *finalizers: str) -> Answer:
        path, step = (
            KIND.object_path(found["metadata"]["name"], "default"),
            {"metadata": {"finalizers": finalizers}},
        )
        return await server.call("PATCH", path, body=step, content_type=MERGE_PATCH, **of_node(name))

    async def refused() -> bool:
        made = evacuation(finalizers=[other])
        return (await server.call("POST", collection, body=made, **of_node(name))).failed

    await until(refused)
    mine = (await server.call("POST", collection, body=evacuation(finalizers=[own]), **of_node(name))).ok(201)
    found = await made(server)
    (await joined(found, INSTIGATOR, own)).ok()
    for some in (
        (own,),
        (INSTIGATOR, own, other),
        (INSTIGATOR, own, f"{KIND.group}/instigator_a.example.com"),
    ):
        (await joined(found, *some)).refused(403, "Forbidden")
    path = KIND.object_path(found["metadata"]["name"], "default")
    assert "complete or its own" in refusal(await server.call("DELETE", path, **of_node(name)))
    (await joined(found, INSTIGATOR)).ok()
    (await server.call("DELETE", KIND.object_path(mine["metadata"]["name"], "default"), **of_node(name))).ok()


async def test_a_new_one_has_its_defaults(server: KubeArm) -> None:
    found = await made(server)
    assert found["spec"]["progressDeadlineSeconds"] == 1800
    assert found["status"] == {
        "evacuationCancellationPolicy": "Allow", "failedEvictionCounter": 0, "message": "",
    }  # fmt: skip


@pytest.mark.parametrize("pod", ["x" * 150, "x" * 200, LONG])
async def test_the_name_has_the_uid_and_at_most_150_characters_of_the_pods(server: KubeArm, pod: str) -> None:
    (await create(server, evacuation(pod))).ok(201)


CREATIONS = {
    "the UID alone": evacuation(name="u"),
    "the whole of a long name": evacuation("x" * 151, name=f"u-{'x' * 151}"),
    "generated": evacuation(name="", generateName="web-"),
    "a short deadline": evacuation(spec={"progressDeadlineSeconds": 599}),
    "a long deadline": evacuation(spec={"progressDeadlineSeconds": 21601}),
    "a reserved class": evacuation(spec={"evacuators": [{"evacuatorClass": "me.k8s.io", "priority": 1}]}),
    "a class that is no domain": evacuation(spec={"evacuators": [{"evacuatorClass": "A_b", "priority": 1}]}),
    "too high a priority": evacuation(spec={"evacuators": [{"evacuatorClass": A, "priority": 100001}]}),
    "no pod": evacuation(spec={"podRef": None}),
}


@pytest.mark.parametrize("obj", CREATIONS.values(), ids=CREATIONS.keys())
async def test_the_definition_refuses(server: KubeArm, obj: Obj) -> None:
    answer = await create(server, obj)
    assert (answer.code, answer.reason) == (422, "Invalid"), answer


SPECS: dict[str, Obj] = {
    "another pod": {"spec": {"podRef": {"name": "db"}}},
    "another deadline": {"spec": {"progressDeadlineSeconds": 900}},
    "no evacuators": {"spec": {"evacuators": None}},
    "another order": {"spec": {"evacuators": TWO["evacuators"][::-1]}},
    "another priority": {
        "spec": {"evacuators": [TWO["evacuators"][0], {**TWO["evacuators"][1], "priority": 1}]}
    },
}


@pytest.mark.parametrize("step", SPECS.values(), ids=SPECS.keys())
async def test_the_spec_never_changes(server: KubeArm, step: Obj) -> None:
    answer = await change(server, await made(server, spec=TWO), step)
    assert (answer.code, answer.reason) == (422, "Invalid"), answer
    assert "field is immutable" in refusal(answer)


DONE = {"status": {"activeEvacuatorCompleted": True}}
STATUSES: dict[str, tuple[tuple[Obj, ...], Obj, str]] = {
    "the second first": ((), turn(A), "must be the evacuator whose turn is next"),
    "too soon": ((turn(B),), turn(A), f'"{B}" has neither completed nor missed its deadline'),
    "no turn": ((turn(B),), {"status": {"activeEvacuatorClass": None}}, "may not be unset before"),
    "early report": (
        (), {"status": {"evacuationProgressTimestamp": at(0)}}, "before an evacuator has its turn",
    ),
    "done early": ((), DONE, "may not be true before an evacuator has its turn"),
    "taken back": ((turn(B), DONE), {"status": {"activeEvacuatorCompleted": False}}, "may not be taken back"),
    "fewer refusals": (
        ({"status": {"failedEvictionCounter": 3}},),
        {"status": {"failedEvictionCounter": 2}},
        "may only grow",
    ),
    "only ended": (
        (), {"status": {"conditions": [condition("Complete", reason="PodTerminated")]}}, "Unsupported value",
    ),
    "after the end": (
        ({"status": {"conditions": [condition("Complete", reason="PodDeleted")]}},),
        {"status": {"message": "x"}},
        "may not change once the evacuation is complete",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "step", "message"), STATUSES.values(), ids=STATUSES.keys())
async def test_steps_of_the_status(server: KubeArm, before: tuple[Obj, ...], step: Obj, message: str) -> None:
    answer = await change(server, await made(server, *before, spec=TWO), step, CONTROLLER)
    assert (answer.code, answer.reason) == (422, "Invalid"), answer
    assert message in refusal(answer)


async def test_turns_go_down_the_list(server: KubeArm) -> None:
    found = await made(server, turn(B), DONE, turn(A), spec=TWO)
    assert found["status"]["activeEvacuatorClass"] == A
    overdue = await made(server, turn(B, -1795), turn(A), spec=TWO)
    assert overdue["status"]["activeEvacuatorClass"] == A


async def test_policies_hold_rights_stamp_authority_and_instigators(server: KubeArm) -> None:
    refused = await create(server, as_user=NO_RIGHT)
    assert (refused.code, 'cannot delete resource "pods"' in refusal(refused)) == (403, True)
    one = await made(server)
    stamped = await change(server, one, {"metadata": {"annotations": {STAMP: "true"}}})
    assert "field is immutable" in refusal(stamped)
    claimed = await change(server, one, {"status": {"failedEvictionCounter": 1}})
    assert "status.failedEvictionCounter: written by the evacuation controller only" in refusal(claimed)
    over = await made(server, {"status": {"conditions": [condition("Complete", reason="PodDeleted")]}})
    joins = {"metadata": {"finalizers": [INSTIGATOR, f"{KIND.group}/instigator_late.example.com"]}}
    assert "no instigator may be added" in refusal(await change(server, over, joins))
    (await change(server, over, {"metadata": {"finalizers": []}})).ok()
    alone = await made(server, {"metadata": {"finalizers": []}})
    forbids = {"status": {"evacuationCancellationPolicy": "Forbid"}}
    assert "may not become Forbid without instigators" in refusal(await change(server, alone, forbids))
    (await change(server, await made(server), forbids)).ok()
