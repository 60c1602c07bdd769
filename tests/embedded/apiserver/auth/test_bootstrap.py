"""The objects of a new cluster, and what a restart does to them."""

from __future__ import annotations

import copy

import pytest

from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, NAMESPACES, PRIORITYCLASSES, Kind
from vacate.api.objects import Obj, name_of, namespace_of
from vacate.embedded.apiserver.auth.rbaccoverage import covers
from vacate.embedded.apiserver.auth.rbacpolicy import effective_rules, role_ref_of
from vacate.embedded.apiserver.auth.rbacrules import rules_of
from vacate.embedded.bootstrap import bootstrap_objects, must_recreate, reconcile
from vacate.embedded.cluster import apiserver
from vacate.sim.cluster import World
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.unit

AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def default(kind: Kind, name: str) -> Obj:
    return next(obj for one, obj in bootstrap_objects() if one is kind and name_of(obj) == name)


def names(kind: Kind) -> set[str]:
    return {name_of(obj) for one, obj in bootstrap_objects() if one is kind}


def test_namespaces_and_priorities() -> None:
    assert names(NAMESPACES) == {"default", "kube-system", "kube-public", "kube-node-lease"}
    values = {name_of(obj): obj["value"] for kind, obj in bootstrap_objects() if kind is PRIORITYCLASSES}
    assert values == {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}


def test_every_object_is_whole_and_stands_once() -> None:
    keys = [(kind.resource, namespace_of(obj), name_of(obj)) for kind, obj in bootstrap_objects()]
    assert len(keys) == len(set(keys))
    for kind, obj in bootstrap_objects():
        assert (obj["kind"], obj["apiVersion"]) == (kind.kind, kind.api_version)
        assert kind.namespaced == bool(namespace_of(obj))


def test_namespaces_come_before_what_lives_in_them() -> None:
    created: set[str] = set()
    for kind, obj in bootstrap_objects():
        if kind is NAMESPACES:
            created.add(name_of(obj))
        assert not kind.namespaced or namespace_of(obj) in created


