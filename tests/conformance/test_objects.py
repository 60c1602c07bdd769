"""What the server fills in, what it refuses, and what it leaves as it is."""

from __future__ import annotations

from typing import Any

import pytest

from support.arms.arm import Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import binding, budget, config_map, named, pod, role, workload
from vacate.api.kinds import (
    CONFIGMAPS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    REPLICASETS,
    ROLEBINDINGS,
    ROLES,
    SERVICEACCOUNTS,
    Kind,
)

pytestmark = CONFORMANCE


def dig(obj: Any, path: str) -> Any:
    for step in path.split("/"):
        obj = obj[int(step)] if step.isdigit() else obj[step]
    return obj


DEFAULTS: dict[str, tuple[Kind, Obj, dict[str, Any]]] = {
    "pods": (
        PODS,
        pod("x"),
        {
            "spec/restartPolicy": "Always",
            "spec/terminationGracePeriodSeconds": 30,
            "spec/dnsPolicy": "ClusterFirst",
            "spec/securityContext": {},
            "spec/enableServiceLinks": True,
            "spec/containers/0/imagePullPolicy": "Always",
            "spec/containers/0/terminationMessagePath": "/dev/termination-log",
            "spec/containers/0/terminationMessagePolicy": "File",
            "status/phase": "Pending",
            "status/qosClass": "BestEffort",
            "metadata/generation": 1,
        },
    ),
    "pods-with-a-tag": (
        PODS,
        pod("x", containers=[{"name": "c", "image": "i:1"}]),
        {"spec/containers/0/imagePullPolicy": "IfNotPresent"},
    ),
    "deployments": (
        DEPLOYMENTS,
        workload("x"),
        {
            "spec/strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            },
            "spec/revisionHistoryLimit": 10,
            "spec/progressDeadlineSeconds": 600,
            "spec/template/spec/restartPolicy": "Always",
        },
    ),
    "replicasets": (REPLICASETS, workload("x"), {"spec/template/spec/dnsPolicy": "ClusterFirst"}),
    "roles": (ROLES, role("x"), {"rules": None}),
}


@pytest.mark.parametrize("case", DEFAULTS)
async def test_defaults(api: CaseApi, case: str) -> None:
    kind, obj, wanted = DEFAULTS[case]
    created = await api.create(kind, obj)
    if case == "roles":
        assert not created.get("rules")
        return
    assert {path: dig(created, path) for path in wanted} == wanted


async def test_one_replica_by_default(api: CaseApi) -> None:
    obj = workload("w")
    del obj["spec"]["replicas"]
    assert (await api.create(DEPLOYMENTS, obj))["spec"]["replicas"] == 1


async def test_priorities_are_resolved(api: CaseApi) -> None:
    name = api.unique("high")
    await api.given(PRIORITYCLASSES, named(name, value=1234, preemptionPolicy="Never"))
    created = await api.create(PODS, pod("p", priorityClassName=name))
    assert (created["spec"]["priority"], created["spec"]["preemptionPolicy"]) == (1234, "Never")


async def test_a_priority_class_that_is_not_there(api: CaseApi) -> None:
    answer = await api.post(PODS, pod("p", priorityClassName="none"))
    message = 'pods "p" is forbidden: no PriorityClass with name none was found'
    answer.refused(403, "Forbidden", message)


UNKNOWN = 'unknown field \\"spec.evictionInterceptor\\"'
MERGE, JSON = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def pod_with_a_slip(name: str) -> Obj:
    """The field is called `evictionInterceptors`."""
    made = pod(name)
    return {**made, "spec": {**made["spec"], "evictionInterceptor": [{"name": "a"}]}}


@pytest.mark.parametrize("directive", ["Warn", "Ignore"])
async def test_unknown_fields_are_dropped(api: CaseApi, directive: str) -> None:
    answer = await api.post(PODS, pod_with_a_slip("p"), query={"fieldValidation": directive})
    answer.ok(201)
    if answer.headers is not None:
        assert (UNKNOWN in (answer.header("Warning") or "")) is (directive == "Warn")
    assert "evictionInterceptor" not in (await api.get(PODS, "p"))["spec"]


async def test_unknown_fields_are_refused_where_the_client_is_strict(api: CaseApi) -> None:
    strict = {"fieldValidation": "Strict"}
    slip = pod_with_a_slip("p")
    slip["spec"]["containers"][0]["imagee"] = "x"
    answer = (await api.post(PODS, slip, query=strict)).refused(400, "BadRequest")
    for path in ("spec.evictionInterceptor", "spec.containers[0].imagee"):
        assert answer.message is None or f'unknown field "{path}"' in answer.message
    made = await api.create(CONFIGMAPS, config_map("m", a="1"))
    answer = await api.put(CONFIGMAPS, {**made, "data": {"a": "2"}, "dataa": {}}, query=strict)
    answer.refused(400, "BadRequest")
    assert (await api.get(CONFIGMAPS, "m"))["data"] == {"a": "1"}


