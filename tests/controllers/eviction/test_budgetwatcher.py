"""Whom a changed budget wakes, from the caches alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace

from vacate.api.objects import Obj
from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.indexes import SELECTING
from vacate.cache.reader import Reader
from vacate.cache.store import ObjectTable
from vacate.controllers.eviction.attempts import EvictionAttempts
from vacate.controllers.eviction.budgetwatcher import BudgetWatcher
from vacate.entropy import seeded_entropy
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.kube.budgets import allowed
from vacate.runtime.reconcile import Key

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def budget(
    name: str, allows: int, app: str = "web", *, generation: int = 1, observed: int = 1
) -> PodDisruptionBudget:
    made: Obj = {
        "metadata": {"name": name, "namespace": "default", "generation": generation},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allows, "observedGeneration": observed},
    }
    return msgspec.convert(made, PodDisruptionBudget)


class Setup:
    """Requests r0, r1, … for pods of one app, all refused; the oldest first."""

    def __init__(self, number: int, budgets: Sequence[PodDisruptionBudget]) -> None:
        requests: ObjectTable[EvictionRequest] = ObjectTable({})
        pods: ObjectTable[Pod] = ObjectTable({})
        held: ObjectTable[PodDisruptionBudget] = ObjectTable(SELECTING)
        self.attempts = EvictionAttempts(seeded_entropy(0))
        self.woken: list[str] = []
        for n in reversed(range(number)):
            request = msgspec.convert(_request(n), EvictionRequest)
            requests.apply(request, deleted=False)
            pods.apply(msgspec.convert(_pod(n), Pod), deleted=False)
            self.attempts.refused(request, NOW, by_budget=True)
        for one in budgets:
            held.apply(one, deleted=False)
        self.requests, self.pods = requests, pods
        self.watcher = BudgetWatcher(
            EVICTION_REQUEST, self.attempts, Reader(requests), Reader(pods), Reader(held), self._wake
        )

    def _wake(self, key: Key) -> None:
        self.woken.append(key.name)


def _request(number: int) -> Obj:
    name = f"r{number}"
    created = f"2026-01-01T00:00:{number:02}Z"
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"u{number}", "creationTimestamp": created},
        "spec": {"target": {"podRef": {"name": f"p{number}", "uid": name}}},
    }


def _pod(number: int) -> Obj:
    return {
        "metadata": {
            "name": f"p{number}",
            "namespace": "default",
            "uid": f"r{number}",
            "labels": {"app": "web"},
        }
    }


OPEN, CLOSED, OTHER = budget("one", 2), budget("one", 0), budget("one", 2, "db")
UNHEALTHY = replace(CLOSED, spec=replace(CLOSED.spec, unhealthy_pod_eviction_policy="AlwaysAllow"))
STALE = budget("one", 2, generation=2)


@pytest.mark.parametrize(
    ("others", "old", "new", "woken"),
    [
        ([], CLOSED, OPEN, ["r0", "r1"]),
        ([], None, OPEN, ["r0", "r1"]),  # seen for the first time
        ([], STALE, OPEN, ["r0", "r1"]),  # its status has caught up with its spec
        ([], OPEN, OPEN, []),
        ([], OPEN, budget("one", 1), []),
        ([], budget("one", 1), OPEN, ["r0", "r1"]),
        ([], CLOSED, STALE, []),
        ([], CLOSED, CLOSED, []),
        ([], CLOSED, None, ["r0", "r1", "r2"]),
        ([], CLOSED, OTHER, ["r0", "r1", "r2"]),
        ([], OTHER, OPEN, ["r0", "r1"]),
        ([], budget("one", 0, "db"), OTHER, []),  # of other pods
        ([budget("two", 1)], CLOSED, OPEN, []),  # two budgets: refused in any case
        ([budget("two", 1)], CLOSED, None, ["r0"]),
        ([budget("two", 0)], CLOSED, None, []),
        ([], CLOSED, UNHEALTHY, ["r0", "r1", "r2"]),  # which of them are unhealthy only the server knows
        ([], UNHEALTHY, UNHEALTHY, []),
    ],
)  # fmt: skip
def test_whom_a_change_wakes(
    others: list[PodDisruptionBudget],
    old: PodDisruptionBudget | None,
    new: PodDisruptionBudget | None,
    woken: list[str],
) -> None:
    setup = Setup(3, [*others, *([new] if new else [])])
    setup.watcher.on_budget(old, new)
    assert setup.woken == woken
    left = sorted(one.name for one in setup.attempts.waiting("default"))
    assert left == [name for name in ("r0", "r1", "r2") if name not in woken]
    for number in range(3):
        request = setup.requests.objects.values()[number]
        at_once = setup.attempts.next_of(request, NOW) is None
        assert at_once == (request.metadata.name in woken)


@pytest.mark.parametrize(("labels", "woken"), [({"app": "db"}, ["r0"]), ({"app": "web", "x": "y"}, [])])
def test_a_pod_that_leaves_its_budget_is_tried_at_once(labels: dict[str, str], woken: list[str]) -> None:
    setup = Setup(2, [CLOSED])
    before = msgspec.convert(_pod(0), Pod)
    setup.watcher.on_pod(before, replace(before, metadata=replace(before.metadata, labels=labels)))
    assert setup.woken == woken


def met(allows: int, healthy: int) -> PodDisruptionBudget:
    """A budget that demands one healthy pod."""
    made = budget("one", allows)
    return replace(made, status=replace(made.status, desired_healthy=1, current_healthy=healthy))


def unready(number: int) -> Pod:
    conditions = [{"type": "Ready", "status": "False"}]
    meta = _pod(number)["metadata"] | {"resourceVersion": "2"}
    return msgspec.convert({"metadata": meta, "status": {"phase": "Running", "conditions": conditions}}, Pod)


@pytest.mark.parametrize(
    ("old", "new", "woken"),
    [
        (met(0, 0), met(0, 1), ["r1"]),
        (met(0, 0), met(1, 2), ["r1", "r0"]),  # it is no disruption, and leaves that to another one
        (met(0, 1), met(0, 2), []),  # it was let go before
        (met(0, 1), met(0, 0), []),
        (met(0, 0), replace(met(0, 0), spec=UNHEALTHY.spec), ["r1", "r0", "r2"]),
    ],
)
def test_pods_that_are_not_ready_go_where_enough_others_are_healthy(
    old: PodDisruptionBudget, new: PodDisruptionBudget, woken: list[str]
) -> None:
    setup = Setup(3, [new])
    setup.pods.apply(unready(1), deleted=False)
    setup.watcher.on_budget(old, new)
    assert setup.woken == woken


@pytest.mark.parametrize(("counted", "woken"), [(met(0, 1), ["r1"]), (met(0, 0), []), (UNHEALTHY, ["r1"])])
def test_a_pod_that_becomes_unready_is_tried_at_once_where_that_lets_it_go(
    counted: PodDisruptionBudget, woken: list[str]
) -> None:
    setup = Setup(2, [counted])
    before, after = msgspec.convert(_pod(1), Pod), unready(1)
    setup.pods.apply(after, deleted=False)
    setup.watcher.on_pod(before, after)
    setup.watcher.on_pod(after, before)
    assert setup.woken == woken


def test_a_pod_that_becomes_unready_while_its_refusal_is_on_its_way_is_tried_again() -> None:
    setup = Setup(1, [met(0, 1)])
    (request,) = setup.requests.objects.values()
    setup.attempts.wake(Key("default", "r0"))
    sent_after = setup.watcher.changes
    setup.pods.apply(unready(0), deleted=False)
    setup.watcher.on_pod(msgspec.convert(_pod(0), Pod), unready(0))
    assert setup.woken == []
    setup.attempts.refused(request, NOW, by_budget=True)
    setup.watcher.on_refusal(request, sent_after)
    assert setup.woken == ["r0"]


def test_the_next_in_line_is_tried_in_place_of_one_that_something_else_holds() -> None:
    setup = Setup(4, [budget("one", 1)])
    requests = {one.metadata.name: one for one in setup.requests.objects.values()}
    for name in ("r0", "r1"):
        setup.attempts.refused(requests[name], NOW, by_budget=False)
    setup.watcher.pass_on(requests["r0"])
    assert setup.woken == ["r2"]  # r1 has a pause of its own, as short as that of r0
    setup.watcher.pass_on(requests["r3"])
    assert setup.woken == ["r2"]


def test_nobody_is_tried_in_place_of_another_while_the_budget_is_closed() -> None:
    setup = Setup(2, [CLOSED])
    requests = {one.metadata.name: one for one in setup.requests.objects.values()}
    setup.watcher.pass_on(requests["r0"])
    assert setup.woken == []


def test_a_request_whose_pod_was_replaced_is_not_woken() -> None:
    setup = Setup(1, [OPEN])
    stranger = _pod(0) | {"metadata": {**_pod(0)["metadata"], "uid": "another"}}
    setup.pods.apply(msgspec.convert(stranger, Pod), deleted=False)
    setup.watcher.on_budget(CLOSED, OPEN)
    assert setup.woken == []


def test_a_status_older_than_its_spec_allows_nothing() -> None:
    assert [allowed(one) for one in (OPEN, STALE, CLOSED, budget("x", -1), None)] == [2, 0, 0, 0, 0]


def test_an_attempt_belongs_to_one_life_of_a_request() -> None:
    setup = Setup(1, [])
    first = setup.requests.objects.values()[0]
    again = msgspec.convert(
        _request(0) | {"metadata": {**_request(0)["metadata"], "uid": "new"}}, EvictionRequest
    )
    assert setup.attempts.next_of(first, NOW) is not None
    assert setup.attempts.next_of(again, NOW) is None
    setup.attempts.accepted(first, NOW)
    assert setup.attempts.accepted_count(first) == 1
    assert setup.attempts.waiting("default") == []
    setup.attempts.forget(Key("default", "r0"))
    assert setup.attempts.accepted_count(first) == 0
