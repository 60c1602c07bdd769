"""One seed of the laboratory: random faults, then none, and everything must come to its end."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.endings import left_open
from support.laboratory.faults.catalogue import FAULTS, FAULTS_OF_PEOPLE, STOCK_FAULTS
from support.laboratory.faults.draw import Draw, Fault
from support.laboratory.faults.people import keep_restarting, keep_untainted, untaint
from support.laboratory.faults.reports import ManagersWatches, RefusedReports
from support.laboratory.faults.volumeusers import remove_extra_pods
from support.laboratory.health import all_drained, is_well, nodes_are_well, open_matters
from support.laboratory.historycheck import check_history
from support.laboratory.hosts import MANAGERS, NODES
from support.laboratory.outcome import Enough, Outcome
from support.laboratory.programs import stock_agents
from support.laboratory.workload import create_workload
from support.simulated.fencing import beside
from vacate.admission.pods.forcedeletion import Guard
from vacate.api.kinds import NODEMAINTENANCES
from vacate.entropy import Entropy
from vacate.errors import OutOfTime, VacateError
from vacate.features import FeatureGates, parse_feature_gates
from vacate.sim.cluster import WorldSettings
from vacate.sim.faults.plan import FaultPlan, FaultRates
from vacate.sim.faults.transport import FaultSource
from vacate.sim.invariants.names import Invariant
from vacate.sim.run import Sim, run_sim, stream_of

GATES = parse_feature_gates("EvacuationAPI=true,EvictionBridge=true")
RATES = FaultRates(requests=0.02, watches=0.08, delay=3.0, lag=15.0, late=40.0)
HARSH = FaultRates(requests=0.04, watches=0.3, delay=3.0, lag=25.0, late=40.0)
"""For the managers: two at once, with caches of different age."""
SEEDS_FOR_ALL = 2
"""So many seeds in a row have every fault among them."""
EXTRA = 3
"""Further faults of each seed, by their weights."""
SKEW = 5.0
STREAM = "laboratory"
PARTS = ("controllers", "scheduler", "server", *MANAGERS, *NODES)
MAX_SCENARIO_SECONDS = 4 * 3600.0
"""Virtual seconds from the end of the faults until all must be well."""


@dataclass(slots=True)
class Scenario:
    """One seed."""

    seed: int
    gates: FeatureGates = GATES
    stops: bool = False
    beginning: int | None = None  # play only so many faults of the hand
    wait_seconds: float | None = MAX_SCENARIO_SECONDS  # wait so long for the end; None does not wait for it
    # Nodes that do not wait for exclusive volumes, and pods with the gate. What a person must confirm there
    # is not confirmed, so that the end is not waited for.
    stock: bool = False
    guarded: bool = False  # the whole cluster, so that people who give up a lost node are asked

    def play(self) -> Outcome:
        """From beginning to end."""
        if not self.stock:
            return self._play()
        with pytest.MonkeyPatch.context() as patch:
            stock_agents(patch)
            self.wait_seconds = None
            return self._play()

    def _play(self) -> Outcome:
        outcome = Outcome(stops=self.stops)
        with tempfile.TemporaryDirectory(prefix="vacate-lab-") as folder:
            try:
                run_sim(lambda sim: self._main(sim, Path(folder), outcome), self.seed, limit=7 * 86400.0)
            except Enough:
                pass
            except OutOfTime as error:
                outcome.breach(Invariant.COMPLETION, str(error))
        return outcome

    async def _main(self, sim: Sim, folder: Path, outcome: Outcome) -> None:
        outcome.time = sim.loop.time
        entropy = sim.stream(STREAM)
        plans: list[FaultPlan] = []
        unreported, lagging, deaf = dict[str, None](), dict[str, None](), dict[tuple[str, str], None]()

        def plan(name: str) -> FaultSource:
            plans.append(
                FaultPlan(HARSH if name in MANAGERS else RATES, sim.stream(f"faults of {name} {len(plans)}"))
            )
            plans[-1].active = started
            if name in MANAGERS:
                return ManagersWatches(plans[-1], name, lagging, deaf)
            return RefusedReports(plans[-1], unreported) if name in NODES else plans[-1]

        started = False
        skews = _drawn_skews(entropy)
        outcome.counts["clock more than a second off"] = sum(abs(one) > 1.0 for one in skews.values())
        settings = WorldSettings(
            nodes=0,
            evictions=(),
            plans=plan,
            skews=skews,
            gates=self.gates,
            force_guard=Guard(unlabelled=self.guarded),
            disk=(0.0005, 0.003),
        )
        lab = LaboratoryCluster(sim, settings, folder, outcome)
        lab.unreported, lab.lagging, lab.deaf = unreported, lagging, deaf
        async with lab.world:
            try:
                await lab.open()
                (folder / "volume").mkdir()
                await create_workload(lab.world.client, folder / "volume", gated=self.stock)
                await lab.until(lambda: is_well(lab), 900.0, "the start")
                started = True
                for one in plans:
                    one.active = True
                async with beside(lab.keep_server_running()), beside(keep_restarting(lab)):
                    await self._break(lab, entropy)
                    if self.wait_seconds is None:
                        return
                    outcome.note("all faults stop")
                    started = False
                    for one in plans:
                        one.active = False
                    await self._end(lab, self.wait_seconds)
            finally:
                await lab.close()
                for one in plans:
                    outcome.counts.update(one.drawn)
        check_history(lab)

    async def _break(self, lab: LaboratoryCluster, entropy: Entropy) -> None:
        catalogue = _catalogue(stock=self.stock, guarded=self.guarded)
        for name in _drawn_faults(self.seed, entropy, catalogue)[: self.beginning]:
            lab.outcome.counts[name] += 1
            self._begin(
                lab, name, catalogue[name][0], Draw(lab.sim.stream(f"{name} {lab.sim.loop.time():.3f}"))
            )
            await lab.sim.clock.sleep(entropy.uniform(2, 80))
            lab.check()

    def _begin(self, lab: LaboratoryCluster, name: str, fault: Fault, draw: Draw) -> None:
        async def work() -> None:
            try:
                await fault(lab, draw)
            except VacateError as error:
                lab.outcome.note(f"{name}: {error}")

        lab.spawn(work())

    async def _end(self, lab: LaboratoryCluster, wait_seconds: float) -> None:
        """Everything must end well. What does not is a breach of its own invariant."""
        try:
            await self._heal(lab, wait_seconds)
        except OutOfTime:
            for text in open_matters(lab):
                lab.outcome.note(text)
            if not (found := left_open(lab)):
                raise
            for breach in found:
                lab.outcome.breach(*breach)

    async def _heal(self, lab: LaboratoryCluster, wait_seconds: float) -> None:
        """All faults stop."""
        await lab.mend()
        await untaint(lab)
        await remove_extra_pods(lab)
        await lab.until(lambda: all_drained(lab), wait_seconds, "every maintenance is drained")
        for one in lab.world.objects(NODEMAINTENANCES):
            await lab.world.client.delete(NODEMAINTENANCES, one["metadata"]["name"])
        end = "all workloads run, all nodes are ready, and no request, maintenance, shutdown or fence is open"
        async with beside(keep_untainted(lab)):
            await lab.until(lambda: _has_ended(lab), wait_seconds, end)


def _has_ended(lab: LaboratoryCluster) -> bool:
    open_ones = left_open(lab) or lab.world.objects(NODEMAINTENANCES)
    return is_well(lab) and nodes_are_well(lab) and not open_ones


def _catalogue(*, stock: bool, guarded: bool) -> Mapping[str, tuple[Fault, int]]:
    return STOCK_FAULTS if stock else FAULTS_OF_PEOPLE if guarded else FAULTS


def faults_of(seed: int, *, stock: bool = False, guarded: bool = False) -> list[str]:
    """The faults of a seed in their order, without playing it."""
    entropy = stream_of(seed, STREAM)
    _drawn_skews(entropy)
    return _drawn_faults(seed, entropy, _catalogue(stock=stock, guarded=guarded))


def _drawn_skews(entropy: Entropy) -> dict[str, float]:
    return {name: entropy.uniform(-SKEW, SKEW) for name in PARTS}


def _drawn_faults(seed: int, entropy: Entropy, catalogue: Mapping[str, tuple[Fault, int]]) -> list[str]:
    """A hand of faults: dealt so that some seeds in a row have all of them, and more by their weights."""
    names = list(catalogue)
    hand = names[seed % SEEDS_FOR_ALL :: SEEDS_FOR_ALL]
    menu = [name for name, (_, weight) in catalogue.items() for _ in range(weight)]
    hand += [menu[min(int(entropy.uniform(0, len(menu))), len(menu) - 1)] for _ in range(EXTRA)]
    return [name for _, name in sorted((entropy.uniform(0, 1), name) for name in hand)]


def play(seed: int) -> Outcome:
    """Run one seed to its end, of every second pair in a guarded cluster, and then with stock nodes."""
    guarded = seed // SEEDS_FOR_ALL % 2 == 1
    outcome, stock = Scenario(seed, guarded=guarded).play(), Scenario(seed, stock=True).play()
    outcome.breaches += stock.breaches
    outcome.timeline += ["  on stock nodes:", *stock.timeline]
    outcome.counts += stock.counts
    return outcome
