"""Nobody gives what they do not have, and only some may speak for others."""

from __future__ import annotations

from support.arms.arm import As
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE, without
from support.arms.objects import binding, role, rule
from vacate.api.kinds import CLUSTERROLEBINDINGS, CLUSTERROLES, CONFIGMAPS, ROLEBINDINGS, ROLES

pytestmark = CONFORMANCE

RBAC = "rbac.authorization.k8s.io"
MANAGE = rule("create update patch get", "roles rolebindings", RBAC)


async def manager(api: CaseApi, *more: dict[str, object]) -> As:
    """Somebody who may write roles and bindings here, and hold these rules besides."""
    user = As(api.unique("manager"), ("system:authenticated",))
    await api.given(ROLES, role("manage", MANAGE, *more))
    await api.given(ROLEBINDINGS, binding("manage", "Role", "manage", user.name))
    return user


def attempt(user: As, *missing: str) -> str:
    held = f'user "{user.name}" (groups=["system:authenticated"])'
    return f"{held} is attempting to grant RBAC permissions not currently held:\n" + "\n".join(missing)


async def test_a_role_beyond_ones_own(api: CaseApi) -> None:
    user = await manager(api, rule("get", "pods"))
    answer = await api.post(ROLES, role("r", rule("get delete", "pods")), as_user=user)
    missing = '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}'
    answer.refused(403, "Forbidden", f'roles.{RBAC} "r" is forbidden: {attempt(user, missing)}')
    await api.gone(ROLES, "r")


async def test_a_role_within_ones_own(api: CaseApi) -> None:
    user = await manager(api, rule("get list", "pods"))
    (await api.post(ROLES, role("r", rule("get", "pods")), as_user=user)).ok(201)


async def test_a_role_that_grows(api: CaseApi) -> None:
    user = await manager(api, rule("get", "pods"))
    await api.given(ROLES, role("r", rule("get", "pods")))
    patch = {"rules": [rule("get", "pods secrets")]}
    answer = await api.patch(ROLES, "r", patch, as_user=user)
    missing = '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    answer.refused(403, "Forbidden", f'roles.{RBAC} "r" is forbidden: {attempt(user, missing)}')


async def test_the_right_to_escalate(api: CaseApi) -> None:
    user = await manager(api, rule("escalate", "roles", RBAC))
    (await api.post(ROLES, role("r", rule("delete", "pods")), as_user=user)).ok(201)


async def test_a_binding_beyond_ones_own(api: CaseApi) -> None:
    user = await manager(api)
    await api.given(ROLES, role("strong", rule("delete", "pods")))
    answer = await api.post(ROLEBINDINGS, binding("b", "Role", "strong", user.name), as_user=user)
    missing = '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}'
    answer.refused(403, "Forbidden", f'rolebindings.{RBAC} "b" is forbidden: {attempt(user, missing)}')


async def test_the_right_to_bind(api: CaseApi) -> None:
    user = await manager(api, rule("bind", "roles", RBAC, resourceNames=["strong"]))
    await api.given(ROLES, role("strong", rule("delete", "pods")))
    (await api.post(ROLEBINDINGS, binding("b", "Role", "strong", "x"), as_user=user)).ok(201)


async def test_a_binding_to_a_role_that_is_not_there(api: CaseApi) -> None:
    user = await manager(api)
    answer = await api.post(ROLEBINDINGS, binding("b", "Role", "none", "x"), as_user=user)
    answer.refused(404, "NotFound", f'rolebindings.{RBAC} "none" not found')


async def test_the_admin_may_bind_anything(api: CaseApi) -> None:
    name = api.unique("b")
    created = await api.create(CLUSTERROLEBINDINGS, binding(name, "ClusterRole", "none-such", "x"))
    assert created["roleRef"]["name"] == "none-such"


async def test_aggregation_needs_everything(api: CaseApi) -> None:
    name, user = api.unique("cr"), As(api.unique("user"), ("system:authenticated",))
    await api.given(CLUSTERROLES, role(name, rule("create", "clusterroles", RBAC)))
    await api.given(CLUSTERROLEBINDINGS, binding(name, "ClusterRole", name, user.name))
    wanted = api.unique("agg")
    body = {
        "metadata": {"name": wanted},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    }
    answer = await api.post(CLUSTERROLES, body, as_user=user)
    why = "must have cluster-admin privileges to use the aggregationRule"
    answer.refused(403, "Forbidden", f'clusterroles.{RBAC} "{wanted}" is forbidden: {why}')


@without("kubectl", because="kubectl cannot impersonate in the name of somebody it impersonates")
async def test_speaking_for_others_needs_the_right(api: CaseApi) -> None:
    answer = await api.arm.call("GET", api.at(CONFIGMAPS), headers={"Impersonate-User": "x"}, as_user=As())
    answer.refused(403, "Forbidden")


@without("kubectl", because="kubectl --as-group needs --as")
async def test_a_group_without_a_name(api: CaseApi) -> None:
    answer = await api.arm.call("GET", api.at(CONFIGMAPS), headers={"Impersonate-Group": "x"})
    assert answer.failed
    assert answer.code in (400, 500)
