"""status and scale: each changes its own part, and spec changes alone are counted."""

from __future__ import annotations

import pytest

from support.arms.arm import ADMIN, ANONYMOUS, MERGE_PATCH, Answer, As, Obj
from support.arms.caseapi import CaseApi
from support.arms.kinds import MINIMAL
from support.arms.marks import CONFORMANCE, without
from support.arms.objects import (
    autoscaler,
    budget,
    condition,
    config_map,
    cron_job,
    daemon_set,
    job,
    named,
    pod,
    pod_template,
    workload,
)
from vacate.api.kinds import (
    CONFIGMAPS,
    CRONJOBS,
    DAEMONSETS,
    DEPLOYMENTS,
    HORIZONTALPODAUTOSCALERS,
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PODTEMPLATES,
    REPLICASETS,
    SELFSUBJECTREVIEWS,
    SERVICEACCOUNTS,
    STATEFULSETS,
    Kind,
)

pytestmark = CONFORMANCE

# An object, a change of its status, and a change of its spec, for each kind that has a status.
PARTS: dict[Kind, tuple[Obj, Obj, Obj]] = {
    DEPLOYMENTS: (workload("x"), {"replicas": 3, "observedGeneration": 1}, {"paused": True}),
    REPLICASETS: (workload("x"), {"replicas": 3}, {"minReadySeconds": 5}),
    STATEFULSETS: (workload("x"), {"replicas": 3}, {"minReadySeconds": 5}),
    DAEMONSETS: (daemon_set("x"), {"numberReady": 3}, {"minReadySeconds": 5}),
    JOBS: (
        job("x", suspend=True),
        {"startTime": "2026-01-01T00:00:00Z"},
        {"parallelism": 2},
    ),
    CRONJOBS: (cron_job("x"), {"lastScheduleTime": "2026-01-01T00:00:00Z"}, {"startingDeadlineSeconds": 5}),
    HORIZONTALPODAUTOSCALERS: (
        autoscaler("x"),
        {"currentReplicas": 2, "desiredReplicas": 3},
        {"maxReplicas": 5},
    ),
    PODDISRUPTIONBUDGETS: (
        budget("x"),
        {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2},
        {"minAvailable": 7},
    ),
    PERSISTENTVOLUMES: (
        MINIMAL[PERSISTENTVOLUMES]("x"),
        {"message": "checked"},
        {"persistentVolumeReclaimPolicy": "Delete"},
    ),
    PERSISTENTVOLUMECLAIMS: (
        MINIMAL[PERSISTENTVOLUMECLAIMS]("x"),
        {"capacity": {"storage": "1Gi"}},
        {"volumeName": "of-nobody"},
    ),
    PODS: (pod("x"), {"phase": "Running"}, {"activeDeadlineSeconds": 60}),
}
with_status = pytest.mark.parametrize("kind", PARTS, ids=lambda kind: kind.plural)
scalable = pytest.mark.parametrize(
    "kind", [DEPLOYMENTS, REPLICASETS, STATEFULSETS], ids=lambda kind: kind.plural
)


UNCOUNTED = (PERSISTENTVOLUMES, PERSISTENTVOLUMECLAIMS)
"""Kinds whose generations are not counted."""


async def made(api: CaseApi, kind: Kind) -> Obj:
    """The object; without a namespace under a name of its own, since finalizers may keep the last one."""
    obj = PARTS[kind][0]
    if kind.namespaced:
        return await api.given(kind, obj)
    return await api.given(kind, {**obj, "metadata": {**obj["metadata"], "name": api.unique("x")}})


def contains(whole: Obj, part: Obj) -> bool:
    return {key: whole.get(key) for key in part} == part


@with_status
async def test_status_by_put(api: CaseApi, kind: Kind) -> None:
    _, status, spec = PARTS[kind]
    created = await made(api, kind)
    created["status"] = {**created.get("status", {}), **status}
    created["spec"] = {**created["spec"], **spec}
    new = (await api.put(kind, created, "status")).ok()
    assert contains(new["status"], status)
    assert not contains(new["spec"], spec)
    assert new["metadata"].get("generation") == created["metadata"].get("generation")


