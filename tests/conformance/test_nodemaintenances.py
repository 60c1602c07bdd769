"""NodeMaintenances by every verb, as custom resources are."""

from __future__ import annotations

from support.arms import JSON_PATCH, Obj
from support.arms_case_api import CaseApi, names, told
from support.arms_kube import REAL
from support.arms_marks import CONFORMANCE, without
from vacate.api.kinds import NODEMAINTENANCES as KIND

pytestmark = [CONFORMANCE, without(REAL, because="its definition is not there without an installation")]


def maintenance(api: CaseApi, base: str = "kernel", **labels: str) -> Obj:
    meta = {"name": api.unique(base), "labels": labels}
    return {
        "apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": meta, "spec": {"nodes": ["a"]},
    }  # fmt: skip


async def made(api: CaseApi, base: str = "kernel", **labels: str) -> Obj:
    return await api.given(KIND, maintenance(api, base, **labels))


async def test_create(api: CaseApi) -> None:
    one = await api.create(KIND, maintenance(api))
    assert (one["status"], one["spec"]["stage"], one["metadata"]["generation"]) == ({}, "Drain", 1)


async def test_get(api: CaseApi) -> None:
    one = await made(api)
    assert await api.get(KIND, one["metadata"]["name"]) == one


async def test_list(api: CaseApi) -> None:
    one = await made(api, of=api.unique("us"))
    await made(api, "other")
    assert names(await api.listed(KIND, {"labelSelector": f"of={api.unique('us')}"})) == [
        one["metadata"]["name"]
    ]


async def test_update(api: CaseApi) -> None:
    one = await made(api)
    changed = (await api.put(KIND, {**one, "spec": {**one["spec"], "reason": "kernel"}})).ok()
    assert (changed["spec"]["reason"], changed["metadata"]["generation"]) == ("kernel", 2)
    unguarded = {**one, "metadata": {"name": one["metadata"]["name"]}}
    (await api.put(KIND, unguarded)).refused(
        422, "Invalid", f'{KIND.resource} "{one["metadata"]["name"]}" is invalid: metadata.resourceVersion: '
        "Invalid value: 0: must be specified for an update",
    )  # fmt: skip


async def test_patch(api: CaseApi) -> None:
    name = (await made(api))["metadata"]["name"]
    await api.given_patch(KIND, name, {"spec": {"maxNodes": "50%"}})
    steps = [{"op": "add", "path": "/spec/nodes/-", "value": "b"}]
    changed = (await api.patch(KIND, name, steps, JSON_PATCH)).ok()
    assert (changed["spec"]["maxNodes"], changed["spec"]["nodes"]) == ("50%", ["a", "b"])


async def test_status(api: CaseApi) -> None:
    name = (await made(api))["metadata"]["name"]
    changed = await api.given_status(KIND, name, {"phase": "Draining", "percent": 50})
    assert changed["status"] == {"phase": "Draining", "percent": 50}


async def test_watch(api: CaseApi) -> None:
    since = await api.version(KIND)
    one = await made(api)
    name = one["metadata"]["name"]
    await api.given_status(KIND, name, {"phase": "Draining"})
    await api.delete(KIND, name)
    events = await api.watch(KIND, {"resourceVersion": since, "fieldSelector": f"metadata.name={name}"}, 3)
    assert told(events) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]


async def test_delete(api: CaseApi) -> None:
    name = (await made(api))["metadata"]["name"]
    (await api.delete(KIND, name)).ok()
    await api.gone(KIND, name)


async def test_deletecollection(api: CaseApi) -> None:
    one, other = await made(api, of=api.unique("us")), await made(api, "other")
    (await api.ask("DELETE", KIND, query={"labelSelector": f"of={api.unique('us')}"})).ok()
    await api.gone(KIND, one["metadata"]["name"])
    await api.get(KIND, other["metadata"]["name"])
