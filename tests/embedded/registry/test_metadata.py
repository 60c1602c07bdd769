"""Names by kind, carry-over and the order of errors."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from embedded.registry.given import STORED_KINDS, VALID, changed, context, errors_of, made, stepped, stored
from vacate.api import kinds
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.embedded.registry.strategies import strategy_for

pytestmark = pytest.mark.unit

_OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "", "uid": "u"}
# Custom resources lose what their schema does not know, so that they are asked elsewhere.
TYPED_KINDS = [kind for kind in STORED_KINDS if not kind.custom]
WITH_STATUS = [kind for kind in TYPED_KINDS if kind.subresource("status")]


def test_every_stored_kind_has_a_strategy_and_reviews_have_none() -> None:
    for kind in SERVED_KINDS:
        if kind.stored:
            assert strategy_for(kind).validate(made(kind), context()) == []
        else:
            with pytest.raises(KeyError):
                strategy_for(kind)


@pytest.mark.parametrize(
    ("kind", "name", "good"),
    [
        (kinds.PODS, "a.b", True),
        (kinds.PODS, "a_b", False),
        (kinds.PODS, "x" * 253, True),
        (kinds.PODS, "x" * 254, False),
        (kinds.NAMESPACES, "a-b", True),
        (kinds.NAMESPACES, "a.b", False),
        (kinds.NAMESPACES, "x" * 64, False),
        (kinds.ROLES, "system:node A", True),
        (kinds.ROLES, "a/b", False),
        (kinds.ROLES, "..", False),
        (kinds.CLUSTERROLEBINDINGS, "50%", False),
        (kinds.PODDISRUPTIONBUDGETS, "Any_Name", True),
        (kinds.PODDISRUPTIONBUDGETS, "a/b", False),
        (kinds.EVENTS, "Any_Name", True),
        (kinds.LEASES, "A", False),
        (kinds.NODES, "node-1.example.com", True),
    ],
)
def test_names_by_kind(kind: Kind, name: str, good: bool) -> None:
    assert (errors_of(kind, {"metadata.name": name}) == []) is good


@pytest.mark.parametrize(("prefix", "good"), [("web-", True), ("-", False), ("Web-", False), ("web.", False)])
def test_a_generated_name_goes_on_after_its_dash(prefix: str, good: bool) -> None:
    assert (errors_of(kinds.PODS, {"metadata.generateName": prefix}) == []) is good


SPEC_CHANGES: dict[Kind, dict[str, Any]] = {
    kinds.NAMESPACES: {"finalizers": ["a/b"]},
    kinds.NODES: {"unschedulable": True},
    kinds.PODS: {"activeDeadlineSeconds": 5},
    kinds.DEPLOYMENTS: {"minReadySeconds": 7},
    kinds.REPLICASETS: {"minReadySeconds": 7},
    kinds.LIFECYCLE_REQUESTS: {"intent": "Withdrawn"},
    kinds.LIFECYCLE_EVICTIONS: {"target.pod.name": "other"},
    kinds.STATEFULSETS: {"minReadySeconds": 7},
    kinds.DAEMONSETS: {"minReadySeconds": 7},
    kinds.JOBS: {"parallelism": 7},
    kinds.CRONJOBS: {"suspend": True},
    kinds.HORIZONTALPODAUTOSCALERS: {"maxReplicas": 7},
    kinds.PODDISRUPTIONBUDGETS: {"minAvailable": 7},
    kinds.LEASES: {"leaseDurationSeconds": 7},
    kinds.VALIDATINGADMISSIONPOLICIES: {"failurePolicy": "Ignore"},
    kinds.VALIDATINGADMISSIONPOLICYBINDINGS: {"validationActions": ["Warn"]},
}
CONDITIONS = [{"type": "Foreign", "status": "True"}]


def spec_change(kind: Kind) -> dict[str, Any]:
    if kind is kinds.PODTEMPLATES:
        return {"template.spec.activeDeadlineSeconds": 7}
    return {f"spec.{key}": value for key, value in SPEC_CHANGES.get(kind, {}).items()}


# The status of a PersistentVolume or a CronJob has no conditions; cases_storage and cases_batch have theirs.
@pytest.mark.parametrize(
    "kind",
    [one for one in WITH_STATUS if one not in (kinds.PERSISTENTVOLUMES, kinds.CRONJOBS)],
    ids=lambda kind: kind.kind,
)
def test_spec_writes_leave_status_and_status_writes_leave_spec(kind: Kind) -> None:
    step = {**spec_change(kind), "status.conditions": CONDITIONS}
    new, old, _ = stepped(kind, step)
    assert new.get("status") == old.get("status")
    new, old, _ = stepped(kind, step, ctx=context("status"))
    assert new.get("spec") == old.get("spec")
    assert new["status"]["conditions"][0]["type"] == "Foreign"


COUNTING = {
    kinds.PODS, kinds.DEPLOYMENTS, kinds.REPLICASETS, kinds.STATEFULSETS, kinds.DAEMONSETS,
    kinds.PODDISRUPTIONBUDGETS, kinds.JOBS, kinds.CRONJOBS, kinds.PODTEMPLATES,
    kinds.LIFECYCLE_REQUESTS, kinds.LIFECYCLE_EVICTIONS, kinds.HORIZONTALPODAUTOSCALERS,
    kinds.VALIDATINGADMISSIONPOLICIES, kinds.VALIDATINGADMISSIONPOLICYBINDINGS,
}  # fmt: skip


@pytest.mark.parametrize("kind", TYPED_KINDS, ids=lambda kind: kind.kind)
def test_generation_counts_spec_changes_of_the_kinds_that_have_one(kind: Kind) -> None:
    first = 1 if kind in COUNTING or kind is kinds.PRIORITYCLASSES else None
    assert made(kind)["metadata"].get("generation") == first
    new, _, _ = stepped(kind, spec_change(kind))
    assert new["metadata"].get("generation") == (2 if kind in COUNTING else first)
    more = {"status.conditions": CONDITIONS} if kind in WITH_STATUS else {}
    new, _, _ = stepped(kind, {"metadata.labels": {"a": "b"}, **more}, ctx=context("status"))
    assert new["metadata"].get("generation") == first


def test_unknown_fields_are_dropped() -> None:
    foreign = {"spec.foreign": {"a": [1]}, "spec.containers[0].foreign": "x", "metadata.foreign": 1}
    pod = made(kinds.PODS, foreign)
    for part in (pod["spec"], pod["spec"]["containers"][0], pod["metadata"]):
        assert "foreign" not in part


def test_all_errors_come_at_once_in_the_order_of_the_real_server() -> None:
    broken = {
        "metadata.name": "Web",
        "metadata.labels": {"a": "!"},
        "spec.containers[0].image": "",
        "spec.restartPolicy": "x",
        "spec.volumes": [{"name": "V"}],
        "spec.tolerations": [{"key": "a", "operator": "x"}],
        "spec.nodeName": "N",
    }
    assert [field_error.partition(": ")[0] for field_error in errors_of(kinds.PODS, broken)] == [
        "metadata.name",
        "metadata.labels",
        "spec.volumes[0].name",
        "spec.containers[0].image",
        "spec.restartPolicy",
        "spec.nodeName",
        "spec.tolerations[0].operator",
    ]


def test_an_update_repeats_what_it_finds_twice() -> None:
    """kube-apiserver looks at an updated object's metadata in common and again by kind."""
    _, _, field_errors = stepped(kinds.PODS, {"metadata.uid": "other"})
    assert field_errors == ['metadata.uid: Invalid value: "other": field is immutable'] * 2
    for wrong in ({"labels": {"-": ""}}, {"annotations": {"-": ""}}, {"ownerReferences": [_OWNER]}):
        _, _, field_errors = stepped(kinds.PODS, {f"metadata.{key}": value for key, value in wrong.items()})
        assert (len(field_errors), len(set(field_errors))) == (4, 1)
    _, _, field_errors = stepped(kinds.PODS, {"spec.containers[0].image": ""})
    assert field_errors == ["spec.containers[0].image: Required value"] * 2
    _, _, field_errors = stepped(kinds.PODS, {"spec.containers[0].image": "web "})
    assert (len(field_errors), len(set(field_errors))) == (2, 1)
    _, _, field_errors = stepped(kinds.DEPLOYMENTS, {"spec.replicas": -1})
    assert field_errors == ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]


