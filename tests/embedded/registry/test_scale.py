"""Deployments and ReplicaSets through their scale."""

from __future__ import annotations

import pytest

from embedded.registry.given import stored
from vacate.api.kinds import DEPLOYMENTS
from vacate.embedded.registry.apps.scale import apply_scale, scale_errors, scale_of

pytestmark = pytest.mark.unit


def test_a_scale_shows_replicas_and_selector() -> None:
    assert scale_of(stored(DEPLOYMENTS, {"spec.replicas": 3})) == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "u-1",
            "resourceVersion": "7",
            "creationTimestamp": "2026-08-20T11:00:00Z",
        },
        "spec": {"replicas": 3},
        "status": {"replicas": 0, "selector": "app=web"},
    }


def test_zero_replicas_are_not_written_out() -> None:
    assert scale_of(stored(DEPLOYMENTS, {"spec.replicas": 0}))["spec"] == {}


def test_scaling_changes_replicas_alone() -> None:
    deployment = stored(DEPLOYMENTS)
    scale = scale_of(deployment)
    scale["spec"] = {"replicas": 5}
    scale["metadata"]["resourceVersion"] = "6"
    assert scale_errors(scale) == []
    apply_scale(deployment, scale)
    assert deployment["spec"]["replicas"] == 5
    assert deployment["metadata"]["resourceVersion"] == "6"
    assert deployment["spec"] == stored(DEPLOYMENTS, {"spec.replicas": 5})["spec"]


def test_a_scale_has_the_metadata_of_an_object() -> None:
    scale = scale_of(stored(DEPLOYMENTS))
    scale["metadata"]["namespace"] = "a.b"
    expected = 'metadata.namespace: Invalid value: "a.b": must not contain dots'
    assert [str(field_error) for field_error in scale_errors(scale)] == [expected]
