"""EvictionRequests by every verb, and what they have in common with other custom resources."""

from __future__ import annotations

import pytest

from support.arms.arm import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, As, Obj
from support.arms.caseapi import CaseApi, names, types_and_names
from support.arms.kube import REAL
from support.arms.marks import CONFORMANCE, without
from support.arms.objects import binding, pod, role, rule
from support.evictionrequests import FIRST, FORBID, SECOND, a_pod, a_request, complete, request
from support.oddversions import FORMS, WRITES, check_forms, check_request
from vacate.api.kinds import EVICTIONREQUESTS, PODS, ROLEBINDINGS, ROLES

pytestmark = [CONFORMANCE, without(REAL, because="admission is not there without a webhook")]

STAMP = "vacate.dev/admitted"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GROUP = EVICTIONREQUESTS.group


async def test_create(api: CaseApi) -> None:
    web = await a_pod(api, "web", SECOND, FIRST)
    wanted = request(web)
    wanted["metadata"]["labels"] = {"app": "mine", "of": "us"}
    wanted["status"] = FORBID
    made = await api.create(EVICTIONREQUESTS, wanted)
    assert made["metadata"]["labels"] == {"app": "web", "of": "us"}
    assert made["metadata"]["annotations"] == {STAMP: "true"}
    assert made["metadata"]["generation"] == 1
    assert made["spec"] == {
        **wanted["spec"],
        "type": "Soft",
        "heartbeatDeadlineSeconds": 1800,
        "interceptors": [{"name": SECOND}, {"name": FIRST}],
    }
    assert made["status"] == {"message": "", "evictionRequestCancellationPolicy": "Allow"}
    again = await api.post(EVICTIONREQUESTS, request(web))
    name = made["metadata"]["name"]
    again.refused(409, "AlreadyExists", f'{EVICTIONREQUESTS.resource} "{name}" already exists')


async def test_get(api: CaseApi) -> None:
    made = await a_request(api)
    assert await api.get(EVICTIONREQUESTS, made["metadata"]["name"]) == made


async def test_list(api: CaseApi) -> None:
    made = await a_request(api)
    other = await api.given(PODS, pod("other", labels={"app": "other"}))
    await api.given(EVICTIONREQUESTS, request(other))
    for query in (
        {"labelSelector": "app=web"},
        {"fieldSelector": f"metadata.name={made['metadata']['name']}"},
    ):
        listed = await api.listed(EVICTIONREQUESTS, query)
        assert (listed["kind"], names(listed)) == ("EvictionRequestList", [made["metadata"]["name"]])
        assert listed["items"] == [made], "items of custom resources say what they are"
    refused = await api.ask("GET", EVICTIONREQUESTS, query={"fieldSelector": "spec.type=Soft"})
    refused.refused(400, "BadRequest", "field label not supported: spec.type")


async def test_update(api: CaseApi) -> None:
    made = await a_request(api)
    made["spec"]["requesters"].append({"name": "other.example.com"})
    made["metadata"]["labels"] = {"app": "mine", "more": "labels"}
    made["metadata"]["annotations"][STAMP] = "no"
    made["status"]["message"] = "not here"
    new = (await api.put(EVICTIONREQUESTS, made)).ok()
    assert [one["name"] for one in new["spec"]["requesters"]] == ["drain.example.com", "other.example.com"]
    assert new["metadata"]["labels"] == {"app": "web", "more": "labels"}
    assert new["metadata"]["annotations"] == {STAMP: "true"}
    assert (new["metadata"]["generation"], new["status"]["message"]) == (2, "")
    del new["metadata"]["resourceVersion"]
    blind = await api.put(EVICTIONREQUESTS, new)
    blind.refused(
        422,
        "Invalid",
        field_errors=["metadata.resourceVersion: Invalid value: 0: must be specified for an update"],
    )


