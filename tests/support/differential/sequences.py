"""Sequences of random requests by topic, and a watch that looks on."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from support.differential.request import HERE, Ask, Held, base_object, name_in
from support.differential.requests import WORKLOADS, Kinds, common, plain_creates, selector
from support.differential.rights import RIGHTS, grants, rights
from support.differential.workloads import bindings, budget_states, evictions, scales
from vacate.api.kinds import CLUSTERROLES, EVENTS, LEASES, NAMESPACES, NODES, ROLES, Kind

CLUSTER = (NODES, NODES, NAMESPACES, LEASES, EVENTS)


@dataclass(frozen=True)
class Watch:
    """One kind is watched while the sequence goes on, or from its beginning when it has ended."""

    kind: Kind
    labels: str
    live: bool

    @property
    def query(self) -> dict[str, str]:
        chosen = selector(self.kind, self.labels)
        return {"labelSelector": chosen} if chosen else {}

    @property
    def last(self) -> Ask:
        """Makes an object that every such watch sees: nothing comes after it."""
        obj = base_object(self.kind, name_in(self.kind, LAST))
        obj["metadata"].setdefault("labels", {})["tier"] = "front"
        return Ask("POST", self.kind, body=obj)


LAST = "last"
Sequence = tuple[list[Ask], Watch]


def watches(among: Kinds) -> st.SearchStrategy[Watch]:
    return st.builds(
        Watch, st.sampled_from(among), st.sampled_from(["", "tier=front", "tier!=back"]), st.booleans()
    )


def _sequence(
    begin: st.SearchStrategy[list[Ask]], anything: list[st.SearchStrategy[Ask]], among: Kinds
) -> st.SearchStrategy[Sequence]:
    rest = st.lists(st.one_of(anything), min_size=1, max_size=12)
    return st.tuples(st.tuples(begin, rest).map(lambda two: [*two[0], *two[1]]), watches(among))


def _workloads() -> st.SearchStrategy[Sequence]:
    own = [evictions(), bindings(), budget_states(), scales()]
    return _sequence(st.lists(plain_creates(WORKLOADS), max_size=3), [*common(WORKLOADS), *own], WORKLOADS)


@st.composite
def finalizations(draw: st.DrawFn) -> Ask:
    """What a namespace controller says when a namespace is empty."""
    name = name_in(NAMESPACES, draw(st.sampled_from(["a", "b"])))
    finalizers = draw(st.sampled_from([[], ["kubernetes"], ["example.com/keep"], ["keep"]]))
    version = draw(st.sampled_from([None, "1", Held("namespaces", name, "resourceVersion")]))
    meta = {"name": name} | ({"resourceVersion": version} if version else {})
    return Ask("PUT", NAMESPACES, name, "finalize", {"metadata": meta, "spec": {"finalizers": finalizers}})


def _cluster() -> st.SearchStrategy[Sequence]:
    closing = st.just(Ask("DELETE", NAMESPACES, HERE))
    anything = [*common(CLUSTER), *common(CLUSTER), finalizations(), closing]
    return _sequence(st.lists(plain_creates(CLUSTER), max_size=3), anything, CLUSTER)


def _rights() -> st.SearchStrategy[Sequence]:
    begin = st.tuples(grants(ROLES), st.one_of(st.just([]), grants(CLUSTERROLES)))
    return _sequence(begin.map(lambda two: [*two[0], *two[1]]), rights(), RIGHTS)


TOPICS = {"workloads": _workloads(), "cluster": _cluster(), "rights": _rights()}
"""Sequences: some objects to work with, then anything."""
