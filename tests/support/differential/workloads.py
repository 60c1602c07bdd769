"""Random requests of the workload kinds' own: eviction, binding, budgets' states, scale."""

from __future__ import annotations

from hypothesis import strategies as st

from support.arms.arm import MERGE_PATCH, Obj
from support.differential.request import Ask, Held
from support.differential.requests import WRONG_UID, names
from vacate.api.kinds import DEPLOYMENTS, PODDISRUPTIONBUDGETS, PODS, REPLICASETS, STATEFULSETS


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
    kind, name = draw(st.sampled_from([DEPLOYMENTS, REPLICASETS, STATEFULSETS])), draw(names)
    if draw(st.booleans()):
        return Ask("GET", kind, name, "scale")
    replicas = draw(st.sampled_from([0, 3, -1, 1.5, "x"]))
    return Ask("PATCH", kind, name, "scale", {"spec": {"replicas": replicas}}, (), MERGE_PATCH)