@without("kubectl", because="kubectl sends versions in ways of its own")
@pytest.mark.parametrize("write", WRITES)
async def test_no_version_passes_the_rules(api: CaseApi, write: str) -> None:
    made = await a_request(api, "web", FIRST)
    await check_request(api.arm, api.at(EVICTIONREQUESTS, made["metadata"]["name"]), write, made)


@without("kubectl", because="kubectl sends JSON")
async def test_no_form_of_a_body_passes_the_rules(api: CaseApi) -> None:
    made = await a_request(api, "web", FIRST)
    refused = dict.fromkeys(FORMS, 415)  # a real server takes YAML
    await check_forms(api.arm, api.at(EVICTIONREQUESTS, made["metadata"]["name"]), made, refused)


@pytest.mark.parametrize("form", [JSON_PATCH, MERGE_PATCH], ids=["json", "merge"])
async def test_patch(api: CaseApi, form: str) -> None:
    made = await a_request(api)
    patch: object = {"spec": {"requesters": None}, "metadata": {"annotations": None}}
    if form == JSON_PATCH:
        patch = [{"op": "remove", "path": f"/{path}"} for path in ("spec/requesters", "metadata/annotations")]
    new = (await api.patch(EVICTIONREQUESTS, made["metadata"]["name"], patch, form)).ok()
    assert "requesters" not in new["spec"]
    assert new["metadata"]["annotations"] == {STAMP: "true"}


@without("kubectl", because="kubectl reports it in words of its own")
async def test_no_strategic_patches(api: CaseApi) -> None:
    made = await a_request(api)
    for sub in ("", "status"):
        answer = await api.patch(EVICTIONREQUESTS, made["metadata"]["name"], {}, STRATEGIC_PATCH, sub)
        answer.refused(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )


async def test_watch(api: CaseApi) -> None:
    version = await api.version(EVICTIONREQUESTS)
    made = await a_request(api, status={"message": "hello"})
    name = made["metadata"]["name"]
    await api.arm.drop(api.at(EVICTIONREQUESTS, name))
    events = await api.watch(EVICTIONREQUESTS, {"resourceVersion": version, "labelSelector": "app=web"}, 3)
    assert types_and_names(events) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]


async def test_delete(api: CaseApi) -> None:
    made = await a_request(api)
    name = made["metadata"]["name"]
    answer = (await api.delete(EVICTIONREQUESTS, name)).ok()
    details = {"name": name, "group": GROUP, "kind": "evictionrequests", "uid": made["metadata"]["uid"]}
    assert (answer["status"], answer["details"]) == ("Success", details)
    await api.gone(EVICTIONREQUESTS, name)


async def test_deletecollection(api: CaseApi) -> None:
    made = await a_request(api)
    (await api.ask("DELETE", EVICTIONREQUESTS, query={"labelSelector": "app=web"})).ok()
    await api.gone(EVICTIONREQUESTS, made["metadata"]["name"])


async def test_status_by_put(api: CaseApi) -> None:
    made = await a_request(api)
    made["status"] = {"message": "well", "unknown": 1, **FORBID}
    made["spec"] = {}
    made["metadata"]["labels"] = {"not": "here"}
    new = (await api.put(EVICTIONREQUESTS, made, "status")).ok()
    assert new["status"] == {"message": "well", **FORBID}
    assert new["spec"]["requesters"]
    assert (new["metadata"]["generation"], new["metadata"]["labels"]) == (1, {"app": "web"})
    assert await api.get(EVICTIONREQUESTS, new["metadata"]["name"], "status") == new


async def test_unknown_fields_are_dropped(api: CaseApi) -> None:
    wanted = request(await a_pod(api), unknown=1)
    wanted["spec"]["target"]["podRef"]["namespace"] = "elsewhere"
    wanted["spec"]["heartbeatDeadlineSeconds"] = None
    wanted["more"] = {}
    made = await api.create(EVICTIONREQUESTS, wanted)
    assert sorted(made["spec"]["target"]["podRef"]) == ["name", "uid"]
    assert made["spec"]["heartbeatDeadlineSeconds"] == 1800
    assert not {"more", "unknown"} & {*made, *made["spec"]}


