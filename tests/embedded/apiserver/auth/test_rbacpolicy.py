"""Roles and bindings of a whole cluster: who gets which rules."""

from __future__ import annotations

import pytest

from vacate.api.identity import User, service_account_groups, service_account_user, split_service_account
from vacate.api.objects import Obj
from vacate.api.policyrules import Rule
from vacate.embedded.apiserver.auth.rbacpolicy import Policy, RoleRef, Subject, effective_rules

pytestmark = pytest.mark.unit


def role(name: str, *verbs: str, namespace: str = "", labels: Obj | None = None, **more: Obj) -> Obj:
    meta: Obj = {"name": name, "labels": labels or {}}
    if namespace:
        meta["namespace"] = namespace
    return {"metadata": meta, "rules": [{"verbs": [verb]} for verb in verbs], **more}


def gathers(*labels: str) -> Obj:
    return {"clusterRoleSelectors": [{"matchLabels": {label: "true"}} for label in labels]}


def bind(name: str, kind: str, role_name: str, *subjects: Obj, namespace: str = "") -> Obj:
    meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"metadata": meta, "roleRef": {"kind": kind, "name": role_name}, "subjects": list(subjects)}


@pytest.mark.parametrize(
    ("subject", "namespace", "applies"),
    [
        (Subject("User", "system:serviceaccount:ns:bot"), "", True),
        (Subject("User", "bot"), "", False),
        (Subject("Group", "dev"), "", True),
        (Subject("Group", "system:serviceaccount:ns:bot"), "", False),
        (Subject("ServiceAccount", "bot", "ns"), "", True),
        (Subject("ServiceAccount", "bot"), "ns", True),
        (Subject("ServiceAccount", "bot"), "other", False),
        (Subject("ServiceAccount", "bot"), "", False),
        (Subject("Robot", "dev"), "", False),
    ],
)
def test_whom_a_subject_means(subject: Subject, namespace: str, applies: bool) -> None:
    user = User("system:serviceaccount:ns:bot", ("dev",))
    assert subject.applies_to(user, namespace) is applies


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("system:serviceaccount:ns:bot", ("ns", "bot")),
        ("system:serviceaccount:ns:bot.x", ("ns", "bot.x")),
        ("system:serviceaccount:ns", None),
        ("system:serviceaccount:ns:bot:x", None),
        ("system:serviceaccount:NS:bot", None),
        ("system:serviceaccount:a.b:bot", None),
        ("system:serviceaccount::bot", None),
        ("bot", None),
    ],
)
def test_names_of_service_accounts(name: str, parts: tuple[str, str] | None) -> None:
    assert split_service_account(name) == parts
    if parts:
        assert service_account_user(*parts) == name
        assert service_account_groups(parts[0]) == (
            "system:serviceaccounts",
            f"system:serviceaccounts:{parts[0]}",
        )


def test_grants_name_their_binding_and_subject() -> None:
    bob = User("bob", ("dev",))
    policy = Policy(
        roles=[role("r", "get", namespace="ns")],
        cluster_roles=[role("c", "list")],
        role_bindings=[
            bind("rb", "Role", "r", {"kind": "User", "name": "bob"}, namespace="ns"),
            bind("other", "Role", "r", {"kind": "User", "name": "bob"}, namespace="elsewhere"),
        ],
        cluster_role_bindings=[
            bind("cb", "ClusterRole", "c", {"kind": "User", "name": "eve"}, {"kind": "Group", "name": "dev"})
        ],
    )
    (everywhere,) = policy.cluster_grants(bob)
    (here,) = policy.namespace_grants(bob, "ns")
    (dangling,) = policy.namespace_grants(bob, "elsewhere")
    assert everywhere.source == 'ClusterRoleBinding "cb" of ClusterRole "c" to Group "dev"'
    assert here.source == 'RoleBinding "rb/ns" of Role "r" to User "bob"'
    assert (everywhere.rules, here.rules) == ((Rule(("list",)),), (Rule(("get",)),))
    assert dangling.rules is None


def test_a_service_account_is_named_with_its_namespace() -> None:
    policy = Policy(
        roles=[role("r", "get", namespace="ns")],
        role_bindings=[
            bind("rb", "Role", "r", {"kind": "ServiceAccount", "name": "bot"}, namespace="ns"),
        ],
    )
    (grant,) = policy.namespace_grants(User("system:serviceaccount:ns:bot"), "ns")
    assert grant.source == 'RoleBinding "rb/ns" of Role "r" to ServiceAccount "bot/ns"'


def test_a_cluster_binding_reaches_no_role_of_a_namespace() -> None:
    policy = Policy(roles=[role("r", "get", namespace="ns")])
    assert policy.role_rules(RoleRef("Role", "r"), "ns") == (Rule(("get",)),)
    assert policy.role_rules(RoleRef("Role", "r"), "") is None
    assert policy.role_rules(RoleRef("Cook", "r"), "ns") is None


def test_aggregation_gathers_through_roles_that_gather_themselves() -> None:
    rules = effective_rules(
        [
            role("admin", "ignored", aggregationRule=gathers("to-admin")),
            role("edit", labels={"to-admin": "true"}, aggregationRule=gathers("to-edit")),
            role("b", "update", labels={"to-edit": "true"}),
            role("a", "get", "update", labels={"to-edit": "true", "to-admin": "true"}),
            role("lonely", "delete"),
        ]
    )
    assert rules["edit"] == (Rule(("get",)), Rule(("update",)))
    assert rules["admin"] == (Rule(("get",)), Rule(("update",)))
    assert rules["lonely"] == (Rule(("delete",)),)


def test_roles_that_gather_each_other_come_to_an_end() -> None:
    rules = effective_rules(
        [
            role("a", labels={"x": "true"}, aggregationRule=gathers("x", "y")),
            role("b", labels={"x": "true", "y": "true"}, aggregationRule=gathers("x", "y")),
            role("leaf", "get", labels={"y": "true"}),
        ]
    )
    assert rules["a"] == rules["b"] == (Rule(("get",)),)


def test_a_selector_that_cannot_be_read_gathers_nothing() -> None:
    broken = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "x", "operator": "Maybe"}]}]}
    assert effective_rules([role("a", aggregationRule=broken), role("b", "get")])["a"] == ()


def test_bindings_without_subjects_or_role_give_nothing() -> None:
    policy = Policy(cluster_role_bindings=[{"metadata": {"name": "x"}, "subjects": None}])
    assert list(policy.cluster_grants(User("bob"))) == []
