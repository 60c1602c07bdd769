"""Every kind of the table, by every verb that it is served with."""

from __future__ import annotations

import pytest

from support.arms.arm import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Obj
from support.arms.caseapi import CaseApi, names, types_and_names
from support.arms.kinds import PROTECTED, STORED, minimal
from support.arms.marks import CONFORMANCE
from vacate.api.kinds import JOBS, NAMESPACES, PODS, PODTEMPLATES, SERVICEACCOUNTS, STORAGECLASSES, Kind

pytestmark = CONFORMANCE

every_kind = pytest.mark.parametrize("kind", STORED, ids=lambda kind: kind.plural)
removable = pytest.mark.parametrize(
    "kind", [kind for kind in STORED if kind not in (NAMESPACES, *PROTECTED)], ids=lambda kind: kind.plural
)
collections = pytest.mark.parametrize(
    "kind",
    [kind for kind in STORED if "deletecollection" in kind.verbs and kind not in PROTECTED],
    ids=lambda kind: kind.plural,
)


def an_object(api: CaseApi, kind: Kind) -> Obj:
    return minimal(kind, api.unique("it"), api.namespace)


def of_this(api: CaseApi) -> dict[str, str]:
    return {"labelSelector": f"of={api.namespace}"}


def at_once(kind: Kind) -> Obj | None:
    """Options of a deletion that no controller completes: Jobs leave their pods behind by default."""
    return {"propagationPolicy": "Background"} if kind is JOBS else None


@every_kind
async def test_create(api: CaseApi, kind: Kind) -> None:
    wanted = an_object(api, kind)
    created = await api.create(kind, wanted)
    meta = created["metadata"]
    assert (created["kind"], created["apiVersion"]) == (kind.kind, kind.api_version)
    assert meta["name"] == wanted["metadata"]["name"]
    assert meta.get("namespace") == (api.namespace if kind.namespaced else None)
    assert meta["uid"]
    assert meta["creationTimestamp"].endswith("Z")
    assert int(meta["resourceVersion"]) > 0
    again = await api.post(kind, wanted)
    again.refused(409, "AlreadyExists", f'{kind.resource} "{meta["name"]}" already exists')


@every_kind
async def test_get(api: CaseApi, kind: Kind) -> None:
    created = await api.given(kind, an_object(api, kind))
    read = await api.get(kind, created["metadata"]["name"])
    assert read["metadata"]["uid"] == created["metadata"]["uid"]
    assert read.get("spec", {}).keys() >= created.get("spec", {}).keys()
    missing = await api.ask("GET", kind, "no-such-thing")
    missing.refused(404, "NotFound", f'{kind.resource} "no-such-thing" not found')


@every_kind
async def test_list(api: CaseApi, kind: Kind) -> None:
    created = await api.given(kind, an_object(api, kind))
    listed = await api.listed(kind, of_this(api))
    assert (listed["kind"], listed["apiVersion"]) == (kind.list_kind, kind.api_version)
    assert names(listed) == [created["metadata"]["name"]]
    assert int(listed["metadata"]["resourceVersion"]) >= int(created["metadata"]["resourceVersion"])
    everywhere = await api.arm.call("GET", kind.collection_path(), query=of_this(api))
    assert names(everywhere.ok()) == [created["metadata"]["name"]]


