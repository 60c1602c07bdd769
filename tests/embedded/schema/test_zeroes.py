"""Zeroes that Go's types leave out are left out; those that mean something stay."""

from __future__ import annotations

from typing import Any

import pytest

from vacate.api.kinds import DEPLOYMENTS, NODES, PODS, Kind
from vacate.embedded import schema

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        (NODES, {"spec": {"unschedulable": False, "podCIDR": ""}}, {"spec": {}}),
        (NODES, {"spec": {"unschedulable": True}}, {"spec": {"unschedulable": True}}),
        (DEPLOYMENTS, {"spec": {"replicas": 0, "minReadySeconds": 0}}, {"spec": {"replicas": 0}}),
        (DEPLOYMENTS, {"status": {"readyReplicas": 0, "replicas": 2}}, {"status": {"replicas": 2}}),
        (PODS, {"spec": {"hostNetwork": False, "hostUsers": False}}, {"spec": {"hostUsers": False}}),
        (
            PODS,
            {"spec": {"terminationGracePeriodSeconds": 0}},
            {"spec": {"terminationGracePeriodSeconds": 0}},
        ),
        (
            PODS,
            {"spec": {"containers": [{"name": "", "stdin": False, "livenessProbe": {"periodSeconds": 0}}]}},
            {"spec": {"containers": [{"name": "", "livenessProbe": {}}]}},
        ),
        (PODS, {"metadata": {"generateName": "", "labels": {"a": ""}}}, {"metadata": {"labels": {"a": ""}}}),
    ],
)
def test_zeroes(kind: Kind, given: dict[str, Any], kept: dict[str, Any]) -> None:
    assert schema.decode(kind, given) == kept


def test_a_wrong_type_is_still_wrong() -> None:
    assert schema.settle(NODES, {"spec": {"unschedulable": 0}})
    assert schema.settle(DEPLOYMENTS, {"spec": {"minReadySeconds": False}})
