"""Which rights are asked for: those that the command would need, in the API that it would choose."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from vacate.api.kinds import (
    EVACUATIONS,
    EVICTIONREQUESTS,
    LIFECYCLE_REQUESTS,
    NODEMAINTENANCES,
    NODES,
    PODS,
    Kind,
)
from vacate.api.types import Node, Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.client.codec import codec_for
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evacuation.translation import EvacuationRecord
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.lifecycle.translation import LifecycleRecord
from vacate.maintenance.names import CLAIMS
from vacate.testing.builders import node, pod
from vacate.web.actions import (
    ACTIONS,
    CANCEL,
    CANCEL_DRAIN,
    DRAIN,
    EVICT,
    RETRY,
    RETRY_DRAIN,
    UNCORDON,
    Right,
)
from vacate.web.rights import needs
from vacate.web.snapshot import Snapshot, Unread
from web.test_pages import NOW, blocked

pytestmark = pytest.mark.unit

DB = {"namespace": "default", "pod": "db-0"}
DELETE = Right("delete", PODS, "default")
OWN = (Right("create", EVICTIONREQUESTS, "default"), DELETE)
LIFECYCLES = (Right("create", LIFECYCLE_REQUESTS, "default"),)
EVACUATOR = {"evacuation.coordination.k8s.io/priority_backup.example.com": "100/controller"}


def of_pod(*apis: Any, annotations: dict[str, str] | None = None, responders: bool = False) -> Snapshot:
    """A pod without a request, in a cluster that serves these APIs."""
    one = pod("db-0", node="node-1")
    one["metadata"]["annotations"] = annotations or {}
    if responders:
        one["spec"]["evictionResponders"] = [{"name": "backup.example.com/drain", "priority": 100}]
    return Snapshot(NOW, pods=[codec_for(Pod).convert(one)], apis=apis, preferred=apis[0])


@pytest.mark.parametrize(
    ("snapshot", "wanted"),
    [
        (of_pod(EVICTION_REQUEST), (Right("create", EVICTIONREQUESTS, "default"), DELETE)),
        (
            of_pod(EVICTION_REQUEST, EVACUATION, LIFECYCLE),
            (Right("create", EVICTIONREQUESTS, "default"), DELETE),
        ),
        (
            of_pod(EVICTION_REQUEST, EVACUATION, annotations=EVACUATOR),
            (Right("create", EVACUATIONS, "default"), DELETE),
        ),
        (
            of_pod(EVICTION_REQUEST, annotations=EVACUATOR),
            (Right("create", EVICTIONREQUESTS, "default"), DELETE),
        ),
        (of_pod(LIFECYCLE), (Right("create", LIFECYCLE_REQUESTS, "default"),)),
        (
            of_pod(EVICTION_REQUEST, LIFECYCLE, responders=True),
            (Right("create", LIFECYCLE_REQUESTS, "default"),),
        ),
    ],
)
def test_a_new_request_is_made_in_the_api_that_evict_chooses(
    snapshot: Snapshot, wanted: tuple[Right, ...]
) -> None:
    found = needs(EVICT, DB, snapshot)
    assert (found.rights, found.unknown) == (wanted, "")


@pytest.mark.parametrize(
    ("record", "own", "rest"),
    [
        (EvictionRequest, EVICTIONREQUESTS, (DELETE,)),
        (EvacuationRecord, EVACUATIONS, (DELETE,)),
        (LifecycleRecord, LIFECYCLE_REQUESTS, ()),
    ],
)
def test_a_request_that_goes_on_is_changed_in_its_own_api(
    record: type[EvictionRequest], own: Kind, rest: tuple[Right, ...]
) -> None:
    held = blocked("kernel.nodemaintenance.vacate.dev")
    (request,) = held.requests
    held = replace(held, requests=[msgspec.convert(msgspec.to_builtins(request), record)])
    join = "patch" if own.custom else "create"  # requesters of that one have objects of their own
    assert needs(EVICT, DB, held).rights == (Right(join, own, "default"), *rest)
    assert needs(CANCEL, DB, held).rights == (Right("patch", own, "default"), *rest)
    assert needs(RETRY, DB, held).rights == (Right("patch", record.kind, "default"), *rest)


def test_a_drain_is_tried_again_with_the_rights_over_its_own_blocked_requests() -> None:
    drain = {"drain": "kernel"}
    both = (Right("patch", NODEMAINTENANCES), Right("patch", EVICTIONREQUESTS, "default"), DELETE)
    assert needs(RETRY_DRAIN, drain, blocked("kernel.nodemaintenance.vacate.dev")).rights == both
    assert needs(RETRY_DRAIN, drain, blocked("disk.nodemaintenance.vacate.dev")).rights == both[:1]


@pytest.mark.parametrize(
    ("by", "cordoned", "nodes", "wanted"),
    [
        ((), False, (), ["patch nodes"]),
        (("kernel",), True, ("node-1",), ["delete nodemaintenances"]),
        (("kernel",), True, ("node-1", "node-2"), ["patch nodemaintenances"]),
        (("kernel",), False, ("node-1",), ["delete nodemaintenances", "patch nodes"]),
        (("gone",), True, ("node-1",), []),  # a claim of one that is no more: the controller's
    ],
)
def test_to_uncordon_takes_what_the_drains_of_the_node_take(
    by: tuple[str, ...], cordoned: bool, nodes: tuple[str, ...], wanted: list[str]
) -> None:
    one = node("node-1", unschedulable=True)
    claims = {"by": dict.fromkeys(by, "u"), "cordoned": cordoned}
    one["metadata"]["annotations"] = {CLAIMS: json.dumps(claims)} if by else {}
    drain = {"metadata": {"name": "kernel"}, "spec": {"nodes": list(nodes)}}
    snapshot = Snapshot(
        NOW,
        nodes=[codec_for(Node).convert(one)],
        maintenances=[codec_for(NodeMaintenance).convert(drain)] if nodes else [],
    )
    found = needs(UNCORDON, {"node": "node-1"}, snapshot)
    assert [f"{right.verb} {right.kind.plural}" for right in found.rights] == wanted
    assert not found.unknown


def test_what_decides_and_cannot_be_read_is_named() -> None:
    """Who may read one namespace only: all lists are of the whole cluster."""
    kinds = (EVICTIONREQUESTS, PODS, NODES, NODEMAINTENANCES)
    hidden = Snapshot(NOW, unread=[Unread(one.plural, "forbidden", forbidden=True) for one in kinds])
    names = {**DB, "node": "node-1", "drain": "kernel"}
    unknown = {one.name for one in ACTIONS.values() if needs(one, names, hidden).unknown}
    assert unknown == {one.name for one in ACTIONS.values()} - {DRAIN.name, CANCEL_DRAIN.name}
    assert needs(EVICT, DB, hidden).rights == (Right("create", EVICTIONREQUESTS, "default"), DELETE)
    assert all(needs(one, names, hidden).rights for one in ACTIONS.values())
