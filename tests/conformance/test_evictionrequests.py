"""EvictionRequests by every verb, and what they have in common with other custom resources."""

from __future__ import annotations

import pytest

from support.arms import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, As, Obj
from support.arms_kube import REAL
from support.arms_marks import CONFORMANCE, without
from support.arms_objects import binding, pod, role, rule
from support.arms_scene import Scene, names, told
from support.evictionrequests import FIRST, FORBID, SECOND, a_pod, a_request, complete, request
from vacate.api.kinds import EVICTIONREQUESTS, PODS, ROLEBINDINGS, ROLES

pytestmark = [CONFORMANCE, without(REAL, because="admission is not there without a webhook")]

STAMP = "vacate.dev/admitted"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GROUP = EVICTIONREQUESTS.group


async def test_create(scene: Scene) -> None:
    web = await a_pod(scene, "web", SECOND, FIRST)
    wanted = request(web)
    wanted["metadata"]["labels"] = {"app": "mine", "of": "us"}
    wanted["status"] = FORBID
    made = await scene.create(EVICTIONREQUESTS, wanted)
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
    again = await scene.post(EVICTIONREQUESTS, request(web))
    name = made["metadata"]["name"]
    again.refused(409, "AlreadyExists", f'{EVICTIONREQUESTS.resource} "{name}" already exists')


async def test_get(scene: Scene) -> None:
    made = await a_request(scene)
    assert await scene.get(EVICTIONREQUESTS, made["metadata"]["name"]) == made


async def test_list(scene: Scene) -> None:
    made = await a_request(scene)
    other = await scene.given(PODS, pod("other", labels={"app": "other"}))
    await scene.given(EVICTIONREQUESTS, request(other))
    for query in (
        {"labelSelector": "app=web"},
        {"fieldSelector": f"metadata.name={made['metadata']['name']}"},
    ):
        listed = await scene.listed(EVICTIONREQUESTS, query)
        assert (listed["kind"], names(listed)) == ("EvictionRequestList", [made["metadata"]["name"]])
        assert listed["items"] == [made], "items of custom resources say what they are"
    refused = await scene.ask("GET", EVICTIONREQUESTS, query={"fieldSelector": "spec.type=Soft"})
    refused.refused(400, "BadRequest", "field label not supported: spec.type")


async def test_update(scene: Scene) -> None:
    made = await a_request(scene)
    made["spec"]["requesters"].append({"name": "other.example.com"})
    made["metadata"]["labels"] = {"app": "mine", "more": "labels"}
    made["metadata"]["annotations"][STAMP] = "no"
    made["status"]["message"] = "not here"
    new = (await scene.put(EVICTIONREQUESTS, made)).ok()
    assert [one["name"] for one in new["spec"]["requesters"]] == ["drain.example.com", "other.example.com"]
    assert new["metadata"]["labels"] == {"app": "web", "more": "labels"}
    assert new["metadata"]["annotations"] == {STAMP: "true"}
    assert (new["metadata"]["generation"], new["status"]["message"]) == (2, "")
    del new["metadata"]["resourceVersion"]
    blind = await scene.put(EVICTIONREQUESTS, new)
    blind.refused(
        422,
        "Invalid",
        field_errors=["metadata.resourceVersion: Invalid value: 0: must be specified for an update"],
    )


@pytest.mark.parametrize("form", [JSON_PATCH, MERGE_PATCH], ids=["json", "merge"])
async def test_patch(scene: Scene, form: str) -> None:
    made = await a_request(scene)
    patch: object = {"spec": {"requesters": None}, "metadata": {"annotations": None}}
    if form == JSON_PATCH:
        patch = [{"op": "remove", "path": f"/{path}"} for path in ("spec/requesters", "metadata/annotations")]
    new = (await scene.patch(EVICTIONREQUESTS, made["metadata"]["name"], patch, form)).ok()
    assert "requesters" not in new["spec"]
    assert new["metadata"]["annotations"] == {STAMP: "true"}


@without("kubectl", because="kubectl tells it in words of its own")
async def test_no_strategic_patches(scene: Scene) -> None:
    made = await a_request(scene)
    for sub in ("", "status"):
        answer = await scene.patch(EVICTIONREQUESTS, made["metadata"]["name"], {}, STRATEGIC_PATCH, sub)
        answer.refused(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )


async def test_watch(scene: Scene) -> None:
    version = await scene.version(EVICTIONREQUESTS)
    made = await a_request(scene, status={"message": "hello"})
    name = made["metadata"]["name"]
    await scene.arm.drop(scene.at(EVICTIONREQUESTS, name))
    events = await scene.watch(EVICTIONREQUESTS, {"resourceVersion": version, "labelSelector": "app=web"}, 3)
    assert told(events) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]


