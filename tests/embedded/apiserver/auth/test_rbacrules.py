"""What one rule allows, and what the refusals say."""

from __future__ import annotations

import pytest

from vacate.api.identity import Access, User, denial, quote
from vacate.api.policyrules import Rule
from vacate.embedded.apiserver.auth.rbacmessages import describe, escalation, forbidden, join_errors
from vacate.embedded.apiserver.auth.rbacrules import FULL_AUTHORITY, allows, rule_of, rules_of

pytestmark = pytest.mark.unit

ALICE = User("alice", ("dev",))


def ask(verb: str, resource: str, **more: str) -> Access:
    resource, _, subresource = resource.partition("/")
    return Access(ALICE, verb, resource=resource, subresource=subresource, **more)


def about(resources: str, *, verbs: str = "get", groups: tuple[str, ...] = ("",), names: str = "") -> Rule:
    return Rule(tuple(verbs.split()), groups, tuple(resources.split()), tuple(names.split()))


@pytest.mark.parametrize(
    ("rule", "access", "allowed"),
    [
        (about("pods"), ask("get", "pods"), True),
        (about("pods"), ask("list", "pods"), False),
        (about("pods", verbs="*"), ask("anything", "pods"), True),
        (about("pods"), ask("get", "pods", group="apps"), False),
        (about("pods", groups=("*",)), ask("get", "pods", group="apps"), True),
        (about("pods", groups=()), ask("get", "pods"), False),
        (about("pods"), ask("get", "pods/status"), False),
        (about("pods/status"), ask("get", "pods/status"), True),
        (about("pods/status"), ask("get", "pods"), False),
        (about("pods/*"), ask("get", "pods/status"), False),
        (about("*/status"), ask("get", "pods/status"), True),
        (about("*/status"), ask("get", "status"), False),
        (about("*/status"), ask("get", "pods/scale"), False),
        (about("*"), ask("get", "pods/status"), True),
        (about("pods", names="a b"), ask("get", "pods", name="b"), True),
        (about("pods", names="a b"), ask("get", "pods", name="c"), False),
        (about("pods", names="a"), ask("get", "pods"), False),
        (about("pods"), ask("get", "pods", name="c"), True),
    ],
)
def test_a_rule_about_resources(rule: Rule, access: Access, allowed: bool) -> None:
    assert allows(rule, access) is allowed


@pytest.mark.parametrize(
    ("pattern", "path", "allowed"),
    [
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/etcd", False),
        ("/healthz/*", "/healthz/etcd", True),
        ("/healthz/*", "/healthz", False),
        ("/health*", "/healthz/etcd", True),
        ("*", "/anything", True),
        ("/api/**", "/api/v1", True),
        ("/*/v1", "/api/v1", False),
    ],
)
def test_a_rule_about_paths(pattern: str, path: str, allowed: bool) -> None:
    rule = Rule(("get",), urls=(pattern,))
    assert allows(rule, Access(ALICE, "get", path=path)) is allowed
    assert not allows(rule, Access(ALICE, "put", path=path))


def test_a_rule_about_paths_says_nothing_about_resources() -> None:
    assert not allows(Rule(("*",), urls=("*",)), ask("get", "pods"))
    for path in ("/healthz", ""):
        assert not allows(about("*", verbs="*", groups=("*",)), Access(ALICE, "get", path=path))
    for access in (ask("get", "pods"), Access(ALICE, "get", path="/healthz")):
        assert any(allows(rule, access) for rule in FULL_AUTHORITY)


def test_broken_rules_read_as_empty() -> None:
    assert rule_of({"verbs": None, "apiGroups": "apps", "resources": [1, "pods"]}) == Rule(
        resources=("pods",)
    )
    assert rules_of({"rules": None}) == ()
    assert rules_of({"rules": ["x", {"verbs": ["get"]}]}) == (Rule(("get",)),)


def test_a_rule_round_trips_through_its_object() -> None:
    rule = about("pods", verbs="get list", names="x")
    assert rule_of(rule.to_obj()) == rule
    assert Rule(("get",), urls=("/version",)).to_obj() == {"verbs": ["get"], "nonResourceURLs": ["/version"]}


@pytest.mark.parametrize(
    ("access", "message"),
    [
        (
            ask("list", "pods", namespace="ns"),
            (
                'pods is forbidden: User "alice" cannot list resource "pods" in API group "" '
                'in the namespace "ns"'
            ),
        ),
        (
            ask("get", "deployments/scale", group="apps", namespace="ns", name="web"),
            (
                'deployments.apps "web" is forbidden: User "alice" cannot get resource "deployments/scale" '
                'in API group "apps" in the namespace "ns"'
            ),
        ),
        (
            ask("create", "nodes"),
            (
                'nodes is forbidden: User "alice" cannot create resource "nodes" in API group "" '
                "at the cluster scope"
            ),
        ),
        (
            Access(ALICE, "get", path="/metrics"),
            'forbidden: User "alice" cannot get path "/metrics"',
        ),
    ],
)
def test_refusals_read_as_those_of_kube_apiserver(access: Access, message: str) -> None:
    assert forbidden(access).message == message
    assert forbidden(access, "RBAC: gone").message == f"{message}: RBAC: gone"


def test_a_refusal_carries_no_markup_and_names_its_object() -> None:
    error = forbidden(Access(User("<b>&"), "get", "apps", resource="deployments", name="web"))
    assert "&lt;b&gt;&amp;" in error.message
    assert error.details == {"name": "web", "group": "apps", "kind": "deployments"}
    assert error.status_code == 403
    assert denial(Access(User("<"), "get", path="/")) == 'User "<" cannot get path "/"'


def test_an_escalation_lists_what_is_missing_once_and_in_order() -> None:
    missing = [
        about("pods", verbs="list"),
        about("pods", verbs="get"),
        Rule(("get",), urls=("/x",)),
        about("pods", verbs="get", names="a"),
    ]
    assert escalation(ALICE, missing) == (
        'user "alice" (groups=["dev"]) is attempting to grant RBAC permissions not currently held:\n'
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}\n'
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "get"]}\n'
        '{NonResourceURLs:["/x"], Verbs:["get"]}'
    )
    assert escalation(ALICE, missing[:1], ["a", "a", "b"]).endswith("; resolution errors: [[a, b]]")


def test_quoting_as_go_does() -> None:
    assert quote('a"b\\c\n\x00é\u2028') == r'"a\"b\\c\n\x00é\u2028"'
    assert describe(Rule()) == "{}"
    assert join_errors(["one"]) == "one"
