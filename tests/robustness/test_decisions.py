"""Whatever stands in the status of a kind of ours, its controller decides, and writes a status that is taken.

A status is written by the controller alone, says the role. Should another write it, or an older release have
written it: every value that the definition accepts is put into every field, a few at a time.
"""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.effort import examples
from support.hostile.odd_values import VALUES, changed, leaves
from vacate.api import kinds
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.types import Node, Pod
from vacate.api.types.deschedulingpolicy import DeschedulingPolicy
from vacate.api.types.evacuation import Evacuation
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.fencingpolicy import PHASES, FencingPolicy
from vacate.api.types.meta import Projection
from vacate.api.types.nodemaintenance import NODE_PHASES, NodeMaintenance
from vacate.api.types.required import with_required
from vacate.client.codec import codec_for
from vacate.crds.catalogue import declaration_of
from vacate.descheduling.plan import plan_descheduling
from vacate.descheduling.report import limits_of, policy_status, scope_of
from vacate.embedded.apiserver.patch.mergepatch import apply_merge_patch
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.engine import decide
from vacate.eviction.model import (
    Assign,
    CompletionReason,
    DecisionContext,
    Finish,
    Hold,
    Presence,
    Stage,
    Target,
    Turn,
)
from vacate.eviction.records.patches import (
    assign_patch,
    finish_patch,
    hold_patch,
    last_turn_patch,
    refusal_patch,
)
from vacate.fencing import decision as fencing
from vacate.fencing.report import status_of as fencing_status
from vacate.kube.patches import merge_status_patch
from vacate.maintenance.model import MaintenanceInputs
from vacate.maintenance.names import CLAIMS
from vacate.maintenance.plan import plan_maintenance
from vacate.maintenance.report import status_of as maintenance_status

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MOMENT = "2026-03-01T11:00:00Z"
UNKNOWN = {"type": "Ready", "status": "Unknown", "lastTransitionTime": MOMENT}
NODES = [
    codec_for(Node).convert(
        {
            "metadata": {"name": f"node-{i}", "uid": f"n{i}", "annotations": {CLAIMS: '{"by":{"it":"u"}}'}},
            "spec": {"unschedulable": True, "taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {"conditions": [{**UNKNOWN, "status": "Unknown" if i == 1 else "True"}]},
        }
    )
    for i in (1, 2, 3)
]
PODS = [
    codec_for(Pod).convert(
        {
            "metadata": {"name": f"p{i}", "namespace": "d", "uid": f"p{i}", "deletionTimestamp": MOMENT},
            "spec": {"nodeName": "node-1", "containers": [{"name": "c"}]},
        }
    )
    for i in range(3)
]
CONDITION = {"type": "T", "status": "True", "reason": "R", "message": "", "lastTransitionTime": MOMENT}
MANY = [{**CONDITION, "type": f"T{i}"} for i in range(20)]
MORE = [{**CONDITION, "type": f"T{i}"} for i in range(95)]  # as many as admission leaves to others
ROW = {"name": "node-1", "uid": "n1", "phase": "Draining"}
ODD_NAMES = ("node-1", "a/b", "..", "", "x" * 253, "no such node", "ü\x00\x1b[2J")


def pods_on(name: str) -> list[Pod]:
    return PODS if name == "node-1" else []


def maintain(obj: NodeMaintenance) -> Obj | None:
    around = MaintenanceInputs(
        {one.metadata.name: one for one in NODES}, pods_on, lambda _: None, lambda _: []
    )
    plan = plan_maintenance(obj, ["node-1", "node-2"], around, NOW)
    return merge_status_patch(obj.metadata, obj.status, maintenance_status(obj, plan, NOW))


def fence(obj: FencingPolicy) -> Obj | None:
    heard = frozenset({"node-2", "node-3"})
    made = fencing.decide(obj, fencing.FencingInputs(NODES, pods_on, lambda _: False, (), heard), NOW)
    rows = [row for row in obj.status.nodes if row.under_way]
    names = {row.name for row in rows}
    rows += [row for row in made.rows if row.name not in names]
    return merge_status_patch(obj.metadata, obj.status, fencing_status(obj, rows, NOW))


def deschedule(obj: DeschedulingPolicy) -> Obj | None:
    plan = plan_descheduling(scope_of(obj), limits_of(obj), NODES, PODS, {})
    return merge_status_patch(obj.metadata, obj.status, policy_status(obj, plan, {}))


_REQUEST = {
    "spec": {
        "target": {"podRef": {"name": "p0", "uid": "p0"}},
        "requesters": [{"name": "drain.example.com"}],
        "interceptors": [{"name": "b.example.com"}, {"name": "a.example.com"}],
    },
    "status": {
        "activeInterceptorName": "a.example.com",
        "heartbeatTime": MOMENT,
        "conditions": [{**CONDITION, "type": "InterceptorAssigned"}],
    },
}


def evict(dialect: Dialect) -> Callable[[Any], Obj | None]:
    """Every status that the controller could write, one after the other: the last one that differs."""

    def written(obj: Any) -> Obj | None:
        request = dialect.read(obj)
        assign = Assign("b.example.com", Turn.PREVIOUS_COMPLETED, "a.example.com")
        patches = [
            assign_patch(request, assign, NOW),
            refusal_patch(request, "a budget", NOW),
            last_turn_patch(request, NOW),
            hold_patch(request, Hold(Stage.BLOCKED, "message"), NOW),
            finish_patch(request, Finish(CompletionReason.POD_DELETED), NOW),
        ]
        for target in map(Target, Presence):
            decide(dialect.process(request), target, DecisionContext(NOW, NOW - dt.timedelta(days=1), NOW))
        sent = {**msgspec.to_builtins(obj), "status": with_required(obj.status)}
        for patch in filter(None, patches):
            change = dialect.status_patch(patch)["status"]
            result = apply_merge_patch(copy.deepcopy(sent), {"status": change})
            assert acceptable(dialect.kind, result), declaration_of(dialect.kind).structure.field_errors(
                result
            )
        return None

    return written


BASES: dict[Kind, tuple[type[Projection], Callable[[Any], Obj | None], Obj]] = {
    kinds.NODEMAINTENANCES: (
        NodeMaintenance,
        maintain,
        {
            "spec": {"nodes": ["node-1"], "deadlineSeconds": 600, "pods": {"unmanagedPods": "Evict"}},
            "status": {
                "nodes": [
                    {"name": "node-1", "uid": "n1", "phase": "Draining", "podsTotal": 5, "podsEvicted": 2,
                     "startTime": MOMENT},
                    {"name": "node-2", "uid": "n2", "phase": "Pending", "podsTotal": 2**31 - 1},
                ],
            },
        },
    ),
    kinds.FENCINGPOLICIES: (
        FencingPolicy,
        fence,
        {
            "spec": {"agent": {"http": {"url": "https://bmc.example"}}},
            "status": {
                "nodes": [
                    {"name": "node-1", "uid": "n1", "phase": "Failed", "attempts": 1, "startTime": MOMENT},
                ],
            },
        },
    ),
    kinds.EVICTIONREQUESTS: (EvictionRequest, evict(EVICTION_REQUEST), _REQUEST),
    kinds.EVACUATIONS: (
        Evacuation,
        evict(EVACUATION),
        {
            "spec": {"podRef": {"name": "p0", "uid": "p0"}, "progressDeadlineSeconds": 1800},
            "status": {"activeEvacuatorClass": "a.example.com"},
        },
    ),
    kinds.DESCHEDULINGPOLICIES: (DeschedulingPolicy, deschedule, {"spec": {"rules": ["NodeTaints"]}}),
}  # fmt: skip
PATHS = {
    kind: sorted({path for path in leaves(into) if path[0] == "status"})
    for kind, (into, _, _) in BASES.items()
}
PLACES = st.sampled_from((*VALUES, *ODD_NAMES, *PHASES, *NODE_PHASES, MANY, MORE))


EDGES = ("9998-12-31T23:59:59.9999999Z", "9998-12-31T23:59:59-23:59", "0001-01-01T00:00:00Z")
KNOWN: list[tuple[Kind, Obj]] = [
    *(
        (kind, {"conditions": [{**CONDITION, "lastTransitionTime": edge}]})
        for kind in (kinds.NODEMAINTENANCES, kinds.FENCINGPOLICIES, kinds.EVICTIONREQUESTS)
        for edge in EDGES
    ),
    *((kind, {"conditions": MANY}) for kind in (kinds.NODEMAINTENANCES, kinds.FENCINGPOLICIES)),
    (kinds.EVICTIONREQUESTS, {"conditions": MORE}),
    *(
        (
            kinds.NODEMAINTENANCES,
            {"nodes": [{**ROW, "podsTotal": 5, "podsEvicted": count, "startTime": edge}]},
        )
        for count in (1, 2**31 - 1, -(2**31))
        for edge in EDGES
    ),
    *((kinds.FENCINGPOLICIES, {"nodes": [{**ROW, "phase": phase, "name": ""}]}) for phase in PHASES),
]


@pytest.mark.parametrize(("kind", "status"), KNOWN)
def test_what_has_stopped_a_controller_once(kind: Kind, status: Obj) -> None:
    meta = {"name": "it", "uid": "u", "resourceVersion": "1"}
    settles(kind, {"metadata": meta, **copy.deepcopy(BASES[kind][2]), "status": copy.deepcopy(status)})


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("kind", BASES, ids=lambda kind: kind.kind)
@settings(max_examples=examples(400))
@given(st.data())
def test_a_status_that_is_accepted_stops_no_decision(kind: Kind, data: st.DataObject) -> None:
    meta = {"name": "it", "uid": "u", "resourceVersion": "1"}
    obj: Obj = {"metadata": meta, **copy.deepcopy(BASES[kind][2])}
    for path in data.draw(st.lists(st.sampled_from(PATHS[kind]), min_size=1, max_size=4)):
        try:
            obj = changed(obj, path, data.draw(PLACES))
        except (TypeError, KeyError, AttributeError, IndexError):
            continue  # one of the values before stands in the way
    if acceptable(kind, obj):
        settles(kind, obj)


def settles(kind: Kind, obj: Obj) -> None:
    """Decide until nothing changes any more: every status on the way is accepted."""
    assert acceptable(kind, obj), declaration_of(kind).structure.field_errors(copy.deepcopy(obj))
    into, write, _ = BASES[kind]
    for _ in range(3):
        patch = write(codec_for(into).convert(obj))
        if patch is None:
            return
        obj = apply_merge_patch(obj, {"status": patch["status"]})
        assert acceptable(kind, obj), declaration_of(kind).structure.field_errors(copy.deepcopy(obj))


def acceptable(kind: Kind, obj: Obj) -> bool:
    """Whether the definition accepts it; with its defaults, and without what it does not know."""
    declaration_of(kind).structure.prune(obj)
    declaration_of(kind).structure.fill_defaults(obj)
    return not declaration_of(kind).structure.field_errors(copy.deepcopy(obj))
