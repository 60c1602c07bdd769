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

CPU = "spec.containers[0].resources.requests[cpu]: expected a quantity"
CREATED = "metadata.creationTimestamp: expected a time"
NO_TIMES = (
    "yesterday", "2024-01-01", "2024-01-01T00:00:00", "2024-13-01T00:00:00Z", "2024-02-31T00:00:00Z",
    "2024-01-01T00:00:00Zx", "2024-01-01T1:00:00Z",
)  # fmt: skip


def container(**fields: Any) -> Obj:
    return {"spec": {"containers": [{"name": "c", **fields}]}}


def requests(**requested: Any) -> Obj:
    return container(resources={"requests": requested})


def made(when: Any) -> Obj:
    return {"metadata": {"creationTimestamp": when}}


WRONG: list[tuple[Any, Obj, str]] = [
    (PODS, {"spec": {"hostNetwork": "x"}}, "spec.hostNetwork: expected a boolean, got a string"),
    (PODS, {"spec": []}, "spec: expected an object, got a list"),
    (PODS, {"spec": {"containers": {}}}, "spec.containers: expected a list, got an object"),
    (PODS, {"spec": {"containers": ["a"]}}, "spec.containers[0]: expected an object, got a string"),
    (PODS, container(image=5), "spec.containers[0].image: expected a string, got 5"),
    (PODS, container(image=True), "spec.containers[0].image: expected a string, got a boolean"),
    (PODS, container(command=["a", 1]), "spec.containers[0].command[1]: expected a string, got 1"),
    (PODS, container(env=[{"name": "A", "value": 5}]),
     "spec.containers[0].env[0].value: expected a string, got 5"),
    (PODS, {"metadata": {"labels": {"a": 1}}}, "metadata.labels[a]: expected a string, got 1"),
    (PODS, {"metadata": {"labels": "a"}}, "metadata.labels: expected an object, got a string"),
    (DEPLOYMENTS, {"spec": {"replicas": "3"}}, "spec.replicas: expected a 32-bit integer, got a string"),
    (DEPLOYMENTS, {"spec": {"replicas": 1.5}}, "spec.replicas: expected a 32-bit integer, got 1.5"),
    (DEPLOYMENTS, {"spec": {"replicas": 2**31}}, "spec.replicas: expected a 32-bit integer, got 2147483648"),
    (DEPLOYMENTS, {"spec": {"replicas": True}}, "spec.replicas: expected a 32-bit integer, got a boolean"),
    (PODDISRUPTIONBUDGETS, {"spec": {"minAvailable": 1.5}},
     "spec.minAvailable: expected a 32-bit integer or a string, got 1.5"),
    (PODDISRUPTIONBUDGETS, {"spec": {"minAvailable": {}}},
     "spec.minAvailable: expected a 32-bit integer or a string, got an object"),
    *((PODS, requests(cpu=value), f"{CPU}, got {shown}")
      for value, shown in (("1x", '"1x"'), ("", '""'), ([], "a list"), (True, "a boolean"), ("1K", '"1K"'))),
    *((PODS, made(when), f"{CREATED}, got {shown}")
      for when, shown in (*((text, f'"{text}"') for text in NO_TIMES), (5, "5"))),
    (LEASES, {"spec": {"renewTime": "2024-01-01T00:00:00Z"}},
     'spec.renewTime: expected a time with six digits after the point, got "2024-01-01T00:00:00Z"'),
    (CONFIGMAPS, {"binaryData": {"a": "%"}},
     "binaryData[a]: expected a base64-encoded string, got a string"),
    (ROLES, {"rules": "x"}, "rules: expected a list, got a string"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "field_error"), WRONG)
def test_refuses_with_the_field_and_what_it_expects(kind: Any, obj: Obj, field_error: str) -> None:
    assert schema.settle(kind, obj) == [field_error]
    refusal = f'{kind.kind} in version "v1" cannot be handled as a {kind.kind}: {field_error}'
    with pytest.raises(BadRequest) as refused:
        schema.decode(kind, obj)
    assert refused.value.message == refusal


def test_an_object_must_be_an_object() -> None:
    wrong: Any = []
    assert schema.settle(PODS, wrong) == ["expected an object, got a list"]


def test_bodies_without_a_kind_of_their_own() -> None:
    obj = {"spec": {"replicas": "3"}}
    field_error = "spec.replicas: expected a 32-bit integer, got a string"
    assert schema.settle(("autoscaling/v1", "Scale"), obj) == [field_error]
    with pytest.raises(
        BadRequest, match=f'^Scale in version "v1" cannot be handled as a Scale: {field_error}'
    ):
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


@pytest.mark.thorough
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
