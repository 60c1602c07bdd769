"""Questions about rights and identity, answered and not kept."""

from __future__ import annotations

import pytest

from support.arms import Answer, As, Obj
from support.arms_marks import CONFORMANCE
from support.arms_objects import binding, role, rule
from support.arms_scene import Scene
from vacate.api.kinds import (
    ROLEBINDINGS,
    ROLES,
    SELFSUBJECTACCESSREVIEWS,
    SELFSUBJECTREVIEWS,
    SUBJECTACCESSREVIEWS,
    Kind,
)

pytestmark = CONFORMANCE


async def ask(scene: Scene, kind: Kind, spec: Obj | None = None, as_user: As | None = None) -> Answer:
    body: Obj = {"apiVersion": kind.api_version, "kind": kind.kind}
    return await scene.ask("POST", kind, body={**body, "spec": spec} if spec else body, as_user=as_user)


def about(scene: Scene, verb: str, resource: str = "configmaps", **more: str) -> Obj:
    return {"resourceAttributes": {"namespace": scene.namespace, "verb": verb, "resource": resource, **more}}


async def reader(scene: Scene) -> As:
    user = As(scene.unique("reader"), ("system:authenticated",))
    await scene.given(ROLES, role("read", rule("get", "configmaps")))
    await scene.given(ROLEBINDINGS, binding("read", "Role", "read", user.name))
    return user


async def test_may_i(scene: Scene) -> None:
    user = await reader(scene)
    yes = (await ask(scene, SELFSUBJECTACCESSREVIEWS, about(scene, "get"), user)).ok(201)
    assert yes["status"]["allowed"] is True
    where = f'RoleBinding "read/{scene.namespace}" of Role "read" to User "{user.name}"'
    assert yes["status"]["reason"] == f"RBAC: allowed by {where}"
    no = (await ask(scene, SELFSUBJECTACCESSREVIEWS, about(scene, "delete"), user)).ok(201)
    assert no["status"]["allowed"] is False


async def test_may_they(scene: Scene) -> None:
    user = await reader(scene)
    yes = (await ask(scene, SUBJECTACCESSREVIEWS, {**about(scene, "get"), "user": user.name})).ok(201)
    no = (await ask(scene, SUBJECTACCESSREVIEWS, {**about(scene, "get"), "user": "stranger"})).ok(201)
    assert (yes["status"]["allowed"], no["status"]["allowed"]) == (True, False)


async def test_the_admin_may_all(scene: Scene) -> None:
    yes = (await ask(scene, SELFSUBJECTACCESSREVIEWS, about(scene, "fly", "dragons"))).ok(201)
    assert yes["status"]["allowed"] is True


async def test_may_i_see_a_path(scene: Scene) -> None:
    user = As(scene.unique("user"), ("system:authenticated",))
    for path, allowed in (("/version", True), ("/metrics", False)):
        spec = {"nonResourceAttributes": {"path": path, "verb": "get"}}
        answer = (await ask(scene, SELFSUBJECTACCESSREVIEWS, spec, user)).ok(201)
        assert answer["status"]["allowed"] is allowed, path


async def test_asking_about_others_is_a_right(scene: Scene) -> None:
    user = As(scene.unique("user"), ("system:authenticated",))
    answer = await ask(scene, SUBJECTACCESSREVIEWS, {**about(scene, "get"), "user": "x"}, user)
    answer.refused(403, "Forbidden")


async def test_a_question_about_nobody(scene: Scene) -> None:
    answer = await ask(scene, SUBJECTACCESSREVIEWS, about(scene, "get"))
    field_error = 'spec.user: Invalid value: "": at least one of user or group must be specified'
    answer.refused(422, "Invalid", field_errors=[field_error])


@pytest.mark.parametrize(
    "kind", [SUBJECTACCESSREVIEWS, SELFSUBJECTACCESSREVIEWS], ids=lambda kind: kind.plural
)
async def test_a_question_about_nothing(scene: Scene, kind: Kind) -> None:
    answer = await ask(scene, kind, {"user": "x"} if kind is SUBJECTACCESSREVIEWS else {})
    why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    answer.refused(422, "Invalid", field_errors=[f"spec.resourceAttributes: Invalid value: null: {why}"])


async def test_who_am_i(scene: Scene) -> None:
    answer = (
        await ask(scene, SELFSUBJECTREVIEWS, as_user=As("jane", ("team-a", "system:authenticated")))
    ).ok(201)
    info = answer["status"]["userInfo"]
    assert info["username"] == "jane"
    assert set(info["groups"]) == {"team-a", "system:authenticated"}


async def test_everybody_named_is_authenticated(scene: Scene) -> None:
    answer = (await ask(scene, SELFSUBJECTREVIEWS, as_user=As("jane"))).ok(201)
    assert answer["status"]["userInfo"]["groups"] == ["system:authenticated"]


async def test_a_service_account_has_its_groups(scene: Scene) -> None:
    user = As(f"system:serviceaccount:{scene.namespace}:robot")
    answer = (await ask(scene, SELFSUBJECTREVIEWS, as_user=user)).ok(201)
    expected = {"system:serviceaccounts", f"system:serviceaccounts:{scene.namespace}", "system:authenticated"}
    assert set(answer["status"]["userInfo"]["groups"]) == expected


@pytest.mark.parametrize(
    "kind", [SUBJECTACCESSREVIEWS, SELFSUBJECTACCESSREVIEWS, SELFSUBJECTREVIEWS], ids=lambda kind: kind.plural
)
async def test_reviews_are_not_kept(scene: Scene, kind: Kind) -> None:
    answer = await scene.ask("GET", kind)
    message = "the server does not allow this method on the requested resource"
    answer.refused(405, "MethodNotAllowed", message)