@every_kind
async def test_update(api: CaseApi, kind: Kind) -> None:
    old = await api.given(kind, an_object(api, kind))
    old["metadata"]["labels"]["changed"] = "yes"
    new = (await api.put(kind, old)).ok()
    assert new["metadata"]["labels"]["changed"] == "yes"
    assert new["metadata"]["uid"] == old["metadata"]["uid"]
    assert new["metadata"]["creationTimestamp"] == old["metadata"]["creationTimestamp"]
    assert int(new["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])


@every_kind
@pytest.mark.parametrize(
    "form", [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH], ids=["json", "merge", "strategic"]
)
async def test_patch(api: CaseApi, kind: Kind, form: str) -> None:
    old = await api.given(kind, an_object(api, kind))
    patch: object = {"metadata": {"labels": {"changed": "yes"}}}
    if form == JSON_PATCH:
        patch = [{"op": "add", "path": "/metadata/labels/changed", "value": "yes"}]
    new = (await api.patch(kind, old["metadata"]["name"], patch, form)).ok()
    assert new["metadata"]["labels"] == {**old["metadata"]["labels"], "changed": "yes"}
    assert int(new["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])


@removable
async def test_delete(api: CaseApi, kind: Kind) -> None:
    created = await api.given(kind, an_object(api, kind))
    name = created["metadata"]["name"]
    answer = (await api.delete(kind, name, at_once(kind))).ok()
    if kind in (PODS, PODTEMPLATES, SERVICEACCOUNTS, STORAGECLASSES):
        assert (answer["kind"], answer["metadata"]["uid"]) == (kind.kind, created["metadata"]["uid"])
    else:
        details = {"name": name, "kind": kind.plural, "uid": created["metadata"]["uid"]}
        assert (answer["kind"], answer["status"]) == ("Status", "Success")
        assert answer["details"] == ({**details, "group": kind.group} if kind.group else details)
    await api.gone(kind, name)
    again = await api.delete(kind, name)
    again.refused(404, "NotFound", f'{kind.resource} "{name}" not found')


@pytest.mark.parametrize("kind", PROTECTED, ids=lambda kind: kind.plural)
async def test_deletion_of_a_protected_kind(api: CaseApi, kind: Kind) -> None:
    wanted = an_object(api, kind)
    wanted["metadata"]["finalizers"] = ["example.com/held"]  # else a controller may be faster than the test
    created = await api.given(kind, wanted)
    name, protection = created["metadata"]["name"], f"kubernetes.io/{kind.short_names[0]}-protection"
    assert created["metadata"]["finalizers"] == ["example.com/held", protection]
    assert (await api.delete(kind, name)).ok()["metadata"]["deletionTimestamp"]
    await api.patch(kind, name, {"metadata": {"finalizers": None}})
    await api.gone(kind, name)


@collections
async def test_deletecollection(api: CaseApi, kind: Kind) -> None:
    created = await api.given(kind, an_object(api, kind))
    other = an_object(api, kind)
    other["metadata"] |= {"name": api.unique("other"), "labels": {"of": "others"}}
    await api.given(kind, other)
    answer = await api.ask("DELETE", kind, query={**of_this(api), **(at_once(kind) or {})})
    assert answer.ok()["kind"] in (kind.list_kind, "Status")
    await api.gone(kind, created["metadata"]["name"])
    await api.get(kind, other["metadata"]["name"])


@every_kind
async def test_watch(api: CaseApi, kind: Kind) -> None:
    before = await api.version(kind)
    created = await api.given(kind, an_object(api, kind))
    name = created["metadata"]["name"]
    changed = await api.given_patch(kind, name, {"metadata": {"annotations": {"changed": "yes"}}})
    if kind is JOBS:
        await api.delete(kind, name, at_once(kind))
    else:
        await api.arm.drop(api.at(kind, name))
    if kind in PROTECTED:
        await api.patch(kind, name, {"metadata": {"finalizers": None}})
    # Pods that ran nowhere get their mark and go in two steps, namespaces get their mark and stay.
    last = "MODIFIED" if kind is NAMESPACES else "DELETED"
    events = await api.watch(
        kind,
        {"resourceVersion": before, **of_this(api)},
        lambda event: event.type == last and event.version > int(changed["metadata"]["resourceVersion"]),
    )
    assert types_and_names(events)[:2] == [("ADDED", name), ("MODIFIED", name)]
    assert types_and_names(events)[-1] == (last, name)
    assert events[0].obj["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    versions = [event.version for event in events]
    assert versions == sorted(set(versions))
    assert events[-1].obj["metadata"]["annotations"]["changed"] == "yes"