async def test_delete(scene: Scene) -> None:
    made = await a_request(scene)
    name = made["metadata"]["name"]
    answer = (await scene.delete(EVICTIONREQUESTS, name)).ok()
    details = {"name": name, "group": GROUP, "kind": "evictionrequests", "uid": made["metadata"]["uid"]}
    assert (answer["status"], answer["details"]) == ("Success", details)
    await scene.gone(EVICTIONREQUESTS, name)


async def test_deletecollection(scene: Scene) -> None:
    made = await a_request(scene)
    (await scene.ask("DELETE", EVICTIONREQUESTS, query={"labelSelector": "app=web"})).ok()
    await scene.gone(EVICTIONREQUESTS, made["metadata"]["name"])


async def test_status_by_put(scene: Scene) -> None:
    made = await a_request(scene)
    made["status"] = {"message": "well", "unknown": 1, **FORBID}
    made["spec"] = {}
    made["metadata"]["labels"] = {"not": "here"}
    new = (await scene.put(EVICTIONREQUESTS, made, "status")).ok()
    assert new["status"] == {"message": "well", **FORBID}
    assert new["spec"]["requesters"]
    assert (new["metadata"]["generation"], new["metadata"]["labels"]) == (1, {"app": "web"})
    assert await scene.get(EVICTIONREQUESTS, new["metadata"]["name"], "status") == new


async def test_unknown_fields_are_dropped(scene: Scene) -> None:
    wanted = request(await a_pod(scene), unknown=1)
    wanted["spec"]["target"]["podRef"]["namespace"] = "elsewhere"
    wanted["spec"]["heartbeatDeadlineSeconds"] = None
    wanted["more"] = {}
    made = await scene.create(EVICTIONREQUESTS, wanted)
    assert sorted(made["spec"]["target"]["podRef"]) == ["name", "uid"]
    assert made["spec"]["heartbeatDeadlineSeconds"] == 1800
    assert not {"more", "unknown"} & {*made, *made["spec"]}


@without("kubectl", because="kubectl --raw sends no Accept header of one's choice")
async def test_a_row_of_a_table(scene: Scene) -> None:
    made = await a_request(scene, "web", FIRST)
    table = await scene.get(EVICTIONREQUESTS, made["metadata"]["name"], accept=TABLE)
    titles = [column["name"] for column in table["columnDefinitions"]]
    assert titles == ["Name", "Pod", "Stage", "Interceptor", "Expected Finish", "Failed Evictions", "Age"]
    assert table["rows"][0]["cells"][1:6] == ["web", "Intercepting", None, None, None]


async def test_discovery_of_the_group(scene: Scene) -> None:
    group = (await scene.arm.call("GET", f"/apis/{GROUP}")).ok()
    assert group["preferredVersion"] == {"groupVersion": f"{GROUP}/v1alpha1", "version": "v1alpha1"}
    listed = (await scene.arm.call("GET", f"/apis/{GROUP}/v1alpha1")).ok()
    whole, status = listed["resources"]
    assert (whole["name"], whole["shortNames"], status["name"]) == (
        "evictionrequests", ["evreq"], "evictionrequests/status",
    )  # fmt: skip


async def test_forbidden_cancellation(scene: Scene) -> None:
    made = await a_request(scene, status=FORBID)
    name = made["metadata"]["name"]
    refusal = (
        f'{EVICTIONREQUESTS.resource} "{name}" is forbidden: status.evictionRequestCancellationPolicy is '
        'Forbid and the eviction goes on as long as pod "web" has not ended'
    )
    (await scene.delete(EVICTIONREQUESTS, name)).refused(403, "Forbidden", refusal)
    (await scene.ask("DELETE", EVICTIONREQUESTS)).refused(403, "Forbidden", refusal)
    made["spec"]["requesters"] = []
    field_errors = [
        "spec.requesters: Forbidden: may not change while status.evictionRequestCancellationPolicy is Forbid"
    ]
    (await scene.put(EVICTIONREQUESTS, made)).refused(422, "Invalid", field_errors=field_errors)
    await scene.given_status(PODS, "web", {"phase": "Succeeded"})
    (await scene.delete(EVICTIONREQUESTS, name)).ok()


async def test_forbidden_cancellation_ends_with_the_pod(scene: Scene) -> None:
    made = await a_request(scene, status=FORBID)
    await scene.arm.given("DELETE", scene.at(PODS, "web"), {"gracePeriodSeconds": 0})
    await a_pod(scene, "web")  # of the same name: another pod
    (await scene.delete(EVICTIONREQUESTS, made["metadata"]["name"])).ok()