@without("kubectl", because="kubectl --raw sends no Accept header of one's choice")
async def test_a_row_of_a_table(api: CaseApi) -> None:
    made = await a_request(api, "web", FIRST)
    table = await api.get(EVICTIONREQUESTS, made["metadata"]["name"], accept=TABLE)
    titles = [column["name"] for column in table["columnDefinitions"]]
    assert titles == ["Name", "Pod", "Stage", "Interceptor", "Expected Finish", "Failed Evictions", "Age"]
    assert table["rows"][0]["cells"][1:6] == ["web", "Intercepting", None, None, None]


async def test_discovery_of_the_group(api: CaseApi) -> None:
    group = (await api.arm.call("GET", f"/apis/{GROUP}")).ok()
    assert group["preferredVersion"] == {"groupVersion": f"{GROUP}/v1alpha1", "version": "v1alpha1"}
    listed = (await api.arm.call("GET", f"/apis/{GROUP}/v1alpha1")).ok()
    whole, status = listed["resources"]
    assert (whole["name"], whole["shortNames"], status["name"]) == (
        "evictionrequests", ["evreq"], "evictionrequests/status",
    )  # fmt: skip


async def test_forbidden_cancellation(api: CaseApi) -> None:
    made = await a_request(api, status=FORBID)
    name = made["metadata"]["name"]
    refusal = (
        f'{EVICTIONREQUESTS.resource} "{name}" is forbidden: status.evictionRequestCancellationPolicy is '
        'Forbid and the eviction goes on as long as pod "web" has not ended'
    )
    (await api.delete(EVICTIONREQUESTS, name)).refused(403, "Forbidden", refusal)
    (await api.ask("DELETE", EVICTIONREQUESTS)).refused(403, "Forbidden", refusal)
    made["spec"]["requesters"] = []
    field_errors = [
        "spec.requesters: Forbidden: may not change while status.evictionRequestCancellationPolicy is Forbid"
    ]
    (await api.put(EVICTIONREQUESTS, made)).refused(422, "Invalid", field_errors=field_errors)
    await api.given_status(PODS, "web", {"phase": "Succeeded"})
    (await api.delete(EVICTIONREQUESTS, name)).ok()


async def test_forbidden_cancellation_ends_with_the_pod(api: CaseApi) -> None:
    made = await a_request(api, status=FORBID)
    await api.arm.given("DELETE", api.at(PODS, "web"), {"gracePeriodSeconds": 0})
    await a_pod(api, "web")  # of the same name: another pod
    (await api.delete(EVICTIONREQUESTS, made["metadata"]["name"])).ok()


async def test_what_is_over_stays(api: CaseApi) -> None:
    made = await a_request(api, status={**complete(), "message": "over"})
    name = made["metadata"]["name"]
    answer = await api.patch(EVICTIONREQUESTS, name, {"status": {"message": "no"}}, sub="status")
    answer.refused(
        422, "Invalid", field_errors=["status: Forbidden: may not change once the request is complete"]
    )
    answer = await api.patch(EVICTIONREQUESTS, name, {"spec": {"requesters": []}})
    answer.refused(
        422,
        "Invalid",
        field_errors=["spec.requesters: Forbidden: may not change once the request is complete"],
    )
    freely = {"labels": {"app": "x"}, "annotations": {"a": "b"}, "finalizers": ["a.b/c"]}
    new = (await api.patch(EVICTIONREQUESTS, name, {"metadata": freely})).ok()
    assert new["metadata"]["labels"] == {"app": "x"}
    await api.given_patch(EVICTIONREQUESTS, name, {"metadata": {"finalizers": None}})


