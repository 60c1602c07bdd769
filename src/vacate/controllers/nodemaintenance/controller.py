"""The node maintenance controller: looks at a maintenance, its nodes, pods and requests; does what is next.

What it did is recorded where it did it: the claim on the node in the patch that cordons it, its name on each
request, the turn of a node in the status before anything is done to its pods. A controller that starts in the
middle sees all of that; every write names the version that the decision was made upon.
"""

from __future__ import annotations

import datetime as dt

from vacate.api.kinds import NODEMAINTENANCES
from vacate.api.times import EARLIEST
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import DRAINED, UNDOING, NodeMaintenance, NodeMaintenanceStatus
from vacate.controllers.nodemaintenance import events
from vacate.controllers.nodemaintenance.attempts import Attempts
from vacate.controllers.nodemaintenance.evictions import Evictions
from vacate.controllers.nodemaintenance.view import View, node_matters, pod_matters
from vacate.controllers.nodemaintenance.writes import Writes
from vacate.errors import NotFound
from vacate.kube.patches import merge_status_patch
from vacate.maintenance.blockers import from_cordon
from vacate.maintenance.model import Environment, Plan
from vacate.maintenance.names import FINALIZER
from vacate.maintenance.plan import plan_maintenance
from vacate.maintenance.report import (
    is_news,
    keep_draining,
    newly_drained,
    status_of,
    undoing_status,
)
from vacate.queue.limits import Backoff
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Deps
from vacate.runtime.reconcile import Done, Key, Later, Outcome

QUEUE = "nodemaintenances"
CORDON_AGAIN = dt.timedelta(minutes=1)
"""A node whose cordon was refused is tried again after so long."""

CACHE_RECHECK_DELAY = dt.timedelta(seconds=5)
"""What the server knows otherwise than the cache is looked at again after so long."""

STATUS_INTERVAL = dt.timedelta(seconds=2)
"""Counts are written no more often than this; phases at once."""

PLAN_SPACING = dt.timedelta(milliseconds=2)
"""For each node of a large maintenance, between two plans: a plan looks at every node, and the pods of all of
them wake it, so that without a pause the cost of each pod would grow with the number of nodes."""

UNSPACED_NODES = 10
"""A maintenance of so many nodes is planned at every change."""

WORKERS = 4
MAX_PAUSE = 60.0


def build(deps: Deps) -> Controller:
    """The controller, woken by maintenances, nodes, and the pods and requests of nodes that are claimed."""
    view = View(deps)
    return Controller(
        QUEUE,
        NodeMaintenances(deps, view),
        (
            Source(view.maintenances, keys=view.of_maintenance),
            Source(view.nodes, keys=view.of_node, when=node_matters),
            Source(view.pods, keys=view.of_pod, when=pod_matters),
            *(Source(requests, keys=view.of_request) for requests in view.requests.values()),
        ),
        deps,
        workers=WORKERS,
        backoff=Backoff(longest=MAX_PAUSE),
    )