async def test_what_is_over_stays(scene: Scene) -> None:
    made = await a_request(scene, status={**complete(), "message": "over"})
    name = made["metadata"]["name"]
    answer = await scene.patch(EVICTIONREQUESTS, name, {"status": {"message": "no"}}, sub="status")
    answer.refused(
        422, "Invalid", field_errors=["status: Forbidden: may not change once the request is complete"]
    )
    answer = await scene.patch(EVICTIONREQUESTS, name, {"spec": {"requesters": []}})
    answer.refused(
        422,
        "Invalid",
        field_errors=["spec.requesters: Forbidden: may not change once the request is complete"],
    )
    freely = {"labels": {"app": "x"}, "annotations": {"a": "b"}, "finalizers": ["a.b/c"]}
    new = (await scene.patch(EVICTIONREQUESTS, name, {"metadata": freely})).ok()
    assert new["metadata"]["labels"] == {"app": "x"}
    await scene.given_patch(EVICTIONREQUESTS, name, {"metadata": {"finalizers": None}})


async def test_rights_come_before_knowledge(scene: Scene) -> None:
    """Whoever may not delete the pod learns nothing about it, not even whether it is there."""
    everything = role("requesters", rule("*", "evictionrequests evictionrequests/status", GROUP))
    await scene.given(ROLES, everything)
    await scene.given(ROLEBINDINGS, binding("requesters", "Role", "requesters", "rob"))
    made, rob = await a_request(scene), As("rob")
    name = made["metadata"]["name"]
    absent: Obj = {"metadata": {"name": "u"}, "spec": {"target": {"podRef": {"name": "no", "uid": "u"}}}}
    for wanted in (made, absent):
        answer = await scene.post(EVICTIONREQUESTS, request_of(wanted), as_user=rob)
        answer.refused(403, "Forbidden", _may_not(scene, wanted["metadata"]["name"]))
    patch = {"metadata": {"labels": {"a": "b"}}}
    (await scene.patch(EVICTIONREQUESTS, name, patch, as_user=rob)).refused(
        403, "Forbidden", _may_not(scene, name)
    )
    (await scene.delete(EVICTIONREQUESTS, name, as_user=rob)).refused(403, "Forbidden", _may_not(scene, name))
    (await scene.patch(EVICTIONREQUESTS, name, {"status": {"message": "x"}}, sub="status", as_user=rob)).ok()
    await scene.given(ROLES, role("deleters", rule("delete", "pods", resourceNames=["web"])))
    await scene.given(ROLEBINDINGS, binding("deleters", "Role", "deleters", "rob"))
    (await scene.patch(EVICTIONREQUESTS, name, patch, as_user=rob)).ok()
    (await scene.delete(EVICTIONREQUESTS, name, as_user=rob)).ok()


def request_of(made: Obj) -> Obj:
    """The request as its author would write it again."""
    identity = {"apiVersion": EVICTIONREQUESTS.api_version, "kind": EVICTIONREQUESTS.kind}
    return {**identity, "metadata": {"name": made["metadata"]["name"]}, "spec": made["spec"]}


def _may_not(scene: Scene, name: str) -> str:
    return (
        f'{EVICTIONREQUESTS.resource} "{name}" is forbidden: User "rob" cannot delete resource "pods" in API '
        f'group "" in the namespace "{scene.namespace}"'
    )


async def test_the_pod_must_be_there(scene: Scene) -> None:
    web = await a_pod(scene)
    unknown, other = request(web), request(web)
    unknown["spec"]["target"]["podRef"]["name"] = "nobody"
    other["metadata"]["name"] = other["spec"]["target"]["podRef"]["uid"] = "another"
    said = ['spec.target.podRef.name: Not found: "nobody"']
    (await scene.post(EVICTIONREQUESTS, unknown)).refused(422, "Invalid", field_errors=said)
    said = ['spec.target.podRef.uid: Invalid value: "another": must be the UID of pod "web"']
    (await scene.post(EVICTIONREQUESTS, other)).refused(422, "Invalid", field_errors=said)


@without("kubectl", because="kubectl refuses a conflicting namespace by itself")
async def test_the_pod_of_another_namespace_is_unknown(scene: Scene) -> None:
    elsewhere = await a_pod(scene)
    answer = await scene.arm.call(
        "POST", EVICTIONREQUESTS.collection_path("default"), body=request(elsewhere)
    )
    answer.refused(422, "Invalid", field_errors=['spec.target.podRef.name: Not found: "web"'])
    here = request(elsewhere)
    here["metadata"]["namespace"] = "default"
    said = "the namespace of the provided object does not match the namespace sent on the request"
    (await scene.post(EVICTIONREQUESTS, here)).refused(400, "BadRequest", said)


