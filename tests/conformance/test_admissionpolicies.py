"""ValidatingAdmissionPolicies: what is stored, which writes they are asked about, and how they answer."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from support.arms.arm import Answer, As, Obj
from support.arms.caseapi import CaseApi
from support.arms.kinds import minimal
from support.arms.marks import CONFORMANCE
from support.arms.objects import config_map, named, pod, workload
from support.waiting import LIMIT
from vacate.api.installednames import EVICTION_SIZE, EXCLUSIVE_GATE, FORCE_DELETION
from vacate.api.kinds import CLUSTERROLES, CONFIGMAPS, DEPLOYMENTS, NAMESPACES, PODS, ROLEBINDINGS, Kind
from vacate.api.kinds import VALIDATINGADMISSIONPOLICIES as POLICIES
from vacate.api.kinds import VALIDATINGADMISSIONPOLICYBINDINGS as BINDINGS
from vacate.install.manifests.policies import policies
from vacate.install.manifests.policyobjects import rule_about
from vacate.install.settings import Settings

pytestmark = CONFORMANCE

WRITES = rule_about(CONFIGMAPS, ["CREATE", "UPDATE", "DELETE"])
PROBE = "policy-probe"
FIRST, COMPILES = "spec.validations[0]", "compilation failed: "


def here(api: CaseApi) -> Obj:
    return {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}


async def given(api: CaseApi, spec: Obj, *rules: Obj, binding: Obj | None = None, base: str = "p") -> str:
    """A policy about this namespace, once one that is made after it refuses a probe."""
    name, probe = api.unique(base), rule_about(CONFIGMAPS, ["CREATE"])
    await _bind(api, name, spec, rules, binding or {})
    seen = {"validations": [{"expression": f"object.metadata.name != '{PROBE}'"}]}
    await _bind(api, f"{name}-probe", seen, [probe], {})
    await _until(lambda: _refuses(api, config_map(PROBE)))
    return name


async def _bind(api: CaseApi, name: str, spec: Obj, rules: Sequence[Obj], binding: Obj) -> None:
    constraints = {"namespaceSelector": here(api), "resourceRules": list(rules)}
    whole = {**spec, "matchConstraints": {**spec.get("matchConstraints", {}), **constraints}}
    await api.given(POLICIES, named(name, spec=whole))
    bound = {"policyName": name, "validationActions": ["Deny"], **binding}
    await api.given(BINDINGS, named(name, spec=bound))


async def _refuses(api: CaseApi, obj: Obj) -> bool:
    return (await api.post(CONFIGMAPS, obj, query={"dryRun": "All"})).failed


async def _until(ask: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT):
        while not await ask():  # noqa: ASYNC110  only asking again shows what another process does
            await asyncio.sleep(0.05)


def denied(name: str, message: str) -> str:
    return f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {message}"


def labelled(name: str, labels: dict[str, str]) -> Obj:
    return {"metadata": {"name": name, "labels": labels}}


def data(name: str, **values: str) -> Obj:
    return {**config_map(name), "data": values}


async def test_a_refusal_is_in_the_words_of_the_policy(api: CaseApi) -> None:
    spec = {
        "matchConditions": [{"name": "a", "expression": "request.operation != 'DELETE' && has(object.data)"}],
        "variables": [
            {"name": "mode", "expression": "object.data.?mode.orValue('')"},
            {"name": "long", "expression": "variables.mode + '!'"},
            {"name": "unused", "expression": "object.nothing.at.all"},
        ],
        "validations": [
            {"expression": "variables.mode != 'plain'"},
            {"expression": "variables.mode != 'text'", "message": " a text ", "reason": "Forbidden"},
            {
                "expression": "variables.mode != 'made'",
                "message": "not this",
                "messageExpression": "'made by ' + variables.long",
            },
            {
                "expression": "variables.mode != 'failed'",
                "message": "as it is written",
                "messageExpression": "object.data.nothing + '!'",
            },
            {
                "expression": "variables.mode != 'large'",
                "message": "too large",
                "reason": "RequestEntityTooLarge",
            },
        ],
    }
    name = await given(api, spec, WRITES)
    what = f"configmaps \"c\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding"
    for mode, code, reason, message in (
        ("plain", 422, "Invalid", "failed expression: variables.mode != 'plain'"),
        ("text", 403, "Forbidden", "a text"),
        ("made", 422, "Invalid", "made by made!"),
        ("failed", 422, "Invalid", "as it is written"),
        ("large", 413, "RequestEntityTooLarge", "too large"),
    ):
        answer = await api.post(CONFIGMAPS, data("c", mode=mode))
        answer.refused(code, reason, starting=what)
        assert (answer.message or denied(name, message)).endswith(denied(name, message))
        answer.caused_by(("", denied(name, message)))
    await api.create(CONFIGMAPS, data("c", mode="other"))
    answer = await api.patch(CONFIGMAPS, "c", {"data": {"mode": "text"}})
    answer.refused(403, "Forbidden", f'configmaps "c" is forbidden: {denied(name, "a text")}')
    (await api.delete(CONFIGMAPS, "c")).ok()


async def test_what_it_sees_of_a_request(api: CaseApi) -> None:
    seen = (
        "request.operation + ' ' + request.resource.resource + ' ' + request.kind.kind + ' '"
        " + request.?subResource.orValue('-') + ' ' + request.?name.orValue('-') + ' '"
        " + string(object == null) + ' ' + string(oldObject == null) + ' '"
        " + (namespaceObject == null ? '-' : namespaceObject.metadata.name) + ' ' + string(request.dryRun)"
        " + ' ' + string(dyn(request.options).?gracePeriodSeconds.orValue(-1))"
    )
    spec = {"validations": [{"expression": "object == null && oldObject == null", "messageExpression": seen}]}
    await api.given(CONFIGMAPS, config_map("c"))
    await api.given(PODS, pod("p"))
    await api.given(PODS, {**pod("bound"), "spec": {**pod("bound")["spec"], "nodeName": "far"}})
    await api.given(DEPLOYMENTS, workload("d"))
    name = await given(
        api, spec, WRITES, rule_about(PODS, ["CREATE", "DELETE"], "", "eviction"),
        rule_about(DEPLOYMENTS, ["UPDATE"], "scale", "status"),
    )  # fmt: skip

    async def answers(call: Awaitable[Answer], message: str) -> None:
        answer = await call
        assert answer.failed
        assert (answer.message or denied(name, message)).endswith(denied(name, message)), answer.message

    ns = api.namespace
    await answers(
        api.patch(CONFIGMAPS, "c", {"data": {"a": "b"}}),
        f"UPDATE configmaps ConfigMap - c false false {ns} false -1",
    )
    await answers(api.delete(CONFIGMAPS, "c"), f"DELETE configmaps ConfigMap - c true false {ns} false -1")
    # A pod that is on no node has nothing to wait for; else it is what the pod has, or the caller asks for.
    unbound = api.delete(PODS, "p", {"gracePeriodSeconds": 7})
    await answers(unbound, f"DELETE pods Pod - p true false {ns} false 0")
    await answers(api.delete(PODS, "bound"), f"DELETE pods Pod - bound true false {ns} false 30")
    asked = api.delete(PODS, "bound", {"gracePeriodSeconds": 7})
    await answers(asked, f"DELETE pods Pod - bound true false {ns} false 7")
    await answers(
        api.ask("POST", PODS, "p", "eviction", {"metadata": {"name": "p"}}),
        f"CREATE pods Eviction eviction p false true {ns} false -1",
    )
    await answers(
        api.patch(DEPLOYMENTS, "d", {"spec": {"replicas": 3}}, sub="scale"),
        f"UPDATE deployments Scale scale d false false {ns} false -1",
    )
    await answers(
        api.patch(DEPLOYMENTS, "d", {"status": {"observedGeneration": 1}}, sub="status"),
        f"UPDATE deployments Deployment status d false false {ns} false -1",
    )
    (await api.patch(DEPLOYMENTS, "d", {"spec": {"replicas": 2}})).ok()


async def test_a_collection_is_refused_by_its_first_object(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, labelled("kept", {"of": api.namespace}))
    name = await given(
        api, {"validations": [{"expression": "request.operation != 'DELETE'", "message": "stays"}]}, WRITES
    )
    answer = await api.ask("DELETE", CONFIGMAPS, query={"labelSelector": f"of={api.namespace}"})
    answer.refused(422, "Invalid", f'configmaps "Unknown" is forbidden: {denied(name, "stays")}')


async def test_selectors_and_rules_choose(api: CaseApi) -> None:
    constraints = {
        "objectSelector": {"matchLabels": {"guarded": "yes"}},
        "excludeResourceRules": [{**rule_about(CONFIGMAPS, ["CREATE"]), "resourceNames": ["left-out"]}],
    }
    spec = {"matchConstraints": constraints, "validations": [{"expression": "false", "message": "no"}]}
    name = await given(api, spec, WRITES, binding={"matchResources": {"resourceRules": [WRITES]}})
    await api.create(CONFIGMAPS, named("free"))
    await api.create(CONFIGMAPS, labelled("left-out", {"guarded": "yes"}))
    for call in (
        api.post(CONFIGMAPS, labelled("c", {"guarded": "yes"})),
        # The old object counts as well as the new one.
        api.patch(CONFIGMAPS, "left-out", {"metadata": {"labels": {"guarded": None}}}),
        api.patch(CONFIGMAPS, "free", {"metadata": {"labels": {"guarded": "yes"}}}),
        api.delete(CONFIGMAPS, "left-out"),
    ):
        answer = await call
        answer.refused(422, "Invalid")
        assert (answer.message or denied(name, "no")).endswith(denied(name, "no"))


@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
async def test_what_cannot_be_evaluated(api: CaseApi, policy: str) -> None:
    spec = {"failurePolicy": policy, "validations": [{"expression": "object.data.missing == 'x'"}]}
    name = await given(api, spec, WRITES)
    answer = await api.post(CONFIGMAPS, data("c", other="y"))
    if policy == "Ignore":
        answer.ok(201)
        return
    why = "expression 'object.data.missing == 'x'' resulted in error: no such key: missing"
    answer.refused(422, "Invalid", f'configmaps "c" is forbidden: {denied(name, why)}')


async def test_a_warning_lets_the_write_pass(api: CaseApi) -> None:
    spec = {"validations": [{"expression": "!has(object.data)", "message": "think"}]}
    name = await given(api, spec, WRITES, binding={"validationActions": ["Warn", "Audit"]})
    answer = await api.post(CONFIGMAPS, data("c", a="b"))
    answer.ok(201)
    warned = f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': think"
    assert answer.headers is None or warned in (answer.header("Warning") or "")


async def test_a_warning_that_no_header_can_hold_is_left_out(api: CaseApi) -> None:
    broken = {
        "expression": "false",
        "message": "a",
        "messageExpression": "'b\\tInjected: ' + object.metadata.name",
    }
    spec = {"validations": [broken]}
    await given(api, spec, WRITES, binding={"validationActions": ["Warn"]})
    answer = await api.post(CONFIGMAPS, data("c", a="b"))
    answer.ok(201)
    assert "Injected" not in (answer.header("Warning") or "")


async def test_it_asks_the_authorizer(api: CaseApi) -> None:
    may = (
        "authorizer.group('').resource('pods').namespace(request.namespace).name(object.metadata.name)"
        ".check('delete').allowed()"
    )
    other = (
        "!authorizer.serviceAccount(request.namespace, 'nobody').group('').resource('pods')"
        ".namespace(request.namespace).check('delete').allowed()"
    )
    validations = [
        {"expression": may, "message": "you may not"},
        {"expression": other, "message": "they may"},
    ]
    name = await given(api, {"validations": validations}, WRITES)
    user = As(api.unique("user"))
    role = api.unique("writes")
    await api.given(
        CLUSTERROLES,
        named(role, rules=[{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
                           {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"],
                            "resourceNames": ["mine"]}]),
    )  # fmt: skip
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user.name}
    await api.given(ROLEBINDINGS, named("b", roleRef=reference, subjects=[subject]))
    (await api.post(CONFIGMAPS, config_map("mine"), as_user=user)).ok(201)
    answer = await api.post(CONFIGMAPS, config_map("theirs"), as_user=user)
    answer.refused(422, "Invalid", f'configmaps "theirs" is forbidden: {denied(name, "you may not")}')


async def test_parameters(api: CaseApi) -> None:
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConditions": [{"name": "others", "expression": "object.metadata.name != 'limits'"}],
        "validations": [
            {
                "expression": "object.data.size() <= int(params.data.most)",
                "messageExpression": "'at most ' + params.data.most",
            }
        ],
    }
    await api.given(CONFIGMAPS, {**labelled("limits", {"limit": "yes"}), "data": {"most": "1"}})
    ref = {"selector": {"matchLabels": {"limit": "yes"}}, "parameterNotFoundAction": "Deny"}
    name = await given(api, spec, WRITES, binding={"paramRef": ref})

    async def answered() -> bool:
        answer = await api.post(CONFIGMAPS, data("d", a="1", b="2"), query={"dryRun": "All"})
        wanted = denied(name, "at most 1")
        return answer.failed and (answer.message or wanted).endswith(wanted)

    await _until(answered)
    await api.create(CONFIGMAPS, data("c", a="1"))
    await api.given_patch(CONFIGMAPS, "limits", {"metadata": {"labels": {"limit": None}}})
    why = (
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )

    async def without_parameters() -> bool:
        answer = await api.post(CONFIGMAPS, data("d"), query={"dryRun": "All"})
        return answer.failed and (answer.message or denied(name, why)).endswith(denied(name, why))

    await _until(without_parameters)


@pytest.mark.parametrize(
    ("change", "field", "what"),
    [
        ({"validations": [{"expression": "object.a =="}]}, f"{FIRST}.expression", COMPILES),
        ({"validations": [{"expression": "nothing == 1"}]}, f"{FIRST}.expression", COMPILES),
        ({"validations": [{"expression": "variables.x == 1"}]}, f"{FIRST}.expression", COMPILES),
        ({"validations": [{"expression": "'a'"}]}, f"{FIRST}.expression", "must evaluate to bool"),
        ({"validations": [{"expression": "true", "messageExpression": "1"}]}, f"{FIRST}.messageExpression",
         "must evaluate to string"),
        ({"variables": [{"name": "x", "expression": "1 + 'a'"}]}, "spec.variables[0].expression", COMPILES),
        ({"matchConditions": [{"name": "a", "expression": "1"}]}, "spec.matchConditions[0].expression",
         "must evaluate to bool"),
        ({"validations": [{"expression": " "}]}, f"{FIRST}.expression", "expression is not specified"),
        ({"matchConstraints": None}, "spec.matchConstraints", ""),
        ({"matchConstraints": {"resourceRules": []}}, "spec.matchConstraints.resourceRules", ""),
        ({"validations": [{"expression": "true", "reason": "Gone"}]}, f"{FIRST}.reason", ""),
        ({"validations": []}, "spec.validations", "must contain at least one item"),
    ],
)  # fmt: skip
async def test_what_is_no_policy(api: CaseApi, change: Obj, field: str, what: str) -> None:
    spec = {"matchConstraints": {"resourceRules": [WRITES]}, "validations": [{"expression": "true"}]}
    answer = await api.post(POLICIES, named(api.unique("bad"), spec={**spec, **change}))
    answer.refused(422, "Invalid")
    found = [one for one in answer.field_errors if one.startswith(f"{field}: ")]
    assert found
    assert what in found[0]


async def test_what_is_filled_in(api: CaseApi) -> None:
    spec: dict[str, Any] = {
        "matchConstraints": {"resourceRules": [WRITES]},
        "validations": [{"expression": "true"}],
    }
    stored = await api.create(POLICIES, named(api.unique("filled"), spec=spec))
    expected = copy.deepcopy(spec)
    expected["failurePolicy"] = "Fail"
    expected["matchConstraints"] |= {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    }
    expected["matchConstraints"]["resourceRules"][0]["scope"] = "*"
    assert stored["spec"] == expected
    assert stored["metadata"]["generation"] == 1
    binding = named(api.unique("none"), spec={"policyName": "nothing", "validationActions": ["Deny"]})
    assert (await api.create(BINDINGS, binding))["metadata"]["generation"] == 1


async def test_policy_status(api: CaseApi) -> None:
    spec = {"matchConstraints": {"resourceRules": [WRITES]}, "validations": [{"expression": "true"}]}
    name = (await api.given(POLICIES, named(api.unique("status"), spec=spec)))["metadata"]["name"]
    condition = {"type": "Known", "status": "True", "reason": "A", "message": "b",
                 "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
    change = {"status": {"conditions": [condition]}, "spec": {"failurePolicy": "Ignore"}}
    changed = (await api.patch(POLICIES, name, change, sub="status")).ok()
    assert changed["status"]["conditions"] == [condition]
    assert changed["spec"]["failurePolicy"] == "Fail"


@pytest.mark.parametrize("kind", [POLICIES, BINDINGS], ids=lambda kind: kind.plural)
async def test_an_update_names_the_version_that_it_replaces(api: CaseApi, kind: Kind) -> None:
    obj = await api.given(kind, minimal(kind, api.unique("it"), api.namespace))
    version = obj["metadata"].pop("resourceVersion")
    answer = await api.put(kind, obj)
    answer.refused(422, "Invalid")
    answer.caused_in(("FieldValueInvalid", "metadata.resourceVersion"))
    obj["metadata"]["resourceVersion"] = version
    assert (await api.put(kind, obj)).ok()["metadata"]["generation"] == 1


async def test_actions_of_a_binding(api: CaseApi) -> None:
    spec = {"policyName": "nothing", "validationActions": ["Deny", "Warn"]}
    answer = await api.post(BINDINGS, named(api.unique("both"), spec=spec))
    answer.refused(422, "Invalid")
    answer.caused_in(("FieldValueInvalid", "spec.validationActions"))


async def test_a_policy_of_the_installation_about_evictions(api: CaseApi) -> None:
    name = await installed(api, EVICTION_SIZE)
    await api.given(PODS, pod("p"))
    body = {"metadata": {"name": "p", "annotations": {"a": "x" * 1025}}}
    answer = await api.ask("POST", PODS, "p", "eviction", body)
    what = "an Eviction has at most 64 entries in each list and map, and texts of at most 1024 characters"
    answer.refused(403, "Forbidden", f'pods "p" is forbidden: {denied(name, what)}')


async def test_a_policy_of_the_installation_about_force_deletion(api: CaseApi) -> None:
    name = await installed(api, FORCE_DELETION)
    await api.given(PODS, {**pod("p"), "spec": {**pod("p")["spec"], "nodeName": "far"}})
    answer = await api.delete(PODS, "p", {"gracePeriodSeconds": 0})
    what = denied(name, "force deletion removes the pod without waiting for node far to confirm")
    answer.refused(403, "Forbidden", starting=f'pods "p" is forbidden: {what}')


async def test_a_policy_of_the_installation_about_exclusive_volumes(api: CaseApi) -> None:
    name = await installed(api, EXCLUSIVE_GATE)
    what = denied(
        name, "spec.schedulingGates: the namespace has the label vacate.dev/exclusive-volumes=enabled"
    )
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    for source in (
        {"persistentVolumeClaim": {"claimName": "c"}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": asked}}},
    ):
        volumes = [{"name": "v", **source}]
        answer = await api.post(PODS, {**pod("p"), "spec": {**pod("p")["spec"], "volumes": volumes}})
        answer.refused(403, "Forbidden", starting=f'pods "p" is forbidden: {what}')
    volumes = [{"name": "v", "emptyDir": {}}]
    await api.given(PODS, {**pod("p"), "spec": {**pod("p")["spec"], "volumes": volumes}})


async def installed(api: CaseApi, name: str) -> str:
    """One policy as it is rendered, for this namespace, which is in the scope that its label chooses."""
    (policy,) = [
        one
        for one in policies(Settings(guard_unlabelled=True))
        if one["kind"] == POLICIES.kind and one["metadata"]["name"] == name
    ]
    await api.given_patch(
        NAMESPACES, api.namespace, {"metadata": {"labels": {"vacate.dev/exclusive-volumes": "enabled"}}}
    )
    rules = policy["spec"]["matchConstraints"]["resourceRules"]
    return await given(api, policy["spec"], *rules, base=name)
