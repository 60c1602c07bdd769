"""The authoriser over a changing policy, and the rights that a new cluster gives."""

from __future__ import annotations

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from support.rbac import HeldPolicy, authorizer, bind, default_authorizer, given, role, rule
from vacate.api.identity import Access, User
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.embedded.apiserver.auth.rbacpolicy import Policy
from vacate.embedded.apiserver.auth.rbacrules import allows
from vacate.embedded.bootstrap import identities
from vacate.errors import Forbidden
from vacate.wire.message import Peer

pytestmark = pytest.mark.unit

ALICE = User("alice", ("dev", "system:authenticated"))


def ask(user: User, verb: str, resource: str, namespace: str = "", name: str = "", group: str = "") -> Access:
    plural, _, sub = resource.partition("/")
    return Access(user, verb, group, "v1", plural, sub, namespace, name)


def test_nothing_is_allowed_without_a_rule() -> None:
    verdict = authorizer().authorize(ask(ALICE, "get", "pods", "ns"))
    assert (verdict.allowed, verdict.reason) == (False, "")


def test_masters_may_do_everything_without_a_reason() -> None:
    verdict = authorizer().authorize(ask(User("root", ("system:masters",)), "get", "pods", "ns"))
    assert (verdict.allowed, verdict.reason) == (True, "")


def test_the_reason_names_the_first_binding_that_allows() -> None:
    asked = authorizer(
        role("pod-reader", rule("get", "pods")),
        bind("pod-reader", "alice"),
        bind("pod-reader", "alice", namespace="ns"),
    )
    assert asked.authorize(ask(ALICE, "get", "pods", "ns")).reason == (
        'RBAC: allowed by ClusterRoleBinding "pod-reader" of ClusterRole "pod-reader" to User "alice"'
    )


def test_a_binding_in_a_namespace_holds_only_there() -> None:
    asked = authorizer(role("r", rule("get", "pods")), bind("r", "alice", namespace="ns"))
    assert asked.authorize(ask(ALICE, "get", "pods", "ns")).allowed
    assert not asked.authorize(ask(ALICE, "get", "pods", "other")).allowed
    assert not asked.authorize(ask(ALICE, "get", "pods")).allowed


def test_named_objects_share_one_remembered_answer() -> None:
    asked = authorizer(*given("alice", rule("get", "pods", names="a b")))
    answers = [asked.authorize(ask(ALICE, "get", "pods", "ns", name)).allowed for name in ("a", "b", "c", "")]
    assert answers == [True, True, False, False]


def test_the_reason_names_a_missing_role() -> None:
    asked = authorizer(bind("gone", "alice"), bind("lost", "alice", namespace="ns", local=True))
    reason = asked.authorize(ask(ALICE, "get", "pods", "ns")).reason
    assert reason == (
        'rbac: RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, '
        'role.rbac.authorization.k8s.io "lost" not found]'
    )
    with pytest.raises(Forbidden, match=r'"ns": rbac: RBAC: \[clusterrole\.rbac'):
        asked.require(ask(ALICE, "get", "pods", "ns"))


def test_a_change_of_the_policy_is_seen_at_the_next_question() -> None:
    policy = HeldPolicy()
    asked = Authorizer(policy)
    question = ask(ALICE, "get", "pods", "ns")
    assert not asked.authorize(question).allowed
    policy.add(*given("alice", rule("get", "pods")))
    assert asked.authorize(question).allowed
    policy.remove("of-alice")
    assert not asked.authorize(question).allowed


def test_the_policy_is_read_once_for_each_version() -> None:
    policy = HeldPolicy(*given("alice", rule("get", "pods")))
    asked = Authorizer(policy)
    for number in range(50):
        asked.authorize(ask(ALICE, "get", "pods", f"ns{number}"))
    assert policy.reads == 4


