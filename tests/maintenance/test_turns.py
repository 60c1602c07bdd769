"""Which nodes may be drained now, how far a node is, and what is recorded on it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.api.types import Node, ObjectMeta, Taint
from vacate.api.types.core import NodeSpec
from vacate.api.types.nodemaintenance import NodeProgress
from vacate.maintenance.claims import claim_patch, claims_of, release_patch
from vacate.maintenance.names import CLAIMS
from vacate.maintenance.progress import counted, estimate, percent_of, steady
from vacate.maintenance.turns import Turn, TurnRules, Turns, limit_of, next_turns

pytestmark = pytest.mark.unit

EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "total", "limit"),
    [(1, 10, 1), (3, 10, 3), ("25%", 10, 2), ("1%", 10, 1), ("100%", 4, 4), ("x", 4, 1), (0, 4, 1)],
)
def test_limits(value: int | str, total: int, limit: int) -> None:
    assert limit_of(value, total) == limit


ZONE = "zone"


def zoned(text: str) -> Node:
    """`a1` is node a of zone 1."""
    return Node(metadata=ObjectMeta(name=text[0], labels={ZONE: text[1]}))


def turns(given: str, others: str = "", **rules: Any) -> Turns:
    """`a1+ b2.` is node a of zone 1, active, and b of 2, waiting; without a sign it is done.

    The others are active; `x1!` belongs to a maintenance that names the zone as its topology key.
    """
    own, limit = given.split(), rules.pop("limit", 1)
    active = [zoned(one) for one in own if one.endswith("+")]
    waiting = [zoned(one) for one in own if one.endswith(".")]
    elsewhere = [Turn("other", zoned(one), ZONE if one.endswith("!") else "") for one in others.split()]
    return next_turns(waiting, active, elsewhere, TurnRules(limit, len(own), **rules))


@pytest.mark.parametrize(
    ("given", "limit", "topology", "starts"),
    [
        ("a1. b1. c1.", 1, "", ["a"]),
        ("a1. b1. c1.", 2, "", ["a", "b"]),
        ("a1+ b1. c1.", 2, "", ["b"]),
        ("a1+ b1+ c1.", 2, "", []),
        ("a1 b1. c1.", 1, "", ["b"]),
        ("a1. b2. c1.", 3, ZONE, ["a", "c"]),
        ("a2+ b1. c2.", 3, ZONE, ["c"]),
        ("a1+ b2.", 5, ZONE, []),
    ],
)
def test_turns_of_one_maintenance(given: str, limit: int, topology: str, starts: list[str]) -> None:
    found = turns(given, limit=limit, topology_key=topology)
    assert (found.starts, found.held) == (starts, "")


@pytest.mark.parametrize(
    ("given", "others", "rules", "starts", "held"),
    [
        pytest.param("a1. b2.", "x2", {"topology_key": ZONE}, ["b"], "a", id="own key"),
        pytest.param("a1.", "x2", {"topology_key": ZONE}, [], "a", id="own key, nothing else to do"),
        pytest.param("a1.", "x2", {}, ["a"], "", id="no key"),
        pytest.param("a1.", "x2!", {}, [], "a", id="key of the other"),
        pytest.param("a1.", "x2", {"draining_key": ZONE}, [], "a", id="key of the installation"),
        pytest.param("a1.", "a1!", {"topology_key": ZONE}, ["a"], "", id="the same node"),
        pytest.param("a1. b1.", "x1 y1", {"limit": 2, "max_draining": 3}, ["a"], "b", id="limit of all"),
        pytest.param("a1.", "x1 y1", {"max_draining": 2}, [], "a", id="no room under the limit of all"),
        pytest.param("a1.", "a1 y1", {"max_draining": 2}, ["a"], "", id="a shared node counts once"),
    ],
)
def test_turns_beside_other_maintenances(
    given: str, others: str, rules: dict[str, Any], starts: list[str], held: str
) -> None:
    found = turns(given, others, **rules)
    assert (found.starts, found.held) == (starts, held)


def test_counts_never_fall() -> None:
    row, seen = NodeProgress(name="n"), []
    for remaining in (5, 3, 4, 0):
        total, gone = counted(row, remaining)
        seen.append((total, gone))
        row = NodeProgress(name="n", pods_total=total, pods_evicted=gone)
    assert seen == [(5, 0), (5, 2), (6, 2), (6, 6)]
    assert (percent_of(0, 0), percent_of(1, 3)) == (100, 33)


def test_estimates() -> None:
    minute = dt.timedelta(minutes=1)
    now = EPOCH + 10 * minute
    assert estimate(now, EPOCH, 0, 5, []) is None
    assert estimate(now, EPOCH, 5, 5, []) == now + 10 * minute
    assert estimate(now, EPOCH, 5, 5, [now + 30 * minute, now - minute]) == now + 30 * minute
    assert estimate(now, EPOCH, 5, 0, [now + minute]) is None
    before = now + 10 * minute
    assert steady(before, before + dt.timedelta(seconds=20), now) == before
    assert steady(before, before + 5 * minute, now) == before + 5 * minute


def a_node(annotation: str | None = None, **spec: Any) -> Node:
    annotations = {} if annotation is None else {CLAIMS: annotation}
    meta = ObjectMeta(name="n", uid="u", resource_version="7", annotations=annotations)
    return Node(metadata=meta, spec=NodeSpec(**spec))


def after(node: Node, patch: Any) -> Node:
    """The node as a server would have it after the patch."""
    assert patch["metadata"]["resourceVersion"] == "7"
    spec = patch.get("spec", {})
    unschedulable = spec.get("unschedulable", node.spec.unschedulable) or False
    taints = [Taint(**one) for one in spec["taints"] or []] if "taints" in spec else node.spec.taints
    return a_node(patch["metadata"]["annotations"][CLAIMS], unschedulable=unschedulable, taints=taints)


def known(_name: str, uid: str) -> bool:
    return uid != "dead"


def test_what_was_done_is_undone_and_no_more() -> None:
    other = Taint(key="theirs", effect="NoSchedule")
    free = a_node(taints=[other])
    mine = after(free, claim_patch(free, "a", "1", taint=True, known=known))
    assert (mine.spec.unschedulable, len(mine.spec.taints)) == (True, 2)
    assert claim_patch(mine, "a", "1", taint=True, known=known) is None
    shared = after(mine, claim_patch(mine, "b", "2", taint=False, known=known))
    one = after(shared, release_patch(shared, "a", known=known))
    assert (one.spec.unschedulable, one.spec.taints) == (True, [other])
    none = after(one, release_patch(one, "b", known=known))
    assert (none.spec.unschedulable, claims_of(none).by) == (False, {})
    assert release_patch(none, "b", known=known) is None


def test_a_cordon_of_others_stays() -> None:
    theirs = a_node(unschedulable=True)
    mine = after(theirs, claim_patch(theirs, "a", "1", taint=False, known=known))
    assert after(mine, release_patch(mine, "a", known=known)).spec.unschedulable


def test_claims_of_maintenances_that_are_gone_do_not_hold_a_node() -> None:
    node = a_node('{"by": {"a": "1", "gone": "dead"}, "cordoned": true}', unschedulable=True)
    assert not after(node, release_patch(node, "a", known=known)).spec.unschedulable


@pytest.mark.parametrize("text", ["{", "[]", '"x"', '{"by": 3}', '{"by": {"a": {}}, "cordoned": "yes"}'])
def test_an_invalid_record_claims_no_cordon(text: str) -> None:
    assert claims_of(a_node(text)).cordoned is False
