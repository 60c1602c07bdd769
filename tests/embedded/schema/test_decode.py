from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, LEASES, NODES, PODDISRUPTIONBUDGETS, PODS, ROLES
from vacate.api.objects import Obj
from vacate.embedded import schema
from vacate.errors import BadRequest

pytestmark = pytest.mark.unit

FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"
QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
MICRO_TIME = (
    'parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"'
)
TIME = 'parsing time "{}" as "2006-01-02T15:04:05Z07:00": cannot parse "{}" as "{}"'


def container(**fields: Any) -> Obj:
    return {"spec": {"containers": [{"name": "c", **fields}]}}


def requests(**requested: Any) -> Obj:
    return container(resources={"requests": requested})


def made(when: Any) -> Obj:
    return {"metadata": {"creationTimestamp": when}}


WRONG: list[tuple[Any, Obj, str]] = [
    (PODS, {"spec": {"hostNetwork": "x"}}, FIELD.format("string", "PodSpec.spec.hostNetwork", "bool")),
    (PODS, {"spec": []}, FIELD.format("array", "Pod.spec", "v1.PodSpec")),
    (PODS, {"spec": {"containers": {}}}, FIELD.format("object", "PodSpec.spec.containers", "[]v1.Container")),
    (PODS, {"spec": {"containers": ["a"]}},
     FIELD.format("string", "PodSpec.spec.containers", "v1.Container")),
    (PODS, container(image=5), FIELD.format("number", "Container.spec.containers.image", "string")),
    (PODS, container(image=True), FIELD.format("bool", "Container.spec.containers.image", "string")),
    (PODS, container(command=[1]), FIELD.format("number", "Container.spec.containers.command", "string")),
    (PODS, container(env=[{"name": "A", "value": 5}]),
     FIELD.format("number", "EnvVar.spec.containers.env.value", "string")),
    (PODS, {"metadata": {"labels": {"a": 1}}},
     FIELD.format("number", "ObjectMeta.metadata.labels", "string")),
    (PODS, {"metadata": {"labels": "a"}},
     FIELD.format("string", "ObjectMeta.metadata.labels", "map[string]string")),
    (DEPLOYMENTS, {"spec": {"replicas": "3"}},
     FIELD.format("string", "DeploymentSpec.spec.replicas", "int32")),
    (DEPLOYMENTS, {"spec": {"replicas": 1.5}},
     FIELD.format("number 1.5", "DeploymentSpec.spec.replicas", "int32")),
    (DEPLOYMENTS, {"spec": {"replicas": 2**31}},
     FIELD.format("number 2147483648", "DeploymentSpec.spec.replicas", "int32")),
    (DEPLOYMENTS, {"spec": {"replicas": True}},
     FIELD.format("bool", "DeploymentSpec.spec.replicas", "int32")),
    (PODDISRUPTIONBUDGETS, {"spec": {"minAvailable": 1.5}},
     FIELD.format("number 1.5", "PodDisruptionBudgetSpec.spec.minAvailable", "int32")),
    (PODDISRUPTIONBUDGETS, {"spec": {"minAvailable": {}}},
     FIELD.format("object", "PodDisruptionBudgetSpec.spec.minAvailable", "int32")),
    (PODS, requests(cpu="1x"), QUANTITY),
    (PODS, requests(cpu=""), QUANTITY),
    (PODS, requests(cpu=[]), QUANTITY),
    (PODS, requests(cpu=True), QUANTITY),
    (PODS, requests(cpu="1K"), "unable to parse quantity's suffix"),
    (PODS, made("yesterday"), TIME.format("yesterday", "yesterday", "2006")),
    (PODS, made("2024-01-01"), TIME.format("2024-01-01", "", "T")),
    (PODS, made("2024-01-01T00:00:00"), TIME.format("2024-01-01T00:00:00", "", "Z07:00")),
    (PODS, made("2024-13-01T00:00:00Z"), 'parsing time "2024-13-01T00:00:00Z": month out of range'),
    (PODS, made("2024-02-31T00:00:00Z"), 'parsing time "2024-02-31T00:00:00Z": day out of range'),
    (PODS, made("2024-01-01T00:00:00Zx"), 'parsing time "2024-01-01T00:00:00Zx": extra text: "x"'),
    (PODS, made(5), FIELD.format("number", "ObjectMeta.metadata.creationTimestamp", "string")),
    (LEASES, {"spec": {"renewTime": "2024-01-01T00:00:00Z"}},
     MICRO_TIME),
    (CONFIGMAPS, {"binaryData": {"a": "%"}}, "illegal base64 data at input byte 0"),
    (ROLES, {"rules": "x"}, FIELD.format("string", "Role.rules", "[]v1.PolicyRule")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "field_error"), WRONG)