@pytest.mark.parametrize("form", [MERGE, STRATEGIC, JSON])
async def test_unknown_fields_of_patches(api: CaseApi, form: str) -> None:
    await api.create(CONFIGMAPS, config_map("m", a="1"))
    patch: Any = {"data": {"a": "2"}, "dataa": {"b": "c"}}
    if form == JSON:
        patch = [{"op": "add", "path": f"/{key}", "value": value} for key, value in patch.items()]
    if api.arm.name != "kubectl":  # which has no options for patches
        strict = {"fieldValidation": "Strict"}
        answer = await api.patch(CONFIGMAPS, "m", patch, form, query=strict)
        answer.refused(422, "Invalid")
        assert answer.field_errors[0].startswith("patch: ")
        assert answer.field_errors[0].endswith('strict decoding error: unknown field "dataa"')
    answer = await api.patch(CONFIGMAPS, "m", patch, form)
    assert answer.ok()["data"] == {"a": "2"}
    assert "dataa" not in answer.ok()
    if answer.headers is not None:
        assert 'unknown field \\"dataa\\"' in (answer.header("Warning") or "")


async def test_texts_survive(api: CaseApi) -> None:
    data = {"a": 'ünïcödé "quoted" \n\t \\', "b": "", "c": "☃ 🚀"}
    await api.create(CONFIGMAPS, named("m", data=data))
    assert (await api.get(CONFIGMAPS, "m"))["data"] == data


async def test_an_immutable_config_map(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, {**config_map("m", a="1"), "immutable": True})
    answer = await api.patch(CONFIGMAPS, "m", {"data": {"a": "2"}})
    field_error = "data: Forbidden: field is immutable when `immutable` is set"
    answer.refused(422, "Invalid", f'ConfigMap "m" is invalid: {field_error}', field_errors=[field_error])


