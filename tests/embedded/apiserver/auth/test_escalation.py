"""Rights cannot be given away by those who do not hold them."""

from __future__ import annotations

import pytest

from support.rbac import authorizer, bind, given, role, rule
from vacate.api.identity import Access, User
from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, PODS, ROLEBINDINGS, ROLES, Kind
from vacate.api.objects import Obj
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.embedded.apiserver.auth.escalation import confirm_no_escalation, only_collector_fields_differ
from vacate.errors import ApiError, Forbidden, NotFound

pytestmark = pytest.mark.unit

EVE = User("eve", ("dev", "system:authenticated"))
RBAC = "rbac.authorization.k8s.io"
HELD = rule("get list", "pods")


def write(
    asked: Authorizer,
    kind: Kind,
    new: Obj,
    old: Obj | None = None,
    *,
    namespace: str = "",
    name: str = "",
    user: User = EVE,
) -> ApiError | None:
    verb = "create" if old is None else "update"
    access = Access(user, verb, kind.group, "v1", kind.plural, namespace=namespace, name=name)
    try:
        confirm_no_escalation(asked, access, kind, new, old)
    except ApiError as error:
        return error
    return None


def test_what_one_holds_one_may_grant() -> None:
    asked = authorizer(*given("eve", HELD))
    assert write(asked, CLUSTERROLES, role("r", rule("get", "pods"))) is None
    assert write(asked, ROLES, role("r", HELD, namespace="ns"), namespace="ns") is None


def test_what_one_does_not_hold_is_listed() -> None:
    error = write(authorizer(*given("eve", HELD)), CLUSTERROLES, role("r", rule("get delete", "pods nodes")))
    assert isinstance(error, Forbidden)
    assert error.message == (
        'clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "eve" '
        '(groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions '
        "not currently held:\n"
        '{APIGroups:[""], Resources:["nodes"], Verbs:["get" "delete"]}\n'
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}'
    )
    assert error.details == {"name": "r", "group": RBAC, "kind": "clusterroles"}


def test_missing_roles_of_the_granter_are_named() -> None:
    error = write(authorizer(bind("gone", "eve")), CLUSTERROLES, role("r", HELD))
    assert error is not None
    assert error.message.endswith(
        '; resolution errors: [clusterroles.rbac.authorization.k8s.io "gone" not found]'
    )


def test_rights_of_one_namespace_are_granted_only_there() -> None:
    asked = authorizer(role("r", HELD), bind("r", "eve", namespace="ns"))
    assert write(asked, ROLES, role("x", HELD, namespace="ns"), namespace="ns") is None
    assert write(asked, ROLES, role("x", HELD, namespace="other"), namespace="other") is not None
    assert write(asked, CLUSTERROLES, role("x", HELD)) is not None


def test_masters_and_other_kinds_pass() -> None:
    everything = role("r", rule("*", "*", "*"))
    assert write(authorizer(), CLUSTERROLES, everything, user=User("root", ("system:masters",))) is None
    assert write(authorizer(), PODS, {"metadata": {"name": "p"}}, namespace="ns") is None


@pytest.mark.parametrize(
    ("names", "at_create", "at_update"),
    [("", True, True), ("r", False, True), ("other", False, False)],
)
def test_the_verb_escalate_is_a_way_around(names: str, at_create: bool, at_update: bool) -> None:
    asked = authorizer(*given("eve", rule("escalate", "clusterroles", RBAC, names)))
    new, old = role("r", rule("*", "*")), role("r")
    assert (write(asked, CLUSTERROLES, new) is None) is at_create
    assert (write(asked, CLUSTERROLES, new, old, name="r") is None) is at_update


def test_aggregation_needs_full_authority() -> None:
    gathering = role("r", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})
    error = write(authorizer(*given("eve", HELD)), CLUSTERROLES, gathering)
    assert error is not None
    assert error.message == (
        'clusterroles.rbac.authorization.k8s.io "r" is forbidden: '
        "must have cluster-admin privileges to use the aggregationRule"
    )
    assert write(authorizer(*given("eve", HELD)), CLUSTERROLES, role("r"), gathering, name="r") is not None
    everywhere = {"verbs": ["*"], "nonResourceURLs": ["*"]}
    assert write(authorizer(*given("eve", rule("*", "*", "*"), everywhere)), CLUSTERROLES, gathering) is None


def test_the_garbage_collector_may_touch_what_it_owns() -> None:
    old = role("r", rule("*", "*"))
    new = {**old, "metadata": {**old["metadata"], "finalizers": [], "ownerReferences": [{"uid": "1"}]}}
    assert write(authorizer(), CLUSTERROLES, new, old, name="r") is None
    assert not only_collector_fields_differ({**new, "rules": []}, old)
    labelled = {**old, "metadata": {"name": "r", "labels": {"a": "b"}}}
    assert not only_collector_fields_differ(labelled, old)
    assert only_collector_fields_differ({**old, "kind": "x", "aggregationRule": None}, old)


@pytest.mark.parametrize(("kind", "namespace"), [(CLUSTERROLEBINDINGS, ""), (ROLEBINDINGS, "ns")])
def test_binding_a_role_needs_its_rights_or_the_verb_bind(kind: Kind, namespace: str) -> None:
    new = bind("powerful", "eve", namespace=namespace)
    powerful = role("powerful", rule("delete", "nodes"))
    error = write(authorizer(powerful, *given("eve", HELD)), kind, new, namespace=namespace)
    assert error is not None
    assert error.message.startswith(f'{kind.resource} "powerful" is forbidden: user "eve"')
    held = authorizer(powerful, *given("eve", rule("delete", "nodes")))
    assert write(held, kind, new, namespace=namespace) is None
    may_bind = authorizer(powerful, *given("eve", rule("bind", "clusterroles", RBAC, "powerful")))
    assert write(may_bind, kind, new, namespace=namespace) is None
    other = authorizer(powerful, *given("eve", rule("bind", "clusterroles", RBAC, "weak")))
    assert write(other, kind, new, namespace=namespace) is not None


def test_binding_an_aggregated_role_needs_what_it_gathers() -> None:
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    leaf = role("leaf", rule("delete", "nodes"))
    leaf["metadata"]["labels"] = {"a": "b"}
    asked = authorizer(role("all", aggregationRule=gathers), leaf, *given("eve", HELD))
    assert write(asked, CLUSTERROLEBINDINGS, bind("all", "eve")) is not None


def test_binding_a_role_that_does_not_exist() -> None:
    error = write(authorizer(*given("eve", HELD)), CLUSTERROLEBINDINGS, bind("gone", "eve"))
    assert isinstance(error, NotFound)
    assert error.message == 'clusterrolebindings.rbac.authorization.k8s.io "gone" not found'


def test_an_unknown_kind_of_role_is_not_found_to_be_held() -> None:
    new = bind("r", "eve")
    new["roleRef"]["kind"] = "Cook"
    error = write(authorizer(*given("eve", HELD)), CLUSTERROLEBINDINGS, new)
    assert error is not None
    assert error.message == 'unsupported role reference kind: "Cook"'


def test_a_binding_that_stays_the_same_passes() -> None:
    same = bind("powerful", "eve")
    assert write(authorizer(), CLUSTERROLEBINDINGS, same, same, name="powerful") is None
