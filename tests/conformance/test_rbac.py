"""Who may do what: roles, bindings, and nobody beyond their own rights."""

from __future__ import annotations

import pytest

from support.arms import As, Obj
from support.arms_marks import CONFORMANCE
from support.arms_objects import binding, config_map, named, pod, role, rule, workload
from support.arms_scene import Scene, names
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


async def granted(scene: Scene, *rules: Obj) -> As:
    """Somebody who holds these rules in this namespace."""
    user = As(scene.unique("user"))
    await scene.given(ROLES, role("granted", *rules))
    await scene.given(ROLEBINDINGS, binding("granted", "Role", "granted", user.name))
    return user


def cannot(user: As, verb: str, resource: str, scene: Scene | None, group: str = "") -> str:
    where = f'in the namespace "{scene.namespace}"' if scene else "at the cluster scope"
    return f'User "{user.name}" cannot {verb} resource "{resource}" in API group "{group}" {where}'


async def test_nobody_may_anything(scene: Scene) -> None:
    user = As(scene.unique("user"))
    await scene.given(CONFIGMAPS, config_map("m"))
    why = cannot(user, "list", "configmaps", scene)
    (await scene.ask("GET", CONFIGMAPS, as_user=user)).refused(
        403, "Forbidden", f"configmaps is forbidden: {why}"
    )
    why = cannot(user, "get", "configmaps", scene)
    answer = await scene.ask("GET", CONFIGMAPS, "m", as_user=user)
    answer.refused(403, "Forbidden", f'configmaps "m" is forbidden: {why}')
    why = cannot(user, "list", "deployments", None, "apps")
    answer = await scene.arm.call("GET", DEPLOYMENTS.collection_path(), as_user=user)
    answer.refused(403, "Forbidden", f"deployments.apps is forbidden: {why}")


async def test_rights_come_before_existence(scene: Scene) -> None:
    user = As(scene.unique("user"))
    answer = await scene.ask("GET", CONFIGMAPS, "none", as_user=user)
    answer.refused(403, "Forbidden")


async def test_a_role_grants_its_verbs(scene: Scene) -> None:
    user = await granted(scene, rule("get list create", "configmaps"))
    (await scene.post(CONFIGMAPS, config_map("m"), as_user=user)).ok(201)
    assert "m" in names(await scene.listed(CONFIGMAPS, as_user=user))
    answer = await scene.delete(CONFIGMAPS, "m", as_user=user)
    answer.refused(
        403, "Forbidden", f'configmaps "m" is forbidden: {cannot(user, "delete", "configmaps", scene)}'
    )


async def test_a_role_ends_at_its_namespace(scene: Scene) -> None:
    user = await granted(scene, rule("list", "configmaps"))
    answer = await scene.arm.call("GET", CONFIGMAPS.collection_path("default"), as_user=user)
    answer.refused(403, "Forbidden")
    answer = await scene.arm.call("GET", CONFIGMAPS.collection_path(), as_user=user)
    why = cannot(user, "list", "configmaps", None)
    answer.refused(403, "Forbidden", f"configmaps is forbidden: {why}")


async def test_watch_is_a_verb_of_its_own(scene: Scene) -> None:
    user = await granted(scene, rule("list", "configmaps"))
    answer = await scene.ask("GET", CONFIGMAPS, query={"watch": "true"}, as_user=user)
    answer.refused(403, "Forbidden", f"configmaps is forbidden: {cannot(user, 'watch', 'configmaps', scene)}")


async def test_patch_and_update_are_two_verbs(scene: Scene) -> None:
    user = await granted(scene, rule("get update", "configmaps"))
    await scene.given(CONFIGMAPS, config_map("m"))
    (await scene.put(CONFIGMAPS, config_map("m", a="1"), as_user=user)).ok()
    answer = await scene.patch(CONFIGMAPS, "m", {"data": {"a": "2"}}, as_user=user)
    answer.refused(
        403, "Forbidden", f'configmaps "m" is forbidden: {cannot(user, "patch", "configmaps", scene)}'
    )


async def test_names_narrow_a_rule(scene: Scene) -> None:
    user = await granted(scene, rule("get list", "configmaps", resourceNames=["mine"]))
    for name in ("mine", "other"):
        await scene.given(CONFIGMAPS, config_map(name))
    await scene.get(CONFIGMAPS, "mine", as_user=user)
    (await scene.ask("GET", CONFIGMAPS, "other", as_user=user)).refused(403, "Forbidden")
    (await scene.ask("GET", CONFIGMAPS, as_user=user)).refused(403, "Forbidden")
    one = await scene.listed(CONFIGMAPS, {"fieldSelector": "metadata.name=mine"}, as_user=user)
    assert names(one) == ["mine"]


async def test_a_list_that_cannot_be_read_is_of_no_name(scene: Scene) -> None:
    query = {"fieldSelector": "metadata.name=mine", "limit": "x"}
    answer = await scene.ask("GET", CONFIGMAPS, query=query, as_user=As("nobody"))
    answer.refused(403, "Forbidden", starting='configmaps is forbidden: User "nobody" cannot list resource')


async def test_subresources_are_resources(scene: Scene) -> None:
    user = await granted(scene, rule("get update", "deployments", "apps"))
    await scene.given(DEPLOYMENTS, workload("w"))
    await scene.get(DEPLOYMENTS, "w", as_user=user)
    answer = await scene.ask("GET", DEPLOYMENTS, "w", "scale", as_user=user)
    why = cannot(user, "get", "deployments/scale", scene, "apps")
    answer.refused(403, "Forbidden", f'deployments.apps "w" is forbidden: {why}')