@with_status
async def test_the_object_keeps_its_status(api: CaseApi, kind: Kind) -> None:
    _, status, spec = PARTS[kind]
    created = await made(api, kind)
    created["status"] = {**created.get("status", {}), **status}
    created["spec"] = {**created["spec"], **spec}
    new = (await api.put(kind, created)).ok()
    assert not contains(new.get("status", {}), status)
    assert contains(new["spec"], spec)
    if kind in UNCOUNTED:
        assert "generation" not in new["metadata"]
    else:
        assert new["metadata"]["generation"] == created["metadata"]["generation"] + 1


@with_status
async def test_status_by_get(api: CaseApi, kind: Kind) -> None:
    created = await made(api, kind)
    read = await api.get(kind, created["metadata"]["name"], "status")
    assert (read["kind"], read["metadata"]["uid"]) == (kind.kind, created["metadata"]["uid"])


@without("kubectl", because="kubectl before 1.24 cannot patch a subresource")
@with_status
async def test_status_by_patch(api: CaseApi, kind: Kind) -> None:
    _, status, spec = PARTS[kind]
    name = (await made(api, kind))["metadata"]["name"]
    new = (await api.patch(kind, name, {"status": status, "spec": spec}, MERGE_PATCH, "status")).ok()
    assert contains(new["status"], status)
    assert not contains(new["spec"], spec)


async def test_node_status(api: CaseApi) -> None:
    name = api.unique("n")
    node = await api.given(NODES, named(name))
    node["status"] = {"conditions": [condition("Ready")], "capacity": {"cpu": "4"}}
    node["spec"] = {"unschedulable": True}
    new = (await api.put(NODES, node, "status")).ok()
    assert new["status"]["capacity"] == {"cpu": "4"}
    assert not new.get("spec", {}).get("unschedulable")


async def test_namespace_status_says_whether_it_goes(api: CaseApi) -> None:
    namespace = await api.get(NAMESPACES, api.namespace)
    namespace["status"] = {"phase": "Terminating"}
    answer = await api.put(NAMESPACES, namespace, "status")
    detail = "may only be 'Active' if `deletionTimestamp` is empty"
    answer.refused(422, "Invalid", field_errors=[f'status.Phase: Invalid value: "Terminating": {detail}'])


async def test_status_with_a_stale_version(api: CaseApi) -> None:
    created = await api.given(DEPLOYMENTS, workload("x"))
    await api.given_patch(DEPLOYMENTS, "x", {"metadata": {"labels": {"a": "b"}}})
    created["status"] = {"replicas": 1}
    (await api.put(DEPLOYMENTS, created, "status")).refused(409, "Conflict")


