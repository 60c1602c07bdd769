"""Replica sets: which pods go first, adoption, batches and status."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.workload_objects import NOW, ago, make_pod, make_replica_set
from vacate.api.selectors.labels import selector_of
from vacate.api.types import Condition
from vacate.embedded.controllers.replicaset.replicas import (
    Failure,
    failure_of,
    missing_replicas,
    pod_from_template,
    replica_set_status,
    slow_start,
)
from vacate.kube.availability import is_available, next_check
from vacate.kube.deletionorder import DELETION_COST, deletion_cost, first_to_go, surplus
from vacate.kube.ownership import Claim, claim

pytestmark = pytest.mark.unit

BASE: dict[str, Any] = {"node": "n1", "ready": ago(hours=5), "creationTimestamp": ago(hours=6)}

# Of each pair the first goes first.
PAIRS = [
    ("unassigned before assigned", {"node": "", "phase": "Running"}, {"node": "n1", "phase": "Pending"}),
    ("pending before unknown", {"node": "n1", "phase": "Pending"}, {"node": "n1", "phase": "Unknown"}),
    ("unknown before running", {"node": "n1", "phase": "Unknown"}, {"node": "n1", "phase": "Running"}),
    ("not ready before ready", BASE | {"ready": None, "phase": "Running"}, BASE),
    ("lower cost first", BASE | {"annotations": {DELETION_COST: "-5"}}, BASE),
    ("cost counts before crowd", BASE | {"node": "n2", "annotations": {DELETION_COST: "-1"}}, BASE),
    (
        "readiness counts before cost",
        BASE | {"ready": None, "phase": "Running"},
        BASE | {"annotations": {DELETION_COST: "-5"}},
    ),
    (
        "a bad cost is no cost",
        BASE | {"annotations": {DELETION_COST: "-1"}},
        BASE | {"annotations": {DELETION_COST: "+9"}},
    ),
    (
        "crowded node first",
        BASE | {"node": "crowd", "ready": ago(hours=9)},
        BASE | {"node": "n1", "ready": ago(minutes=1)},
    ),
    ("ready for shorter first", BASE | {"ready": ago(minutes=1)}, BASE | {"ready": ago(hours=5)}),
    (
        "more restarts first",
        BASE | {"restarts": 3},
        BASE | {"restarts": 1, "creationTimestamp": ago(minutes=1)},
    ),
    (
        "younger first",
        BASE | {"creationTimestamp": ago(minutes=1)},
        BASE | {"creationTimestamp": ago(hours=6)},
    ),
    (
        "equal magnitude: by uid",
        BASE | {"ready": ago(seconds=3600), "uid": "a"},
        BASE | {"ready": ago(seconds=3500), "uid": "b"},
    ),
    ("no creation time first", {key: BASE[key] for key in ("node", "ready")}, BASE),
]


@pytest.mark.parametrize(("first", "second"), [row[1:] for row in PAIRS], ids=[row[0] for row in PAIRS])
def test_the_order_in_which_replicas_are_given_up(first: dict[str, Any], second: dict[str, Any]) -> None:
    one, other = make_pod("one", **first), make_pod("other", **second)
    crowd = [make_pod(f"c{i}", node="crowd", phase="Running") for i in range(3)]
    related = [one, other, *crowd]
    assert first_to_go([one, other], related, NOW) == [one, other]
    assert first_to_go([other, one], related, NOW) == [one, other]


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("10", 10),
        ("-7", -7),
        ("0", 0),
        ("-0", 0),
        ("-05", -5),
        ("05", 0),
        ("+5", 0),
        ("", 0),
        ("x", 0),
        ("1.5", 0),
        ("2147483648", 0),
        ("-2147483648", -(2**31)),
    ],
)
def test_deletion_cost_is_read_as_the_server_reads_it(text: str, cost: int) -> None:
    assert deletion_cost(make_pod(annotations={DELETION_COST: text})) == cost


def test_finished_and_leaving_pods_do_not_crowd_a_node() -> None:
    one = make_pod("one", **BASE | {"node": "a", "ready": ago(minutes=1)})
    other = make_pod("other", **BASE | {"node": "b"})
    ghosts = [
        make_pod("g1", node="b", phase="Failed"),
        make_pod("g2", node="b", phase="Running", deletionTimestamp=ago()),
    ]
    assert surplus([other, one], [one, other, *ghosts], 1, NOW) == [one]


CLAIMS = [
    ("ours and selected", {"owner": "web"}, {}, Claim.KEEP),
    ("ours and no longer selected", {"owner": "web", "labels": {}}, {}, Claim.RELEASE),
    ("another's", {"owner": "other"}, {}, Claim.IGNORE),
    ("orphan, selected", {}, {}, Claim.ADOPT),
    ("orphan, not selected", {"labels": {}}, {}, Claim.IGNORE),
    ("orphan that is leaving", {"deletionTimestamp": ago()}, {}, Claim.IGNORE),
    ("orphan elsewhere", {"namespace": "other"}, {}, Claim.IGNORE),
    ("a leaving owner adopts nothing", {}, {"deletionTimestamp": ago()}, Claim.IGNORE),
    (
        "a leaving owner releases nothing",
        {"owner": "web", "labels": {}},
        {"deletionTimestamp": ago()},
        Claim.IGNORE,
    ),
    ("a leaving owner keeps its own", {"owner": "web"}, {"deletionTimestamp": ago()}, Claim.KEEP),
]


@pytest.mark.parametrize(
    ("pod", "owner", "expected"), [row[1:] for row in CLAIMS], ids=[row[0] for row in CLAIMS]
)
def test_claims(pod: dict[str, Any], owner: dict[str, Any], expected: Claim) -> None:
    replica_set = make_replica_set("web", metadata=owner)
    candidate = make_pod("p", **{"labels": {"app": "web"}} | pod)
    assert claim(replica_set.metadata, selector_of(replica_set.spec.selector), candidate.metadata) is expected


@given(st.integers(0, 600))
def test_slow_start_doubles_and_adds_up(count: int) -> None:
    batches = slow_start(count)
    assert sum(batches) == count
    assert all(size == 2**index for index, size in enumerate(batches[:-1]))


@pytest.mark.parametrize(
    ("wanted", "active", "missing"), [(3, 0, 3), (3, 5, -2), (3, 3, 0), (2000, 0, 500), (0, 900, -500)]
)
def test_the_difference_is_made_up_in_bounded_steps(wanted: int, active: int, missing: int) -> None:
    assert missing_replicas(make_replica_set(replicas=wanted), active) == missing


def test_a_pod_of_the_template_belongs_to_its_replica_set() -> None:
    pod = pod_from_template(make_replica_set("web"))
    assert pod["metadata"]["generateName"] == "web-"
    assert pod["metadata"]["labels"] == {"app": "web"}
    (owner,) = pod["metadata"]["ownerReferences"]
    assert owner == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web",
        "uid": "web",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert pod["spec"]["containers"]


def test_status_counts_what_the_pods_are() -> None:
    replica_set = make_replica_set("web", spec={"minReadySeconds": 60}, metadata={"generation": 7})
    labels = {"app": "web"}
    pods = [
        make_pod("a", labels=labels, ready=ago(minutes=5)),
        make_pod("b", labels=labels, ready=ago(seconds=30)),
        make_pod("c", labels={}, phase="Running"),
    ]
    status = replica_set_status(replica_set, pods, 2, None, NOW)
    assert (status.replicas, status.fully_labeled_replicas, status.ready_replicas) == (3, 2, 2)
    assert (status.available_replicas, status.terminating_replicas, status.observed_generation) == (1, 2, 7)
    assert not status.conditions


def test_a_failure_is_reported_once_and_taken_back() -> None:
    replica_set = make_replica_set("web")
    status = replica_set_status(replica_set, [], 0, Failure("FailedCreate", "quota"), NOW)
    expected = Condition(
        type="ReplicaFailure", status="True", reason="FailedCreate", message="quota", last_transition_time=NOW
    )
    assert status.conditions == [expected]
    failed = make_replica_set(
        "web", status={"conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}]}
    )
    again = replica_set_status(failed, [], 0, Failure("FailedCreate", "other"), NOW)
    assert again.conditions == failed.status.conditions
    assert replica_set_status(failed, [], 0, None, NOW).conditions == []


@pytest.mark.parametrize(("active", "reason"), [(1, "FailedCreate"), (5, "FailedDelete"), (3, "")])
def test_a_failure_is_named_after_what_was_tried(active: int, reason: str) -> None:
    assert failure_of(make_replica_set(replicas=3), active, "no").reason == reason


@pytest.mark.parametrize(
    ("ready", "wait", "available", "check"),
    [
        (None, 0, False, None),
        (ago(seconds=1), 0, True, None),
        (ago(seconds=10), 10, True, None),
        (ago(seconds=9), 10, False, 1),
        (None, 10, False, None),
    ],
)
def test_availability_is_readiness_that_lasts(
    ready: str | None, wait: int, available: bool, check: int | None
) -> None:
    pod = make_pod("p", ready=ready)
    assert is_available(pod, wait, NOW) is available
    at = next_check([pod], wait, NOW)
    assert (at and (at - NOW).total_seconds()) == check