def test_roles_and_bindings_are_marked_as_defaults() -> None:
    for kind, obj in bootstrap_objects():
        if kind.group == "rbac.authorization.k8s.io":
            assert obj["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"
            assert obj["metadata"]["annotations"] == {AUTO_UPDATE: "true"}


def test_every_binding_gives_a_role_that_exists() -> None:
    for kind, obj in bootstrap_objects():
        if kind is CLUSTERROLEBINDINGS:
            assert role_ref_of(obj).name in names(CLUSTERROLES)


def test_aggregated_roles_show_what_they_mean() -> None:
    roles = [obj for kind, obj in bootstrap_objects() if kind is CLUSTERROLES]
    effective = effective_rules(roles)
    for role in roles:
        assert rules_of(role) == effective[name_of(role)]
    assert covers(effective["admin"], effective["edit"])
    assert covers(effective["edit"], effective["view"])
    assert not covers(effective["view"], effective["edit"])


def test_the_list_is_fresh_at_every_call() -> None:
    bootstrap_objects()[0][1]["metadata"]["name"] = "spoiled"
    assert "spoiled" not in names(NAMESPACES)


@pytest.mark.thorough
def test_a_second_server_of_a_process_writes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(sim: Sim) -> list[Obj]:
        async with World(sim) as world:
            return [obj for kind in (NAMESPACES, CLUSTERROLES) for obj in world.objects(kind)]

    monkeypatch.setattr(apiserver, "_ADMITTED", {})
    first, second, other = run_sim(main, 1), run_sim(main, 1), run_sim(main, 2)
    assert second == first
    assert {obj["metadata"]["uid"] for obj in other}.isdisjoint(obj["metadata"]["uid"] for obj in first)


@pytest.mark.parametrize("index", range(0, len(bootstrap_objects()), 7))
def test_nothing_is_written_where_nothing_is_missing(index: int) -> None:
    kind, wanted = bootstrap_objects()[index]
    stored = copy.deepcopy(wanted)
    stored["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    assert reconcile(kind, stored, wanted) is None
    assert not must_recreate(stored, wanted)


def test_missing_rules_come_back_and_added_ones_stay() -> None:
    wanted = default(CLUSTERROLES, "system:kube-scheduler")
    stored = copy.deepcopy(wanted)
    added = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["hats"]}
    stored["rules"] = [*stored["rules"][3:], added]
    updated = reconcile(CLUSTERROLES, stored, wanted)
    assert updated is not None
    assert covers(rules_of(updated), rules_of(wanted))
    assert added in updated["rules"]
    assert reconcile(CLUSTERROLES, updated, wanted) is None


def test_labels_and_annotations_are_added_and_not_overwritten() -> None:
    wanted = default(CLUSTERROLES, "view")
    stored = copy.deepcopy(wanted)
    stored["metadata"]["labels"] = {"kubernetes.io/bootstrapping": "mine", "own": "x"}
    updated = reconcile(CLUSTERROLES, stored, wanted)
    assert updated is not None
    assert updated["metadata"]["labels"] == {
        "kubernetes.io/bootstrapping": "mine",
        "own": "x",
        "rbac.authorization.k8s.io/aggregate-to-edit": "true",
    }


def test_a_protected_object_is_left_alone() -> None:
    wanted = default(CLUSTERROLES, "cluster-admin")
    stored: Obj = {"metadata": {"name": "cluster-admin", "annotations": {AUTO_UPDATE: "false"}}, "rules": []}
    assert reconcile(CLUSTERROLES, stored, wanted) is None
    binding = default(CLUSTERROLEBINDINGS, "cluster-admin")
    protected = {**binding, "metadata": stored["metadata"], "subjects": []}
    assert reconcile(CLUSTERROLEBINDINGS, protected, binding) is None


def test_aggregation_is_restored_extended_and_taken_off() -> None:
    wanted = default(CLUSTERROLES, "view")
    own = {"matchLabels": {"mine": "true"}}
    lost = {key: value for key, value in wanted.items() if key != "aggregationRule"}
    extended = {**wanted, "aggregationRule": {"clusterRoleSelectors": [own]}}
    selectors = wanted["aggregationRule"]["clusterRoleSelectors"]
    restored = reconcile(CLUSTERROLES, lost, wanted)
    kept = reconcile(CLUSTERROLES, extended, wanted)
    assert restored is not None
    assert kept is not None
    assert restored["aggregationRule"] == {"clusterRoleSelectors": selectors}
    assert kept["aggregationRule"] == {"clusterRoleSelectors": [own, *selectors]}
    plain = default(CLUSTERROLES, "cluster-admin")
    gathering = {**plain, "aggregationRule": {"clusterRoleSelectors": [own]}}
    assert reconcile(CLUSTERROLES, gathering, plain) == plain


def test_missing_subjects_come_back_and_added_ones_stay() -> None:
    wanted = default(CLUSTERROLEBINDINGS, "system:public-info-viewer")
    own = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "probe"}
    stored = {**wanted, "subjects": [wanted["subjects"][0], own]}
    updated = reconcile(CLUSTERROLEBINDINGS, stored, wanted)
    assert updated is not None
    assert updated["subjects"] == [wanted["subjects"][0], own, wanted["subjects"][1]]


def test_a_binding_to_another_role_must_be_made_anew() -> None:
    wanted = default(CLUSTERROLEBINDINGS, "cluster-admin")
    stored = {**wanted, "roleRef": {**wanted["roleRef"], "name": "view"}}
    assert must_recreate(stored, wanted)
    assert reconcile(CLUSTERROLEBINDINGS, stored, wanted) is None
    assert not must_recreate(stored, default(NAMESPACES, "default"))
    assert reconcile(NAMESPACES, {"metadata": {}}, default(NAMESPACES, "default")) is None
