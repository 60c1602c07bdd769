"""Namespaces: what lives in them, how they go, and which never do."""

from __future__ import annotations

import pytest

from support.arms_marks import CONFORMANCE
from support.arms_objects import config_map, named, pod
from support.arms_scene import Scene, names
from vacate.api.kinds import CONFIGMAPS, LEASES, NAMESPACES, PODS

pytestmark = CONFORMANCE


async def going(scene: Scene) -> str:
    """A namespace on its way out that cannot end: something in it is held."""
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await scene.given(CONFIGMAPS, held)
    await scene.given(PODS, pod("old", node="n"))
    await scene.arm.drop(NAMESPACES.object_path(scene.namespace))
    return scene.namespace


async def release(scene: Scene) -> None:
    await scene.given_patch(CONFIGMAPS, "held", {"metadata": {"finalizers": None}})


async def test_a_missing_one(scene: Scene) -> None:
    answer = await scene.arm.call("POST", CONFIGMAPS.collection_path("no-such-place"), body=config_map("m"))
    answer.refused(404, "NotFound", 'namespaces "no-such-place" not found')


async def test_nothing_is_listed_in_a_missing_one(scene: Scene) -> None:
    answer = await scene.arm.call("GET", CONFIGMAPS.collection_path("no-such-place"))
    assert names(answer.ok()) == []


async def test_deletion_begins(scene: Scene) -> None:
    await scene.given(CONFIGMAPS, config_map("m"))
    answer = (await scene.delete(NAMESPACES, scene.namespace)).ok()
    assert answer["kind"] == "Namespace"
    assert answer["metadata"]["deletionTimestamp"]
    assert answer["status"]["phase"] == "Terminating"
    assert answer["spec"]["finalizers"] == ["kubernetes"]


async def test_nothing_new_in_one_that_goes(scene: Scene) -> None:
    name = await going(scene)
    answer = await scene.post(CONFIGMAPS, config_map("m"))
    why = f"unable to create new content in namespace {name} because it is being terminated"
    answer.refused(403, "Forbidden", f'configmaps "m" is forbidden: {why}')
    answer.caused_by(("NamespaceTerminating", f"namespace {name} is being terminated"))
    await release(scene)


async def test_old_things_in_one_that_goes_may_change(scene: Scene) -> None:
    await going(scene)
    patched = (await scene.patch(CONFIGMAPS, "held", {"data": {"a": "1"}})).ok()
    assert patched["data"] == {"a": "1"}
    await release(scene)


async def test_no_eviction_in_one_that_goes(scene: Scene) -> None:
    name = await going(scene)
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "old"}}
    answer = await scene.ask("POST", PODS, "old", "eviction", body)
    why = f"unable to create new content in namespace {name} because it is being terminated"
    answer.refused(403, "Forbidden", f'pods "old" is forbidden: {why}')
    answer.caused_by(("NamespaceTerminating", f"namespace {name} is being terminated"))
    await release(scene)


async def test_finalize_ends_it(scene: Scene) -> None:
    name = scene.unique("ns")
    await scene.given(NAMESPACES, named(name))
    await scene.arm.drop(NAMESPACES.object_path(name))
    read = await scene.arm.call("GET", NAMESPACES.object_path(name))
    if not read.failed:
        read.obj["spec"] = {"finalizers": []}
        read.obj["metadata"].pop("resourceVersion")
        (await scene.put(NAMESPACES, read.obj, "finalize")).ok()
    await scene.gone(NAMESPACES, name)


async def test_finalizers_of_the_spec_are_not_for_updates(scene: Scene) -> None:
    namespace = await scene.get(NAMESPACES, scene.namespace)
    namespace["spec"] = {"finalizers": []}
    assert (await scene.put(NAMESPACES, namespace)).ok()["spec"] == {"finalizers": ["kubernetes"]}


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_immortal(scene: Scene, name: str) -> None:
    answer = await scene.delete(NAMESPACES, name)
    message = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    answer.refused(403, "Forbidden", message)
    await scene.get(NAMESPACES, name)


async def test_preconditions(scene: Scene) -> None:
    created = await scene.get(NAMESPACES, scene.namespace)
    answer = await scene.delete(NAMESPACES, scene.namespace, {"preconditions": {"uid": "other"}})
    why = f"Precondition failed: UID in precondition: other, UID in object meta: {created['metadata']['uid']}"
    message = f'Operation cannot be fulfilled on namespaces "{scene.namespace}": {why}'
    answer.refused(409, "Conflict", message)


async def test_the_name_label_comes_back(scene: Scene) -> None:
    label = {"kubernetes.io/metadata.name": scene.namespace}
    namespace = await scene.get(NAMESPACES, scene.namespace)
    namespace["metadata"]["labels"] = {"team": "a"}
    new = (await scene.put(NAMESPACES, namespace)).ok()
    assert new["metadata"]["labels"] == {"team": "a", **label}


async def test_collections_of_namespaces_are_not_deleted(scene: Scene) -> None:
    answer = await scene.ask("DELETE", NAMESPACES, query={"labelSelector": "no=body"})
    message = "the server does not allow this method on the requested resource"
    answer.refused(405, "MethodNotAllowed", message)


async def test_putting_something_new_into_a_namespace_on_its_way_out(scene: Scene) -> None:
    name = await going(scene)
    answer = await scene.put(LEASES, named("l", meta={"resourceVersion": "x"}, spec={}))
    await release(scene)
    why = f"unable to create new content in namespace {name} because it is being terminated"
    answer.refused(403, "Forbidden", f'leases.coordination.k8s.io "l" is forbidden: {why}')
