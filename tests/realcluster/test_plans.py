"""Plans held against drains on a real control plane: its scheduler, its controllers and its budgets.

Each scenario has three nodes and a namespace of its own; several run side by side.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import msgspec
import pytest

from support.planned_drains import NODES_OF_THE_DRAIN, SCENARIOS
from support.realcluster.evictions import RealCluster, real_cluster
from vacate.api.kinds import NAMESPACES, NODEMAINTENANCES, NODES, PODS, Kind
from vacate.api.objects import Obj, dig
from vacate.api.types.nodemaintenance import DRAINED, NodeMaintenance
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.errors import NotFound
from vacate.plan.forecast import Verdict
from vacate.plan.report import Plan, make_plans
from vacate.plan.run import PlanOptions
from vacate.plan.snapshot import Snapshot, read_snapshot
from vacate.sdk import EvictionContext, Interceptor, serve_interceptors

pytestmark = [pytest.mark.kube, pytest.mark.thorough, pytest.mark.timeout(1200)]

GROUPS = 5
GROUP = "planned"
"""The label of the nodes of a group."""
SECONDS = 180.0
REAL = {name: one for name, one in SCENARIOS.items() if one.real}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    # As long as in virtual time: a plan takes no pod to end at once.
    pods = ("--pod-start", "1", "--pod-stop", "1")
    with real_cluster(tmp_path_factory.mktemp("plans"), 3 * GROUPS, pods=pods) as running:
        yield running


async def until(look: Callable[[], Awaitable[bool]], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not await look():
        assert time.monotonic() < end, f"not within {SECONDS:.0f} s: {what}"
        await asyncio.sleep(0.2)


class Place:
    """A scenario on the nodes of its group: `node-1` of the table is the first of them."""

    def __init__(self, client: Client, planner: Executor, group: int, name: str, number: int) -> None:
        self.client, self._planner, self.scenario = client, planner, SCENARIOS[name]
        self._group = f"group-{group}"
        self._names = {f"node-{n}": f"node-{3 * group + n}" for n in (1, 2, 3)}
        self.namespace = self._drain = f"plan-{number}"

    async def compare(self) -> str:
        """Plan, then drain; what is different, or nothing."""
        await self._create()
        serving = asyncio.create_task(self._serve())
        try:
            scenario, nodes = self.scenario, tuple(self._chosen)
            options = PlanOptions(nodes, dict(scenario.spec), scenario.interceptors, stop=scenario.stop)
            loop = asyncio.get_running_loop()
            plan = await loop.run_in_executor(self._planner, planned, await self._snapshot(), options)
            return await self._drained(plan)
        finally:
            serving.cancel()
            await asyncio.wait([serving])
            await self._remove()

    @property
    def _chosen(self) -> list[str]:
        return [self._names[one] for one in NODES_OF_THE_DRAIN]

    async def _create(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        for name in self._names.values():
            await self.client.patch(NODES, name, {"metadata": {"labels": {GROUP: self._group}}})
        for kind, obj in self.scenario.objects:
            await self.client.create(kind, self._placed(kind, obj), self.namespace if kind.namespaced else "")

        async def runs() -> bool:
            found = await self._pods()
            return bool(found) and all(dig(one, "status", "phase") == "Running" for one in found)

        await until(runs, "the pods run")

    def _placed(self, kind: Kind, obj: Obj) -> Obj:
        text = json.dumps(obj)
        for name, real in self._names.items():
            text = text.replace(f'"{name}"', f'"@{real}"')
        made: Obj = json.loads(text.replace('"@', '"'))
        made["metadata"].pop("namespace", None)
        spec = made["spec"] if kind == PODS else dig(made, "spec", "template", "spec")
        if spec:
            spec["nodeSelector"] = {GROUP: self._group}
        return made

    async def _serve(self) -> None:
        async def take_turn(seconds: float, _context: EvictionContext) -> None:
            await asyncio.sleep(seconds)

        answering = [
            Interceptor(name, partial(take_turn, seconds), progress_within=None, namespace=self.namespace)
            for name, seconds in self.scenario.interceptors.items()
            if seconds is not None
        ]
        if answering:
            await serve_interceptors(self.client, answering)

    async def _snapshot(self) -> Snapshot:
        """What concerns this group: the others change while it is read."""
        found = await read_snapshot(self.client, SystemClock())
        objects = {kind: [one for one in those if self._concerns(kind, one)]
                   for kind, those in found.objects.items()}  # fmt: skip
        return replace(found, objects=objects)

    def _concerns(self, kind: Kind, obj: Obj) -> bool:
        meta = obj["metadata"]
        if kind == NODES:
            return meta["name"] in self._names.values()
        return meta["namespace"] == self.namespace if kind.namespaced else kind != NODEMAINTENANCES

    async def _drained(self, plan: Plan) -> str:
        body = {"metadata": {"name": self._drain}, "spec": {"nodes": self._chosen, **self.scenario.spec}}
        await self.client.create(NODEMAINTENANCES, body)

        async def settled() -> bool:
            status = (await self._maintenance()).status
            held = {one.kind for one in status.blockers}
            return status.phase == DRAINED or (bool(held) and held == self.scenario.blockers)

        await until(settled, f"{self.scenario.verdict} {set(self.scenario.blockers) or ''}")
        status, run = (await self._maintenance()).status, plan.decisive
        assert plan.outcome.verdict is self.scenario.verdict
        assert (status.phase == DRAINED) == (plan.outcome.verdict is not Verdict.BLOCKS)
        assert {(one.kind, one.name) for one in status.blockers} == {
            (one.kind, one.name) for one in run.blockers
        }
        if status.phase != DRAINED:
            return "blocked"

        async def settled_pods() -> bool:
            found = await self._pods()
            return sum(not dig(one, "spec", "nodeName") for one in found) == len(run.pods_without_room)

        await until(settled_pods, f"{len(run.pods_without_room)} pods have no room")
        ended = max(one.drained_time for one in status.nodes if one.drained_time)
        took = (ended - min(one.start_time for one in status.nodes if one.start_time)).total_seconds()
        # Times of statuses are whole seconds, and machines that do other work take longer.
        assert plan.outcome.fastest - 2 <= took <= 2 * plan.outcome.slowest + 10, (took, plan.outcome)
        return f"{took:g} s, planned {plan.outcome.fastest:g} to {plan.outcome.slowest:g} s"

    async def _maintenance(self) -> NodeMaintenance:
        return msgspec.convert(await self.client.get(NODEMAINTENANCES, self._drain), NodeMaintenance)

    async def _pods(self) -> list[Obj]:
        return [*(await self.client.list(PODS, self.namespace)).items]

    async def _remove(self) -> None:
        gone = [(NODEMAINTENANCES, self._drain), (NAMESPACES, self.namespace)]
        gone += [
            (kind, obj["metadata"]["name"]) for kind, obj in self.scenario.objects if not kind.namespaced
        ]

        async def is_gone(kind: Kind, name: str) -> bool:
            try:
                await self.client.get(kind, name)
            except NotFound:
                return True
            return False

        for kind, name in gone:
            if not await is_gone(kind, name):
                await self.client.delete(kind, name)
                await until(partial(is_gone, kind, name), f"{kind.kind} {name} is gone")


def planned(snapshot: Snapshot, options: PlanOptions) -> Plan:
    return [*make_plans(snapshot, options, remedies=False)][-1]


async def compare_all(kubeconfig: Path) -> dict[str, str]:
    """What is wrong, by scenario."""
    client = Client(HttpTransport(load_cluster([kubeconfig]), SystemClock()))
    waiting, problems = [*enumerate(REAL)], dict[str, str]()
    # As the command makes a plan: in a process that does nothing else, which may fork.
    planner = ProcessPoolExecutor(1, get_context("spawn"))

    async def work(group: int) -> None:
        while waiting:
            number, name = waiting.pop(0)
            try:
                print(f"{name}: {await Place(client, planner, group, name, number).compare()}")
            except Exception as error:
                problems[name] = f"{type(error).__name__}: {error}"

    try:
        await asyncio.gather(*map(work, range(GROUPS)))
    finally:
        planner.shutdown(cancel_futures=True)
        await client.aclose()
    return problems


def test_drains_come_to_what_was_planned(cluster: RealCluster) -> None:
    assert asyncio.run(compare_all(cluster.kubeconfig)) == {}
