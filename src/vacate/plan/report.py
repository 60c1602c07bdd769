"""A whole plan: the runs, what remedies would change, other numbers of nodes at a time, and assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

import msgspec

from vacate.api.kinds import NODES, PODS
from vacate.api.objects import dig
from vacate.errors import ConfigError
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.plan.forecast import Run, Verdict, worst
from vacate.plan.loading import ADDED, check_wanted, has_vacate, load_objects
from vacate.plan.processes import side_by_side
from vacate.plan.remedies import commands_of
from vacate.plan.run import PlanOptions, Progress, run_plan
from vacate.plan.snapshot import Snapshot
from vacate.plan.timings import Pace, observe
from vacate.plan.turns import foreign_interceptors, requested_by, turn_of, unheard_responders
from vacate.views.phrases import counted, listed

_TRIED = 3  # remedies: each costs a run


class Otherwise(msgspec.Struct, frozen=True, rename="camel"):
    """What runs come to that end better than those that decide."""

    verdict: Verdict
    runs: int
    fastest: float  # seconds
    slowest: float
    drained: int
    without_room: int


class Outcome(msgspec.Struct, frozen=True, rename="camel"):
    """What a drain comes to, in short. Times are those of the runs with this verdict only."""

    verdict: Verdict
    fastest: float  # seconds
    slowest: float
    median: float | None  # of runs with times that were drawn; None where there are none
    drained: int
    total: int
    without_room: int
    runs: int = 1  # of all verdicts
    otherwise: tuple[Otherwise, ...] = ()


class Remedied(msgspec.Struct, frozen=True, rename="camel"):
    """A command, and the outcome after it."""

    commands: tuple[str, ...]
    outcome: Outcome


class Compared(msgspec.Struct, frozen=True, rename="camel"):
    """The outcome with another number of nodes at a time."""

    max_nodes: int | str
    outcome: Outcome


class Plan(msgspec.Struct, frozen=True, rename="camel"):
    """Everything that a plan says."""

    outcome: Outcome
    decisive: Run  # the one with the worse verdict
    runs: tuple[Run, ...]
    remedies: tuple[Remedied, ...] = ()
    compared: tuple[Compared, ...] = ()
    assumptions: tuple[str, ...] = ()
    unknown: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def alike(self) -> list[Run]:
        """The runs that end as the one that decides: only their times make a range."""
        return [one for one in self.runs if one.verdict is self.decisive.verdict]


def make_plans(
    snapshot: Snapshot,
    options: PlanOptions,
    max_nodes: Sequence[int | str] = (),
    *,
    runs: int = 2,
    remedies: bool = True,
    progress: Callable[[str], Progress] = lambda _what: lambda _seconds, _pods: None,
) -> Iterator[Plan]:
    """Run the drain forward, at the slowest and the fastest that the snapshot lets expect, and in between.

    After each run comes the plan with what is known by then; the last has all of it. A StopPlan that a
    progress raises while the second of two runs is awaited is raised here.
    """
    check_nodes(snapshot, options.nodes)
    check_wanted(snapshot)
    chosen = [_with_max(options, one) for one in max_nodes] or [options]
    granted, made, compared = tuple(assumptions(snapshot, options)), list[Run](), list[Compared]()
    for run in _runs(snapshot, chosen[0], runs, progress("the drain")):
        if made and run.verdict is Verdict.STOPPED:
            return
        made.append(run)
        plan = Plan(outcome_of(made), worst(made), tuple(made), assumptions=granted, unknown=snapshot.missing)
        yield plan
        if run.verdict is Verdict.STOPPED:
            return
    if remedies and plan.outcome.verdict is Verdict.BLOCKS:
        for one in _remedied(snapshot, chosen[0], plan.decisive, progress):
            if one.outcome.verdict is Verdict.STOPPED:
                return
            plan = msgspec.structs.replace(plan, remedies=(*plan.remedies, one))
            yield plan
    for count, other in zip(max_nodes, chosen, strict=False) if len(chosen) > 1 else ():
        report = progress(f"the drain with --max-nodes {count}")
        others = plan.runs if other is chosen[0] else [*_runs(snapshot, other, runs, report)]
        if any(one.verdict is Verdict.STOPPED for one in others):
            return
        outcome = outcome_of(others)
        compared.append(Compared(count, outcome))
        yield msgspec.structs.replace(plan, compared=tuple(compared))


def check_nodes(snapshot: Snapshot, nodes: Sequence[str]) -> None:
    """A ConfigError that names nodes which the snapshot does not have."""
    there = {one["metadata"]["name"] for one in snapshot.of(NODES)}
    if missing := [name for name in nodes if name not in there]:
        raise ConfigError(f"there is no node {', '.join(missing)}; see: kubectl get nodes")


def outcome_of(runs: Sequence[Run]) -> Outcome:
    """The runs in short."""
    decisive = worst(runs)
    by_verdict: dict[Verdict, list[Run]] = {}
    for one in runs:
        by_verdict.setdefault(one.verdict, []).append(one)
    seconds = [one.seconds for one in by_verdict.pop(decisive.verdict)]
    drawn = [one.seconds for one in runs[2:] if one.verdict is decisive.verdict]
    return Outcome(
        decisive.verdict,
        min(seconds),
        max(seconds),
        median(drawn) if drawn else None,
        decisive.drained,
        len(decisive.nodes),
        len(decisive.pods_without_room),
        len(runs),
        tuple(_otherwise(same) for same in by_verdict.values()),
    )


def _otherwise(same: Sequence[Run]) -> Otherwise:
    seconds = [one.seconds for one in same]
    longest = worst(same)
    return Otherwise(
        longest.verdict,
        len(same),
        min(seconds),
        max(seconds),
        longest.drained,
        len(longest.pods_without_room),
    )


def assumptions(snapshot: Snapshot, options: PlanOptions) -> list[str]:
    """What the plan takes for granted, in sentences."""
    observed, loaded = observe(snapshot.of(PODS), snapshot.taken), load_objects(snapshot)
    if options.start is not None:
        start = f"pods are ready {options.start:g} s after they have a node"
    elif observed.pods:
        start = f"start and readiness as {counted(observed.pods, 'running pod')} took, by owner"
    else:
        start = "no pod shows how long it took to start: 10 to 30 s, and 5 to 15 s more until it is ready"
    stop = "between 1 s and the grace period" if options.stop is None else f"in {options.stop:g} s"
    lines = [f"{start}; stop {stop}"]
    if not has_vacate(snapshot):
        lines.append("Vacate drains, although it is not installed in this cluster")
    for name, apis in foreign_interceptors(snapshot, options.nodes, options.spec).items():
        seconds, known = turn_of(name, options.interceptors)
        how = "never answers" if seconds is None else f"takes {seconds:g} s"
        hint = "" if known else f": nothing is known about it (--interceptor {name}=2m)"
        lines.append(f"{'responder' if LIFECYCLE.name in apis else 'interceptor'} {name} {how}{hint}")
    if unheard := unheard_responders(snapshot, options.nodes, options.spec):
        lines.append(
            f"responders of {counted(unheard, 'pod')} have no turn: this drain requests evictions by "
            f"{requested_by(options.spec).kind.several} ({requested_by(options.spec).kind.api_version})"
        )
    if loaded.recreated:
        kinds = listed(
            [f"{counted(count, 'pod')} of {kind}" for kind, count in sorted(loaded.recreated.items())]
        )
        lines.append(f"{kinds}: not simulated; each is re-created as it was")
    down = [
        one["metadata"]["name"]
        for one in snapshot.of(NODES)
        if one["metadata"]["name"] not in {shape.name for shape in loaded.shapes}
    ]
    if down:
        lines.append(f"{listed(down[:5])} do not report: their pods do not end")
    if any(dig(one, "spec", "priorityClassName") for one in snapshot.of(PODS)):
        lines.append("no pod is preempted for another")
    added = [one for one in snapshot.of(NODES) if ADDED in one["metadata"].get("labels", {})]
    more = f"{counted(len(added), 'node is', 'nodes are')} added" if added else "no node is added"
    lines.append(f"{more}, and quotas and webhooks refuse nothing")
    if snapshot.changed:
        changed = counted(snapshot.changed, "object")
        lines.append(f"{changed} changed while the cluster was read: lists are moments apart")
    return lines


def _with_max(options: PlanOptions, count: int | str) -> PlanOptions:
    return replace(options, spec={**options.spec, "maxNodes": count})


def _runs(snapshot: Snapshot, options: PlanOptions, runs: int, progress: Progress) -> Iterator[Run]:
    """The slowest first: where only one is wanted it is the one to go by. All after two have drawn times."""
    tasks = [
        (
            partial(
                run_plan,
                snapshot,
                replace(options, seed=options.seed + max(number - 1, 0)),
                (Pace.SLOW, Pace.FAST)[number] if number < 2 else Pace.DRAWN,
            ),
            progress,
        )
        for number in range(runs)
    ]
    return side_by_side(tasks)


def _remedied(
    snapshot: Snapshot, options: PlanOptions, run: Run, progress: Callable[[str], Progress]
) -> Iterator[Remedied]:
    """What the commands of the first blockers would change, each alone, and one for each blocker together."""
    grouped = {(one.kind, one.namespace, one.name): one for one in reversed(run.blockers)}
    blockers = [one for one in run.blockers if grouped.get((one.kind, one.namespace, one.name)) is one]
    tried: list[tuple[tuple[str, ...], Snapshot]] = []
    together, all_of_them = [], snapshot
    for blocker in blockers[:_TRIED]:
        ways = commands_of(blocker, snapshot)
        tried += [((command,), changed) for command, changed in ways]
        if ways:
            together.append(ways[0][0])
            all_of_them = commands_of(blocker, all_of_them)[0][1]
    if len(together) > 1:
        tried.append((tuple(together), all_of_them))
    tasks = [
        (partial(run_plan, changed, options, Pace.SLOW), progress(f"the drain after {commands[0]}"))
        for commands, changed in tried
    ]
    for (commands, _), run_after in zip(tried, side_by_side(tasks), strict=True):
        yield Remedied(commands, outcome_of([run_after]))