async def test_a_right_to_a_subresource_alone(scene: Scene) -> None:
    user = await granted(scene, rule("get update", "deployments/scale", "apps"))
    await scene.given(DEPLOYMENTS, workload("w"))
    scale = await scene.get(DEPLOYMENTS, "w", "scale", as_user=user)
    scale["spec"]["replicas"] = 4
    (await scene.put(DEPLOYMENTS, scale, "scale", as_user=user)).ok()
    (await scene.ask("GET", DEPLOYMENTS, "w", as_user=user)).refused(403, "Forbidden")


async def test_eviction_is_a_right_of_its_own(scene: Scene) -> None:
    await scene.given(PODS, pod("p"))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    deleter = await granted(scene, rule("delete", "pods"))
    answer = await scene.ask("POST", PODS, "p", "eviction", body, as_user=deleter)
    why = cannot(deleter, "create", "pods/eviction", scene)
    answer.refused(403, "Forbidden", f'pods "p" is forbidden: {why}')
    evictor = As(scene.unique("evictor"))
    await scene.given(ROLES, role("evict", rule("create", "pods/eviction")))
    await scene.given(ROLEBINDINGS, binding("evict", "Role", "evict", evictor.name))
    (await scene.ask("POST", PODS, "p", "eviction", body, as_user=evictor)).ok(201)


@pytest.mark.parametrize("star", ["verbs", "resources", "apiGroups"])
async def test_stars_mean_all(scene: Scene, star: str) -> None:
    user = await granted(scene, {**rule("get", "configmaps"), star: ["*"]})
    await scene.given(CONFIGMAPS, config_map("m"))
    await scene.get(CONFIGMAPS, "m", as_user=user)


async def test_groups_hold_roles(scene: Scene) -> None:
    group = scene.unique("team")
    await scene.given(ROLES, role("r", rule("list", "configmaps")))
    bound = binding("b", "Role", "r")
    bound["subjects"] = [{"kind": "Group", "apiGroup": RBAC, "name": group}]
    await scene.given(ROLEBINDINGS, bound)
    await scene.listed(CONFIGMAPS, as_user=As("member", (group,)))
    (await scene.ask("GET", CONFIGMAPS, as_user=As("stranger"))).refused(403, "Forbidden")


async def test_service_accounts_hold_roles(scene: Scene) -> None:
    await scene.given(ROLES, role("r", rule("list", "configmaps")))
    bound = binding("b", "Role", "r")
    bound["subjects"] = [{"kind": "ServiceAccount", "name": "robot", "namespace": scene.namespace}]
    await scene.given(ROLEBINDINGS, bound)
    await scene.listed(CONFIGMAPS, as_user=As(f"system:serviceaccount:{scene.namespace}:robot"))


async def test_a_cluster_role_in_one_namespace(scene: Scene) -> None:
    user, name = As(scene.unique("user")), scene.unique("cr")
    await scene.given(CLUSTERROLES, role(name, rule("list", "configmaps nodes")))
    await scene.given(ROLEBINDINGS, binding("b", "ClusterRole", name, user.name))
    await scene.listed(CONFIGMAPS, as_user=user)
    (await scene.ask("GET", NODES, as_user=user)).refused(403, "Forbidden")


async def test_a_cluster_role_everywhere(scene: Scene) -> None:
    user, name = As(scene.unique("user")), scene.unique("cr")
    await scene.given(CLUSTERROLES, role(name, rule("list", "nodes configmaps")))
    await scene.given(CLUSTERROLEBINDINGS, binding(name, "ClusterRole", name, user.name))
    await scene.listed(NODES, as_user=user)
    (await scene.arm.call("GET", CONFIGMAPS.collection_path(), as_user=user)).ok()


async def test_paths_that_are_no_resources(scene: Scene) -> None:
    user, name = As(scene.unique("user")), scene.unique("cr")
    (await scene.arm.call("GET", "/metrics", as_user=user)).refused(403, "Forbidden")
    await scene.given(CLUSTERROLES, role(name, {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}))
    await scene.given(CLUSTERROLEBINDINGS, binding(name, "ClusterRole", name, user.name))
    (await scene.arm.call("GET", "/metrics", as_user=user)).ok()


async def test_everybody_known_may_discover(scene: Scene) -> None:
    user = As(scene.unique("user"), ("system:authenticated",))
    for path in ("/api", "/apis", "/api/v1", "/version"):
        (await scene.arm.call("GET", path, as_user=user)).ok()


async def test_the_roles_for_people(scene: Scene) -> None:
    viewer = As(scene.unique("viewer"))
    await scene.given(ROLEBINDINGS, binding("v", "ClusterRole", "view", viewer.name))
    await scene.listed(PODS, as_user=viewer)
    (await scene.post(PODS, pod("p"), as_user=viewer)).refused(403, "Forbidden")
    (await scene.ask("GET", ROLES, as_user=viewer)).refused(403, "Forbidden")
    editor = As(scene.unique("editor"))
    await scene.given(ROLEBINDINGS, binding("e", "ClusterRole", "edit", editor.name))
    (await scene.post(CONFIGMAPS, named("m"), as_user=editor)).ok(201)
    (await scene.post(ROLES, role("r"), as_user=editor)).refused(403, "Forbidden")


async def test_a_right_that_is_taken_back(scene: Scene) -> None:
    user = await granted(scene, rule("list", "configmaps"))
    await scene.listed(CONFIGMAPS, as_user=user)
    await scene.arm.drop(scene.at(ROLEBINDINGS, "granted"))
    (await scene.ask("GET", CONFIGMAPS, as_user=user)).refused(403, "Forbidden")