async def test_kinds_without_a_status(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    answer = await api.ask("GET", CONFIGMAPS, "m", "status")
    answer.refused(404, "NotFound", "the server could not find the requested resource")


@scalable
async def test_scale_by_get(api: CaseApi, kind: Kind) -> None:
    created = await api.given(kind, workload("w", 3))
    scale = await api.get(kind, "w", "scale")
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["metadata"]["uid"] == created["metadata"]["uid"]
    assert scale["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 0, "selector": "app=web"}


@scalable
async def test_scale_by_put(api: CaseApi, kind: Kind) -> None:
    created = await api.given(kind, workload("w", 3))
    scale = await api.get(kind, "w", "scale")
    scale["spec"]["replicas"] = 5
    new = (await api.put(kind, scale, "scale")).ok()
    assert new["spec"]["replicas"] == 5
    read = await api.get(kind, "w")
    assert read["spec"]["replicas"] == 5
    assert read["metadata"]["generation"] == created["metadata"]["generation"] + 1


@without("kubectl", because="kubectl before 1.24 cannot patch a subresource")
@scalable
async def test_scale_by_patch(api: CaseApi, kind: Kind) -> None:
    await api.given(kind, workload("w", 3))
    new = (await api.patch(kind, "w", {"spec": {"replicas": 0}}, MERGE_PATCH, "scale")).ok()
    assert not new["spec"].get("replicas")
    assert (await api.get(kind, "w"))["spec"]["replicas"] == 0


async def test_scale_with_a_stale_version(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    scale = await api.get(DEPLOYMENTS, "w", "scale")
    await api.given_patch(DEPLOYMENTS, "w", {"metadata": {"labels": {"a": "b"}}})
    (await api.put(DEPLOYMENTS, scale, "scale")).refused(409, "Conflict")


async def test_scale_below_nothing(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    scale = await api.get(DEPLOYMENTS, "w", "scale")
    scale["spec"]["replicas"] = -1
    answer = await api.put(DEPLOYMENTS, scale, "scale")
    field_error = "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    answer.refused(
        422, "Invalid", f'Scale.autoscaling "w" is invalid: {field_error}', field_errors=[field_error]
    )


async def test_scale_of_something_that_is_not_there(api: CaseApi) -> None:
    answer = await api.ask("GET", DEPLOYMENTS, "none", "scale")
    answer.refused(404, "NotFound", 'deployments.apps "none" not found')


GENERATIONS: dict[str, tuple[Kind, Obj, Obj, int]] = {
    "labels-of-a-deployment": (DEPLOYMENTS, workload("x"), {"metadata": {"labels": {"a": "b"}}}, 1),
    "annotations-of-a-deployment": (DEPLOYMENTS, workload("x"), {"metadata": {"annotations": {"a": "b"}}}, 2),
    "spec-of-a-deployment": (DEPLOYMENTS, workload("x"), {"spec": {"replicas": 4}}, 2),
    "same-spec-of-a-deployment": (DEPLOYMENTS, workload("x"), {"spec": {"replicas": 1}}, 1),
    "annotations-of-a-replicaset": (REPLICASETS, workload("x"), {"metadata": {"annotations": {"a": "b"}}}, 1),
    "annotations-of-a-stateful-set": (
        STATEFULSETS,
        workload("x"),
        {"metadata": {"annotations": {"a": "b"}}},
        1,
    ),
    "spec-of-a-stateful-set": (STATEFULSETS, workload("x"), {"spec": {"replicas": 4}}, 2),
    "labels-of-a-daemon-set": (DAEMONSETS, daemon_set("x"), {"metadata": {"labels": {"a": "b"}}}, 1),
    "spec-of-a-daemon-set": (DAEMONSETS, daemon_set("x"), {"spec": {"minReadySeconds": 4}}, 2),
    "spec-of-a-job": (JOBS, job("x", suspend=True), {"spec": {"parallelism": 3}}, 2),
    "labels-of-a-job": (JOBS, job("x", suspend=True), {"metadata": {"labels": {"a": "b"}}}, 1),
    "spec-of-a-cron-job": (CRONJOBS, cron_job("x"), {"spec": {"startingDeadlineSeconds": 4}}, 2),
    "template-of-a-pod-template": (
        PODTEMPLATES,
        pod_template("x"),
        {"template": {"metadata": {"labels": {"a": "b"}}}},
        2,
    ),
    "spec-of-a-budget": (PODDISRUPTIONBUDGETS, budget("x"), {"spec": {"minAvailable": 2}}, 2),
    "labels-of-a-budget": (PODDISRUPTIONBUDGETS, budget("x"), {"metadata": {"labels": {"a": "b"}}}, 1),
}


@pytest.mark.parametrize("case", GENERATIONS)
async def test_generation(api: CaseApi, case: str) -> None:
    kind, obj, patch, generation = GENERATIONS[case]
    created = await api.given(kind, obj)
    assert created["metadata"]["generation"] == 1
    new = (await api.patch(kind, "x", patch)).ok()
    assert new["metadata"]["generation"] == generation


async def test_generation_is_the_servers(api: CaseApi) -> None:
    obj = workload("x")
    obj["metadata"]["generation"] = 9
    assert (await api.create(DEPLOYMENTS, obj))["metadata"]["generation"] == 1
    patched = (await api.patch(DEPLOYMENTS, "x", {"metadata": {"generation": 9}})).ok()
    assert patched["metadata"]["generation"] == 1


@without("kubectl", because="kubectl --raw sends no token beside its certificate")
async def test_a_token_of_an_account(api: CaseApi) -> None:
    account = await api.given(SERVICEACCOUNTS, named("robot"))
    of_account: Obj = {"serviceAccountName": "robot", "automountServiceAccountToken": False}
    running = await api.given(PODS, pod("mine", **of_account))
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": running["metadata"]["uid"]}
    issued = await _ask_token(api, boundObjectRef=bound, expirationSeconds=700)
    made = issued.ok(201)
    assert (made["kind"], made["metadata"]["name"]) == ("TokenRequest", "robot")
    assert (made["spec"]["expirationSeconds"], made["spec"]["boundObjectRef"]) == (700, bound)
    who = await _who(api, made["status"]["token"])
    user = who.ok(201)["status"]["userInfo"]
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{api.namespace}", "system:authenticated"]
    assert user["username"] == f"system:serviceaccount:{api.namespace}:robot"
    assert (user["groups"], user["uid"]) == (groups, account["metadata"]["uid"])
    extra = {key.partition("/")[2]: value for key, value in user["extra"].items()}
    assert (extra["pod-name"], extra["pod-uid"]) == (["mine"], [bound["uid"]])
    other = (await _ask_token(api, audiences=["vault"])).ok(201)["status"]["token"]
    (await _who(api, other)).refused(401, "Unauthorized", "Unauthorized")
    (await _who(api, made["status"]["token"][:-4] + "AAAA")).refused(401, "Unauthorized", "Unauthorized")


@without("kubectl", because="kubectl --raw cannot act as a node")
async def test_tokens_that_are_not_issued(api: CaseApi) -> None:
    await api.given(SERVICEACCOUNTS, named("robot"))
    of_account: Obj = {"serviceAccountName": "robot", "automountServiceAccountToken": False}
    await api.given(PODS, pod("mine", **of_account))
    await api.given(PODS, pod("theirs", automountServiceAccountToken=False))
    short = await _ask_token(api, expirationSeconds=5)
    wanted = "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes"
    short.refused(422, "Invalid", f'TokenRequest.authentication.k8s.io "" is invalid: {wanted}')
    bound = {"apiVersion": "v1", "kind": "Pod", "name": "mine", "uid": "other"}
    assert (await _ask_token(api, boundObjectRef=bound)).code == 409
    assert (await _ask_token(api, boundObjectRef={**bound, "name": "none"})).code == 404
    assert (await _ask_token(api, boundObjectRef={**bound, "name": "theirs", "uid": ""})).code == 400
    missing = await api.ask("POST", SERVICEACCOUNTS, "nobody", "token", body=_token_request())
    missing.refused(404, "NotFound", 'serviceaccounts "nobody" not found')
    node = As("system:node:elsewhere", ("system:nodes", "system:authenticated"))
    assert (await _ask_token(api, as_user=node)).code == 403


def _token_request(**spec: object) -> Obj:
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [], **spec},
    }


async def _ask_token(api: CaseApi, as_user: As | None = ADMIN, **spec: object) -> Answer:
    body = _token_request(**spec)
    return await api.ask("POST", SERVICEACCOUNTS, "robot", "token", body=body, as_user=as_user)


async def _who(api: CaseApi, token: str) -> Answer:
    kind = SELFSUBJECTREVIEWS
    body: Obj = {"apiVersion": kind.api_version, "kind": kind.kind}
    headers = {"Authorization": f"Bearer {token}"}
    return await api.ask("POST", kind, body=body, headers=headers, as_user=ANONYMOUS)