@pytest.mark.parametrize(
    ("kind", "unconditional", "by_put", "collected"),
    [
        (kinds.PODS, True, False, True),
        (kinds.EVENTS, True, True, False),
        (kinds.LEASES, False, True, True),
        (kinds.PODDISRUPTIONBUDGETS, False, False, True),
        (kinds.ROLES, True, True, True),
        (kinds.CLUSTERROLEBINDINGS, True, True, True),
        (kinds.NAMESPACES, True, False, True),
        (kinds.EVICTIONREQUESTS, False, False, True),
        (kinds.VALIDATINGADMISSIONPOLICIES, False, False, True),
    ],
)
def test_traits(kind: Kind, unconditional: bool, by_put: bool, collected: bool) -> None:
    traits = strategy_for(kind).traits
    assert (traits.unconditional_update, traits.create_on_update, traits.garbage_collected) == (
        unconditional,
        by_put,
        collected,
    )


def test_an_event_may_not_own_but_a_controller_may() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
    assert errors_of(kinds.PODS, {"metadata.ownerReferences": [owner]}) == []


def test_strategies_do_not_share_what_they_fill_in() -> None:
    one, other = made(kinds.PODS), made(kinds.PODS)
    one["spec"]["tolerations"][0]["key"] = "changed"
    one["spec"]["securityContext"]["changed"] = True
    assert other["spec"]["tolerations"][0]["key"] == "node.kubernetes.io/not-ready"
    assert other["spec"]["securityContext"] == {}


def test_an_update_leaves_the_old_object_alone() -> None:
    for kind in STORED_KINDS:
        old = stored(kind)
        before = copy.deepcopy(old)
        for subresource in ("", "status"):
            new: Obj = changed(copy.deepcopy(old), {"metadata.labels": {"x": "y"}})
            strategy, ctx = strategy_for(kind), context(subresource)
            strategy.default(new, ctx)
            strategy.prepare_update(new, old, ctx)
            strategy.validate_update(new, old, ctx)
            assert old == before


def test_the_valid_objects_cover_all_kinds() -> None:
    assert set(VALID) == set(STORED_KINDS)