async def test_rights_come_before_knowledge(api: CaseApi) -> None:
    """A user who may not delete the pod learns nothing about it, not even whether it is there."""
    everything = role("requesters", rule("*", "evictionrequests evictionrequests/status", GROUP))
    await api.given(ROLES, everything)
    await api.given(ROLEBINDINGS, binding("requesters", "Role", "requesters", "rob"))
    made, rob = await a_request(api), As("rob")
    name = made["metadata"]["name"]
    absent: Obj = {"metadata": {"name": "u"}, "spec": {"target": {"podRef": {"name": "no", "uid": "u"}}}}
    for wanted in (made, absent):
        answer = await api.post(EVICTIONREQUESTS, request_of(wanted), as_user=rob)
        answer.refused(403, "Forbidden", _may_not(api, wanted["metadata"]["name"]))
    patch = {"metadata": {"labels": {"a": "b"}}}
    (await api.patch(EVICTIONREQUESTS, name, patch, as_user=rob)).refused(
        403, "Forbidden", _may_not(api, name)
    )
    (await api.delete(EVICTIONREQUESTS, name, as_user=rob)).refused(403, "Forbidden", _may_not(api, name))
    (await api.patch(EVICTIONREQUESTS, name, {"status": {"message": "x"}}, sub="status", as_user=rob)).ok()
    await api.given(ROLES, role("deleters", rule("delete", "pods", resourceNames=["web"])))
    await api.given(ROLEBINDINGS, binding("deleters", "Role", "deleters", "rob"))
    (await api.patch(EVICTIONREQUESTS, name, patch, as_user=rob)).ok()
    (await api.delete(EVICTIONREQUESTS, name, as_user=rob)).ok()


def request_of(made: Obj) -> Obj:
    """The request as its author would write it again."""
    identity = {"apiVersion": EVICTIONREQUESTS.api_version, "kind": EVICTIONREQUESTS.kind}
    return {**identity, "metadata": {"name": made["metadata"]["name"]}, "spec": made["spec"]}


def _may_not(api: CaseApi, name: str) -> str:
    return (
        f'{EVICTIONREQUESTS.resource} "{name}" is forbidden: User "rob" cannot delete resource "pods" in API '
        f'group "" in the namespace "{api.namespace}"'
    )


async def test_the_pod_must_be_there(api: CaseApi) -> None:
    web = await a_pod(api)
    unknown, other = request(web), request(web)
    unknown["spec"]["target"]["podRef"]["name"] = "nobody"
    other["metadata"]["name"] = other["spec"]["target"]["podRef"]["uid"] = "another"
    expected = ['spec.target.podRef.name: Not found: "nobody"']
    (await api.post(EVICTIONREQUESTS, unknown)).refused(422, "Invalid", field_errors=expected)
    expected = ['spec.target.podRef.uid: Invalid value: "another": must be the UID of pod "web"']
    (await api.post(EVICTIONREQUESTS, other)).refused(422, "Invalid", field_errors=expected)


@without("kubectl", because="kubectl refuses a conflicting namespace by itself")
async def test_the_pod_of_another_namespace_is_unknown(api: CaseApi) -> None:
    elsewhere = await a_pod(api)
    answer = await api.arm.call("POST", EVICTIONREQUESTS.collection_path("default"), body=request(elsewhere))
    answer.refused(422, "Invalid", field_errors=['spec.target.podRef.name: Not found: "web"'])
    here = request(elsewhere)
    here["metadata"]["namespace"] = "default"
    message = "the namespace of the provided object does not match the namespace sent on the request"
    (await api.post(EVICTIONREQUESTS, here)).refused(400, "BadRequest", message)