async def test_openapi(scene: Scene) -> None:
    index = (await scene.arm.call("GET", "/openapi/v3")).ok()
    where = index["paths"][f"apis/{GROUP}/v1alpha1"]["serverRelativeURL"].partition("?")[0]
    document = (await scene.arm.call("GET", where)).ok()
    schema = document["components"]["schemas"]["io.k8s.coordination.evictionrequest.v1alpha1.EvictionRequest"]
    heartbeat = schema["properties"]["status"]["properties"]["heartbeatTime"]
    assert heartbeat["description"].startswith("When the active interceptor last reported progress.")
    forms = document["paths"][scene.at(EVICTIONREQUESTS, "{name}").replace(scene.namespace, "{namespace}")]
    assert sorted(forms["patch"]["requestBody"]["content"]) == [JSON_PATCH, MERGE_PATCH]
    assert (await scene.arm.call("GET", "/openapi/v2")).ok()["swagger"] == "2.0"


UNKNOWN = (
    'EvictionRequest in version "v1alpha1" cannot be handled as a EvictionRequest: strict decoding error: '
    'unknown field "metadata.colour", unknown field "spec.requesters[0].x", unknown field "spec.y"'
)


async def test_unknown_fields_are_refused_on_demand(scene: Scene) -> None:
    wanted = request(await a_pod(scene), requesters=[{"name": "a.b", "x": 1}], y=2)
    wanted["metadata"]["colour"] = "red"
    answer = await scene.post(EVICTIONREQUESTS, wanted, query={"fieldValidation": "Strict"})
    answer.refused(400, "BadRequest", UNKNOWN)
    answer = await scene.post(EVICTIONREQUESTS, wanted, query={"fieldValidation": "Warn"})
    answer.ok(201)
    if answer.headers is not None:
        told = answer.header("Warning") or ""
        assert told.startswith('299 - "unknown field \\"metadata.colour\\"", 299 - ')
    name = wanted["metadata"]["name"]
    answer = await scene.put(EVICTIONREQUESTS, {**answer.obj, "z": 1}, query={"fieldValidation": "Ignore"})
    assert not answer.header("Warning")
    if scene.arm.name != "kubectl":  # which has no options for patches
        strict = {"fieldValidation": "Strict"}
        answer = await scene.patch(EVICTIONREQUESTS, name, {"spec": {"y": 1}}, query=strict)
        answer.refused(422, "Invalid")
        assert answer.field_errors[0].endswith('strict decoding error: unknown field "spec.y"')
        (await scene.patch(EVICTIONREQUESTS, name, {"spec": {"y": None}}, query=strict)).ok()


_UNRECOGNIZED = "the object provided is unrecognized (must be of type EvictionRequest)"
_HANDLED = 'EvictionRequest in version "v1alpha1" cannot be handled as a EvictionRequest'
_METADATA = "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"
_VERSIONS = "the API version in the data (v1) does not match the expected API version"
IDENTITIES: dict[str, tuple[Obj, int, str, str]] = {
    "version": ({"apiVersion": "v1"}, 400, "BadRequest", f"{_VERSIONS} ({GROUP}/v1alpha1)"),
    "kind": ({"kind": "Leave"}, 422, "Invalid", f'Leave.{GROUP} "u" is invalid: kind: Invalid value'),
    "no-kind": ({"kind": None}, 400, "BadRequest", f"{_UNRECOGNIZED}: Object 'Kind' is missing in"),
    "metadata": ({"metadata": {"name": 5}}, 400, "BadRequest", f"{_HANDLED}: {_METADATA}"),
}


@pytest.mark.parametrize("case", IDENTITIES)
async def test_it_must_say_what_it_is(scene: Scene, case: str) -> None:
    changes, code, reason, message = IDENTITIES[case]
    identity = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "EvictionRequest", "metadata": {"name": "u"}}
    body = {key: value for key, value in {**identity, **changes}.items() if value is not None}
    (await scene.ask("POST", EVICTIONREQUESTS, body=body)).refused(code, reason, starting=message)


@without("kubectl", because="kubectl sends JSON")
async def test_no_protobuf(scene: Scene) -> None:
    form = "application/vnd.kubernetes.protobuf"
    answer = await scene.ask("POST", EVICTIONREQUESTS, body=b"k8s\x00", content_type=form)
    answer.refused(415, "UnsupportedMediaType", starting="the body of the request was in an unknown format")
