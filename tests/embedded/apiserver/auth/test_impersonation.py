"""Acting as somebody else: who becomes whom, and what refusals say."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from support.rbac import authorizer, given, rule
from vacate.api.identity import Access, User
from vacate.api.objects import Obj
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.embedded.apiserver.auth.impersonation import Impersonation
from vacate.errors import BadRequest, Forbidden

pytestmark = pytest.mark.unit

AUTH = "authentication.k8s.io"
BOSS = User("boss", ("system:authenticated",))
ROOT = User("root", ("system:masters", "system:authenticated"))
AUTHENTICATED = "system:authenticated"


def headers(*pairs: tuple[str, str]) -> CIMultiDict[str]:
    return CIMultiDict(pairs)


def list_pods(user: User) -> Access:
    return Access(user, "list", "", "v1", "pods", namespace="ns")


def act(asked: Authorizer, *pairs: tuple[str, str], user: User = BOSS) -> User:
    return Impersonation(asked).resolve(list_pods(user), headers(*pairs))


def boss_may(*rules: Obj) -> Authorizer:
    return authorizer(*given("boss", *rules))


AS_BOB = ("Impersonate-User", "bob")
AS_BOT = ("Impersonate-User", "system:serviceaccount:ns:bot")
AS_NODE = ("Impersonate-User", "system:node:n1")


def test_without_headers_everybody_is_themselves() -> None:
    assert act(authorizer()) is not None
    assert act(authorizer()) == BOSS
    assert act(authorizer(), ("Impersonate-User", "")) == BOSS


@pytest.mark.parametrize(
    ("pairs", "user"),
    [
        ([AS_BOB], User("bob", (AUTHENTICATED,))),
        (
            [AS_BOB, ("Impersonate-Group", "dev"), ("impersonate-group", "ops")],
            User("bob", ("dev", "ops", AUTHENTICATED)),
        ),
        ([AS_BOB, ("Impersonate-Group", AUTHENTICATED)], User("bob", (AUTHENTICATED,))),
        ([AS_BOB, ("Impersonate-Group", "system:unauthenticated")], User("bob", ("system:unauthenticated",))),
        ([AS_BOB, ("Impersonate-Group", "system:masters")], User("bob", ("system:masters", AUTHENTICATED))),
        ([AS_BOB, ("Impersonate-Uid", "u1")], User("bob", (AUTHENTICATED,), "u1")),
        (
            [
                AS_BOB,
                ("Impersonate-Extra-Acme.io%2FScope", "a"),
                ("Impersonate-Extra-acme.io%2fscope", "b"),
                ("Impersonate-Extra-plain", "c"),
            ],
            User("bob", (AUTHENTICATED,), extra={"acme.io/scope": ("a", "b"), "plain": ("c",)}),
        ),
        ([AS_BOB, ("Impersonate-Extra-a%zz", "v")], User("bob", (AUTHENTICATED,), extra={"a%zz": ("v",)})),
        (
            [("Impersonate-User", "system:anonymous")],
            User("system:anonymous", ("system:unauthenticated",)),
        ),
        (
            [AS_BOT],
            User(
                "system:serviceaccount:ns:bot",
                ("system:serviceaccounts", "system:serviceaccounts:ns", AUTHENTICATED),
            ),
        ),
        (
            [AS_BOT, ("Impersonate-Group", "dev")],
            User("system:serviceaccount:ns:bot", ("dev", AUTHENTICATED)),
        ),
        ([AS_NODE], User("system:node:n1", (AUTHENTICATED,))),
        ([AS_NODE, ("Impersonate-Group", "dev")], User("system:node:n1", ("dev", AUTHENTICATED))),
    ],
)
def test_whom_a_master_becomes(pairs: list[tuple[str, str]], user: User) -> None:
    assert act(authorizer(), *pairs, user=ROOT) == user


@pytest.mark.parametrize(
    ("rules", "pairs", "groups"),
    [
        ([rule("impersonate", "users")], [AS_BOB], (AUTHENTICATED,)),
        ([rule("impersonate", "users", names="bob")], [AS_BOB], (AUTHENTICATED,)),
        (
            [rule("impersonate", "users groups")],
            [AS_BOB, ("Impersonate-Group", "dev")],
            ("dev", AUTHENTICATED),
        ),
        (
            [rule("impersonate", "serviceaccounts")],
            [AS_BOT],
            ("system:serviceaccounts", "system:serviceaccounts:ns", AUTHENTICATED),
        ),
        ([rule("impersonate", "users")], [AS_NODE], (AUTHENTICATED,)),
        (
            [
                rule("impersonate", "users"),
                rule("impersonate", "userextras/acme.io/scope", AUTH, names="a"),
                rule("impersonate", "uids", AUTH),
            ],
            [AS_BOB, ("Impersonate-Extra-acme.io%2Fscope", "a"), ("Impersonate-Uid", "u1")],
            (AUTHENTICATED,),
        ),
    ],
)
def test_what_is_enough(rules: list[Obj], pairs: list[tuple[str, str]], groups: tuple[str, ...]) -> None:
    assert act(boss_may(*rules), *pairs).groups == groups


@pytest.mark.parametrize(
    ("rules", "pairs", "message"),
    [
        (
            [rule("impersonate:user-info", "users", AUTH), rule("impersonate-on:user-info:list", "pods")],
            [AS_BOB],
            (
                'users "bob" is forbidden: User "boss" cannot impersonate resource "users" in API group "" '
                "at the cluster scope"
            ),
        ),
        (
            [rule("impersonate", "users")],
            [AS_BOB, ("Impersonate-Group", "dev")],
            (
                'groups "dev" is forbidden: User "boss" cannot impersonate resource "groups" in API group "" '
                "at the cluster scope"
            ),
        ),
        (
            [],
            [AS_BOT, ("Impersonate-Group", "dev")],
            (
                'serviceaccounts "bot" is forbidden: User "boss" cannot impersonate resource '
                '"serviceaccounts" in API group "" in the namespace "ns"'
            ),
        ),
        (
            [rule("impersonate", "users")],
            [AS_NODE, ("Impersonate-Uid", "u")],
            (
                'uids.authentication.k8s.io "u" is forbidden: User "boss" cannot impersonate resource "uids" '
                'in API group "authentication.k8s.io" at the cluster scope'
            ),
        ),
    ],
)
def test_what_is_not_enough(rules: list[Obj], pairs: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(Forbidden) as caught:
        act(boss_may(*rules), *pairs)
    assert caught.value.message == message


@pytest.mark.parametrize(
    "pairs",
    [
        [("Impersonate-Group", "a"), ("Impersonate-Group", "b")],
        [("Impersonate-Uid", "u")],
        [("Impersonate-Extra-K", "v"), ("Impersonate-Extra-A", "w")],
    ],
)
def test_parts_of_a_user_without_a_name_are_a_bad_request(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(BadRequest) as caught:
        act(authorizer(), *pairs, user=ROOT)
    assert caught.value.message == "a request to impersonate a user names it in the header Impersonate-User"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert act(authorizer(), ("Impersonate-User", "b\udcffb"), user=ROOT).name == "b\ufffdb"
