"""Why a pod is deleted, where no field says so: concluded from who deletes it and from its owners."""

from __future__ import annotations

from typing import Any

import pytest

from vacate.admission.pods.terminationcause import NODES_GROUP, PodDeletion, reason_change
from vacate.api.identity import INSTALLED_CONTROLLER, User
from vacate.api.kinds import DAEMONSETS, DEPLOYMENTS, REPLICASETS, STATEFULSETS, Kind
from vacate.api.objects import Obj
from vacate.api.terminationreason import ANNOTATION, SOURCE_ANNOTATION

pytestmark = pytest.mark.unit

SYSTEM = "system:serviceaccount:kube-system:"
REPLICASET_CONTROLLER = f"{SYSTEM}replicaset-controller"
LEFT_OVER = {ANNOTATION: "Eviction", SOURCE_ANNOTATION: "webhook"}
REVISION = "deployment.kubernetes.io/revision"


def reference(kind: Kind, name: str, uid: str) -> list[Obj]:
    return [{"apiVersion": kind.api_version, "kind": kind.kind, "name": name, "uid": uid, "controller": True}]


def workload(*, revision: int = 2, newest: int = 2, replicas: int = 2, wanted: int = 2) -> dict[str, Obj]:
    meta = {"uid": "rs", "annotations": {REVISION: str(revision)}}
    return {
        "web-1": {
            "metadata": {**meta, "ownerReferences": reference(DEPLOYMENTS, "web", "d")},
            "spec": {"replicas": replicas},
        },
        "web": {
            "metadata": {"uid": "d", "annotations": {REVISION: str(newest)}},
            "spec": {"replicas": wanted},
        },
    }


def change(
    user: str = "alice",
    *,
    eviction: bool = False,
    objects: dict[str, Obj] | None = None,
    annotations: Obj | None = None,
    **deletion: Any,
) -> dict[str, str | None]:
    groups = deletion.pop("groups", ())
    meta: Obj = {"name": "web-1-x", "namespace": "d", "uid": "p", **deletion.pop("meta", {})}
    meta["ownerReferences"] = reference(REPLICASETS, "web-1", "rs")
    pod = {"metadata": {**meta, "annotations": annotations or {}}}
    found = workload() if objects is None else objects
    asked = PodDeletion(User(user, groups), eviction, **deletion)
    return reason_change(asked, pod, lambda _kind, _namespace, name: found.get(name))


@pytest.mark.parametrize(
    ("user", "objects", "reason"),
    [
        (REPLICASET_CONTROLLER, workload(), "Decommissioned"),
        (REPLICASET_CONTROLLER, workload(replicas=0, wanted=0), "Decommissioned"),
        (REPLICASET_CONTROLLER, workload(revision=1), "Update"),
        (REPLICASET_CONTROLLER, workload(replicas=0), "Update"),  # Recreate, before the next is made
        (REPLICASET_CONTROLLER, {}, None),  # its owners are gone: it is collected
        (f"{SYSTEM}taint-eviction-controller", {}, "IntolerableTaint"),
        ("system:serviceaccount:vacate-shutdown-agent:vacate-shutdown-agent", {}, "Eviction"),
        (INSTALLED_CONTROLLER, {}, "Eviction"),  # past a budget, or at the deadline of a maintenance
        ("vacate-shutdown-agent", {}, None),  # a user of that name, and no account
        ("system:serviceaccount:shop:vacate-shutdown-agent", {}, None),  # a tenant's
        (f"{SYSTEM}generic-garbage-collector", workload(), None),
        ("alice", workload(), None),
    ],
)
def test_the_reason_by_who_deletes(user: str, objects: dict[str, Obj], reason: str | None) -> None:
    assert change(user, objects=objects).get(ANNOTATION) == reason


@pytest.mark.parametrize(
    ("name", "label", "reason"),
    [
        ("db-2", "new", "Decommissioned"),
        ("db-1", "old", "Update"),
        ("db-1", "new", None),  # it has failed, and is made again
        ("db-x", "old", None),
    ],
)
def test_the_reason_of_a_stateful_set(name: str, label: str, reason: str | None) -> None:
    db = {"metadata": {"uid": "s"}, "spec": {"replicas": 2}, "status": {"updateRevision": "new"}}
    meta = {"labels": {"controller-revision-hash": label}, "name": name, "uid": "p", "namespace": "d"}
    pod = {"metadata": {**meta, "ownerReferences": reference(STATEFULSETS, "db", "s")}}
    asked = PodDeletion(User(f"{SYSTEM}statefulset-controller"), eviction=False)
    assert reason_change(asked, pod, lambda *_: db).get(ANNOTATION) == reason


@pytest.mark.parametrize(("label", "reason"), [("1", "Update"), ("2", None)])
def test_the_reason_of_a_daemon_set(label: str, reason: str | None) -> None:
    agent = {"metadata": {"uid": "s", "annotations": {"deprecated.daemonset.template.generation": "2"}}}
    meta = {"labels": {"pod-template-generation": label}, "name": "agent-x", "uid": "p", "namespace": "d"}
    pod = {"metadata": {**meta, "ownerReferences": reference(DAEMONSETS, "agent", "s")}}
    asked = PodDeletion(User(f"{SYSTEM}daemon-set-controller"), eviction=False)
    assert reason_change(asked, pod, lambda *_: agent).get(ANNOTATION) == reason


def test_another_owner_of_the_same_name_gives_no_cause() -> None:
    objects = workload(revision=1)
    objects["web"]["metadata"]["uid"] = "another"
    assert change(REPLICASET_CONTROLLER, objects=objects) == {}


@pytest.mark.parametrize(
    "deletion",
    [
        {"dry_run": True},
        {"options": {"dryRun": ["All"]}},
        {"groups": (NODES_GROUP,)},
        {"options": {"gracePeriodSeconds": 0}},
        {"options": {"preconditions": {"resourceVersion": "7"}}},
        {"options": {"preconditions": {"uid": "another"}}},
        {"meta": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"annotations": {ANNOTATION: "resolve issue 354961"}},
    ],
)
def test_what_is_left_alone(deletion: Obj) -> None:
    assert change(eviction=True) == LEFT_OVER
    assert change(eviction=True, **deletion) == {}


def test_a_conclusion_of_before_is_replaced_and_not_written_twice() -> None:
    assert change(eviction=True, annotations=LEFT_OVER) == {}
    assert change(annotations=LEFT_OVER) == {ANNOTATION: None, SOURCE_ANNOTATION: None}
    again = change(REPLICASET_CONTROLLER, annotations=LEFT_OVER)
    assert again == {ANNOTATION: "Decommissioned", SOURCE_ANNOTATION: "webhook"}


@pytest.mark.parametrize("bad", [{"metadata": {"ownerReferences": "x"}}, {"metadata": 7}, {}])
def test_malformed_objects_have_no_reason(bad: Obj) -> None:
    asked = PodDeletion(User(REPLICASET_CONTROLLER), eviction=False, options={"preconditions": []})
    assert reason_change(asked, bad, lambda *_: None) == {}
    assert change(REPLICASET_CONTROLLER, objects={"web-1": bad, "web": bad}) == {}
