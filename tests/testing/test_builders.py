"""Builders give plausible objects, and refuse those that could never exist."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vacate.api.objects import Obj
from vacate.testing import InconsistentObject, deployment, namespace, node, pdb, pod, replicaset

pytestmark = pytest.mark.unit


def test_the_defaults_are_possible() -> None:
    for obj in (pod(), node(), deployment(), replicaset(), pdb(min_available=1), namespace("x")):
        assert obj["metadata"]["name"]


def test_overrides_are_merged_deeply_and_none_takes_away() -> None:
    made = pod(
        "a", labels={"x": "1"}, spec={"priority": 5}, metadata={"labels": {"y": "2"}, "namespace": None}
    )
    assert made["spec"]["priority"] == 5
    assert made["spec"]["containers"]
    assert made["metadata"]["labels"] == {"x": "1", "y": "2"}
    assert "namespace" not in made["metadata"]


def test_an_owned_pod_names_its_owner() -> None:
    ref = pod("a", owner=replicaset("rs"))["metadata"]["ownerReferences"][0]
    assert (ref["kind"], ref["name"], ref["controller"]) == ("ReplicaSet", "rs", True)


READY = [{"type": "Ready", "status": "True"}]
RUNNING = [{"name": "main", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]
TWINS = [{"name": "x"}, {"name": "x"}]
OTHER = {"matchLabels": {"app": "other"}}


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda: pod("a", ready=True), "it runs and has no node"),
        (lambda: pod("a", phase="Pending", status={"conditions": READY}), "it is ready in phase Pending"),
        (lambda: pod("a", node="n", phase="Dancing"), "there is no phase 'Dancing'"),
        (lambda: pod(""), "it has no name"),
        (lambda: pod("a", spec={"containers": []}), "it has no containers"),
        (lambda: pod("a", spec={"containers": TWINS}), "two containers have one name"),
        (lambda: pod("a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), "was never stored"),
        (lambda: pod("a", metadata={"deletionGracePeriodSeconds": 3}), "is not being deleted"),
        (
            lambda: pod("a", phase="Failed", status={"containerStatuses": RUNNING}),
            "a container runs in phase",
        ),
        (lambda: pdb(min_available=1, max_unavailable=1), "both minAvailable and maxUnavailable"),
        (lambda: deployment(spec={"selector": OTHER}), "does not match its template"),
        (lambda: deployment(replicas=-1), "fewer than no replicas"),
        (lambda: node(status={"allocatable": {"gpu": "1"}}), "no capacity of"),
    ],
)
def test_the_impossible_is_refused(build: Callable[[], Obj], why: str) -> None:
    with pytest.raises(InconsistentObject, match=why):
        build()
