"""Who may do what: roles, bindings, and nobody beyond their own rights."""

from __future__ import annotations

import pytest

from support.arms.arm import As, Obj
from support.arms.caseapi import CaseApi, names
from support.arms.marks import CONFORMANCE
from support.arms.objects import binding, config_map, named, pod, role, rule, workload
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CONFIGMAPS,
    DEPLOYMENTS,
    NODES,
    PODS,
    ROLEBINDINGS,
    ROLES,
)

pytestmark = CONFORMANCE

RBAC = "rbac.authorization.k8s.io"


async def granted(api: CaseApi, *rules: Obj) -> As:
    """Somebody who holds these rules in this namespace."""
    user = As(api.unique("user"))
    await api.given(ROLES, role("granted", *rules))
    await api.given(ROLEBINDINGS, binding("granted", "Role", "granted", user.name))
    return user


def cannot(user: As, verb: str, resource: str, api: CaseApi | None, group: str = "") -> str:
    where = f'in the namespace "{api.namespace}"' if api else "at the cluster scope"
    return f'User "{user.name}" cannot {verb} resource "{resource}" in API group "{group}" {where}'


async def test_nobody_may_anything(api: CaseApi) -> None:
    user = As(api.unique("user"))
    await api.given(CONFIGMAPS, config_map("m"))
    why = cannot(user, "list", "configmaps", api)
    (await api.ask("GET", CONFIGMAPS, as_user=user)).refused(
        403, "Forbidden", f"configmaps is forbidden: {why}"
    )
    why = cannot(user, "get", "configmaps", api)
    answer = await api.ask("GET", CONFIGMAPS, "m", as_user=user)
    answer.refused(403, "Forbidden", f'configmaps "m" is forbidden: {why}')
    why = cannot(user, "list", "deployments", None, "apps")
    answer = await api.arm.call("GET", DEPLOYMENTS.collection_path(), as_user=user)
    answer.refused(403, "Forbidden", f"deployments.apps is forbidden: {why}")


async def test_rights_come_before_existence(api: CaseApi) -> None:
    user = As(api.unique("user"))
    answer = await api.ask("GET", CONFIGMAPS, "none", as_user=user)
    answer.refused(403, "Forbidden")


async def test_a_role_grants_its_verbs(api: CaseApi) -> None:
    user = await granted(api, rule("get list create", "configmaps"))
    (await api.post(CONFIGMAPS, config_map("m"), as_user=user)).ok(201)
    assert "m" in names(await api.listed(CONFIGMAPS, as_user=user))
    answer = await api.delete(CONFIGMAPS, "m", as_user=user)
    answer.refused(
        403, "Forbidden", f'configmaps "m" is forbidden: {cannot(user, "delete", "configmaps", api)}'
    )


async def test_a_role_ends_at_its_namespace(api: CaseApi) -> None:
    user = await granted(api, rule("list", "configmaps"))
    answer = await api.arm.call("GET", CONFIGMAPS.collection_path("default"), as_user=user)
    answer.refused(403, "Forbidden")
    answer = await api.arm.call("GET", CONFIGMAPS.collection_path(), as_user=user)
    why = cannot(user, "list", "configmaps", None)
    answer.refused(403, "Forbidden", f"configmaps is forbidden: {why}")


async def test_watch_is_a_verb_of_its_own(api: CaseApi) -> None:
    user = await granted(api, rule("list", "configmaps"))
    answer = await api.ask("GET", CONFIGMAPS, query={"watch": "true"}, as_user=user)
    answer.refused(403, "Forbidden", f"configmaps is forbidden: {cannot(user, 'watch', 'configmaps', api)}")


async def test_patch_and_update_are_two_verbs(api: CaseApi) -> None:
    user = await granted(api, rule("get update", "configmaps"))
    await api.given(CONFIGMAPS, config_map("m"))
    (await api.put(CONFIGMAPS, config_map("m", a="1"), as_user=user)).ok()
    answer = await api.patch(CONFIGMAPS, "m", {"data": {"a": "2"}}, as_user=user)
    answer.refused(
        403, "Forbidden", f'configmaps "m" is forbidden: {cannot(user, "patch", "configmaps", api)}'
    )


async def test_names_narrow_a_rule(api: CaseApi) -> None:
    user = await granted(api, rule("get list", "configmaps", resourceNames=["mine"]))
    for name in ("mine", "other"):
        await api.given(CONFIGMAPS, config_map(name))
    await api.get(CONFIGMAPS, "mine", as_user=user)
    (await api.ask("GET", CONFIGMAPS, "other", as_user=user)).refused(403, "Forbidden")
    (await api.ask("GET", CONFIGMAPS, as_user=user)).refused(403, "Forbidden")
    one = await api.listed(CONFIGMAPS, {"fieldSelector": "metadata.name=mine"}, as_user=user)
    assert names(one) == ["mine"]


async def test_a_list_that_cannot_be_read_is_of_no_name(api: CaseApi) -> None:
    query = {"fieldSelector": "metadata.name=mine", "limit": "x"}
    answer = await api.ask("GET", CONFIGMAPS, query=query, as_user=As("nobody"))
    answer.refused(403, "Forbidden", starting='configmaps is forbidden: User "nobody" cannot list resource')


async def test_subresources_are_resources(api: CaseApi) -> None:
    user = await granted(api, rule("get update", "deployments", "apps"))
    await api.given(DEPLOYMENTS, workload("w"))
    await api.get(DEPLOYMENTS, "w", as_user=user)
    answer = await api.ask("GET", DEPLOYMENTS, "w", "scale", as_user=user)
    why = cannot(user, "get", "deployments/scale", api, "apps")
    answer.refused(403, "Forbidden", f'deployments.apps "w" is forbidden: {why}')


