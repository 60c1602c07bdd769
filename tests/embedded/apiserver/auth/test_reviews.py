"""Reviews: the answers that `kubectl auth` reads."""

from __future__ import annotations

import datetime as dt

import pytest

from support.rbac import authorizer, bind, given, rule
from vacate.api.identity import User
from vacate.api.kinds import SELFSUBJECTACCESSREVIEWS, SELFSUBJECTREVIEWS, SUBJECTACCESSREVIEWS, Kind
from vacate.api.objects import Obj
from vacate.embedded.apiserver.accessreviews import answer_review
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.errors import BadRequest, Invalid

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 8, 20, 12, 0, tzinfo=dt.UTC)
BOB = User("bob", ("system:authenticated",))
GET_PODS = {"verb": "get", "resource": "pods", "namespace": "ns"}


def ask(kind: Kind, body: Obj, asked: Authorizer, user: User = BOB) -> Obj:
    return answer_review(kind, body, user, asked, NOW)


def test_may_i() -> None:
    asked = authorizer(*given("bob", rule("get", "pods")))
    answer = ask(SELFSUBJECTACCESSREVIEWS, {"spec": {"resourceAttributes": GET_PODS}}, asked)
    assert answer == {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": {"resourceAttributes": GET_PODS},
        "status": {
            "allowed": True,
            "reason": 'RBAC: allowed by ClusterRoleBinding "of-bob" of ClusterRole "of-bob" to User "bob"',
        },
    }


def test_no_without_a_reason_and_with_one() -> None:
    body = {"spec": {"resourceAttributes": GET_PODS}, "status": {"allowed": True}}
    assert ask(SELFSUBJECTACCESSREVIEWS, body, authorizer())["status"] == {"allowed": False}
    answer = ask(SELFSUBJECTACCESSREVIEWS, body, authorizer(bind("gone", "bob")))
    assert answer["status"] == {
        "allowed": False,
        "reason": 'rbac: RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
    }


def test_may_i_read_a_path() -> None:
    role = {"verbs": ["get"], "nonResourceURLs": ["/healthz"]}
    body = {"spec": {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}}
    assert ask(SELFSUBJECTACCESSREVIEWS, body, authorizer(*given("bob", role)))["status"]["allowed"]


def test_a_user_has_no_more_groups_than_named() -> None:
    asked = authorizer(*given("eve", rule("get", "pods", names="x")), bind("of-eve", groups="dev"))
    spec = {"resourceAttributes": {**GET_PODS, "name": "x"}}
    for who, allowed in (({"user": "eve"}, True), ({"groups": ["dev"]}, True), ({"user": "bob"}, False)):
        assert ask(SUBJECTACCESSREVIEWS, {"spec": {**spec, **who}}, asked)["status"]["allowed"] is allowed


def test_who_am_i() -> None:
    user = User("bob", ("dev",), "u1", {"acme.io/scope": ("a",)})
    answer = ask(SELFSUBJECTREVIEWS, {"metadata": {"name": "ignored"}}, authorizer(), user)
    assert answer == {
        "kind": "SelfSubjectReview",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"creationTimestamp": "2026-08-20T12:00:00Z"},
        "status": {
            "userInfo": {
                "username": "bob",
                "uid": "u1",
                "groups": ["dev"],
                "extra": {"acme.io/scope": ["a"]},
            }
        },
    }


ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
PATH = {"path": "/x", "verb": "get"}


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (SELFSUBJECTACCESSREVIEWS, {}, f"spec: Invalid value: null: {ONE_OF}"),
        (
            SELFSUBJECTACCESSREVIEWS,
            {"spec": {"resourceAttributes": GET_PODS, "nonResourceAttributes": PATH}},
            (f'spec: Invalid value: {{"Path":"/x","Verb":"get"}}: {ONE_OF}'),
        ),
        (
            SUBJECTACCESSREVIEWS,
            {"spec": {"resourceAttributes": GET_PODS}},
            'spec.user: Invalid value: "": at least one of user or group must be specified',
        ),
        (
            SUBJECTACCESSREVIEWS,
            {"spec": None},
            (
                f"[spec: Invalid value: null: {ONE_OF}, "
                'spec.user: Invalid value: "": at least one of user or group must be specified]'
            ),
        ),
        (
            SELFSUBJECTACCESSREVIEWS,
            {"metadata": {"name": "x"}, "spec": {"resourceAttributes": GET_PODS}},
            'metadata: Invalid value: {"name":"x"}: must be empty',
        ),
        (
            SELFSUBJECTACCESSREVIEWS,
            {"spec": {"resourceAttributes": {**GET_PODS, "labelSelector": {}}}},
            (
                "spec.resourceAttributes.labelSelector.requirements: Required value: when "
                "spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required"
            ),
        ),
        (
            SELFSUBJECTACCESSREVIEWS,
            {
                "spec": {
                    "resourceAttributes": {
                        **GET_PODS,
                        "fieldSelector": {"rawSelector": "a=b", "requirements": [{"key": "a"}]},
                    }
                }
            },
            (
                'spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": '
                "may not specified at the same time as requirements"
            ),
        ),
    ],
)
def test_incomplete_questions_are_invalid(kind: Kind, body: Obj, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        ask(kind, body, authorizer())
    assert caught.value.message == f'.authorization.k8s.io "" is invalid: {message}'
    assert caught.value.status_code == 422
    assert caught.value.details["group"] == "authorization.k8s.io"
    assert all(cause["field"] in message for cause in caught.value.details["causes"])


@pytest.mark.parametrize(
    "body", [{"spec": "x"}, {"spec": []}, {"spec": {"user": 1}}, {"spec": {"resourceAttributes": ["x"]}}]
)
def test_questions_of_the_wrong_shape_are_bad_requests(body: Obj) -> None:
    if body == {"spec": []}:
        with pytest.raises(Invalid):
            ask(SUBJECTACCESSREVIEWS, body, authorizer())
        return
    with pytest.raises(BadRequest, match='SubjectAccessReview in version "v1" cannot be handled'):
        ask(SUBJECTACCESSREVIEWS, body, authorizer())
