"""Each safety rule, the patch that takes it out, and a seed that finds it missing where one is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from support.laboratory.removals import fences, pods, volumes, writes
from support.laboratory.scenario import GATES, play
from vacate.features import FeatureGates

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Removal:
    """A rule that is taken out."""

    plant: Callable[[Patch], None]
    seed: int | None = None  # one that finds it, where one is known
    gates: FeatureGates = GATES


def _nothing(patch: Patch) -> None:
    """The gate says it."""


UNGUARDED = FeatureGates((*GATES.overrides, ("PodForceDeleteGuard", False)))

REMOVALS: dict[str, Removal] = {
    "the record of a volume is swapped, not overwritten": Removal(volumes.overwrite_the_record, None),
    "nodes wait until a volume is attached": Removal(volumes.nodes_do_not_wait, 0),
    "a terminating pod keeps its volume": Removal(volumes.terminating_frees_the_volume, None),
    "a silent node keeps its volumes": Removal(volumes.silence_frees_the_volume, 1),
    "pod GC does not take silence for the end": Removal(pods.silence_is_the_end_for_pod_gc, 1),
    "pod GC waits before it believes that a node is gone": Removal(pods.no_quarantine, None),
    "no member is replaced while its old pod exists": Removal(pods.members_are_replaced_early, 0, UNGUARDED),
    "force deletion must be confirmed": Removal(_nothing, 1, UNGUARDED),
    "what a fence agent did is read back": Removal(fences.the_word_of_an_agent_is_enough, None),
    "nobody is fenced when too few report": Removal(fences.no_healthy_share, None),
    "never more fenced than allowed": Removal(fences.no_limit_of_fences, None),
    "an agent takes over what runs": Removal(pods.an_agent_forgets_what_runs, None),
    "a pod goes after its processes": Removal(pods.a_pod_goes_before_its_processes, None),
    "a write is acknowledged when the disk has it": Removal(writes.acknowledged_before_the_disk_has_it, 0),
    "budgets are asked before an eviction": Removal(writes.budgets_are_not_asked, None),
}
"""Each rule, what takes it out, and a seed that then fails, where one is known."""


def finds(rule: str, seed: int) -> list[str]:
    """What the laboratory finds with this seed when the rule is taken out."""
    removal = REMOVALS[rule]
    with pytest.MonkeyPatch.context() as patch:
        removal.plant(patch)
        try:
            return play(seed, removal.gates, stops=True).breaches
        except Exception as error:  # such as a process that ended: found, too
            return [f"{type(error).__name__}: {error}"]
