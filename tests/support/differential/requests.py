"""Random requests, valid and invalid, for two servers: Hypothesis strategies."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from support.arms.arm import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Obj
from support.differential.request import HERE, OURS, Ask, Held, base_object, name_in, put_at
from support.differential.values import FIELDS, STATUS_FIELDS
from vacate.api.kinds import (
    CONFIGMAPS,
    CONTROLLERREVISIONS,
    DAEMONSETS,
    DEPLOYMENTS,
    HORIZONTALPODAUTOSCALERS,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    Kind,
)

WORKLOADS = (
    PODS, PODS, PODDISRUPTIONBUDGETS, DEPLOYMENTS, REPLICASETS, STATEFULSETS, DAEMONSETS,
    CONTROLLERREVISIONS, HORIZONTALPODAUTOSCALERS, CONFIGMAPS,
)  # fmt: skip
NAMES = ("a", "b")
WRONG_UID = "00000000-0000-4000-8000-000000000000"
Kinds = tuple[Kind, ...]


@st.composite
def objects(draw: st.DrawFn, kind: Kind, name: str, most: int = 3) -> Obj:
    """A valid object with up to so many fields set to good and bad values."""
    obj = base_object(kind, name)
    for place, values in draw(st.lists(st.sampled_from(FIELDS[kind]), max_size=most)):
        put_at(obj, place, draw(st.sampled_from(values)))
    return obj


names = st.sampled_from(NAMES)


@st.composite
def kinds_and_names(draw: st.DrawFn, among: Kinds) -> tuple[Kind, str]:
    """A kind, and one of few names for an object of it."""
    kind = draw(st.sampled_from(among))
    return kind, name_in(kind, draw(names))


dry_run = st.sampled_from([(), (), (), (("dryRun", "All"),), (("dryRun", "Some"),)])


@st.composite
def creates(draw: st.DrawFn, among: Kinds = WORKLOADS) -> Ask:
    kind, name = draw(kinds_and_names(among))
    return Ask("POST", kind, body=draw(objects(kind, name)), query=draw(dry_run))


@st.composite
def plain_creates(draw: st.DrawFn, among: Kinds = WORKLOADS) -> Ask:
    """Always valid, so that the other requests have something to work on."""
    kind, name = draw(kinds_and_names(among))
    obj = base_object(kind, name)
    obj["metadata"].setdefault("labels", {})["tier"] = draw(st.sampled_from(["front", "back"]))
    if kind is PODS and draw(st.booleans()):
        obj["spec"]["nodeName"] = "n1"
    return Ask("POST", kind, body=obj)


def versions(kind: Kind, name: str) -> st.SearchStrategy[Any]:
    """The object's own version, none, one that is not, one that is no number."""
    return st.sampled_from([Held(kind.plural, name, "resourceVersion"), None, "", "1", "x"])


@st.composite
def puts(draw: st.DrawFn, among: Kinds = WORKLOADS) -> Ask:
    kind, name = draw(kinds_and_names(among))
    obj = draw(
        objects(kind, draw(st.sampled_from([name, name, name, name_in(kind, "b"), name_in(kind, "c")])))
    )
    version = draw(versions(kind, name))
    if version is not None:
        obj["metadata"]["resourceVersion"] = version
    if draw(st.integers(0, 9)) == 0:
        obj["metadata"]["uid"] = draw(st.sampled_from([Held(kind.plural, name, "uid"), WRONG_UID]))
    return Ask("PUT", kind, name, body=obj, query=draw(dry_run))


@st.composite
def merge_patches(draw: st.DrawFn, among: Kinds = WORKLOADS) -> Ask:
    kind, name = draw(kinds_and_names(among))
    form = draw(st.sampled_from([MERGE_PATCH, STRATEGIC_PATCH]))
    sub = draw(st.sampled_from(["", "", "", "status"])) if kind in STATUS_FIELDS else ""
    table = FIELDS[kind] if not sub else STATUS_FIELDS[kind]
    patch: Obj = {}
    for place, values in draw(st.lists(st.sampled_from(table), min_size=1, max_size=2)):
        put_at(patch, place, draw(st.sampled_from([*values, None])))
    return Ask("PATCH", kind, name, sub, patch, draw(dry_run), form)