async def test_openapi(api: CaseApi) -> None:
    index = (await api.arm.call("GET", "/openapi/v3")).ok()
    where = index["paths"][f"apis/{GROUP}/v1alpha1"]["serverRelativeURL"].partition("?")[0]
    document = (await api.arm.call("GET", where)).ok()
    schema = document["components"]["schemas"]["io.k8s.coordination.evictionrequest.v1alpha1.EvictionRequest"]
    heartbeat = schema["properties"]["status"]["properties"]["heartbeatTime"]
    assert heartbeat["description"].startswith("When the active interceptor last reported progress.")
    forms = document["paths"][api.at(EVICTIONREQUESTS, "{name}").replace(api.namespace, "{namespace}")]
    assert sorted(forms["patch"]["requestBody"]["content"]) == [JSON_PATCH, MERGE_PATCH]
    assert (await api.arm.call("GET", "/openapi/v2")).ok()["swagger"] == "2.0"


UNKNOWN = (
    'EvictionRequest in version "v1alpha1" cannot be handled as a EvictionRequest: strict decoding error: '
    'unknown field "metadata.colour", unknown field "spec.requesters[0].x", unknown field "spec.y"'
)


async def test_unknown_fields_are_refused_on_demand(api: CaseApi) -> None:
    wanted = request(await a_pod(api), requesters=[{"name": "a.b", "x": 1}], y=2)
    wanted["metadata"]["colour"] = "red"
    answer = await api.post(EVICTIONREQUESTS, wanted, query={"fieldValidation": "Strict"})
    answer.refused(400, "BadRequest", UNKNOWN)
    answer = await api.post(EVICTIONREQUESTS, wanted, query={"fieldValidation": "Warn"})
    answer.ok(201)
    if answer.headers is not None:
        warnings = answer.header("Warning") or ""
        assert warnings.startswith('299 - "unknown field \\"metadata.colour\\"", 299 - ')
    name = wanted["metadata"]["name"]
    answer = await api.put(EVICTIONREQUESTS, {**answer.obj, "z": 1}, query={"fieldValidation": "Ignore"})
    assert not answer.header("Warning")
    if api.arm.name != "kubectl":  # which has no options for patches
        strict = {"fieldValidation": "Strict"}
        answer = await api.patch(EVICTIONREQUESTS, name, {"spec": {"y": 1}}, query=strict)
        answer.refused(422, "Invalid")
        assert answer.field_errors[0].endswith('strict decoding error: unknown field "spec.y"')
        (await api.patch(EVICTIONREQUESTS, name, {"spec": {"y": None}}, query=strict)).ok()


_UNRECOGNIZED = "the object provided is unrecognized (must be of type EvictionRequest)"
_HANDLED = 'EvictionRequest in version "v1alpha1" cannot be handled as a EvictionRequest'
_VERSIONS = "the API version in the data (v1) does not match the expected API version"
IDENTITIES: dict[str, tuple[Obj, int, str, str]] = {
    "version": ({"apiVersion": "v1"}, 400, "BadRequest", f"{_VERSIONS} ({GROUP}/v1alpha1)"),
    "kind": ({"kind": "Leave"}, 422, "Invalid", f'Leave.{GROUP} "u" is invalid: kind: Invalid value'),
    "no-kind": ({"kind": None}, 400, "BadRequest", f"{_UNRECOGNIZED}: Object 'Kind' is missing in"),
    "metadata": ({"metadata": {"name": 5}}, 400, "BadRequest", f"{_HANDLED}: "),
}


@pytest.mark.parametrize("case", IDENTITIES)
async def test_it_must_say_what_it_is(api: CaseApi, case: str) -> None:
    changes, code, reason, message = IDENTITIES[case]
    identity = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "EvictionRequest", "metadata": {"name": "u"}}
    body = {key: value for key, value in {**identity, **changes}.items() if value is not None}
    (await api.ask("POST", EVICTIONREQUESTS, body=body)).refused(code, reason, starting=message)


@without("kubectl", because="kubectl sends JSON")
async def test_no_protobuf(api: CaseApi) -> None:
    form = "application/vnd.kubernetes.protobuf"
    answer = await api.ask("POST", EVICTIONREQUESTS, body=b"k8s\x00", content_type=form)
    answer.refused(415, "UnsupportedMediaType", starting="the body of the request was in an unknown format")