def test_the_memory_for_users_and_answers_is_bounded() -> None:
    asked = Authorizer(HeldPolicy(*given("u7", rule("get", "pods"))), max_users=5, max_answers=3)
    for turn in range(20):
        user = User(f"u{turn % 10}")
        for number in range(10):
            assert asked.authorize(ask(user, "get", "pods", f"ns{number}")).allowed == (user.name == "u7")
        assert len(asked._users) <= 5
        assert all(len(answers._answers) <= 3 for answers in asked._users.values())


def test_groups_are_part_of_who_asks() -> None:
    asked = authorizer(role("r", rule("get", "pods")), bind("r", groups="dev"))
    assert asked.authorize(ask(User("bob", ("dev",)), "get", "pods")).allowed
    assert not asked.authorize(ask(User("bob"), "get", "pods")).allowed


OBJECTS = [
    *given("x", rule("get list", "pods", names="a"), rule("get", "pods/status"), rule("*", "*", "apps")),
    role("named", rule("get", "pods", names="b"), namespace="ns"),
    bind("named", "x", namespace="ns", local=True),
    role("paths", {"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}),
    bind("paths", "x"),
]


@for_all(
    st.sampled_from(("get", "list")),
    st.sampled_from(("pods", "pods/status", "deployments")),
    st.sampled_from(("", "apps")),
    st.sampled_from(("", "ns", "other")),
    st.sampled_from(("", "a", "b")),
)
def test_remembered_answers_equal_those_of_the_rules(
    verb: str, resource: str, group: str, namespace: str, name: str
) -> None:
    question = ask(User("x"), verb, resource, namespace, name, group)
    policy = Policy(
        roles=[obj for obj in OBJECTS if obj["kind"] == "Role"],
        cluster_roles=[obj for obj in OBJECTS if obj["kind"] == "ClusterRole"],
        role_bindings=[obj for obj in OBJECTS if obj["kind"] == "RoleBinding"],
        cluster_role_bindings=[obj for obj in OBJECTS if obj["kind"] == "ClusterRoleBinding"],
    )
    grants = [*policy.cluster_grants(question.user), *policy.namespace_grants(question.user, namespace)]
    expected = any(allows(one, question) for grant in grants for one in grant.rules or ())
    assert SHARED.authorize(question).allowed is expected


SHARED = authorizer(*OBJECTS)


def path(user: User, url: str, verb: str = "get") -> Access:
    return Access(user, verb, path=url)


NOBODY = User("system:anonymous", ("system:unauthenticated",))
SOMEBODY = User("bob", ("system:authenticated",))


@pytest.mark.parametrize("url", ["/healthz", "/livez", "/readyz", "/version", "/version/"])
def test_anonymous_reads_health_and_version(url: str) -> None:
    assert default_authorizer().authorize(path(NOBODY, url)).allowed


@pytest.mark.parametrize("url", ["/", "/api", "/apis", "/metrics", "/livez/ping", "/openapi/v2"])
def test_anonymous_reads_nothing_else(url: str) -> None:
    assert not default_authorizer().authorize(path(NOBODY, url)).allowed
    assert not default_authorizer().authorize(path(NOBODY, "/healthz", "post")).allowed
    assert not default_authorizer().authorize(ask(NOBODY, "get", "pods", "default")).allowed


def test_everybody_with_a_name_may_look_around_and_ask_about_themselves() -> None:
    asked = default_authorizer()
    assert all(
        asked.authorize(path(SOMEBODY, url)).allowed for url in ("/api", "/apis/apps/v1", "/openapi/v3")
    )
    review = ask(SOMEBODY, "create", "selfsubjectaccessreviews", group="authorization.k8s.io")
    assert asked.authorize(review).allowed
    assert not asked.authorize(ask(SOMEBODY, "list", "pods", "default")).allowed


def with_role(name: str) -> Authorizer:
    return default_authorizer(bind(name, "bob", namespace="ns"))


@pytest.mark.parametrize(
    ("name", "verb", "resource", "group", "allowed"),
    [
        ("view", "get", "pods", "", True),
        ("view", "get", "secrets", "", False),
        ("view", "delete", "pods", "", False),
        ("view", "watch", "poddisruptionbudgets", "policy", True),
        ("edit", "get", "pods", "", True),
        ("edit", "create", "pods/eviction", "", True),
        ("edit", "patch", "deployments/scale", "apps", True),
        ("edit", "update", "pods/status", "", False),
        ("edit", "create", "roles", "rbac.authorization.k8s.io", False),
        ("admin", "create", "roles", "rbac.authorization.k8s.io", True),
        ("admin", "delete", "deployments", "apps", True),
        ("admin", "get", "nodes", "", False),
        ("cluster-admin", "delete", "anything", "example.com", True),
    ],
)
def test_the_roles_for_people(name: str, verb: str, resource: str, group: str, allowed: bool) -> None:
    verdict = with_role(name).authorize(ask(SOMEBODY, verb, resource, "ns", "x", group))
    assert verdict.allowed is allowed


def user_of(peer: Peer) -> User:
    return User(peer.name, (*peer.groups, "system:authenticated"))


@pytest.mark.parametrize(
    ("peer", "verb", "resource", "group"),
    [
        (identities.SCHEDULER, "create", "pods/binding", ""),
        (identities.SCHEDULER, "watch", "nodes", ""),
        (identities.SCHEDULER, "patch", "pods/status", ""),
        (identities.node("n1"), "create", "nodes", ""),
        (identities.node("n1"), "patch", "nodes/status", ""),
        (identities.node("n1"), "patch", "pods/status", ""),
        (identities.node("n1"), "delete", "pods", ""),
        (identities.node("n1"), "update", "leases", "coordination.k8s.io"),
        (identities.CONTROLLER_MANAGER, "patch", "poddisruptionbudgets/status", "policy"),
        (identities.CONTROLLER_MANAGER, "delete", "replicasets", "apps"),
        (identities.CONTROLLER_MANAGER, "create", "controllerrevisions", "apps"),
        (identities.CONTROLLER_MANAGER, "create", "persistentvolumeclaims", ""),
        (identities.CONTROLLER_MANAGER, "deletecollection", "configmaps", ""),
        (identities.CONTROLLER_MANAGER, "update", "namespaces/finalize", ""),
        (identities.CONTROLLER_MANAGER, "list", "pods", ""),
        (identities.CONTROLLER_MANAGER, "create", "pods", ""),
        (identities.CONTROLLER_MANAGER, "patch", "replicasets/status", "apps"),
        (identities.CONTROLLER_MANAGER, "patch", "nodes", ""),
        (identities.CONTROLLER_MANAGER, "create", "serviceaccounts", ""),
        (identities.CONTROLLER_MANAGER, "create", "events", ""),
    ],
)
def test_the_parts_of_a_cluster_may_do_their_work(peer: Peer, verb: str, resource: str, group: str) -> None:
    assert default_authorizer().authorize(ask(user_of(peer), verb, resource, "ns", "x", group)).allowed


@pytest.mark.parametrize("peer", [identities.SCHEDULER, identities.CONTROLLER_MANAGER])
def test_leaders_are_elected_in_kube_system_only(peer: Peer) -> None:
    asked = default_authorizer()
    lease = ask(user_of(peer), "update", "leases", "kube-system", "any", "coordination.k8s.io")
    assert asked.authorize(lease).allowed
    elsewhere = ask(user_of(identities.SCHEDULER), "update", "leases", "ns", "any", "coordination.k8s.io")
    assert not asked.authorize(elsewhere).allowed


def test_controllers_may_not_grant_rights() -> None:
    for peer in (identities.SCHEDULER, identities.CONTROLLER_MANAGER):
        question = ask(user_of(peer), "create", "clusterroles", "", "", "rbac.authorization.k8s.io")
        assert not default_authorizer().authorize(question).allowed
