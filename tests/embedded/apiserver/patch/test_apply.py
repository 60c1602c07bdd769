from __future__ import annotations

import copy
import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, NODES, PODS
from vacate.api.objects import Obj
from vacate.embedded.apiserver.patch import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, apply_patch
from vacate.errors import ApiError, BadRequest, Invalid, UnsupportedMedia

pytestmark = pytest.mark.unit

NODE: Obj = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"a": "b"}}, "spec": {}}
DEPLOYMENT: Obj = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default", "annotations": {"x": "y"}},
    "spec": {
        "replicas": 2,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [
                    {"name": "web", "image": "web:1", "env": [{"name": "A", "value": "1"}],
                     "ports": [{"containerPort": 80, "protocol": "TCP"}]},
                    {"name": "side", "image": "side:1"},
                ],
                "tolerations": [{"key": "k", "operator": "Exists"}],
            },
        },
    },
}  # fmt: skip


def strategic(kind: Any, original: Obj, patch: Obj) -> Obj:
    before = copy.deepcopy(original)
    result = apply_patch(STRATEGIC_MERGE_PATCH, kind, original, orjson.dumps(patch))
    assert original == before
    return result


def containers_of(deployment: Obj) -> list[Obj]:
    found: list[Obj] = deployment["spec"]["template"]["spec"]["containers"]
    return found


def test_kubectl_label_and_annotate() -> None:
    patch = {"metadata": {"labels": {"c": "d", "a": None}, "annotations": {"e": "f"}}}
    expected = {**NODE, "metadata": {"name": "n1", "labels": {"c": "d"}, "annotations": {"e": "f"}}}
    assert strategic(NODES, NODE, patch) == expected
    assert apply_patch(MERGE_PATCH, NODES, NODE, orjson.dumps(patch)) == expected


def test_kubectl_cordon_and_uncordon() -> None:
    cordoned = strategic(NODES, NODE, {"spec": {"unschedulable": True}})
    assert cordoned["spec"] == {"unschedulable": True}
    assert strategic(NODES, cordoned, {"spec": {"unschedulable": None}}) == NODE


def test_kubectl_set_image() -> None:
    order = [{"name": "web"}, {"name": "side"}]
    change = {"$setElementOrder/containers": order, "containers": [{"name": "web", "image": "web:2"}]}
    result = strategic(DEPLOYMENTS, DEPLOYMENT, {"spec": {"template": {"spec": change}}})
    assert [one["image"] for one in containers_of(result)] == ["web:2", "side:1"]
    assert containers_of(result)[0]["env"] == [{"name": "A", "value": "1"}]


def test_kubectl_rollout_restart() -> None:
    stamp = {"kubectl.kubernetes.io/restartedAt": "2024-01-01T00:00:00Z"}
    patch = {"spec": {"template": {"metadata": {"annotations": stamp}}}}
    assert strategic(DEPLOYMENTS, DEPLOYMENT, patch)["spec"]["template"]["metadata"] == {
        "labels": {"app": "web"},
        "annotations": stamp,
    }


