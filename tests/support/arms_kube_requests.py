"""Random requests, valid and invalid, for two servers: Hypothesis strategies.

A request may speak of an object's uid or resourceVersion, which each server makes up by itself: `Held` stands
for it and is resolved from the last answer of that server about the object.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from support import arms_objects as make
from support.arms import JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Obj
from support.arms_kube_values import FIELDS, STATUS_FIELDS, places
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, PODDISRUPTIONBUDGETS, PODS, REPLICASETS, Kind

KINDS = (PODS, PODDISRUPTIONBUDGETS, DEPLOYMENTS, REPLICASETS, CONFIGMAPS)
NAMES = ("a", "b")
WRONG_UID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Held:
    """A value of an object's metadata as the server that is asked has it."""

    kind: str
    name: str
    what: str


@dataclass(frozen=True)
class Ask:
    """One request, without the namespace."""

    method: str
    kind: Kind
    name: str = ""
    sub: str = ""
    body: Any = None
    query: tuple[tuple[str, str], ...] = ()
    content_type: str = JSON

    def __repr__(self) -> str:
        where = "/".join(part for part in (self.kind.plural, self.name, self.sub) if part)
        options = f" ?{self.query}" if self.query else ""
        form = f" as {self.content_type}" if self.method == "PATCH" else ""
        return f"{self.method} {where}{options}{form} {self.body!r}"


def base_object(kind: Kind, name: str) -> Obj:
    """A valid object."""
    if kind is PODS:
        # Named, since the admission plugin that would name it is off in the real server.
        obj = make.pod(name, serviceAccountName="default")
    elif kind is PODDISRUPTIONBUDGETS:
        obj = make.budget(name)
    elif kind is CONFIGMAPS:
        obj = make.config_map(name, {"app": "web"}, k="v")
    else:
        obj = make.workload(name)
    return copy.deepcopy(obj)  # the labels are one and the same object in all of them


def put_at(obj: Any, place: tuple[str | int, ...], value: Any) -> None:
    """Set a value deep inside; what is missing on the way is made."""
    for step, following in itertools.pairwise(place):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            while len(obj) <= step:
                obj.append(copy.deepcopy(empty))
            obj = obj[step]
        else:
            obj = obj.setdefault(step, empty)
        if not isinstance(obj, dict | list):
            return
    last = place[-1]
    if isinstance(last, int):
        obj[last:] = [copy.deepcopy(value)]
    elif isinstance(obj, dict):
        obj[last] = copy.deepcopy(value)


@st.composite
def objects(draw: st.DrawFn, kind: Kind, name: str, most: int = 3) -> Obj:
    """A valid object with up to so many fields set to good and bad values."""
    obj = base_object(kind, name)
    for place, values in draw(st.lists(st.sampled_from(places(kind)), max_size=most)):
        put_at(obj, place, draw(st.sampled_from(values)))
    return obj


kinds = st.sampled_from([PODS, PODS, PODDISRUPTIONBUDGETS, DEPLOYMENTS, REPLICASETS, CONFIGMAPS])
names = st.sampled_from(NAMES)
dry_run = st.sampled_from([(), (), (), (("dryRun", "All"),), (("dryRun", "Some"),)])


@st.composite
def creates(draw: st.DrawFn) -> Ask:
    kind, name = draw(kinds), draw(names)
    return Ask("POST", kind, body=draw(objects(kind, name)), query=draw(dry_run))


@st.composite
def plain_creates(draw: st.DrawFn) -> Ask:
    """Always valid, so that the other requests have something to work on."""
    kind, name = draw(kinds), draw(names)
    obj = base_object(kind, name)
    obj["metadata"].setdefault("labels", {})["tier"] = draw(st.sampled_from(["front", "back"]))
    if kind is PODS and draw(st.booleans()):
        obj["spec"]["nodeName"] = "n1"
    return Ask("POST", kind, body=obj)


def versions(kind: Kind, name: str) -> st.SearchStrategy[Any]:
    """The object's own version, none, one that is not, one that is no number."""
    return st.sampled_from([Held(kind.plural, name, "resourceVersion"), None, "", "1", "x"])


@st.composite
def puts(draw: st.DrawFn) -> Ask:
    kind, name = draw(kinds), draw(names)
    obj = draw(objects(kind, draw(st.sampled_from([name, name, name, "b", "c"]))))
    version = draw(versions(kind, name))
    if version is not None:
        obj["metadata"]["resourceVersion"] = version
    if draw(st.integers(0, 9)) == 0:
        obj["metadata"]["uid"] = draw(st.sampled_from([Held(kind.plural, name, "uid"), WRONG_UID]))
    return Ask("PUT", kind, name, body=obj, query=draw(dry_run))


@st.composite
def merge_patches(draw: st.DrawFn) -> Ask:
    kind, name = draw(kinds), draw(names)
    form = draw(st.sampled_from([MERGE_PATCH, STRATEGIC_PATCH]))
    sub = draw(st.sampled_from(["", "", "", "status"])) if kind is not CONFIGMAPS else ""
    table = FIELDS[kind] if not sub else STATUS_FIELDS[kind]
    patch: Obj = {}
    for place, values in draw(st.lists(st.sampled_from(table), min_size=1, max_size=2)):
        put_at(patch, place, draw(st.sampled_from([*values, None])))
    return Ask("PATCH", kind, name, sub, patch, draw(dry_run), form)


