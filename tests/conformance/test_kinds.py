"""Every kind of the table, by every verb that it is served with."""

from __future__ import annotations

import pytest

from support.arms import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Obj
from support.arms_kinds import STORED, minimal
from support.arms_marks import CONFORMANCE
from support.arms_scene import Scene, names, told
from vacate.api.kinds import NAMESPACES, PODS, SERVICEACCOUNTS, Kind

pytestmark = CONFORMANCE

every_kind = pytest.mark.parametrize("kind", STORED, ids=lambda kind: kind.plural)
removable = pytest.mark.parametrize(
    "kind", [kind for kind in STORED if kind is not NAMESPACES], ids=lambda kind: kind.plural
)
collections = pytest.mark.parametrize(
    "kind", [kind for kind in STORED if "deletecollection" in kind.verbs], ids=lambda kind: kind.plural
)


def an_object(scene: Scene, kind: Kind) -> Obj:
    return minimal(kind, scene.unique("it"), scene.namespace)


def of_this(scene: Scene) -> dict[str, str]:
    return {"labelSelector": f"of={scene.namespace}"}


@every_kind
async def test_create(scene: Scene, kind: Kind) -> None:
    wanted = an_object(scene, kind)
    created = await scene.create(kind, wanted)
    meta = created["metadata"]
    assert (created["kind"], created["apiVersion"]) == (kind.kind, kind.api_version)
    assert meta["name"] == wanted["metadata"]["name"]
    assert meta.get("namespace") == (scene.namespace if kind.namespaced else None)
    assert meta["uid"]
    assert meta["creationTimestamp"].endswith("Z")
    assert int(meta["resourceVersion"]) > 0
    again = await scene.post(kind, wanted)
    again.refused(409, "AlreadyExists", f'{kind.resource} "{meta["name"]}" already exists')


@every_kind
async def test_get(scene: Scene, kind: Kind) -> None:
    created = await scene.given(kind, an_object(scene, kind))
    read = await scene.get(kind, created["metadata"]["name"])
    assert read["metadata"]["uid"] == created["metadata"]["uid"]
    assert read.get("spec", {}).keys() >= created.get("spec", {}).keys()
    missing = await scene.ask("GET", kind, "no-such-thing")
    missing.refused(404, "NotFound", f'{kind.resource} "no-such-thing" not found')


@every_kind
async def test_list(scene: Scene, kind: Kind) -> None:
    created = await scene.given(kind, an_object(scene, kind))
    listed = await scene.listed(kind, of_this(scene))
    assert (listed["kind"], listed["apiVersion"]) == (kind.list_kind, kind.api_version)
    assert names(listed) == [created["metadata"]["name"]]
    assert int(listed["metadata"]["resourceVersion"]) >= int(created["metadata"]["resourceVersion"])
    everywhere = await scene.arm.call("GET", kind.collection_path(), query=of_this(scene))
    assert names(everywhere.ok()) == [created["metadata"]["name"]]


@every_kind
async def test_update(scene: Scene, kind: Kind) -> None:
    old = await scene.given(kind, an_object(scene, kind))
    old["metadata"]["labels"]["changed"] = "yes"
    new = (await scene.put(kind, old)).ok()
    assert new["metadata"]["labels"]["changed"] == "yes"
    assert new["metadata"]["uid"] == old["metadata"]["uid"]
    assert new["metadata"]["creationTimestamp"] == old["metadata"]["creationTimestamp"]
    assert int(new["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])


@every_kind
@pytest.mark.parametrize(
    "form", [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH], ids=["json", "merge", "strategic"]
)
async def test_patch(scene: Scene, kind: Kind, form: str) -> None:
    old = await scene.given(kind, an_object(scene, kind))
    patch: object = {"metadata": {"labels": {"changed": "yes"}}}
    if form == JSON_PATCH:
        patch = [{"op": "add", "path": "/metadata/labels/changed", "value": "yes"}]
    new = (await scene.patch(kind, old["metadata"]["name"], patch, form)).ok()
    assert new["metadata"]["labels"] == {**old["metadata"]["labels"], "changed": "yes"}
    assert int(new["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])


@removable
async def test_delete(scene: Scene, kind: Kind) -> None:
    created = await scene.given(kind, an_object(scene, kind))
    name = created["metadata"]["name"]
    answer = (await scene.delete(kind, name)).ok()
    if kind in (PODS, SERVICEACCOUNTS):
        assert (answer["kind"], answer["metadata"]["uid"]) == (kind.kind, created["metadata"]["uid"])
    else:
        details = {"name": name, "kind": kind.plural, "uid": created["metadata"]["uid"]}
        assert (answer["kind"], answer["status"]) == ("Status", "Success")
        assert answer["details"] == ({**details, "group": kind.group} if kind.group else details)
    await scene.gone(kind, name)
    again = await scene.delete(kind, name)
    again.refused(404, "NotFound", f'{kind.resource} "{name}" not found')


@collections
async def test_deletecollection(scene: Scene, kind: Kind) -> None:
    created = await scene.given(kind, an_object(scene, kind))
    other = an_object(scene, kind)
    other["metadata"] |= {"name": scene.unique("other"), "labels": {"of": "others"}}
    await scene.given(kind, other)
    answer = await scene.ask("DELETE", kind, query=of_this(scene))
    assert answer.ok()["kind"] in (kind.list_kind, "Status")
    await scene.gone(kind, created["metadata"]["name"])
    await scene.get(kind, other["metadata"]["name"])


@every_kind
async def test_watch(scene: Scene, kind: Kind) -> None:
    before = await scene.version(kind)
    created = await scene.given(kind, an_object(scene, kind))
    name = created["metadata"]["name"]
    changed = await scene.given_patch(kind, name, {"metadata": {"annotations": {"changed": "yes"}}})
    await scene.arm.drop(scene.at(kind, name))
    # Pods that ran nowhere get their mark and go in two steps, namespaces get their mark and stay.
    last = "MODIFIED" if kind is NAMESPACES else "DELETED"
    events = await scene.watch(
        kind,
        {"resourceVersion": before, **of_this(scene)},
        lambda event: event.type == last and event.version > int(changed["metadata"]["resourceVersion"]),
    )
    assert told(events)[:2] == [("ADDED", name), ("MODIFIED", name)]
    assert told(events)[-1] == (last, name)
    assert events[0].obj["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    versions = [event.version for event in events]
    assert versions == sorted(set(versions))
    assert events[-1].obj["metadata"]["annotations"]["changed"] == "yes"