def test_kubectl_rollout_undo() -> None:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "old", "image": "o"}]},
    }
    patch = [
        {"op": "replace", "path": "/spec/template", "value": template},
        {
            "op": "replace",
            "path": "/metadata/annotations",
            "value": {"deployment.kubernetes.io/revision": "1"},
        },
    ]
    result = apply_patch(JSON_PATCH, DEPLOYMENTS, DEPLOYMENT, orjson.dumps(patch))
    assert result["spec"]["template"] == template
    assert result["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}


def test_kubectl_apply_three_ways() -> None:
    order = [{"name": "new"}, {"name": "web"}]
    web = {
        "name": "web",
        "$setElementOrder/env": [{"name": "B"}],
        "env": [{"name": "B", "value": "2"}, {"name": "A", "$patch": "delete"}],
        "$setElementOrder/ports": [{"containerPort": 81}],
        "ports": [{"containerPort": 81}, {"containerPort": 80, "$patch": "delete"}],
    }
    pod = {
        "$setElementOrder/containers": order,
        "containers": [{"name": "new", "image": "n"}, web, {"name": "side", "$patch": "delete"}],
        "tolerations": [{"key": "other", "operator": "Exists"}],
    }
    patch = {
        "spec": {
            "replicas": None,
            "strategy": {"$retainKeys": ["type"], "type": "Recreate"},
            "template": {"spec": pod},
        }
    }
    result = strategic(DEPLOYMENTS, DEPLOYMENT, patch)
    assert result["spec"]["strategy"] == {"type": "Recreate"}
    assert "replicas" not in result["spec"]
    assert containers_of(result) == [
        {"name": "new", "image": "n"},
        {
            "name": "web",
            "image": "web:1",
            "env": [{"name": "B", "value": "2"}],
            "ports": [{"containerPort": 81}],
        },
    ]
    assert result["spec"]["template"]["spec"]["tolerations"] == [{"key": "other", "operator": "Exists"}]


def test_conditions_of_others_survive() -> None:
    conditions = [{"type": "Ready", "status": "True"}, {"type": "X", "status": "True"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "status": {"conditions": conditions}}
    patch = {"status": {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}}
    found = strategic(PODS, pod, patch)["status"]["conditions"]
    assert [one["type"] for one in found] == ["DisruptionTarget", "Ready", "X"]


def test_results_are_normal_and_without_unknown_fields() -> None:
    patch = {"spec": {"newer": {"field": 1}}, "status": {"capacity": {"cpu": 4}}, "metadata": {"labels": {}}}
    result = strategic(NODES, {**NODE, "metadata": {"name": "n1"}}, patch)
    assert result["spec"] == {}
    assert result["status"] == {"capacity": {"cpu": "4"}}
    assert result["metadata"] == {"name": "n1"}


def test_a_strategic_patch_cannot_change_what_an_object_is() -> None:
    result = strategic(NODES, NODE, {"kind": "Pod", "apiVersion": None})
    assert (result["apiVersion"], result["kind"]) == ("v1", "Node")


@pytest.mark.parametrize("media", ["application/apply-patch+yaml", "application/json", ""])
def test_other_media_types_are_refused(media: str) -> None:
    with pytest.raises(UnsupportedMedia) as refused:
        apply_patch(media, NODES, NODE, b"{}")
    assert refused.value.message == "415: Unsupported Media Type"


def test_parameters_of_the_media_type_are_ignored() -> None:
    assert apply_patch(f"{MERGE_PATCH}; charset=utf-8", NODES, NODE, b"{}") == NODE


DEEP = b'{"a":' * 1000 + b"1" + b"}" * 1000
DEEPEST = b"[" * 100_000
NO_OBJECT = "expected an object, got a list"
BAD: list[tuple[str, bytes, str]] = [
    (JSON_PATCH, b"", "invalid JSON patch"),
    (JSON_PATCH, b"{", "invalid JSON patch"),
    (MERGE_PATCH, b'{"a":1}}', "invalid JSON patch"),
    (MERGE_PATCH, b"\xff", "invalid JSON patch"),
    (MERGE_PATCH, b"null", "Invalid JSON Patch"),
    (MERGE_PATCH, b"[]", f"error decoding patch: {NO_OBJECT}"),
    (STRATEGIC_MERGE_PATCH, b"[]", NO_OBJECT),
    (MERGE_PATCH, DEEPEST, "invalid JSON patch"),
    (MERGE_PATCH, DEEP, "exceeded max depth"),
    (STRATEGIC_MERGE_PATCH, DEEP, "exceeded max depth"),
    (JSON_PATCH, b'[{"op":"add","path":"/x","value":' + DEEP + b"}]", "exceeded max depth"),
]


@pytest.mark.parametrize(("media", "patch", "why"), BAD)
def test_what_is_no_patch_is_a_bad_request(media: str, patch: bytes, why: str) -> None:
    with pytest.raises(BadRequest) as refused:
        apply_patch(media, NODES, NODE, patch)
    assert refused.value.message == why


def test_nesting_cannot_be_built_up_by_steps() -> None:
    step: Any = {}
    for _ in range(200):
        step = {"a": step}
    operations = [{"op": "add", "path": "/spec" + "/a" * (199 * n), "value": step} for n in range(1, 5)]
    patch = orjson.dumps([{"op": "add", "path": "/spec", "value": step}, *operations])
    with pytest.raises(BadRequest, match="exceeded max depth"):
        apply_patch(JSON_PATCH, NODES, NODE, patch)


def test_a_patch_of_nothing_changes_nothing() -> None:
    assert apply_patch(STRATEGIC_MERGE_PATCH, NODES, NODE, b"null") == NODE
    assert apply_patch(JSON_PATCH, NODES, NODE, b"null") == NODE


def test_outcomes_of_wrong_types_are_invalid() -> None:
    small = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    field_error = "data[a]: expected a string, got 1"
    shown = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":1}}'
    with pytest.raises(Invalid) as refused:
        apply_patch(MERGE_PATCH, CONFIGMAPS, small, b'{"data":{"a":1}}')
    quoted = orjson.dumps(shown).decode()
    assert refused.value.message == f' "" is invalid: patch: Invalid value: {quoted}: {field_error}'
    assert refused.value.details == {
        "causes": [
            {
                "reason": "FieldValueInvalid",
                "message": f"Invalid value: {quoted}: {field_error}",
                "field": "patch",
            }
        ]
    }
    with pytest.raises(Invalid) as refused:
        apply_patch(STRATEGIC_MERGE_PATCH, CONFIGMAPS, small, b'{"data":{"a":1}}')
    quoted = orjson.dumps('{"data":{"a":1}}').decode()
    assert refused.value.message == f' "" is invalid: patch: Invalid value: {quoted}: {field_error}'


IDENTITY = {
    '{"kind":"Pod"}': "expected the kind Node of v1",
    '{"kind":"Cat"}': 'no kind "Cat" is registered for version "v1"',
    '{"kind":5}': "kind: expected a string, got 5",
}


@pytest.mark.parametrize(("patch", "why"), IDENTITY.items())
def test_outcomes_of_another_kind_are_invalid(patch: str, why: str) -> None:
    with pytest.raises(Invalid) as refused:
        apply_patch(MERGE_PATCH, NODES, NODE, patch.encode())
    assert why in refused.value.message


def test_a_document_without_a_kind_is_of_the_kind_that_it_was() -> None:
    result = apply_patch(MERGE_PATCH, NODES, NODE, b'{"kind":null}')
    assert (result["kind"], result["metadata"]["name"]) == ("Node", NODE["metadata"]["name"])


def test_of_a_document_without_a_version_nothing_is_seen() -> None:
    result = apply_patch(MERGE_PATCH, NODES, NODE, b'{"apiVersion":""}')
    assert result == {"kind": "Node", "apiVersion": "v1", "metadata": {}}


def test_a_document_that_is_no_object_any_more_is_invalid() -> None:
    with pytest.raises(Invalid, match="expected an object, got a list"):
        apply_patch(JSON_PATCH, NODES, NODE, b'[{"op":"replace","path":"","value":[]}]')


MEDIA = st.sampled_from([JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH])
KEYS = st.sampled_from(["metadata", "labels", "spec", "taints", "kind", "status", "conditions", "op", "path"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


@given(
    MEDIA,
    JSON.map(lambda value: json.dumps(value).encode()) | st.binary(),
)
def test_any_bytes_are_applied_or_refused_and_the_original_stays(media: str, patch: bytes) -> None:
    original = copy.deepcopy(NODE)
    try:
        result = apply_patch(media, NODES, original, patch)
    except ApiError:
        result = None
    assert original == NODE
    assert result is None or result["kind"] == "Node"