NOT_NEGATIVE = "must be greater than or equal to 0"
LABEL_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
CONFIG_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
POLICIES = '"AlwaysAllow", "IfHealthyBudget"'
INVALID: dict[str, tuple[Kind, Obj, list[str]]] = {
    "label-value": (
        CONFIGMAPS,
        config_map("x", {"a": "not ok"}),
        [f'metadata.labels: Invalid value: "not ok": {LABEL_RULE}'],
    ),
    "no-containers": (PODS, pod("x", containers=[]), ["spec.containers: Required value"]),
    "no-image": (
        PODS,
        pod("x", containers=[{"name": "c"}]),
        ["spec.containers[0].image: Required value"],
    ),
    "same-names": (
        PODS,
        pod("x", containers=[{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]),
        ['spec.containers[1].name: Duplicate value: "c"'],
    ),
    "negative-grace": (
        PODS,
        pod("x", activeDeadlineSeconds=0),
        ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    ),
    "replicas": (
        DEPLOYMENTS,
        workload("x", -1),
        [f"spec.replicas: Invalid value: -1: {NOT_NEGATIVE}"],
    ),
    "budget-with-both": (
        PODDISRUPTIONBUDGETS,
        budget("x", minAvailable=1, maxUnavailable=1),
        ["spec: Invalid value: {}: minAvailable and maxUnavailable cannot be both set"],
    ),
    "budget-over-hundred": (
        PODDISRUPTIONBUDGETS,
        budget("x", minAvailable="101%"),
        ['spec.minAvailable: Invalid value: "101%": must not be greater than 100%'],
    ),
    "budget-policy": (
        PODDISRUPTIONBUDGETS,
        budget("x", unhealthyPodEvictionPolicy="Never"),
        [f'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: {POLICIES}'],
    ),
    "lease-duration": (
        LEASES,
        named("x", spec={"leaseDurationSeconds": 0}),
        ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
    ),
    "role-verbs": (
        ROLES,
        role("x", {"apiGroups": [""], "resources": ["pods"], "verbs": []}),
        ["rules[0].verbs: Required value"],
    ),
    "binding-kind": (
        ROLEBINDINGS,
        binding("x", "Group", "r", "u"),
        ['roleRef.kind: Unsupported value: "Group": supported values: "Role", "ClusterRole"'],
    ),
    "config-key": (
        CONFIGMAPS,
        named("x", data={"a/b": "c"}),
        [f'data[a/b]: Invalid value: "a/b": {CONFIG_KEY_RULE}'],
    ),
}


@pytest.mark.parametrize("case", INVALID)
async def test_invalid(api: CaseApi, case: str) -> None:
    kind, obj, field_errors = INVALID[case]
    answer = await api.post(kind, obj)
    answer.refused(422, "Invalid")
    if case != "budget-with-both":
        assert list(answer.field_errors) == field_errors
    else:
        assert answer.field_errors[0].endswith("minAvailable and maxUnavailable cannot be both set")
    await api.gone(kind, "x")


async def test_selector_and_template_must_agree(api: CaseApi) -> None:
    obj = workload("w")
    obj["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    answer = await api.post(DEPLOYMENTS, obj)
    field_error = (
        'spec.template.metadata.labels: Invalid value: {"app":"web"}: '
        "`selector` does not match template `labels`"
    )
    answer.refused(422, "Invalid", field_errors=[field_error])


@pytest.mark.parametrize("kind", [DEPLOYMENTS, REPLICASETS], ids=lambda kind: kind.plural)
async def test_a_selector_is_for_ever(api: CaseApi, kind: Kind) -> None:
    await api.given(kind, workload("w"))
    labels = {"app": "web", "more": "x"}
    patch = {"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}}
    answer = await api.patch(kind, "w", patch)
    answer.refused(422, "Invalid")
    assert answer.field_errors[0].startswith("spec.selector: Invalid value: ")
    assert answer.field_errors[0].endswith(": field is immutable")


async def test_most_of_a_pod_is_for_ever(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    answer = await api.patch(PODS, "p", {"spec": {"hostNetwork": True}})
    answer.refused(422, "Invalid")
    start = "spec: Forbidden: pod updates may not change fields other than "
    assert any(field_error.startswith(start) for field_error in answer.field_errors)


async def test_the_image_of_a_pod_may_change(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    patch = [{"op": "replace", "path": "/spec/containers/0/image", "value": "new"}]
    patched = (await api.patch(PODS, "p", patch, "application/json-patch+json")).ok()
    assert patched["spec"]["containers"][0]["image"] == "new"
    assert patched["metadata"]["generation"] == 2


async def test_a_role_reference_is_for_ever(api: CaseApi) -> None:
    await api.given(ROLEBINDINGS, binding("b", "Role", "r", "u"))
    answer = await api.put(ROLEBINDINGS, binding("b", "Role", "other", "u"))
    answer.refused(422, "Invalid")
    assert answer.field_errors[0].startswith("roleRef: Invalid value: ")
    assert answer.field_errors[0].endswith(": field is immutable")


async def test_an_event_stays_in_its_namespace(api: CaseApi) -> None:
    event = named("e", involvedObject={"kind": "Pod", "name": "p", "namespace": "elsewhere"}, reason="R")
    answer = await api.post(EVENTS, event)
    field_error = 'involvedObject.namespace: Invalid value: "elsewhere": does not match event.namespace'
    answer.refused(422, "Invalid", f'Event "e" is invalid: {field_error}', field_errors=[field_error])


async def test_the_value_of_a_priority_class_is_for_ever(api: CaseApi) -> None:
    name = api.unique("pc")
    await api.given(PRIORITYCLASSES, named(name, value=5))
    answer = await api.patch(PRIORITYCLASSES, name, {"value": 6})
    answer.refused(422, "Invalid", field_errors=["value: Forbidden: may not be changed in an update."])


async def test_a_priority_class_is_of_the_first_generation_for_ever(api: CaseApi) -> None:
    name = api.unique("pc")
    await api.given(PRIORITYCLASSES, named(name, value=5))
    patched = (await api.patch(PRIORITYCLASSES, name, {"description": "new"})).ok()
    assert patched["metadata"]["generation"] == 1


async def test_system_priority_classes_stay(api: CaseApi) -> None:
    answer = await api.delete(PRIORITYCLASSES, "system-node-critical")
    why = "this is a system priority class and cannot be deleted"
    answer.refused(
        403, "Forbidden", f'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: {why}'
    )


async def test_empty_parts_are_there_for_patches(api: CaseApi) -> None:
    name = api.unique("n")
    await api.given(NODES, named(name))
    step = {"op": "add", "path": "/spec/unschedulable", "value": True}
    patched = (await api.patch(NODES, name, [step], "application/json-patch+json")).ok()
    assert patched["spec"]["unschedulable"] is True


async def test_service_accounts_are_plain(api: CaseApi) -> None:
    created = await api.create(SERVICEACCOUNTS, {**named("s"), "automountServiceAccountToken": False})
    assert created["automountServiceAccountToken"] is False
