"""The record of a request that takes over, on a pod whose status its node may write."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import SUPERSEDES
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.succession import HANDED_OVER, recorded_request

pytestmark = pytest.mark.unit
POD = {"name": "web", "namespace": "shop", "uid": "u1"}


def record(dialect: Dialect, target: Any = None, **metadata: Any) -> Obj:
    of = target if target is not None else {"name": POD["name"], "uid": POD["uid"]}
    spec = {"podRef": of} if dialect is EVACUATION else {"target": {"podRef": of}, "type": "Soft"}
    meta = {
        "name": dialect.request_name("web", "u1"),
        "namespace": "shop",
        "annotations": {SUPERSEDES: "old"},
        **metadata,
    }
    return {"metadata": meta, "spec": spec}


def read(dialect: Dialect, found: Any) -> Obj | None:
    condition = {"type": HANDED_OVER[dialect.kind], "status": "True", "message": json.dumps(found)}
    return recorded_request({"metadata": POD, "status": {"conditions": [condition]}}, dialect)


@pytest.mark.parametrize("dialect", [EVICTION_REQUEST, EVACUATION], ids=lambda one: one.kind.plural)
def test_what_a_node_could_write_is_no_record(dialect: Dialect) -> None:
    whole = record(dialect)
    assert read(dialect, whole) == whole
    for forged in (
        record(dialect, {"name": "other", "uid": "u2"}),
        record(dialect, {"name": "web", "uid": "u2"}),
        record(dialect, []),
        record(dialect, namespace="kube-system"),
        record(dialect, finalizers=["example.com/pin"]),
        record(dialect, annotations={}),
        record(dialect, annotations=7),
        {**whole, "spec": 7},
        [whole],
    ):
        assert read(dialect, forged) is None


def test_instigators_hold_an_evacuation() -> None:
    whole = record(EVACUATION, finalizers=["evacuation.coordination.k8s.io/instigator_anna.example.com"])
    assert read(EVACUATION, whole) == whole
