"""Questions about rights and identity, answered and not kept."""

from __future__ import annotations

import pytest

from support.arms.arm import Answer, As, Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import binding, role, rule
from vacate.api.kinds import (
    ROLEBINDINGS,
    ROLES,
    SELFSUBJECTACCESSREVIEWS,
    SELFSUBJECTREVIEWS,
    SUBJECTACCESSREVIEWS,
    Kind,
)

pytestmark = CONFORMANCE


async def ask(api: CaseApi, kind: Kind, spec: Obj | None = None, as_user: As | None = None) -> Answer:
    body: Obj = {"apiVersion": kind.api_version, "kind": kind.kind}
    return await api.ask("POST", kind, body={**body, "spec": spec} if spec else body, as_user=as_user)


def about(api: CaseApi, verb: str, resource: str = "configmaps", **more: str) -> Obj:
    return {"resourceAttributes": {"namespace": api.namespace, "verb": verb, "resource": resource, **more}}


async def reader(api: CaseApi) -> As:
    user = As(api.unique("reader"), ("system:authenticated",))
    await api.given(ROLES, role("read", rule("get", "configmaps")))
    await api.given(ROLEBINDINGS, binding("read", "Role", "read", user.name))
    return user


async def test_may_i(api: CaseApi) -> None:
    user = await reader(api)
    yes = (await ask(api, SELFSUBJECTACCESSREVIEWS, about(api, "get"), user)).ok(201)
    assert yes["status"]["allowed"] is True
    where = f'RoleBinding "read/{api.namespace}" of Role "read" to User "{user.name}"'
    assert yes["status"]["reason"] == f"RBAC: allowed by {where}"
    no = (await ask(api, SELFSUBJECTACCESSREVIEWS, about(api, "delete"), user)).ok(201)
    assert no["status"]["allowed"] is False


async def test_may_they(api: CaseApi) -> None:
    user = await reader(api)
    yes = (await ask(api, SUBJECTACCESSREVIEWS, {**about(api, "get"), "user": user.name})).ok(201)
    no = (await ask(api, SUBJECTACCESSREVIEWS, {**about(api, "get"), "user": "stranger"})).ok(201)
    assert (yes["status"]["allowed"], no["status"]["allowed"]) == (True, False)


async def test_the_admin_may_all(api: CaseApi) -> None:
    yes = (await ask(api, SELFSUBJECTACCESSREVIEWS, about(api, "fly", "dragons"))).ok(201)
    assert yes["status"]["allowed"] is True


async def test_may_i_see_a_path(api: CaseApi) -> None:
    user = As(api.unique("user"), ("system:authenticated",))
    for path, allowed in (("/version", True), ("/metrics", False)):
        spec = {"nonResourceAttributes": {"path": path, "verb": "get"}}
        answer = (await ask(api, SELFSUBJECTACCESSREVIEWS, spec, user)).ok(201)
        assert answer["status"]["allowed"] is allowed, path


async def test_asking_about_others_is_a_right(api: CaseApi) -> None:
    user = As(api.unique("user"), ("system:authenticated",))
    answer = await ask(api, SUBJECTACCESSREVIEWS, {**about(api, "get"), "user": "x"}, user)
    answer.refused(403, "Forbidden")


async def test_a_question_about_nobody(api: CaseApi) -> None:
    answer = await ask(api, SUBJECTACCESSREVIEWS, about(api, "get"))
    field_error = 'spec.user: Invalid value: "": at least one of user or group must be specified'
    answer.refused(422, "Invalid", field_errors=[field_error])


@pytest.mark.parametrize(
    "kind", [SUBJECTACCESSREVIEWS, SELFSUBJECTACCESSREVIEWS], ids=lambda kind: kind.plural
)
async def test_a_question_about_nothing(api: CaseApi, kind: Kind) -> None:
    answer = await ask(api, kind, {"user": "x"} if kind is SUBJECTACCESSREVIEWS else {})
    why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    answer.refused(422, "Invalid", field_errors=[f"spec: Invalid value: null: {why}"])


async def test_who_am_i(api: CaseApi) -> None:
    answer = (await ask(api, SELFSUBJECTREVIEWS, as_user=As("jane", ("team-a", "system:authenticated")))).ok(
        201
    )
    info = answer["status"]["userInfo"]
    assert info["username"] == "jane"
    assert set(info["groups"]) == {"team-a", "system:authenticated"}


async def test_everybody_named_is_authenticated(api: CaseApi) -> None:
    answer = (await ask(api, SELFSUBJECTREVIEWS, as_user=As("jane"))).ok(201)
    assert answer["status"]["userInfo"]["groups"] == ["system:authenticated"]


async def test_a_service_account_has_its_groups(api: CaseApi) -> None:
    user = As(f"system:serviceaccount:{api.namespace}:robot")
    answer = (await ask(api, SELFSUBJECTREVIEWS, as_user=user)).ok(201)
    expected = {"system:serviceaccounts", f"system:serviceaccounts:{api.namespace}", "system:authenticated"}
    assert set(answer["status"]["userInfo"]["groups"]) == expected


@pytest.mark.parametrize(
    "kind", [SUBJECTACCESSREVIEWS, SELFSUBJECTACCESSREVIEWS, SELFSUBJECTREVIEWS], ids=lambda kind: kind.plural
)
async def test_reviews_are_not_kept(api: CaseApi, kind: Kind) -> None:
    answer = await api.ask("GET", kind)
    message = "the server does not allow this method on the requested resource"
    answer.refused(405, "MethodNotAllowed", message)
