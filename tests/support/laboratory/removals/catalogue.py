"""Each safety rule, the patch that takes it out, the invariants that then break, and a seed that shows it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from support.laboratory.faults.catalogue import (
    GATE_OPENS,
    NO_GRACE,
    NODE_DELETED,
    NODE_GIVEN_UP,
    STAYS,
)
from support.laboratory.outcome import Breach
from support.laboratory.removals import endings, fences, pods, volumes, writes
from support.laboratory.scenario import GATES, Scenario, faults_of
from vacate.features import FeatureGates
from vacate.sim.invariants.names import Invariant

Patch = pytest.MonkeyPatch
MOVE, CUT = "manager slow while the volume moves", "node cut off from the control plane"
UNREPORTED = "pod beside the user of the volume unreported"
RACK = "several nodes cut off at once"
UNHEARD = "pod comes as an unreported one has the volume"
FORCED = "user of the volume forced from a silent node"
BEGINNING = 8
"""So many faults of a seed are played."""
WAIT_SECONDS = 1800.0
"""Virtual seconds after the faults within which all has ended where no rule is missing."""
TWICE = (Invariant.PROCESSES_FIRST, Invariant.ONE_PROCESS)


@dataclass(frozen=True, slots=True)
class Removal:
    """A rule that is taken out."""

    plant: Callable[[Patch], None]
    breaks: tuple[Invariant, ...]  # one of these is the first that does not hold
    fault: str  # the one that shows it
    seed: int  # one in which it does
    gates: FeatureGates = GATES
    wait_seconds: float | None = None  # how long to wait for the end, where that is what does not come
    stock: bool = False  # whether the nodes are those that do not wait for volumes
    guarded: bool = False  # whether every namespace is, so that people are asked about Nodes
    # Rules that would prevent it too. Without them alone nothing breaks with this seed.
    beside: Callable[[Patch], None] | None = None

    def seeds(self, count: int) -> Iterator[int]:
        """The known seed, and so many more that begin with the fault."""
        yield self.seed
        kinds = {"stock": self.stock, "guarded": self.guarded}
        hands = ((one, faults_of(one, **kinds)) for one in itertools.count() if one != self.seed)
        begin = (one for one, hand in hands if hand[0] == self.fault)
        yield from itertools.islice(begin, count)


def _nothing(patch: Patch) -> None:
    """The gate says it."""


UNGUARDED = FeatureGates((*GATES.overrides, ("PodForceDeleteGuard", False)))

REMOVALS: dict[str, Removal] = {
    "the record of a volume is swapped, not overwritten": Removal(
        volumes.overwrite_the_record,
        (Invariant.ONE_NODE,),
        UNHEARD,
        95,
        beside=volumes.nobody_knows_better,
    ),
    "nodes wait until a volume is attached": Removal(
        volumes.nodes_do_not_wait, (Invariant.ONE_NODE,), MOVE, 0
    ),
    "a terminating pod keeps its volume": Removal(
        volumes.terminating_frees_the_volume, (Invariant.ONE_NODE,), UNREPORTED, 54
    ),
    "a volume is free when its node does not list it, not when it is ready": Removal(
        volumes.a_ready_node_frees_the_volume, (Invariant.ONE_NODE,), FORCED, 83
    ),
    "a node lists a volume before a pod uses it": Removal(
        volumes.nodes_do_not_list, (Invariant.ONE_NODE,), FORCED, 83
    ),
    "a silent node keeps its volumes": Removal(
        volumes.silence_frees_the_volume, (Invariant.ONE_NODE,), FORCED, 83
    ),
    "who runs with a volume is asked before it is given away": Removal(
        volumes.nobody_asks_who_runs, (Invariant.ONE_NODE,), "record of the volume removed", 6
    ),
    "whom a record has named is remembered": Removal(
        volumes.records_are_not_remembered, (Invariant.ONE_NODE,), "record removed as a pod starts", 600
    ),
    "the record says that a gate is open before it is": Removal(
        volumes.the_gate_opens_unrecorded, (Invariant.ONE_NODE,), GATE_OPENS, 0, stock=True
    ),
    "a record without a node proves nothing": Removal(
        volumes.a_record_without_a_node_is_proof, (Invariant.ONE_NODE,), GATE_OPENS, 0, stock=True
    ),
    "a Node that is missing proves nothing": Removal(
        volumes.a_missing_node_is_proof, (Invariant.ONE_NODE,), NODE_DELETED, 27, stock=True
    ),
    "where nodes do not wait, pods wait at the gate": Removal(
        volumes.no_pod_waits_at_the_gate, (Invariant.ONE_NODE,), GATE_OPENS, 0, stock=True
    ),
    "pod GC does not take silence for the end": Removal(pods.silence_is_the_end_for_pod_gc, TWICE, CUT, 2),
    "pod GC waits before it believes that a node is gone": Removal(
        pods.no_quarantine, TWICE, "node object deleted", 125
    ),
    "no member is replaced while its old pod exists": Removal(
        pods.members_are_replaced_early, TWICE, "pod deleted", 0, UNGUARDED
    ),
    "force deletion must be confirmed": Removal(
        _nothing, TWICE, "force deletion without confirmation", 183, UNGUARDED
    ),
    "deletion of a lost Node must be confirmed": Removal(
        pods.nobody_asks_about_nodes, TWICE, NODE_GIVEN_UP, 10, guarded=True
    ),
    "a Node with members may run what must run once": Removal(
        pods.members_count_for_nothing, TWICE, NODE_GIVEN_UP, 10, guarded=True
    ),
    "members need a grace period": Removal(
        pods.members_may_go_without_grace, TWICE, NO_GRACE, 8, guarded=True
    ),
    "pods of a node that does not report say so": Removal(
        pods.no_pod_says_that_its_node_is_lost, (Invariant.PARTITIONS_SHOWN,), RACK, 28
    ),
    "pods say so no more when it reports again": Removal(
        pods.no_pod_says_that_its_node_is_back, (Invariant.PARTITIONS_SHOWN,), STAYS, 115, guarded=True
    ),
    "an agent takes over what runs": Removal(pods.an_agent_forgets_what_runs, TWICE, "agent crash", 63),
    "a pod goes after its processes": Removal(
        pods.a_pod_goes_before_its_processes, TWICE, "pod deleted", 122
    ),
    "what a fence agent did is read back": Removal(
        fences.the_word_of_an_agent_is_enough,
        (Invariant.FENCED_IS_EMPTY,),
        "node lost and its fence agent faulty",
        401,
    ),
    "all others report before a fence is believed": Removal(
        fences.silence_of_others_is_ignored,
        (Invariant.FENCED_IS_EMPTY,),
        "fence agent of another machine",
        170,
    ),
    "nobody is fenced when too few report": Removal(
        fences.no_healthy_share, (Invariant.FENCE_QUORUM,), "all agents cut off, managers not", 153
    ),
    "never more fenced than allowed": Removal(
        fences.no_limit_of_fences, (Invariant.FENCE_LIMIT,), "several nodes cut off at once", 28
    ),
    "storage is given back only after a restart": Removal(
        fences.storage_comes_back_without_a_restart, (Invariant.FENCED_STAYS_CUT,), CUT, 182
    ),
    "a storage fence is marked as one": Removal(
        fences.storage_fences_are_not_marked, (Invariant.FENCED_STAYS_CUT,), CUT, 182
    ),
    "a write is acknowledged when the disk has it": Removal(
        writes.acknowledged_before_the_disk_has_it, (Invariant.DURABLE,), "server crash", 1574
    ),
    "budgets are asked before an eviction": Removal(
        writes.budgets_are_not_asked, (Invariant.BUDGETS,), "all pods of a budget evicted at once", 20
    ),
    "a turn that is completed is passed on": Removal(
        endings.a_turn_is_not_passed_on,
        (Invariant.REQUESTS_END,),
        "eviction requested",
        36,
        wait_seconds=WAIT_SECONDS,
    ),
    "a maintenance that is undone is let go": Removal(
        endings.what_is_undone_is_kept,
        (Invariant.MAINTENANCES_END,),
        "node drained",
        0,
        wait_seconds=WAIT_SECONDS,
    ),
    "a shutdown that is called off is undone": Removal(
        endings.a_shutdown_is_not_called_off,
        (Invariant.SHUTDOWNS_END,),
        "machine shuts down",
        162,
        wait_seconds=WAIT_SECONDS,
    ),
}
"""Each rule, what takes it out, what breaks, and a seed that finds it."""


def finds(rule: str, seed: int, *, keeps_it: bool = False) -> Breach | None:
    """The first invariant that does not hold with this seed when the rule is taken out.

    Where `keeps_it`, only those are taken out that would prevent it too.
    """
    removal = REMOVALS[rule]
    with pytest.MonkeyPatch.context() as patch:
        if removal.beside is not None:
            removal.beside(patch)
        if not keeps_it:
            removal.plant(patch)
        try:
            outcome = Scenario(
                seed,
                removal.gates,
                stops=True,
                beginning=BEGINNING,
                wait_seconds=removal.wait_seconds,
                stock=removal.stock,
                guarded=removal.guarded,
            ).play()
        except Exception as error:  # such as a process that ended
            return Breach(Invariant.RUNNING, f"{type(error).__name__}: {error}")
    return outcome.breaches[0] if outcome.breaches else None
