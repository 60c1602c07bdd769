"""The node maintenance controller: looks at a maintenance, its nodes, pods and requests; does what is next.

What it did is recorded where it did it: the claim on the node in the patch that cordons it, its name on each
request, the turn of a node in the status before anything is done to its pods. A controller that starts in the
middle sees all of that; every write names the version that the decision was made upon.
"""

from __future__ import annotations

import datetime as dt

from vacate.api.events import EventNote
from vacate.api.kinds import NODEMAINTENANCES
from vacate.api.text import plain
from vacate.api.times import EARLIEST
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import (
    DRAINED,
    UNDOING,
    Blocker,
    NodeMaintenance,
    NodeMaintenanceStatus,
)
from vacate.controllers.nodemaintenance import events
from vacate.controllers.nodemaintenance.attempts import WriteAttempts
from vacate.controllers.nodemaintenance.caches import (
    MaintenanceCaches,
    node_matters,
    pod_matters,
    turns_matter,
)
from vacate.controllers.nodemaintenance.evictions import Evictions, Withdrawn
from vacate.controllers.nodemaintenance.passedpods import PassedPods
from vacate.controllers.nodemaintenance.summarymetrics import DrainTotals, observe_durations
from vacate.controllers.nodemaintenance.writer import MaintenanceWriter
from vacate.errors import ApiError, NotFound
from vacate.kube.patches import merge_status_patch
from vacate.maintenance.blockers import CONDITIONS_REFUSED, CORDON_REFUSED, RELEASE_REFUSED
from vacate.maintenance.model import MaintenanceInputs, MaintenancePlan, known_since
from vacate.maintenance.names import FINALIZER
from vacate.maintenance.plan import plan_maintenance
from vacate.maintenance.report import (
    is_news,
    keep_draining,
    newly_drained,
    status_of,
    undoing_status,
)
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import MAX_RETRY_SECONDS, Done, Key, Later, Outcome

QUEUE = "nodemaintenances"
REFUSED_AGAIN = dt.timedelta(seconds=10)
"""What was refused of a node, a deletion or a withdrawal is tried again after so long: no watch shows that a
policy, a webhook or a missing right is no longer in the way. Requests have a delay of their own."""

CACHE_RECHECK_DELAY = dt.timedelta(seconds=5)
"""Where an answer of the API server and the cache differ, the node is looked at again after so long."""

STATUS_INTERVAL = dt.timedelta(seconds=2)
"""Counts are written no more often than this; phases at once."""

PLAN_SPACING = dt.timedelta(milliseconds=2)
"""For each node of a maintenance, between two plans: a plan looks at every node, and the pods of all of them
wake it, so that without a pause the cost of each pod would grow with the number of nodes."""

MIN_SPACING = dt.timedelta(milliseconds=20)
"""Between two plans of a few nodes: one change of a pod is several of its request, its budget and itself."""

WORKERS = 4


def build(deps: Dependencies) -> Controller:
    """The controller, woken by maintenances, nodes, and the pods and requests of nodes that are claimed."""
    view = MaintenanceCaches(deps)
    deps.metrics.show("drains", DrainTotals(view.maintenances.reader, deps.clock.now))
    return Controller(
        QUEUE,
        NodeMaintenances(deps, view),
        (
            Source(view.maintenances, keys=view.of_maintenance),
            Source(view.maintenances, keys=view.of_turn, when=turns_matter),
            Source(view.nodes, keys=view.of_node, when=node_matters),
            Source(view.pods, keys=view.of_pod, when=pod_matters),
            *(Source(requests, keys=view.of_request) for requests in view.requests.values()),
            Source(deps.refusals, keys=view.of_refused),
        ),
        deps,
        workers=WORKERS,
        refusals_on=view.maintenances,
    )