async def test_a_right_to_a_subresource_alone(api: CaseApi) -> None:
    user = await granted(api, rule("get update", "deployments/scale", "apps"))
    await api.given(DEPLOYMENTS, workload("w"))
    scale = await api.get(DEPLOYMENTS, "w", "scale", as_user=user)
    scale["spec"]["replicas"] = 4
    (await api.put(DEPLOYMENTS, scale, "scale", as_user=user)).ok()
    (await api.ask("GET", DEPLOYMENTS, "w", as_user=user)).refused(403, "Forbidden")


async def test_eviction_is_a_right_of_its_own(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    deleter = await granted(api, rule("delete", "pods"))
    answer = await api.ask("POST", PODS, "p", "eviction", body, as_user=deleter)
    why = cannot(deleter, "create", "pods/eviction", api)
    answer.refused(403, "Forbidden", f'pods "p" is forbidden: {why}')
    evictor = As(api.unique("evictor"))
    await api.given(ROLES, role("evict", rule("create", "pods/eviction")))
    await api.given(ROLEBINDINGS, binding("evict", "Role", "evict", evictor.name))
    (await api.ask("POST", PODS, "p", "eviction", body, as_user=evictor)).ok(201)


@pytest.mark.parametrize("star", ["verbs", "resources", "apiGroups"])
async def test_stars_mean_all(api: CaseApi, star: str) -> None:
    user = await granted(api, {**rule("get", "configmaps"), star: ["*"]})
    await api.given(CONFIGMAPS, config_map("m"))
    await api.get(CONFIGMAPS, "m", as_user=user)


async def test_groups_hold_roles(api: CaseApi) -> None:
    group = api.unique("team")
    await api.given(ROLES, role("r", rule("list", "configmaps")))
    bound = binding("b", "Role", "r")
    bound["subjects"] = [{"kind": "Group", "apiGroup": RBAC, "name": group}]
    await api.given(ROLEBINDINGS, bound)
    await api.listed(CONFIGMAPS, as_user=As("member", (group,)))
    (await api.ask("GET", CONFIGMAPS, as_user=As("stranger"))).refused(403, "Forbidden")


async def test_service_accounts_hold_roles(api: CaseApi) -> None:
    await api.given(ROLES, role("r", rule("list", "configmaps")))
    bound = binding("b", "Role", "r")
    bound["subjects"] = [{"kind": "ServiceAccount", "name": "robot", "namespace": api.namespace}]
    await api.given(ROLEBINDINGS, bound)
    await api.listed(CONFIGMAPS, as_user=As(f"system:serviceaccount:{api.namespace}:robot"))


async def test_a_cluster_role_in_one_namespace(api: CaseApi) -> None:
    user, name = As(api.unique("user")), api.unique("cr")
    await api.given(CLUSTERROLES, role(name, rule("list", "configmaps nodes")))
    await api.given(ROLEBINDINGS, binding("b", "ClusterRole", name, user.name))
    await api.listed(CONFIGMAPS, as_user=user)
    (await api.ask("GET", NODES, as_user=user)).refused(403, "Forbidden")


async def test_a_cluster_role_everywhere(api: CaseApi) -> None:
    user, name = As(api.unique("user")), api.unique("cr")
    await api.given(CLUSTERROLES, role(name, rule("list", "nodes configmaps")))
    await api.given(CLUSTERROLEBINDINGS, binding(name, "ClusterRole", name, user.name))
    await api.listed(NODES, as_user=user)
    (await api.arm.call("GET", CONFIGMAPS.collection_path(), as_user=user)).ok()


async def test_paths_that_are_no_resources(api: CaseApi) -> None:
    user, name = As(api.unique("user")), api.unique("cr")
    (await api.arm.call("GET", "/metrics", as_user=user)).refused(403, "Forbidden")
    await api.given(CLUSTERROLES, role(name, {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}))
    await api.given(CLUSTERROLEBINDINGS, binding(name, "ClusterRole", name, user.name))
    (await api.arm.call("GET", "/metrics", as_user=user)).ok()


async def test_everybody_known_may_discover(api: CaseApi) -> None:
    user = As(api.unique("user"), ("system:authenticated",))
    for path in ("/api", "/apis", "/api/v1", "/version"):
        (await api.arm.call("GET", path, as_user=user)).ok()


async def test_the_roles_for_people(api: CaseApi) -> None:
    viewer = As(api.unique("viewer"))
    await api.given(ROLEBINDINGS, binding("v", "ClusterRole", "view", viewer.name))
    await api.listed(PODS, as_user=viewer)
    (await api.post(PODS, pod("p"), as_user=viewer)).refused(403, "Forbidden")
    (await api.ask("GET", ROLES, as_user=viewer)).refused(403, "Forbidden")
    editor = As(api.unique("editor"))
    await api.given(ROLEBINDINGS, binding("e", "ClusterRole", "edit", editor.name))
    (await api.post(CONFIGMAPS, named("m"), as_user=editor)).ok(201)
    (await api.post(ROLES, role("r"), as_user=editor)).refused(403, "Forbidden")


async def test_a_right_that_is_taken_back(api: CaseApi) -> None:
    user = await granted(api, rule("list", "configmaps"))
    await api.listed(CONFIGMAPS, as_user=user)
    await api.arm.drop(api.at(ROLEBINDINGS, "granted"))
    (await api.ask("GET", CONFIGMAPS, as_user=user)).refused(403, "Forbidden")
