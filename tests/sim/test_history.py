"""The checks of a history find what they are meant to find."""

from __future__ import annotations

import orjson
import pytest

from vacate.api.objects import Obj
from vacate.embedded.store.log import Record
from vacate.sim.history import EVICTED, budget_breaches, health, shared_addresses
from vacate.testing import pdb, pod

pytestmark = pytest.mark.unit

EVICTION = {"type": "DisruptionTarget", "status": "True", "reason": EVICTED}


class Log:
    """Records in the making."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def put(self, resource: str, obj: Obj, *, deleted: bool = False) -> Log:
        name = obj["metadata"]["name"]
        revision = len(self.records) + 2
        self.records.append(Record(revision, resource, "default", name, deleted, revision, orjson.dumps(obj)))
        return self

    def pods(self, count: int) -> Log:
        for number in range(count):
            self.put("pods", ready(f"web-{number}"))
        return self

    def budget(self, min_available: int | str) -> Log:
        return self.put("poddisruptionbudgets.policy", pdb("web", min_available=min_available))

    def evict(self, name: str) -> Log:
        terminating = ready(name)
        terminating["status"]["conditions"].append(EVICTION)
        self.put("pods", terminating)
        terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
        return self.put("pods", terminating)

    def breaches(self) -> list[str]:
        return list(budget_breaches(self.records))


def ready(name: str) -> Obj:
    return pod(name, node="node-1", ready=True, labels={"app": "web"})


def test_an_eviction_within_the_budget_is_fine() -> None:
    assert Log().pods(3).budget(2).evict("web-0").breaches() == []


def test_an_eviction_too_many_is_reported_once_for_its_revision() -> None:
    found = Log().pods(3).budget(2).evict("web-0").evict("web-1").breaches()
    assert found == ["revision 9: the eviction of web-1 left 1 healthy pods, budget web wants 2"]


def test_a_pod_that_leaves_otherwise_is_no_breach() -> None:
    log = Log().pods(2).budget(2)
    terminating = ready("web-0")
    terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    assert log.put("pods", terminating).breaches() == []


def lost(name: str) -> Obj:
    made = ready(name)
    made["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    return made


def counted(healthy: int, **status: Obj) -> Obj:
    """The budget, as the disruption controller has written it."""
    return {**pdb("web", min_available=1), "status": {"currentHealthy": healthy, **status}}


def test_a_loss_is_not_charged_to_an_eviction_before_it_is_counted() -> None:
    budgets = "poddisruptionbudgets.policy"
    log = Log().pods(2).put(budgets, counted(2)).put("pods", lost("web-0"))
    assert log.evict("web-1").breaches() == []
    known = Log().pods(2).put(budgets, counted(2)).put("pods", lost("web-0")).put(budgets, counted(1))
    assert len(known.evict("web-1").breaches()) == 1
    back = Log().pods(2).put(budgets, counted(2)).put("pods", lost("web-0")).put("pods", ready("web-0"))
    assert len(back.evict("web-0").evict("web-1").breaches()) == 1


def test_what_was_evicted_is_charged_whatever_the_budget_counts() -> None:
    budgets = "poddisruptionbudgets.policy"
    log = Log().pods(3).put(budgets, counted(3)).put("pods", lost("web-0")).evict("web-1")
    log.put(budgets, counted(3, disruptedPods={"web-1": "2026-01-01T00:00:00Z"}))
    assert log.evict("web-2").breaches() == []  # web-0 is still uncounted
    log = Log().pods(2).put(budgets, counted(2)).evict("web-0")
    log.put(budgets, counted(2, disruptedPods={"web-0": "2026-01-01T00:00:00Z"}))
    assert len(log.evict("web-1").breaches()) == 1


def test_an_evicted_pod_that_is_removed_at_once_counts() -> None:
    log = Log().pods(2).budget(2)
    terminating = ready("web-0")
    terminating["status"]["conditions"].append(EVICTION)
    assert len(log.put("pods", terminating).put("pods", terminating, deleted=True).breaches()) == 1


def test_budgets_of_other_pods_and_percentages_are_not_checked() -> None:
    other = pdb("other", min_available=5)
    assert Log().pods(1).put("poddisruptionbudgets.policy", other).evict("web-0").breaches() == []
    assert Log().pods(1).budget("100%").evict("web-0").breaches() == []


def test_health_is_counted_at_every_revision() -> None:
    log = Log().pods(2).evict("web-0")
    assert list(health(log.records, "default", "app", "web")) == [(2, 1), (3, 2), (4, 2), (5, 1)]


def test_shared_addresses_are_found() -> None:
    one, two = ready("web-0"), ready("web-1")
    one["status"]["podIP"] = two["status"]["podIP"] = "10.0.0.1"
    assert list(shared_addresses(Log().put("pods", one).put("pods", two).records)) == [
        "revision 3: 10.0.0.1 belongs to web-0, web-1"
    ]
    assert not list(
        shared_addresses(Log().put("pods", one).put("pods", one, deleted=True).put("pods", two).records)
    )