@st.composite
def json_patches(draw: st.DrawFn, among: Kinds = WORKLOADS) -> Ask:
    kind, name = draw(kinds_and_names(among))
    operations = []
    for place, values in draw(st.lists(st.sampled_from(FIELDS[kind]), min_size=1, max_size=2)):
        pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in place)
        action = draw(st.sampled_from(["add", "replace", "remove", "test"]))
        operation: Obj = {"op": action, "path": pointer}
        if action != "remove":
            operation["value"] = draw(st.sampled_from(values))
        operations.append(operation)
    return Ask("PATCH", kind, name, body=operations, content_type=JSON_PATCH)


@st.composite
def deletes(draw: st.DrawFn, among: Kinds = WORKLOADS) -> Ask:
    kind, name = draw(kinds_and_names(among))
    options: Obj = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "gracePeriodSeconds": st.sampled_from([0, 1, 30, 60, -1]),
                "propagationPolicy": st.sampled_from(["Background", "Foreground", "Orphan", "Whatever"]),
                "orphanDependents": st.booleans(),
                "dryRun": st.sampled_from([["All"], ["Some"]]),
                "preconditions": st.sampled_from(
                    [
                        {"uid": Held(kind.plural, name, "uid")},
                        {"uid": WRONG_UID},
                        {"resourceVersion": Held(kind.plural, name, "resourceVersion")},
                        {"resourceVersion": "1"},
                    ]
                ),
            },
        )
    )
    if not draw(st.booleans()):
        return Ask("DELETE", kind, name)
    return Ask("DELETE", kind, name, body={"kind": "DeleteOptions", "apiVersion": "v1", **options})


SELECTORS = (
    "app=web",
    "app!=web",
    "tier in (front)",
    "tier notin (front,x)",
    "!tier",
    "tier",
    "tier=front,app",
    "a b",
    "x=",
    "=x",
    "app=UPPER$",
    "tier in ()",
    "tier>1",
    "a=b,",
)
FIELD_SELECTORS = (
    "metadata.name=a",
    "metadata.name!=a",
    "spec.nodeName=n1",
    "spec.nodeName=",
    "status.phase=Pending",
    "spec.nothing=1",
    "metadata.name",
    "metadata.namespace!=x",
    "spec.restartPolicy=Always",
    "involvedObject.name=a",
    "reason=Because",
    "spec.unschedulable=true",
    f"metadata.name={HERE}-a",
)


def selector(kind: Kind, text: str = "") -> str:
    """The selector, and where there is no namespace also that the object is one of these."""
    parts = [text] if kind.namespaced else [f"{OURS}={HERE}", text]
    return ",".join(part for part in parts if part)


@st.composite
def reads(draw: st.DrawFn, among: Kinds = WORKLOADS) -> Ask:
    kind, name = draw(kinds_and_names(among))
    if draw(st.integers(0, 2)) == 0:
        return Ask("GET", kind, name)
    query = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "labelSelector": st.sampled_from(SELECTORS),
                "fieldSelector": st.sampled_from(FIELD_SELECTORS),
                "limit": st.sampled_from(["1", "0", "-1", "x"]),
            },
        )
    )
    if chosen := selector(kind, query.get("labelSelector", "")):
        query["labelSelector"] = chosen
    return Ask("GET", kind, query=tuple(query.items()))


@st.composite
def collection_deletes(draw: st.DrawFn, among: Kinds = WORKLOADS) -> Ask:
    kind, name = draw(kinds_and_names(among))
    query = draw(
        st.sampled_from([{}, {"labelSelector": "tier=front"}, {"fieldSelector": f"metadata.name={name}"}])
    )
    if chosen := selector(kind, query.get("labelSelector", "")):
        query = {**query, "labelSelector": chosen}
    return Ask("DELETE", kind, query=tuple(query.items()))


def common(among: Kinds) -> list[st.SearchStrategy[Ask]]:
    """Requests that every kind knows."""
    return [
        creates(among),
        puts(among),
        merge_patches(among),
        json_patches(among),
        deletes(among),
        reads(among),
        collection_deletes(among),
    ]
