"""Whole floats of a merged object become integers where fields want them, and nothing else changes."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, PODDISRUPTIONBUDGETS, PODS, Kind
from vacate.api.objects import Obj
from vacate.embedded.schema.wholenumbers import make_whole

pytestmark = pytest.mark.unit


def spec(**fields: Any) -> Obj:
    return {"spec": fields}


@pytest.mark.parametrize(
    ("kind", "given", "taken"),
    [
        (DEPLOYMENTS, spec(replicas=3.0), spec(replicas=3)),
        (PODDISRUPTIONBUDGETS, spec(minAvailable=2.0), spec(minAvailable=2)),
        (PODS, spec(containers=[{"ports": [{"containerPort": 80.0}]}]),
         spec(containers=[{"ports": [{"containerPort": 80}]}])),
    ],
)  # fmt: skip
def test_made_whole(kind: Kind, given: Obj, taken: Obj) -> None:
    make_whole(kind, given)
    assert repr(given) == repr(taken)


@pytest.mark.parametrize(
    ("kind", "obj"),
    [
        (PODS, spec(hostname=None, unknown=[5.0])),
        (PODS, spec(hostname=5.0, containers={"a": 1.0}, nodeSelector=[1.0], priority=1.5)),
        (PODS, spec(activeDeadlineSeconds=1e30)),
        (PODS, {"spec": 5.0}),
        (CONFIGMAPS, {"data": {"a": 1.0}}),
    ],
)
def test_left_as_it_is(kind: Kind, obj: Obj) -> None:
    before = copy.deepcopy(obj)
    make_whole(kind, obj)
    assert repr(obj) == repr(before)
