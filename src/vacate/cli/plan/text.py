"""A plan as text: the verdict first, then what it rests on; and as JSON."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Mapping, Sequence

import msgspec

from vacate.api.kinds import NODES, PODS
from vacate.api.times import format_time
from vacate.api.types.nodemaintenance import DRAINED, Blocker, BlockerRemedy
from vacate.cli.common.output import json_text, table
from vacate.plan.forecast import NodePlan, PodWithoutRoom, Run, Verdict
from vacate.plan.health import Finding, Harm, Health
from vacate.plan.loading import has_vacate
from vacate.plan.report import Otherwise, Outcome, Plan
from vacate.plan.snapshot import Snapshot
from vacate.views.maintenance import wrapped
from vacate.views.phrases import NOT_INSTALLED, NOTHING, counted, listed, span

_SHOWN, _WAYS = 10, 3
_DOWN = ", down meanwhile"
_OLD = dt.timedelta(minutes=10)


_HARMS = {
    Harm.BLOCKS: "BLOCKS FOR EVER",
    Harm.WAITS: "BLOCKS NOW",
    Harm.NO_ROOM: "NO ROOM",
    Harm.FAILS_CLOSED: "FAILS CLOSED",
    Harm.DOWN: "DOWN WHILE DRAINED",
    Harm.SLOW: "SLOW",
    Harm.REFUSED: "REFUSED WITHOUT AN OPTION",
}


def plan_object(plan: Plan | Health, snapshot: Snapshot) -> str:
    """The plan, or what hampers drains, for programs."""
    read = {
        "taken": format_time(snapshot.taken),
        "nodes": len(snapshot.of(NODES)),
        "pods": len(snapshot.of(PODS)),
    }
    return json_text({"snapshot": read, **msgspec.to_builtins(plan)})


def plan_lines(
    plan: Plan, snapshot: Snapshot, width: int, columns: int = 0, *, everything: bool = False,
    now: dt.datetime | None = None,
) -> list[str]:  # fmt: skip
    """The plan for people: sentences are broken at the width, tables only where a terminal has columns."""
    limit = None if everything else _SHOWN
    run, nodes, pods = plan.decisive, len(snapshot.of(NODES)), len(snapshot.of(PODS))
    read = f"{counted(nodes, 'node')}, {counted(pods, 'pod')}, read at {moment_text(snapshot.taken)}"
    lines = [
        *wrapped(f"{read}; nothing was changed", width, 0),
        "",
        *wrapped(verdict_line(plan.outcome, run), width, 0),
        *_reservation(plan.unknown, width),
        *_blockers(run, plan, width, limit),
        *_not_installed(run, snapshot, width),
        *_without_room(run.pods_without_room, width, limit),
        *_compared(plan, columns),
        *_workloads(run, columns, limit),
        *_budgets(run, columns, limit),
        *_room(run, columns),
        *_nodes(plan, width, columns, limit),
        "",
    ]
    for line in (*plan.assumptions, *_age(snapshot, now)):
        lines += wrapped(f"assumed   {line}", width, 0)
    return lines + unknown_lines(plan.unknown, width)


def _reservation(unknown: Mapping[str, str], width: int) -> list[str]:
    """Beside the verdict: what it does not know may hold a drain."""
    shown = listed([*list(unknown)[:3], *([f"{len(unknown) - 3} more"] if len(unknown) > 3 else [])])
    return wrapped(f"as far as is known: {shown} could not be read, see the end", width, 0) if unknown else []


def _age(snapshot: Snapshot, now: dt.datetime | None) -> list[str]:
    """That much may have changed since the cluster was read."""
    if now is None or now - snapshot.taken < _OLD:
        return []
    return [f"the cluster is as it was {span(now - snapshot.taken)} ago"]


def health_lines(health: Health, snapshot: Snapshot, width: int, *, everything: bool = False) -> list[str]:
    """What hampers drains in a cluster, for people."""
    total = f"{counted(health.nodes, 'node')}, {counted(len(snapshot.of(PODS)), 'pod')}"
    read = f"{total}, read at {moment_text(snapshot.taken)}; nothing was changed"
    lines = [*wrapped(read, width, 0), ""]
    hampered = f"{health.blocked} of {counted(health.nodes, 'node')} could not be drained now"
    lines += wrapped(hampered if health.findings else "Nothing was found that hampers a drain.", width, 0)
    if health.findings and not health.installed:
        lines += wrapped(NOT_INSTALLED, width, 0)
    limit = None if everything else _SHOWN
    for harm, title in _HARMS.items():
        found = [one for one in health.findings if one.harm is harm]
        lines += ["", title] if found else []
        for one in found[:limit]:
            lines += _finding(one, health.nodes, width)
        lines += _more(len(found), limit)
    lines += ["", *unknown_lines(health.unknown, width)] if health.unknown else []
    return lines


def _finding(one: Finding, nodes: int, width: int) -> list[str]:
    shown = listed([*one.nodes[:3], *([f"{len(one.nodes) - 3} more"] if len(one.nodes) > 3 else [])])
    where = "all nodes" if len(one.nodes) in (0, nodes) and nodes > 1 else shown
    pods = f", {counted(one.pods, 'pod')}" if one.pods > 1 else ""
    return [
        *wrapped(f"{one.what} ({where}{pods}): {one.message}", width, 2),
        *(_ways(one.remedies, width, 4) or _sentence(one, width)),
    ]


def _ways(
    remedies: Sequence[BlockerRemedy], width: int, indent: int, shown: Container[str] = ()
) -> list[str]:
    """Each remedy with its command on one line, but for those shown elsewhere; none without any command."""
    lines = []
    for way in remedies[:_WAYS]:
        own = way.command and way.command not in shown
        lines += wrapped(f"→ {way.text}{':' if own else ''}", width, indent)
        lines += [f"{' ' * indent}  {way.command}"] if own else []
    return lines if any(way.command for way in remedies) else []


def _sentence(one: Finding, width: int) -> list[str]:
    return [*wrapped(f"→ {one.remedy}", width, 4), *(f"      {command}" for command in one.commands)]


def unknown_lines(unknown: Mapping[str, str], width: int) -> list[str]:
    """What could not be read, and what is not known for that reason."""
    return [
        line
        for what, why in unknown.items()
        for line in wrapped(f"not read  {what}: the plan does not know {why}", width, 0)
    ]


def verdict_line(outcome: Outcome, run: Run) -> str:
    """What would happen, in one line; and what runs come to that end otherwise."""
    drained = f"{outcome.drained} of {counted(outcome.total, 'node')} drained"
    took = _between(outcome.fastest, outcome.slowest)
    if outcome.median is not None:
        took += f", in the median {span_text(outcome.median)}"
    rest = "".join(
        f"; in {one.runs} of {outcome.runs} runs it {_end(one, outcome.total)}" for one in outcome.otherwise
    )
    match outcome.verdict:
        case Verdict.FINISHES:
            return f"WOULD FINISH in {took}: {drained}{rest}"
        case Verdict.LACKS_ROOM:
            return f"WOULD LACK ROOM: {_needs(run)}; {drained} in {took}{rest}"
        case Verdict.STOPPED:
            return f"NOT KNOWN: stopped when {span_text(outcome.slowest)} were planned: {drained} by then"
        case Verdict.RUNS_ON:
            until = span_text(outcome.slowest)
            return f"WOULD NOT FINISH in {until}, and is still moving then: {drained}{rest}"
        case Verdict.BLOCKS:
            left = [one.name for one in run.nodes if one.phase != DRAINED]
            more = f", {_needs(run)}" if run.pods_without_room else ""
            named = listed([*left[:3], *([f"{len(left) - 3} more"] if len(left) > 3 else [])])
            return f"WOULD BLOCK after {took}: {drained}, not {named}{more}{rest}"


def short(outcome: Outcome) -> str:
    """The same within a line about something else."""
    return _end(outcome, outcome.total)


def _end(outcome: Outcome | Otherwise, total: int) -> str:
    match outcome.verdict:
        case Verdict.FINISHES:
            return f"finishes in {_between(outcome.fastest, outcome.slowest)}"
        case Verdict.LACKS_ROOM:
            return f"finishes, and {counted(outcome.without_room, 'pod has', 'pods have')} no room"
        case Verdict.STOPPED:
            return "is not known"
        case Verdict.RUNS_ON:
            return f"does not finish in {span_text(outcome.slowest)}"
        case Verdict.BLOCKS:
            return f"blocks, {outcome.drained} of {counted(total, 'node')} drained"


def _needs(run: Run) -> str:
    """How many pods have no room, and what that takes."""
    pods = counted(len(run.pods_without_room), "pod has", "pods have")
    wanted = [
        f"{listed([_amount(name, count) for name, count in one.resources.items()])} more"
        + (f" in zone {one.zone}" if one.zone else "")
        for one in run.shortfalls
    ]
    return f"{pods} no room" + (f": needs {', and '.join(wanted)}" if wanted else "")


def _amount(resource: str, count: float) -> str:
    if resource == "cpu":
        return f"{count:g} CPU"
    return f"{count / 2**30:.3g} GiB" if resource == "memory" else f"{count:g} {resource}"


def _blockers(run: Run, plan: Plan, width: int, limit: int | None) -> list[str]:
    grouped: dict[tuple[str, str, str, str], list[Blocker]] = {}
    for one in run.blockers:
        own = (one.namespace, one.name) if one.name else (one.namespace, one.pod)
        grouped.setdefault((one.kind, *own, one.remedy), []).append(one)
    lines = []
    tried = {command for one in plan.remedies for command in one.commands}
    for number, found in enumerate([*grouped.values()][:limit], 1):
        first = found[0]
        what = f"pod {first.namespace}/{first.pod}" if first.pod else f"node {first.node}"
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        where = listed(sorted({one.node for one in found})[:5])
        lines += ["", *wrapped(f"{number}. {what}{more}, {where}: {first.message}", width, 2)]
        lines += _ways(first.remedies, width, 5, tried) or wrapped(f"→ {first.remedy}", width, 5)
    if limit is not None and len(grouped) > limit:
        lines.append(f"  … and {counted(len(grouped) - limit, 'more blocker')} (-A shows them)")
    for way in plan.remedies:
        lines += ["", *(f"  $ {command}" for command in way.commands), f"    → {short(way.outcome)}"]
    return lines


def _not_installed(run: Run, snapshot: Snapshot, width: int) -> list[str]:
    """That a command has no effect yet: the plan is that of a cluster with Vacate."""
    ours = any("vacate.dev/" in way.command for one in run.blockers for way in one.remedies)
    return ["", *wrapped(NOT_INSTALLED, width, 2)] if ours and not has_vacate(snapshot) else []


def _without_room(pods_without_room: Sequence[PodWithoutRoom], width: int, limit: int | None) -> list[str]:
    lines = [""] if pods_without_room else []
    for one in pods_without_room[:limit]:
        lines += wrapped(f"no room for pod {one.pod} of {one.workload}: {one.message}", width, 2)
    if limit is not None and len(pods_without_room) > limit:
        lines.append(f"  … and {counted(len(pods_without_room) - limit, 'more pod')} (-A shows them)")
    return lines


def _compared(plan: Plan, columns: int) -> list[str]:
    if not plan.compared:
        return []
    rows = [("AT A TIME", ""), *((str(one.max_nodes), short(one.outcome)) for one in plan.compared)]
    return ["", *table(rows, columns)]


def _workloads(run: Run, columns: int, limit: int | None) -> list[str]:
    if not run.workloads:
        return ["", "No workload has fewer healthy pods than now at any moment."]
    rows = [("WORKLOAD", "HEALTHY NOW", "LOWEST", "BELOW")]
    for one in run.workloads[:limit]:
        below = "for good" if one.lasting else f"for {span_text(one.below_seconds)}"
        below += "" if one.lowest else _DOWN
        rows.append((one.workload, str(one.healthy), str(one.lowest), below))
    return ["", *table(rows, columns), *_more(len(run.workloads), limit)]


def _budgets(run: Run, columns: int, limit: int | None) -> list[str]:
    rows = [("BUDGET", "ALLOWS NO EVICTION")]
    for one in run.budgets[:limit]:
        rows.append((one.budget, "any more" if one.lasting else f"for {span_text(one.seconds)}"))
    return ["", *table(rows, columns), *_more(len(run.budgets), limit)] if run.budgets else []


def _more(count: int, limit: int | None) -> list[str]:
    return [f"… and {count - limit} more (-A shows them)"] if limit is not None and count > limit else []


def _room(run: Run, columns: int) -> list[str]:
    head = ("ZONE", "REQUESTED", "NOW", "FULLEST", "AFTERWARDS", "LARGEST POD THAT FITS THEN")
    rows: list[tuple[str, ...]] = [head]
    for one in run.room:
        largest = f"{one.largest_cpu:g} CPU, {one.largest_memory / 2**30:.3g} GiB"
        for what, share, fits in (("CPU", one.cpu, largest), ("memory", one.memory, "")):
            zone = (one.zone or NOTHING) if fits else ""
            rows.append(
                (zone, what, *(f"{part} %" for part in (share.before, share.fullest, share.after)), fits)
            )
    shown = any(one.cpu.fullest or one.memory.fullest for one in run.room)
    return ["", *table(rows, columns)] if shown else []


def _nodes(plan: Plan, width: int, columns: int, limit: int | None) -> list[str]:
    by_run = [{one.name: one for one in run.nodes} for run in plan.alike]
    rows = [("NODE", "BEGINS", "ENDS", "PODS", "LAST POD")]
    for node in plan.decisive.nodes[:limit]:
        same = [found[node.name] for found in by_run if node.name in found]
        begins = _moments([one.begins for one in same])
        ends = _moments([one.ends for one in same]) if node.phase == DRAINED else node.phase.lower()
        rows.append((node.name, begins, ends, str(node.pods), node.last_pod or NOTHING))
    lines = ["", *table(rows, columns), *_more(len(plan.decisive.nodes), limit)]
    timed = [one for one in plan.decisive.nodes if one.begins is not None and one.ends is not None]
    if timed:
        longest = max(timed, key=_length)
        took = listed([f"{step.what} ({span_text(step.seconds)})" for step in longest.last_pod_steps])
        last = f"last there: {longest.last_pod or NOTHING}" + (f", which waits for {took}" if took else "")
        lines += wrapped(f"longest: {longest.name}, {span_text(_length(longest))}; {last}", width, 0)
    return lines


def _length(node: NodePlan) -> float:
    return (node.ends or 0.0) - (node.begins or 0.0)


def _moments(seconds: Sequence[float | None]) -> str:
    found = [one for one in seconds if one is not None]
    return _between(min(found), max(found)) if found else NOTHING


def _between(least: float, most: float) -> str:
    low, high = span_text(least), span_text(most)
    return low if low == high else f"{low} to {high}"


def span_text(seconds: float) -> str:
    """So many seconds, as people write them."""
    return span(dt.timedelta(seconds=round(seconds)))


def moment_text(moment: dt.datetime) -> str:
    """A moment, in UTC."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
