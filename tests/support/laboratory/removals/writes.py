"""Rules of the API server, taken out: durability and budgets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from vacate.api.objects import Obj
from vacate.embedded.apiserver.subresources import evictiondecision
from vacate.embedded.store.commit import Batch
from vacate.kube.eviction import CoveringBudget

Patch = pytest.MonkeyPatch


def acknowledged_before_the_disk_has_it(patch: Patch) -> None:
    async def wait(_: Batch) -> None:
        return None

    patch.setattr(Batch, "wait", wait)


def budgets_are_not_asked(patch: Patch) -> None:
    def none(pod: Obj, budgets: Sequence[Obj]) -> CoveringBudget | None:
        return None

    patch.setattr(evictiondecision, "budget_to_spend", none)
