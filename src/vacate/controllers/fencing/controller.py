"""The fencing controller: looks at a policy and its nodes, decides, and carries on what is under way.

What was decided is written into the policy's status before it is done, upon the version that was decided
about. Of two controllers one loses that write. A controller that starts in the middle finds the record: it
waits until the other's time is over, and begins that fence anew.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from vacate.api.kinds import FENCINGPOLICIES, NODES
from vacate.api.times import after
from vacate.api.types import Node
from vacate.api.types.fencingpolicy import CONFIRMING, FAILED, FENCED, FENCING, FencingPolicy, NodeFencing
from vacate.clock import PassiveClock
from vacate.controllers.fencing import events
from vacate.controllers.fencing.caches import (
    FencingCaches,
    budget_matters,
    fencing_now,
    node_matters,
    pod_matters,
)
from vacate.controllers.fencing.fencer import Fencer
from vacate.controllers.fencing.leases import LeaseObservation, Reports, read_reports
from vacate.controllers.fencing.recovery import Recovery
from vacate.controllers.fencing.reportbackoff import ReportBackoff
from vacate.controllers.fencing.stepresults import StepResult, seconds_held
from vacate.errors import Conflict, NotFound
from vacate.fencing.agents import Agents
from vacate.fencing.annotations import (
    BEGUN,
    carried_out_until,
    ended_patch,
    has_fenced,
    is_storage_fence,
    owner_policy,
)
from vacate.fencing.decision import Decision, FencingInputs, decide, latest_loss, lost_since
from vacate.fencing.report import ATTENTION_PHASES, status_of
from vacate.kube.nodes import is_marked_off, readiness
from vacate.kube.patches import merge_status_patch
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import EARLY_SECONDS, Done, Key, Later, Outcome

QUEUE = "fencingpolicies"
OBSERVE_LEASES_FOR = 15.0
"""Seconds for which it is watched which nodes report, before one of them is fenced; they do so every ten."""

RECHECK_AFTER = 30.0
OBSERVATION_EXPIRES_AFTER = 60.0
WORKERS = 4


def build(deps: Dependencies, agents: Agents) -> Controller:
    """The controller, woken by policies, nodes, budgets, and pods and volumes of nodes that do not report."""
    view = FencingCaches(deps)
    return Controller(
        QUEUE,
        FencingPolicies(deps, view, agents),
        (
            Source(view.policies),
            Source(view.nodes, keys=view.of_node, when=node_matters),
            Source(view.pods, keys=view.of_pod, when=pod_matters),
            Source(view.budgets, keys=view.of_budget, when=budget_matters),
            *([Source(view.volumes.volumes, keys=view.of_volume)] if view.volumes is not None else ()),
        ),
        deps,
        workers=WORKERS,
        refusals_on=view.policies,
    )


class FencingPolicies:
    """Reconciles a policy with its nodes."""

    def __init__(self, deps: Dependencies, view: FencingCaches, agents: Agents) -> None:
        self._deps = deps
        self._view = view
        self._identity = str(deps.entropy.uid())
        self._attempts = Fencer(deps.client, deps.clock, agents, self._identity)
        self._recovery = Recovery(deps, agents, self._identity, view.pods_on)
        self._looks: dict[str, LeaseObservation] = {}  # by policy: the first of two looks at who reports
        # By policy: not before that are looks begun anew, on the monotonic clock.
        self._rest: dict[str, float] = {}
        self._reports: dict[str, Reports] = {}  # by policy: what the second look saw
        self._pace = ReportBackoff()
        self._outages = OutageTimes(deps.clock)
        for reason in events.RESULTS:
            deps.metrics.fences.labels(reason)  # so that what has not happened yet reads as zero

    async def reconcile(self, key: Key) -> Outcome:
        """One step: of what is under way, or a decision."""
        policy = self._view.policy(key.name)
        if policy is None or policy.metadata.deletion_timestamp is not None:
            self._forget(key.name)
            await self._end_fences(lambda node: owner_policy(node) == key.name)
            return Done()
        until: dt.datetime | None = None
        for row in policy.status.nodes:
            if not row.under_way:
                continue
            step = await self._advance(policy, row)
            if step.changes:
                await self._record(policy, row, step)
                return Done()  # the change wakes us
            until = _earlier(until, step.later)
        return await self._decide(policy, until)

    async def _advance(self, policy: FencingPolicy, row: NodeFencing) -> StepResult:
        await self._check_current(policy, row)
        now = self._deps.clock.now()
        if row.phase in (FENCING, CONFIRMING):
            return await self._attempts.advance(policy, row, now)
        return await self._recovery.advance(policy, row, now)

    async def _check_current(self, policy: FencingPolicy, row: NodeFencing) -> None:
        """The cache may lag behind what this process, or another, has done since."""
        live = await self._deps.client.get(FENCINGPOLICIES, policy.metadata.name, into=FencingPolicy)
        if live.metadata.uid != policy.metadata.uid or row not in live.status.nodes:
            raise Conflict(f"FencingPolicy {policy.metadata.name} has changed since it was read")

    async def _record(self, policy: FencingPolicy, row: NodeFencing, step: StepResult) -> None:
        rows = [step.row if one is row else one for one in policy.status.nodes]
        kept = [one for one in rows if one is not None]
        if await self._write(policy, kept) and step.reason:
            for note in events.notes(policy, row, step.reason, step.message):
                self._deps.recorder.record(note)
            self._deps.metrics.fences.labels(step.reason).inc()

    # Deciding

    async def _decide(self, policy: FencingPolicy, until: dt.datetime | None) -> Outcome:
        now, name = self._deps.clock.now(), policy.metadata.name
        made = decide(policy, self._around(None), now)
        if made.look:
            ticks = self._deps.clock.monotonic()
            heard = await self._heard(name, ticks)
            if heard is not None:
                made = decide(policy, self._around(heard), now)
                # A policy that was held back then looks again, but not without a pause.
                self._rest[name] = ticks + RECHECK_AFTER
            pause = max(OBSERVE_LEASES_FOR, self._rest.get(name, ticks) - ticks)
            until = _earlier(until, after(now, pause))
        else:
            self._looks.pop(name, None)
        if made.start is not None:
            await self._start(policy, made, made.start, now)
            return Done()
        await self._end_fences(lambda node: _is_left(policy, node, now))
        held = self._pace.held_until(name, now)
        kept = [*_kept(policy, made), *await self._adopted(policy), *made.rows]
        if held is None and await self._write(policy, kept):
            self._pace.reported(name, now)
        until = _earlier(_earlier(until, made.until), held)
        return Done() if until is None else Later(until)

    async def _end_fences(self, left: Callable[[Node], bool]) -> None:
        """Remove marks that nothing else removes: of a policy that is gone, or of a command that was killed.

        What such a fence may have done to a node that does not report stays noted for the next who fences it,
        and that it has no storage until a person gives it back.
        """
        for cached in self._view.nodes.reader.list():
            if BEGUN not in cached.metadata.annotations or not left(cached):
                continue
            now, name = self._deps.clock.now(), cached.metadata.name
            try:
                node = await self._deps.client.get(NODES, name, into=Node)
            except NotFound:
                continue
            nothing_done = readiness(node) != "Unknown" and not is_storage_fence(node)
            if left(node) and (nothing_done or carried_out_until(node, now) is not None):
                patch = ended_patch(node, now, nothing_done=nothing_done)
                await self._deps.client.patch(NODES, name, patch)

    async def _adopted(self, policy: FencingPolicy) -> list[NodeFencing]:
        """Rows of nodes that this policy has fenced and its status has lost, or another client removed."""
        known = {row.name for row in policy.status.nodes if row.under_way}
        user, rows = f"FencingPolicy {policy.metadata.name}", list[NodeFencing]()
        for cached in self._view.nodes.reader.list():
            name = cached.metadata.name
            if name in known or not has_fenced(cached, user):
                continue
            try:
                node = await self._deps.client.get(NODES, name, into=Node)
            except NotFound:
                continue
            if has_fenced(node, user):
                since, message = lost_since(node), f"node {name} was fenced by this policy"
                rows.append(NodeFencing(name, node.metadata.uid, FENCED, since=since, message=message))
        return rows

    def _around(self, heard: frozenset[str] | None) -> FencingInputs:
        view = self._view
        nodes = view.nodes.reader.list()
        return FencingInputs(
            nodes,
            view.pods_on,
            view.budget_spent,
            fencing_now(view.policies.reader.list()),
            heard,
            self._outages.of(nodes),
            view.pods_awaiting,
        )

    async def _heard(self, policy: str, now: float) -> frozenset[str] | None:
        """The nodes that reported between two looks; None after the first."""
        first, due = self._looks.get(policy), now + EARLY_SECONDS
        if (first is not None and due - first.at < OBSERVE_LEASES_FOR) or due < self._rest.get(policy, due):
            return None
        reports = await read_reports(self._deps.client)
        if first is None or now - first.at > OBSERVATION_EXPIRES_AFTER:
            self._looks[policy] = LeaseObservation(now, reports)
            return None
        del self._looks[policy]
        heard = first.heard_by(reports)
        self._attempts.heard[policy] = (now, heard)
        self._reports[policy] = reports
        return heard

    async def _start(self, policy: FencingPolicy, made: Decision, row: NodeFencing, now: dt.datetime) -> None:
        """Write down what was decided. Nothing is done before that has been accepted."""
        before = next((one for one in policy.status.nodes if one.name == row.name), None)
        first = before.start_time if before is not None and before.phase == FAILED else None
        moment = now.replace(microsecond=0)
        reports = self._reports.get(policy.metadata.name, {})
        begun = replace(
            row,
            phase=FENCING,
            # Of the first attempt: what fell silent since then may be what was switched off instead.
            start_time=first or moment,
            latest_loss=(before.latest_loss if before is not None and first else None)
            or latest_loss(self._view.nodes.reader.list()),
            last_report=reports.get(row.name, ""),
            power=before.power if before is not None else "",
            holder=self._identity,
            hold_time=after(moment, seconds_held(policy)),
            message=f"node {row.name} is being fenced",
        )
        kept = [one for one in _kept(policy, made) if one.name != row.name]
        if await self._write(policy, [*kept, *made.rows, begun]):
            for note in events.notes(policy, begun, events.FENCING_STARTED, _why(begun)):
                self._deps.recorder.record(note)

    async def _write(self, policy: FencingPolicy, rows: list[NodeFencing]) -> bool:
        status = status_of(policy, rows, self._deps.clock.now())
        self._deps.metrics.fencing_failing.labels(policy.metadata.name).set(
            sum(row.phase in ATTENTION_PHASES for row in rows)
        )
        patch = merge_status_patch(policy.metadata, policy.status, status)
        if patch is None:
            return False
        try:
            await self._deps.client.patch(FENCINGPOLICIES, policy.metadata.name, patch, subresource="status")
        except NotFound:
            return False  # it was removed meanwhile, and its informer will say so
        return True

    def _forget(self, name: str) -> None:
        self._looks.pop(name, None)
        self._reports.pop(name, None)
        self._rest.pop(name, None)
        self._pace.forget(name)
        self._attempts.heard.pop(name, None)
        self._deps.metrics.fencing_failing.remove(name)


def _is_left(policy: FencingPolicy, node: Node, now: dt.datetime) -> bool:
    """Whether a fence that a command began, or this policy and its status has lost, came to nothing."""
    if readiness(node) == "Unknown" or is_marked_off(node) or carried_out_until(node, now) is not None:
        return False
    known = any(row.name == node.metadata.name and row.under_way for row in policy.status.nodes)
    return owner_policy(node) in ("", policy.metadata.name) and not known


def _kept(policy: FencingPolicy, made: Decision) -> list[NodeFencing]:
    """The rows of nodes of which something is under way. What failed stays failed until it is begun anew."""
    mine = {row.name for row in policy.status.nodes if row.under_way}
    made.rows = [row for row in made.rows if row.name not in mine]
    return [row for row in policy.status.nodes if row.under_way]


def _why(row: NodeFencing) -> str:
    waiting = f"; {row.pods_waiting} pods wait for it" if row.pods_waiting else ""
    return f"Node {row.name} is unreachable and is switched off{waiting}."


def _earlier(one: dt.datetime | None, other: dt.datetime | None) -> dt.datetime | None:
    return min((at for at in (one, other) if at is not None), default=None)


class OutageTimes:
    """Remembers the first sight of each outage. A process that starts in the middle of one counts anew."""

    def __init__(self, clock: PassiveClock) -> None:
        self._clock = clock
        # By UID: the outage, and the sight on the monotonic clock. A wall clock that is set fences nobody.
        self._first: dict[str, tuple[dt.datetime | None, float]] = {}

    def of(self, nodes: Sequence[Node]) -> Mapping[str, dt.datetime]:
        """By UID, since when the nodes that are unreachable now have been seen as such."""
        found, now = {}, self._clock.monotonic()
        for node in nodes:
            if readiness(node) == "Unknown":
                outage = lost_since(node)
                known, seen = self._first.get(node.metadata.uid, (outage, now))
                found[node.metadata.uid] = (outage, seen if known == outage else now)
        self._first = found
        wall = self._clock.now()
        return {uid: after(wall, seen - now) for uid, (_, seen) in found.items()}
