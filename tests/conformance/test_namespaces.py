"""Namespaces: what lives in them, how they go, and which never do."""

from __future__ import annotations

import pytest

from support.arms.caseapi import CaseApi, names
from support.arms.marks import CONFORMANCE
from support.arms.objects import config_map, named, pod
from vacate.api.kinds import CONFIGMAPS, LEASES, NAMESPACES, PODS

pytestmark = CONFORMANCE


async def going(api: CaseApi) -> str:
    """A terminating namespace that cannot end: something in it is held."""
    held = config_map("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await api.given(CONFIGMAPS, held)
    await api.given(PODS, pod("old", node="n"))
    await api.arm.drop(NAMESPACES.object_path(api.namespace))
    return api.namespace


async def release(api: CaseApi) -> None:
    await api.given_patch(CONFIGMAPS, "held", {"metadata": {"finalizers": None}})


async def test_a_missing_one(api: CaseApi) -> None:
    answer = await api.arm.call("POST", CONFIGMAPS.collection_path("no-such-place"), body=config_map("m"))
    answer.refused(404, "NotFound", 'namespaces "no-such-place" not found')


async def test_nothing_is_listed_in_a_missing_one(api: CaseApi) -> None:
    answer = await api.arm.call("GET", CONFIGMAPS.collection_path("no-such-place"))
    assert names(answer.ok()) == []


async def test_deletion_begins(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m"))
    answer = (await api.delete(NAMESPACES, api.namespace)).ok()
    assert answer["kind"] == "Namespace"
    assert answer["metadata"]["deletionTimestamp"]
    assert answer["status"]["phase"] == "Terminating"
    assert answer["spec"]["finalizers"] == ["kubernetes"]


async def test_nothing_new_in_one_that_goes(api: CaseApi) -> None:
    name = await going(api)
    answer = await api.post(CONFIGMAPS, config_map("m"))
    why = f"unable to create new content in namespace {name} because it is being terminated"
    answer.refused(403, "Forbidden", f'configmaps "m" is forbidden: {why}')
    answer.caused_by(("NamespaceTerminating", f"namespace {name} is being terminated"))
    await release(api)


async def test_old_things_in_one_that_goes_may_change(api: CaseApi) -> None:
    await going(api)
    patched = (await api.patch(CONFIGMAPS, "held", {"data": {"a": "1"}})).ok()
    assert patched["data"] == {"a": "1"}
    await release(api)


async def test_no_eviction_in_one_that_goes(api: CaseApi) -> None:
    name = await going(api)
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "old"}}
    answer = await api.ask("POST", PODS, "old", "eviction", body)
    why = f"unable to create new content in namespace {name} because it is being terminated"
    answer.refused(403, "Forbidden", f'pods "old" is forbidden: {why}')
    answer.caused_by(("NamespaceTerminating", f"namespace {name} is being terminated"))
    await release(api)


async def test_finalize_ends_it(api: CaseApi) -> None:
    name = api.unique("ns")
    await api.given(NAMESPACES, named(name))
    await api.arm.drop(NAMESPACES.object_path(name))
    read = await api.arm.call("GET", NAMESPACES.object_path(name))
    if not read.failed:
        read.obj["spec"] = {"finalizers": []}
        read.obj["metadata"].pop("resourceVersion")
        (await api.put(NAMESPACES, read.obj, "finalize")).ok()
    await api.gone(NAMESPACES, name)


async def test_finalizers_of_the_spec_are_not_for_updates(api: CaseApi) -> None:
    namespace = await api.get(NAMESPACES, api.namespace)
    namespace["spec"] = {"finalizers": []}
    assert (await api.put(NAMESPACES, namespace)).ok()["spec"] == {"finalizers": ["kubernetes"]}


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_immortal(api: CaseApi, name: str) -> None:
    answer = await api.delete(NAMESPACES, name)
    message = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    answer.refused(403, "Forbidden", message)
    await api.get(NAMESPACES, name)


async def test_preconditions(api: CaseApi) -> None:
    created = await api.get(NAMESPACES, api.namespace)
    answer = await api.delete(NAMESPACES, api.namespace, {"preconditions": {"uid": "other"}})
    why = f"Precondition failed: UID in precondition: other, UID in object meta: {created['metadata']['uid']}"
    message = f'Operation cannot be fulfilled on namespaces "{api.namespace}": {why}'
    answer.refused(409, "Conflict", message)


async def test_the_name_label_comes_back(api: CaseApi) -> None:
    label = {"kubernetes.io/metadata.name": api.namespace}
    namespace = await api.get(NAMESPACES, api.namespace)
    namespace["metadata"]["labels"] = {"team": "a"}
    new = (await api.put(NAMESPACES, namespace)).ok()
    assert new["metadata"]["labels"] == {"team": "a", **label}


async def test_collections_of_namespaces_are_not_deleted(api: CaseApi) -> None:
    answer = await api.ask("DELETE", NAMESPACES, query={"labelSelector": "no=body"})
    message = "the server does not allow this method on the requested resource"
    answer.refused(405, "MethodNotAllowed", message)


async def test_putting_something_new_into_a_namespace_on_its_way_out(api: CaseApi) -> None:
    name = await going(api)
    answer = await api.put(LEASES, named("l", meta={"resourceVersion": "x"}, spec={}))
    await release(api)
    why = f"unable to create new content in namespace {name} because it is being terminated"
    answer.refused(403, "Forbidden", f'leases.coordination.k8s.io "l" is forbidden: {why}')