@st.composite
def json_patches(draw: st.DrawFn) -> Ask:
    kind, name = draw(kinds), draw(names)
    operations = []
    for place, values in draw(st.lists(st.sampled_from(places(kind)), min_size=1, max_size=2)):
        pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in place)
        action = draw(st.sampled_from(["add", "replace", "remove", "test"]))
        operation: Obj = {"op": action, "path": pointer}
        if action != "remove":
            operation["value"] = draw(st.sampled_from(values))
        operations.append(operation)
    return Ask("PATCH", kind, name, body=operations, content_type=JSON_PATCH)


@st.composite
def deletes(draw: st.DrawFn) -> Ask:
    kind, name = draw(kinds), draw(names)
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


@st.composite
def evictions(draw: st.DrawFn) -> Ask:
    name = draw(names)
    meta = draw(st.sampled_from([{"name": name}, {"name": name}, {"name": "other"}, {}]))
    body: Obj = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    options = draw(
        st.sampled_from(
            [
                None,
                None,
                {"gracePeriodSeconds": 0},
                {"gracePeriodSeconds": 5},
                {"dryRun": ["All"]},
                {"preconditions": {"uid": WRONG_UID}},
                {"preconditions": {"uid": Held("pods", name, "uid")}},
            ]
        )
    )
    if options is not None:
        body["deleteOptions"] = options
    return Ask("POST", PODS, name, "eviction", body)


@st.composite
def bindings(draw: st.DrawFn) -> Ask:
    name = draw(names)
    target = draw(
        st.sampled_from(
            [
                {"kind": "Node", "name": "n1"},
                {"name": "n1"},
                {"kind": "Pod", "name": "x"},
                {"kind": "Node", "name": ""},
            ]
        )
    )
    return Ask("POST", PODS, name, "binding", {"metadata": {"name": name}, "target": target})


@st.composite
def budget_states(draw: st.DrawFn) -> Ask:
    """What a disruption controller would write: evictions depend on it."""
    status = {
        "observedGeneration": draw(st.sampled_from([1, 1, 0, 2])),
        "disruptionsAllowed": draw(st.sampled_from([0, 1, 2])),
        "currentHealthy": draw(st.sampled_from([0, 1, 3])),
        "desiredHealthy": draw(st.sampled_from([0, 1, 2])),
        "expectedPods": draw(st.sampled_from([0, 1, 3])),
    }
    return Ask("PATCH", PODDISRUPTIONBUDGETS, draw(names), "status", {"status": status}, (), MERGE_PATCH)


@st.composite
def scales(draw: st.DrawFn) -> Ask:
    kind, name = draw(st.sampled_from([DEPLOYMENTS, REPLICASETS])), draw(names)
    if draw(st.booleans()):
        return Ask("GET", kind, name, "scale")
    replicas = draw(st.sampled_from([0, 3, -1, 1.5, "x"]))
    return Ask("PATCH", kind, name, "scale", {"spec": {"replicas": replicas}}, (), MERGE_PATCH)


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
)


@st.composite
def reads(draw: st.DrawFn) -> Ask:
    kind = draw(kinds)
    if draw(st.integers(0, 2)) == 0:
        return Ask("GET", kind, draw(names))
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
    return Ask("GET", kind, query=tuple(query.items()))


@st.composite
def collection_deletes(draw: st.DrawFn) -> Ask:
    query = draw(
        st.sampled_from([(), (("labelSelector", "tier=front"),), (("fieldSelector", "metadata.name=a"),)])
    )
    return Ask("DELETE", draw(kinds), query=query)


def sequences(most: int = 12) -> st.SearchStrategy[list[Ask]]:
    """Some objects to work with, then anything."""
    anything = st.one_of(
        creates(),
        puts(),
        merge_patches(),
        json_patches(),
        deletes(),
        evictions(),
        bindings(),
        budget_states(),
        scales(),
        reads(),
        collection_deletes(),
    )
    begin = st.lists(plain_creates(), max_size=3)
    return st.tuples(begin, st.lists(anything, min_size=1, max_size=most)).map(lambda two: [*two[0], *two[1]])


@dataclass
class Memory:
    """What one server has last said of each object."""

    seen: dict[tuple[str, str], Obj] = field(default_factory=dict)

    def learn(self, ask: Ask, obj: Obj) -> None:
        """Keep an object's metadata."""
        meta = obj.get("metadata") or {}
        if "uid" in meta and not ask.sub:
            self.seen[ask.kind.plural, str(meta.get("name"))] = meta

    def resolve(self, value: Any) -> Any:
        """The body with this server's own values in it."""
        if isinstance(value, Held):
            return self.seen.get((value.kind, value.name), {}).get(value.what, "7")
        if isinstance(value, dict):
            return {key: self.resolve(one) for key, one in value.items()}
        return [self.resolve(one) for one in value] if isinstance(value, list) else value