class NodeMaintenances:
    """Reconciles a maintenance with its nodes."""

    def __init__(self, deps: Dependencies, view: MaintenanceCaches) -> None:
        self._deps = deps
        self._view = view
        self._writes = MaintenanceWriter(deps, view)
        self._evictions = Evictions(deps, view)
        self._attempts: dict[str, WriteAttempts] = {}
        self._reported: dict[str, dt.datetime] = {}
        self._planned: dict[str, dt.datetime] = {}
        # Nodes whose turn was decided, by maintenance, until the cache shows it: two maintenances that are
        # planned side by side must not both begin.
        self._begun: dict[str, set[str]] = {}
        self._passed = PassedPods(view, self._attempts)

    async def reconcile(self, key: Key) -> Outcome:
        """One step."""
        maintenance = self._view.maintenance(key.name)
        if maintenance is None:
            if self._has_traces(key.name) and await self._writes.exists(key.name):
                return self._look_again()  # another manager has heard of it before us
            # Its finalizer was removed by force, or all is undone and this finds nothing.
            withdrawn, unreleased = await self._take_back(key.name)
            if withdrawn.refused or unreleased:
                return Later(self._deps.clock.now() + REFUSED_AGAIN)
            self._forget(key.name)
            return Done()
        if maintenance.metadata.deletion_timestamp is not None:
            return await self._undo(maintenance)
        if FINALIZER not in maintenance.metadata.finalizers:
            await self._writes.add_finalizer(maintenance)
            return Done()  # the change wakes us
        return await self._advance(maintenance)

    def _has_traces(self, name: str) -> bool:
        return bool(self._view.claimed(name) or self._view.requested(name))

    def _look_again(self) -> Later:
        """When the cache may have caught up; at once two managers would undo each other's work."""
        return Later(self._deps.clock.now() + CACHE_RECHECK_DELAY)

    # Forward

    async def _advance(self, maintenance: NodeMaintenance) -> Outcome:
        now, name = self._deps.clock.now(), maintenance.metadata.name
        attempts = self._attempts.setdefault(name, WriteAttempts())
        names = self._view.meant(maintenance)
        if (until := self._next_plan(name, len(names))) > now:
            return Later(until)
        self._planned[name] = now
        self._begun.pop(name, None)
        self._passed.report(maintenance, attempts)
        plan = plan_maintenance(maintenance, names, self._around(maintenance, names, attempts, now), now)
        if plan.starts:
            # A node's turn is written down before anything is done to its pods: it is what limits others.
            self._begun[name] = set(plan.starts)
            try:
                await self._write_status(maintenance, status_of(maintenance, plan, now), plan)
            except ApiError as error:
                if error.is_refusal:  # otherwise it may have been written, now or before
                    self._begun.pop(name, None)
                raise
            return Done()
        claimed = {node.metadata.name for node in self._view.claimed(name)}
        lost = {node.metadata.name for node in plan.cordon} & attempts.claimed - claimed
        if lost and not await self._writes.goes_on(maintenance):
            return self._look_again()  # another manager has heard of its end before us
        attempts.claimed = claimed
        before = self._around(maintenance, names, attempts, now)
        await self._act(maintenance, plan, attempts, now)
        around = self._around(maintenance, names, attempts, now)
        if _refusals(around) != _refusals(before):
            # What was refused is reported at once, and so is that it is not refused any more.
            plan = plan_maintenance(maintenance, names, around, now)
        attempts.blockers = plan.blockers
        self._wake_for_refused(plan, attempts, now)
        if left := await self._with_pods(maintenance, plan, attempts):
            keep_draining(maintenance, plan, left)
            plan.wake(now + CACHE_RECHECK_DELAY)
        return await self._report(maintenance, status_of(maintenance, plan, now), plan, now)

    def _wake_for_refused(self, plan: MaintenancePlan, attempts: WriteAttempts, now: dt.datetime) -> None:
        """Whatever was refused, also by a conflict, is asked for again, though no watch shows a change."""
        # What was tried after `now` may be due later than any delay from then on, which `due` takes for a
        # clock that was set back.
        latest = self._deps.clock.now() + dt.timedelta(seconds=MAX_RETRY_SECONDS)
        for pod in plan.request:
            plan.wake(attempts.due(pod, now) or latest)
        for pod in plan.evict:
            plan.wake(attempts.eviction_due(pod, now) or latest)
        plan.wake(attempts.unseen_until())
        if attempts.nodes or attempts.deletions or attempts.withdrawals or plan.delete:
            plan.wake(now + REFUSED_AGAIN)

    async def _with_pods(
        self, maintenance: NodeMaintenance, plan: MaintenancePlan, attempts: WriteAttempts
    ) -> set[str]:
        """The nodes that only the cache shows empty. Each is asked for once, until its end is on record."""
        drained = newly_drained(maintenance, plan)
        attempts.empty.intersection_update(drained)
        unknown = [name for name in drained if name not in attempts.empty]
        left = await self._writes.nodes_with_pods(maintenance, unknown)
        attempts.empty.update(name for name in unknown if name not in left)
        return left

    def _next_plan(self, name: str, nodes: int) -> dt.datetime:
        """Not before which moment a maintenance of so many nodes is planned again."""
        last = self._planned.get(name, EARLIEST)
        # A clock that was set back must not hold a drain.
        if last > self._deps.clock.now():
            return EARLIEST
        return last + max(nodes * PLAN_SPACING, MIN_SPACING)

    def _around(
        self, maintenance: NodeMaintenance, names: list[str], attempts: WriteAttempts, now: dt.datetime
    ) -> MaintenanceInputs:
        def request(pod: Pod) -> EvictionRequest | None:
            found = self._view.request_for(pod)
            if found is not None:
                attempts.seen(pod, found)
            return found or attempts.made(pod, now)

        return MaintenanceInputs(
            {name: node for name in names if (node := self._view.node(name)) is not None},
            self._view.pods_on,
            request,
            self._view.budgets_of,
            refused=attempts.refused(),
            undeleted=dict(attempts.deletions),
            unevicted={uid: one.refused for uid, one in attempts.evictions.items() if one.refused},
            unwithdrawn=dict(attempts.withdrawals),
            refused_nodes=dict(attempts.nodes),
            unwritten=self._view.unwritten,
            unscheduled=self._view.unscheduled,
            workload=self._view.workloads.of,
            refusal=attempts.refusals.blocker,
            others=self._view.turns(maintenance.metadata.name, self._begun),
            limits=self._deps.limits,
            node_count=len(self._view.nodes.reader.list()) if self._deps.limits.draining_nodes else 0,
            forced={node: tuple(pods) for node, pods in attempts.forced.items()},
            since=known_since(
                maintenance.status.blockers if attempts.blockers is None else attempts.blockers
            ),
        )

    async def _act(
        self, maintenance: NodeMaintenance, plan: MaintenancePlan, attempts: WriteAttempts, now: dt.datetime
    ) -> None:
        """Do what is planned, and remember what was refused."""
        name = maintenance.metadata.name
        attempts.keep(plan.wanted)
        refused = await self._writes.claim(maintenance, plan.cordon)
        nodes = {(CORDON_REFUSED, node): why for node, why in refused.items()}
        meant = {node.metadata.name for node in plan.cordon}
        dropped = [node for node in self._view.claimed(name) if node.metadata.name not in meant]
        withdrawn = await self._evictions.withdraw(name, self._unwanted(maintenance, plan))
        self._record_kept(maintenance, withdrawn)
        attempts.withdrawals = withdrawn.refused
        released = await self._writes.release(name, dropped)
        nodes |= {(RELEASE_REFUSED, node): why for node, why in released.items()}
        shown = {key: why for key, why in attempts.nodes.items() if key[0] == CONDITIONS_REFUSED}
        attempts.nodes = shown | nodes
        await self._evictions.request(maintenance, plan.request, attempts)
        past = [pod for pod in plan.evict if attempts.eviction_due(pod, now) is None]
        evicted = await self._evictions.evict(past, attempts)
        deleted = await self._evictions.delete(plan, attempts)
        for pod in deleted:
            if pod.metadata.uid in plan.overdue:
                self._count_forced("deadline", pod, attempts, events.deleted_at_deadline(maintenance, pod))
        pinned = [pod for pod in deleted if pod.metadata.uid in plan.pinned - plan.overdue]
        for pod in (*evicted, *pinned):
            held = next((one for one in plan.blockers if _is_about(one, pod)), None)
            note = events.evicted_past_request(maintenance, pod, held, deleted=pod in pinned)
            self._count_forced("pinned-request", pod, attempts, note)

    def _count_forced(self, cause: str, pod: Pod, attempts: WriteAttempts, note: EventNote) -> None:
        """A pod was removed past what protects it: on record, in the status and in a metric."""
        attempts.force(pod)
        self._deps.metrics.bypasses.labels(cause).inc()
        self._deps.recorder.record(note)

    def _unwanted(self, maintenance: NodeMaintenance, plan: MaintenancePlan) -> list[EvictionRequest]:
        """Requests in the maintenance's name for pods that it does not want gone any more."""
        return [
            request
            for request in self._view.requested(maintenance.metadata.name)
            if (pod := self._pod_of(request)) is not None and pod.metadata.uid not in plan.wanted
        ]

    def _pod_of(self, request: EvictionRequest) -> Pod | None:
        """The request's pod, if it is in the cache: one that is gone takes its request along."""
        pod = self._view.pods.reader.get(request.metadata.namespace, request.pod_name)
        return pod if pod is not None and pod.metadata.uid == request.pod_uid else None

    async def _report(
        self,
        maintenance: NodeMaintenance,
        status: NodeMaintenanceStatus,
        plan: MaintenancePlan,
        now: dt.datetime,
    ) -> Outcome:
        name = maintenance.metadata.name
        last = self._reported.get(name)
        if last is None or abs(now - last) >= STATUS_INTERVAL or is_news(maintenance.status, status):
            await self._write_status(maintenance, status, plan)
        elif merge_status_patch(maintenance.metadata, maintenance.status, status) is not None:
            plan.wake(last + STATUS_INTERVAL)
        claimed = {node.metadata.name for node in self._view.claimed(name)}
        shown = [node for node in plan.cordon if node.metadata.name in claimed]
        self._note_conditions(maintenance, plan, await self._writes.show_on_nodes(shown), now)
        return Done() if plan.until is None else Later(plan.until)

    def _note_conditions(
        self, maintenance: NodeMaintenance, plan: MaintenancePlan, refused: dict[str, str], now: dt.datetime
    ) -> None:
        """Conditions of nodes that could not be written: reported at the next look, which comes at once."""
        attempts = self._attempts[maintenance.metadata.name]
        before = {node for kind, node in attempts.nodes if kind == CONDITIONS_REFUSED}
        others = {key: why for key, why in attempts.nodes.items() if key[0] != CONDITIONS_REFUSED}
        attempts.nodes = others | {(CONDITIONS_REFUSED, node): why for node, why in refused.items()}
        if refused:
            plan.wake(now + REFUSED_AGAIN)
        if before != set(refused):
            plan.wake(now + STATUS_INTERVAL)
            for node in sorted(set(refused) - before):
                self._deps.recorder.record(events.conditions_refused(maintenance, node, refused[node]))

    async def _write_status(
        self, maintenance: NodeMaintenance, status: NodeMaintenanceStatus, plan: MaintenancePlan
    ) -> None:
        patch = merge_status_patch(maintenance.metadata, maintenance.status, status)
        if patch is None:
            return
        name = maintenance.metadata.name
        try:
            await self._deps.client.patch(NODEMAINTENANCES, name, patch, subresource="status")
        except NotFound:
            return  # it was removed meanwhile, and its informer will say so
        self._reported[name] = self._deps.clock.now()
        self._attempts[name].forced.clear()
        self._record_events(maintenance, status, plan)

    def _record_events(
        self, maintenance: NodeMaintenance, status: NodeMaintenanceStatus, plan: MaintenancePlan
    ) -> None:
        observe_durations(self._deps.metrics, maintenance.status, status)
        before = {row.name: row.phase for row in maintenance.status.nodes}
        for row in status.nodes:
            if before.get(row.name, "") != row.phase and row.start_time is not None:
                first = next((one for one in plan.blockers if one.node == row.name), None)
                self._deps.recorder.record(events.phase_changed(maintenance, row, first))
        if status.phase == DRAINED and maintenance.status.phase != DRAINED:
            self._deps.recorder.record(events.drained(maintenance))

    # Backward

    async def _undo(self, maintenance: NodeMaintenance) -> Outcome:
        if FINALIZER not in maintenance.metadata.finalizers:
            return Done()
        name = maintenance.metadata.name
        withdrawn, unreleased = await self._take_back(name)
        self._record_kept(maintenance, withdrawn)
        if refused := (withdrawn.refused | unreleased):
            what, why = sorted(refused.items())[0]
            self._deps.recorder.record(events.undo_refused(maintenance, what, why))
            message = f"{what} could not be taken back, and is tried again: {plain(why, 600)}"
            await self._show_undoing(maintenance, message)
            return Later(self._deps.clock.now() + REFUSED_AGAIN)
        if self._view.claimed(name):
            # The cache has yet to show what was written: only an observed release is one.
            if maintenance.status.phase != UNDOING:
                await self._show_undoing(maintenance, "taking back what was done")
            return Done()
        await self._writes.remove_finalizer(maintenance)
        self._forget(name)
        return Done()

    async def _show_undoing(self, maintenance: NodeMaintenance, message: str) -> None:
        undoing = undoing_status(maintenance, message)
        patch = merge_status_patch(maintenance.metadata, maintenance.status, undoing)
        if patch is not None:
            name = maintenance.metadata.name
            await self._deps.client.patch(NODEMAINTENANCES, name, patch, subresource="status")

    def _record_kept(self, maintenance: NodeMaintenance, withdrawn: Withdrawn) -> None:
        for pod, why in withdrawn.kept.items():
            self._deps.recorder.record(events.cancellation_forbidden(maintenance, pod, why))

    async def _take_back(self, name: str) -> tuple[Withdrawn, dict[str, str]]:
        """Withdraw the requests and release the nodes; what could not be, the nodes by name."""
        attempts = self._attempts.get(name, WriteAttempts())
        found = {(one.metadata.namespace, one.metadata.name): one for one in self._view.requested(name)}
        for attempt in attempts.by_pod.values():
            if (one := attempt.request) is not None:  # the cache may not show it yet
                found.setdefault((one.metadata.namespace, one.metadata.name), one)
        withdrawn = await self._evictions.withdraw(name, list(found.values()))
        refused = await self._writes.release(name, self._view.claimed(name))
        return withdrawn, {f"node {node}": why for node, why in refused.items()}

    def _forget(self, name: str) -> None:
        self._attempts.pop(name, None)
        self._reported.pop(name, None)
        self._planned.pop(name, None)
        self._begun.pop(name, None)


def _refusals(around: MaintenanceInputs) -> tuple[object, ...]:
    pods = around.refused, around.undeleted, around.unevicted, around.unwithdrawn
    return (*pods, around.refused_nodes, around.forced)


def _is_about(blocker: Blocker, pod: Pod) -> bool:
    return (blocker.namespace, blocker.pod) == (pod.metadata.namespace, pod.metadata.name)