class NodeMaintenances:
    """Reconciles a maintenance with its nodes."""

    def __init__(self, deps: Deps, view: View) -> None:
        self._deps = deps
        self._view = view
        self._writes = Writes(deps, view)
        self._evictions = Evictions(deps, view)
        self._attempts: dict[str, Attempts] = {}
        self._reported: dict[str, dt.datetime] = {}
        self._planned: dict[str, dt.datetime] = {}

    async def reconcile(self, key: Key) -> Outcome:
        """One step."""
        maintenance = self._view.maintenance(key.name)
        if maintenance is None:
            if self._has_traces(key.name) and await self._writes.exists(key.name):
                return self._look_again()  # another manager has heard of it before us
            # Its finalizer was removed by force, or all is undone and this finds nothing.
            await self._take_back(key.name)
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
        attempts = self._attempts.setdefault(name, Attempts())
        names = self._view.meant(maintenance)
        if (until := self._next_plan(name, len(names))) > now:
            return Later(until)
        self._planned[name] = now
        plan = plan_maintenance(maintenance, names, self._around(names, attempts, now), now)
        status = status_of(maintenance, plan, now)
        if plan.starts:
            # A node's turn is written down before anything is done to its pods: it is what limits others.
            await self._write_status(maintenance, status, plan)
            return Done()
        claimed = {node.metadata.name for node in self._view.claimed(name)}
        lost = {node.metadata.name for node in plan.cordon} & attempts.claimed - claimed
        if lost and not await self._writes.goes_on(maintenance):
            return self._look_again()  # another manager has heard of its end before us
        attempts.claimed = claimed
        if refused := await self._act(maintenance, plan, attempts, now):
            plan.blockers += [from_cordon(node, why) for node, why in sorted(refused.items())]
            plan.wake(now + CORDON_AGAIN)
            status = status_of(maintenance, plan, now)
        if left := await self._with_pods(maintenance, plan, attempts):
            keep_draining(maintenance, plan, left)
            plan.wake(now + CACHE_RECHECK_DELAY)
            status = status_of(maintenance, plan, now)
        return await self._report(maintenance, status, plan, now)

    async def _with_pods(self, maintenance: NodeMaintenance, plan: Plan, attempts: Attempts) -> set[str]:
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
        if nodes <= UNSPACED_NODES or last > self._deps.clock.now():
            return EARLIEST
        return last + nodes * PLAN_SPACING

    def _around(self, names: list[str], attempts: Attempts, now: dt.datetime) -> Environment:
        def request(pod: Pod) -> EvictionRequest | None:
            return self._view.request_for(pod) or attempts.made(pod, now)

        nodes = {name: node for name in names if (node := self._view.node(name)) is not None}
        return Environment(
            nodes,
            self._view.pods_on,
            request,
            self._view.budgets.reader.list,
            attempts.refused(),
            self._view.unscheduled,
        )

    async def _act(
        self, maintenance: NodeMaintenance, plan: Plan, attempts: Attempts, now: dt.datetime
    ) -> dict[str, str]:
        """Do what is planned; by node, why it could not be cordoned."""
        name = maintenance.metadata.name
        attempts.keep(plan.wanted)
        refused = await self._writes.claim(maintenance, plan.cordon)
        meant = {node.metadata.name for node in plan.cordon}
        dropped = [node for node in self._view.claimed(name) if node.metadata.name not in meant]
        await self._withdraw(maintenance, self._unwanted(maintenance, plan))
        await self._writes.release(name, dropped)
        due = []
        for pod in plan.request:
            again = attempts.due(pod, now)
            if again is None:
                due.append(pod)
            plan.wake(again)
        await self._evictions.request(maintenance, due, attempts)
        await self._evictions.delete(plan.delete)
        return refused

    def _unwanted(self, maintenance: NodeMaintenance, plan: Plan) -> list[EvictionRequest]:
        """Requests in the maintenance's name for pods that it does not want gone any more."""
        return [
            request
            for request in self._view.requested(maintenance.metadata.name)
            if (pod := self._pod_of(request)) is not None and pod.metadata.uid not in plan.wanted
        ]

    def _pod_of(self, request: EvictionRequest) -> Pod | None:
        """The request's pod, if it is in the cache: one that is gone takes its request along."""
        ref = request.spec.target.pod_ref
        pod = self._view.pods.reader.get(request.metadata.namespace, ref.name) if ref else None
        return pod if pod is not None and ref is not None and pod.metadata.uid == ref.uid else None

    async def _report(
        self, maintenance: NodeMaintenance, status: NodeMaintenanceStatus, plan: Plan, now: dt.datetime
    ) -> Outcome:
        name = maintenance.metadata.name
        last = self._reported.get(name)
        if last is None or abs(now - last) >= STATUS_INTERVAL or is_news(maintenance.status, status):
            await self._write_status(maintenance, status, plan)
        elif merge_status_patch(maintenance.metadata, maintenance.status, status) is not None:
            plan.wake(last + STATUS_INTERVAL)
        claimed = {node.metadata.name for node in self._view.claimed(name)}
        await self._writes.show_on_nodes([node for node in plan.cordon if node.metadata.name in claimed])
        return Done() if plan.until is None else Later(plan.until)

    async def _write_status(
        self, maintenance: NodeMaintenance, status: NodeMaintenanceStatus, plan: Plan
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
        self._record_events(maintenance, status, plan)

    def _record_events(self, maintenance: NodeMaintenance, status: NodeMaintenanceStatus, plan: Plan) -> None:
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
        kept = await self._take_back(name)
        for pod, why in kept.items():
            self._deps.recorder.record(events.cancellation_forbidden(maintenance, pod, why))
        if self._view.claimed(name):
            # The cache has yet to show what was written: only an observed release is one.
            undoing = undoing_status(maintenance, "taking back what was done")
            patch = merge_status_patch(maintenance.metadata, maintenance.status, undoing)
            if patch is not None and maintenance.status.phase != UNDOING:
                await self._deps.client.patch(NODEMAINTENANCES, name, patch, subresource="status")
            return Done()
        await self._writes.remove_finalizer(maintenance)
        self._forget(name)
        return Done()

    async def _withdraw(self, maintenance: NodeMaintenance, requests: list[EvictionRequest]) -> None:
        kept = await self._evictions.withdraw(maintenance.metadata.name, requests)
        for pod, why in kept.items():
            self._deps.recorder.record(events.cancellation_forbidden(maintenance, pod, why))

    async def _take_back(self, name: str) -> dict[str, str]:
        """Withdraw the requests and release the nodes; by pod, what could not be withdrawn."""
        attempts = self._attempts.get(name, Attempts())
        found = {(one.metadata.namespace, one.metadata.name): one for one in self._view.requested(name)}
        for attempt in attempts.by_pod.values():
            if (one := attempt.request) is not None:  # the cache may not show it yet
                found.setdefault((one.metadata.namespace, one.metadata.name), one)
        kept = await self._evictions.withdraw(name, list(found.values()))
        nodes = self._view.claimed(name)
        await self._writes.release(name, nodes)
        return kept

    def _forget(self, name: str) -> None:
        self._attempts.pop(name, None)
        self._reported.pop(name, None)
        self._planned.pop(name, None)
