"""The OpenAPI documents: one for each group and version, with every kind of it."""

from __future__ import annotations

import json

import pytest

from vacate.api.kinds import DESCHEDULINGPOLICIES, FENCINGPOLICIES, NODEMAINTENANCES, PODS, Kind
from vacate.api.objects import Obj
from vacate.embedded.apiserver import openapi
from vacate.wire.message import Request

pytestmark = pytest.mark.unit


def answered(path: str, kinds: tuple[Kind, ...]) -> Obj:
    found = openapi.answer(Request("GET", path), kinds)
    assert found is not None
    assert isinstance(found.body, bytes)
    return dict(json.loads(found.body))


def test_kinds_of_one_group_share_a_document() -> None:
    kinds = (PODS, NODEMAINTENANCES, DESCHEDULINGPOLICIES, FENCINGPOLICIES)
    assert list(answered("/openapi/v3", kinds)["paths"]) == ["apis/vacate.dev/v1alpha1"]
    document = answered("/openapi/v3/apis/vacate.dev/v1alpha1", kinds)
    for kind in kinds[1:]:
        assert f"dev.vacate.v1alpha1.{kind.kind}" in document["components"]["schemas"]
        assert f"/apis/vacate.dev/v1alpha1/{kind.plural}/{{name}}/status" in document["paths"]
