"""The scenarios find faults: one planted in the engine, the controller or the SDK breaks an invariant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.eviction_scenarios.runner import run_seed
from vacate.controllers.eviction import reconciler
from vacate.errors import VacateError
from vacate.eviction import engine
from vacate.eviction.deadlines import overdue_at
from vacate.eviction.model import CompletionReason, Evict
from vacate.eviction.records import patches
from vacate.eviction.records import reader as dialect

pytestmark = pytest.mark.sim

MAX_SEEDS = 200

Plant = Callable[[pytest.MonkeyPatch], None]


def hands_over_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "overdue_at", _shifted(overdue_at))


def _shifted(moment_of: Any) -> Any:
    return lambda process, since, now: moment_of(process, since, now) - process.deadline / 2


def evicts_without_a_look(patch: pytest.MonkeyPatch) -> None:
    evict = engine._evict

    def hasty(*args: Any) -> Any:
        found = evict(*args)
        return Evict(recheck=False) if isinstance(found, Evict) else found

    patch.setattr(engine, "_evict", hasty)


def ends_when_the_pod_begins_to_terminate(patch: pytest.MonkeyPatch) -> None:
    reason = engine._completion_reason

    def early(process: Any, target: Any) -> Any:
        return CompletionReason.POD_DELETED if target.termination is not None else reason(process, target)

    patch.setattr(engine, "_completion_reason", early)


def forgets_conditions_of_others(patch: pytest.MonkeyPatch) -> None:
    make = patches._patch

    def forgetful(request: Any, status: Any, changed: Any) -> Any:
        made = make(request, status, changed)
        kept = [one for one in made["status"]["conditions"] if not one["type"].startswith("Seen")]
        made["status"]["conditions"] = kept
        return made

    patch.setattr(patches, "_patch", forgetful)


def evicts_daemons(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dialect, "unevictable", lambda pod: "")


def does_not_watch_pods(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconciler.EvictionRequests, "request_of", lambda self, pod: ())


def cancels_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "cancelled", lambda process: False)


# Each with the seed that is asked first, since it found the fault lately: then the others need not be.
PLANTS = [
    pytest.param(hands_over_too_early, 2, marks=pytest.mark.thorough, id="hands_over_too_early"),
    pytest.param(evicts_without_a_look, 17, id="evicts_without_a_look"),
    pytest.param(ends_when_the_pod_begins_to_terminate, 5, id="ends_when_the_pod_begins_to_terminate"),
    pytest.param(forgets_conditions_of_others, 31, id="forgets_conditions_of_others"),
    pytest.param(evicts_daemons, 29, id="evicts_daemons"),
    pytest.param(does_not_watch_pods, 13, id="does_not_watch_pods"),
    pytest.param(cancels_nothing, 26, id="cancels_nothing"),
]


@pytest.mark.thorough(beyond=2)
@pytest.mark.parametrize(("plant", "first"), PLANTS)
def test_a_planted_fault_is_found(plant: Plant, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    assert any(_fails(seed) for seed in (first, *range(MAX_SEEDS)))


def _fails(seed: int) -> bool:
    try:
        return bool(run_seed(seed).breaches)
    except VacateError:
        return True