def test_refuses_in_the_words_of_the_decoder(kind: Any, obj: Obj, field_error: str) -> None:
    assert schema.settle(kind, obj) == [field_error]
    refusal = f'{kind.kind} in version "v1" cannot be handled as a {kind.kind}: {field_error}'
    with pytest.raises(BadRequest) as refused:
        schema.decode(kind, obj)
    assert refused.value.message == refusal


def test_what_decodes_itself_is_reported_before_what_was_only_remembered() -> None:
    obj = {"metadata": {"labels": {"a": 1}}, **requests(cpu="1x")}
    assert schema.settle(PODS, obj) == [
        QUANTITY,
        FIELD.format("number", "ObjectMeta.metadata.labels", "string"),
    ]


def test_an_object_must_be_an_object() -> None:
    wrong: Any = []
    assert schema.settle(PODS, wrong) == ["json: cannot unmarshal array into Go value of type v1.Pod"]


def test_bodies_without_a_kind_of_their_own() -> None:
    obj = {"spec": {"replicas": "3"}}
    assert schema.settle(("autoscaling/v1", "Scale"), obj) == [
        FIELD.format("string", "ScaleSpec.spec.replicas", "int32")
    ]
    with pytest.raises(BadRequest, match=r'^Scale in version "v1" cannot be handled as a Scale: json: '):
        schema.decode(("autoscaling/v1", "Scale"), obj)
    assert schema.settle(("example.com/v1", "Thing"), obj) == []
    assert schema.decode(("example.com/v1", "Thing"), obj) is obj


NORMAL: list[tuple[Any, Obj, Obj]] = [
    (PODS, {"spec": None, "x": None}, {}),
    (PODS, {"metadata": {"labels": {"a": None}}}, {"metadata": {"labels": {"a": ""}}}),
    (PODS, {"spec": {"containers": [None], "volumes": None}}, {"spec": {"containers": [{}]}}),
    (PODS, container(command=["a", None], env=None), container(command=["a", ""])),
    (PODS, {"metadata": {"labels": {}, "finalizers": []}}, {"metadata": {}}),
    (PODS, {"spec": {"containers": [], "volumes": []}}, {"spec": {}}),
    (PODS, {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
     {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}),
    (PODS, requests(cpu=1, memory="1024Mi", a=0.5, b=" 2 ", c=None),
     requests(cpu="1", memory="1Gi", a="500m", b="2", c="0")),
    (PODS, made("2024-01-01T01:00:00.5+01:00"), made("2024-01-01T00:00:00Z")),
    (PODS, made("0001-01-01T00:00:00Z"), {"metadata": {}}),
    (PODS, made(None), {"metadata": {}}),
    (ROLES, {"rules": [], "metadata": {"labels": {}}}, {"metadata": {}}),
    (LEASES, {"spec": {"renewTime": "2024-01-01T01:00:00.000001+01:00"}},
     {"spec": {"renewTime": "2024-01-01T00:00:00.000001Z"}}),
    (NODES, {"status": {"capacity": {"cpu": "4000m"}}, "spec": {"unknown": {"deep": None}}},
     {"status": {"capacity": {"cpu": "4"}}, "spec": {}}),
    (PODDISRUPTIONBUDGETS, {"spec": {"minAvailable": "50%", "selector": {"matchLabels": {}}}},
     {"spec": {"minAvailable": "50%", "selector": {}}}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NORMAL)
def test_normalises_as_decoding_does(kind: Any, obj: Obj, expected: Obj) -> None:
    other = copy.deepcopy(obj)
    assert schema.settle(kind, obj) == []
    assert obj == expected == schema.decode(kind, other)
    assert schema.decode(kind, copy.deepcopy(expected)) == expected


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted(
    {name for struct in ("core.v1.Pod", "core.v1.PodSpec", "core.v1.Container", "meta.v1.ObjectMeta")
     for name in schema.table().structs[struct].fields}
)  # fmt: skip
PODLIKE = st.recursive(
    JSON,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(FIELDS), PODLIKE, max_size=5))
def test_anything_is_either_refused_or_becomes_normal(obj: Obj) -> None:
    field_errors = schema.settle(PODS, obj)
    assert all(field_errors)
    if field_errors:
        with pytest.raises(BadRequest):
            schema.decode(PODS, obj)
        return
    before = orjson.dumps(obj)
    assert orjson.dumps(schema.decode(PODS, obj)) == before
