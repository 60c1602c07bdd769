"""Garbage collection: what becomes of objects when their owners go."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from support.workload_objects import ago
from vacate.api.kinds import CONFIGMAPS, NAMESPACES, NODES, PODS, REPLICASETS, Kind
from vacate.api.types import ObjectMeta, OwnerReference
from vacate.embedded.controllers.garbagecollector.actions import (
    Action,
    Await,
    Delete,
    DropReferences,
    OwnerState,
    Release,
    RemoveFinalizer,
    finalizer_patch,
    garbage_action,
    owner_state,
    references_patch,
    terminating_action,
    unblock_patch,
)
from vacate.embedded.controllers.garbagecollector.graph import Item, OwnerGraph

pytestmark = pytest.mark.unit

PRESENT, WAITING, ABSENT = OwnerState.PRESENT, OwnerState.WAITING, OwnerState.ABSENT


def ref(uid: str, kind: Kind = REPLICASETS, *, block: bool = False, name: str = "") -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": name or uid,
        "uid": uid,
        "blockOwnerDeletion": block,
    }


def meta(
    uid: str = "x",
    *owners: dict[str, Any],
    finalizers: tuple[str, ...] = (),
    leaving: bool = False,
    **more: Any,
) -> ObjectMeta:
    found = {"name": uid, "namespace": "d", "uid": uid, "resourceVersion": "7", **more}
    found |= {"ownerReferences": list(owners), "finalizers": list(finalizers)}
    if leaving:
        found["deletionTimestamp"] = ago(seconds=1)
    return msgspec.convert(found, ObjectMeta)


def owner(uid: str, *, block: bool = True) -> OwnerReference:
    return OwnerReference(
        uid=uid, name=uid, kind="ReplicaSet", api_version="apps/v1", block_owner_deletion=block
    )


FOREGROUND: dict[str, Any] = {"finalizers": ("foregroundDeletion",), "leaving": True}

GARBAGE: list[tuple[str, ObjectMeta, list[OwnerState], list[ObjectMeta], Action]] = [
    ("no owners", meta(), [], [], None),
    ("its owner is there", meta(), [PRESENT], [], None),
    ("its only owner is gone", meta(), [ABSENT], [], Delete("Background")),
    ("all owners are gone", meta(), [ABSENT, ABSENT], [], Delete("Background")),
    ("one of two is gone", meta(), [PRESENT, ABSENT], [], DropReferences(("o1",))),
    ("one waits, one is there", meta(), [WAITING, PRESENT], [], DropReferences(("o0",))),
    ("its owner waits for it", meta(), [WAITING], [], Delete("Background")),
    ("its owner waits and it has dependents", meta(), [WAITING], [meta("d")], Delete("Foreground")),
    (
        "a circle would hold up itself",
        meta(),
        [WAITING],
        [meta("d", finalizers=("foregroundDeletion",), leaving=True)],
        Delete("Foreground", unblock=True),
    ),
    ("an absent owner does not wait", meta(), [ABSENT], [meta("d")], Delete("Background")),
    ("marked to orphan its own", meta(finalizers=("orphan",)), [ABSENT], [], Delete("Orphan")),
    (
        "marked to take its own along",
        meta(finalizers=("foregroundDeletion",)),
        [ABSENT],
        [],
        Delete("Foreground"),
    ),
    ("leaving already", meta(leaving=True), [ABSENT], [], None),
]


@pytest.mark.parametrize("row", GARBAGE, ids=[row[0] for row in GARBAGE])
def test_an_object_follows_its_owners(row: Any) -> None:
    _, item, states, dependents, expected = row
    owners = [(owner(f"o{i}"), state) for i, state in enumerate(states)]
    assert garbage_action(item, owners, dependents) == expected


LEAVING: list[tuple[str, ObjectMeta, list[ObjectMeta], Action]] = [
    ("not leaving", meta(finalizers=("foregroundDeletion",)), [], None),
    ("leaving, nobody's business", meta(leaving=True), [meta("d", ref("x", block=True))], None),
    (
        "foreground, nothing blocks",
        meta(**FOREGROUND),
        [meta("d", ref("x"))],
        RemoveFinalizer("foregroundDeletion"),
    ),
    ("foreground, no dependents", meta(**FOREGROUND), [], RemoveFinalizer("foregroundDeletion")),
    ("foreground, one blocks", meta(**FOREGROUND), [meta("d", ref("x", block=True))], Await(("d",))),
    (
        "a dependent that waits itself is not pushed",
        meta(**FOREGROUND),
        [meta("d", ref("x", block=True), **FOREGROUND)],
        Await(()),
    ),
    (
        "orphan",
        meta(finalizers=("orphan",), leaving=True),
        [meta("d", ref("x")), meta("e", ref("y"))],
        Release(("d",)),
    ),
]


@pytest.mark.parametrize("row", LEAVING, ids=[row[0] for row in LEAVING])
def test_an_object_on_its_way_out_minds_its_dependents(row: Any) -> None:
    _, item, dependents, expected = row
    assert terminating_action(item, dependents) == expected


@pytest.mark.parametrize(
    ("found", "block", "state"),
    [
        (None, True, ABSENT),
        (meta("other"), True, ABSENT),
        (meta("o"), True, PRESENT),
        (meta("o", leaving=True), True, PRESENT),
        (meta("o", **FOREGROUND), True, WAITING),
        (meta("o", **FOREGROUND), False, PRESENT),
    ],
)
def test_owner_states(found: ObjectMeta | None, block: bool, state: OwnerState) -> None:
    assert owner_state(owner("o", block=block), found) is state


def test_patches_name_the_object_and_touch_one_thing() -> None:
    item = meta("x", ref("a", block=True), ref("b"), finalizers=("keep", "orphan"))
    assert references_patch(item, ["a"]) == {
        "metadata": {"uid": "x", "ownerReferences": [{"$patch": "delete", "uid": "a"}]}
    }
    assert unblock_patch(item) == {
        "metadata": {"uid": "x", "ownerReferences": [{"uid": "a", "blockOwnerDeletion": False}]}
    }
    assert finalizer_patch(item, "orphan")["metadata"]["finalizers"] == ["keep"]
    last = finalizer_patch(meta("x", finalizers=("orphan",)), "orphan")["metadata"]
    assert last == {"uid": "x", "resourceVersion": "7", "finalizers": None}


def test_the_graph_names_who_must_be_looked_at() -> None:
    graph = OwnerGraph()
    assert graph.set(REPLICASETS, meta("rs")) == []
    assert graph.set(PODS, meta("p", ref("rs", block=True))) == ["p"]
    assert graph.set(PODS, meta("p", ref("rs", block=True), resourceVersion="8")) == []
    assert graph.set(REPLICASETS, meta("rs", **FOREGROUND)) == ["rs", "p"]
    assert graph.remove("p") == ["rs"]
    assert graph.dependents == {}


def test_dependents_of_an_owner_that_goes_are_looked_at_also_if_it_was_never_seen() -> None:
    graph = OwnerGraph()
    graph.set(PODS, meta("p", ref("rs")))
    graph.set(PODS, meta("q", ref("rs")))
    graph.set(REPLICASETS, meta("rs"))
    assert graph.remove("rs") == ["p", "q"]
    assert [one.uid for one in graph.dependents_of("rs")] == ["p", "q"]
    assert graph.remove("nobody") == []


def test_a_lost_reference_is_forgotten_and_a_waiting_owner_is_queued() -> None:
    graph = OwnerGraph()
    graph.set(REPLICASETS, meta("rs", **FOREGROUND))
    graph.set(PODS, meta("p", ref("rs", block=True)))
    assert graph.set(PODS, meta("p")) == ["rs"]
    assert graph.dependents_of("rs") == []


@pytest.mark.parametrize(
    ("kind", "found", "wanted", "known"),
    [
        (REPLICASETS, {}, ref("o"), True),
        (REPLICASETS, {"namespace": "elsewhere"}, ref("o"), False),
        (NODES, {"namespace": ""}, ref("o", NODES), True),
        (NAMESPACES, {"namespace": ""}, ref("o", NODES), False),
        (CONFIGMAPS, {}, ref("o"), False),
        (REPLICASETS, {}, ref("o", name="another"), False),
    ],
    ids=[
        "same namespace",
        "another namespace",
        "cluster-wide",
        "another kind",
        "another group",
        "another name",
    ],
)
def test_an_owner_must_be_what_the_reference_says(
    kind: Kind, found: dict[str, Any], wanted: Any, known: bool
) -> None:
    graph = OwnerGraph()
    graph.set(kind, meta("o", **found))
    item = Item(PODS, meta("p", wanted))
    assert (graph.owner_of(item, item.meta.owner_references[0]) is not None) is known
