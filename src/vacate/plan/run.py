"""One drain in a simulated cluster that begins as a snapshot: to its end, or until nothing changes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from vacate.api.kinds import (
    DEPLOYMENTS,
    JOBS,
    NODEMAINTENANCES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODS,
)
from vacate.api.objects import Obj, dig
from vacate.api.times import after
from vacate.api.types.nodemaintenance import DRAINED, NodeMaintenance
from vacate.client.codec import codec_for
from vacate.client.transport import Transport
from vacate.embedded.bootstrap.identities import ADMIN
from vacate.embedded.cluster.controlplane import CONTROLLERS
from vacate.embedded.nodes.projections import SimulatedPod
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.nodes.timings import PodTimings
from vacate.embedded.store.compaction import Retention
from vacate.embedded.store.log import Record
from vacate.eviction.dialects.registry import DIALECTS
from vacate.plan.forecast import Run, Verdict, describe, unplaced, without_room
from vacate.plan.loading import Loaded, load_objects, records_of, workload_of
from vacate.plan.observer import Observer
from vacate.plan.shortfall import shortfalls
from vacate.plan.snapshot import Snapshot
from vacate.plan.timings import Observed, Pace, observe
from vacate.plan.turns import foreign_interceptors, gates_for, turn_of
from vacate.plan.waiting import MARGIN, last_moment, surge_seconds
from vacate.runtime.manager import Manager
from vacate.sdk import EvictionContext, Interceptor, interceptor_controllers
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.run import Sim, run_sim, stream_of
from vacate.wiring.components import ComponentContext, component_dependencies
from vacate.wiring.controllers import CONTROLLERS as PRODUCT_CONTROLLERS

MAX_BACKOFF_SECONDS = 1200.0
"""No eviction that was refused is tried again later than that, with jitter."""
_STEP, _LONG_STEP = 5.0, 30.0
_LEFT_OUT = {
    # Owners that were not read would look deleted, and nodes that send no heartbeats lost.
    "garbage-collector-controller", "node-controller", "pod-garbage-collector", "namespace-controller",
    "service-account-controller", "event-expiry-controller",
    # Policies are not read.
    "fencing-controller", "descheduling-controller", "evictionbridge-controller",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Which drain, and what is assumed."""

    nodes: tuple[str, ...]
    spec: Obj  # of the NodeMaintenance, without its nodes
    interceptors: Mapping[str, float | None] = field(default_factory=dict)  # seconds; None never answers
    horizon: float = 86400.0
    seed: int = 0
    start: float | None = None  # seconds from its node until a pod is ready; None as the snapshot shows it
    stop: float | None = None  # seconds that a pod takes to stop, at most its grace period


class StopPlan(Exception):
    """Raised by a progress: the run ends with what is known by then."""


Progress = Callable[[float, int], None]
"""Called now and then with the virtual seconds and the pods that are gone."""


def run_plan(
    snapshot: Snapshot, options: PlanOptions, pace: Pace, progress: Progress = lambda _seconds, _pods: None
) -> Run:
    """Drain the nodes in the simulated cluster, and return what came of it."""
    loaded = load_objects(snapshot)
    observed = replace(
        observe(snapshot.of(PODS), snapshot.taken), fixed_start=options.start, fixed_stop=options.stop
    )

    async def main(sim: Sim) -> Run:
        drain = _Drain(sim, snapshot, loaded, observed, options, pace, progress)
        return await drain.run()

    return run_sim(
        main, options.seed, limit=options.horizon + 86400.0, epoch=snapshot.taken, allow_left_behind=True
    )


class _Drain:
    def __init__(
        self,
        sim: Sim,
        snapshot: Snapshot,
        loaded: Loaded,
        observed: Observed,
        options: PlanOptions,
        pace: Pace,
        progress: Progress,
    ) -> None:
        self._sim, self._snapshot, self._loaded, self._observed = sim, snapshot, loaded, observed
        self._options, self._pace, self._progress = options, pace, progress
        taken = {one["metadata"]["name"] for one in snapshot.of(NODEMAINTENANCES)}
        self._name = next(name for name in map("plan-{}".format, range(len(taken) + 1)) if name not in taken)
        settings = WorldSettings(
            shapes=loaded.shapes,
            node=NodeSettings(quiet=True, timings_of=self._timings_of),
            controllers=[one for one in CONTROLLERS if one.component not in _LEFT_OUT],
            evictions=[one for one in PRODUCT_CONTROLLERS if one.component not in _LEFT_OUT],
            retention=Retention(),
            # Of what lasts minutes, milliseconds change nothing; each would be a step of its own to simulate.
            latency=(0.0, 0.0),
            disk=(0.0, 0.0),
            event_buffer=0,
            gates=gates_for(snapshot, options.spec),
        )
        self._world = World(sim, settings)
        for record in records_of(loaded.objects, snapshot.taken):
            self._world.server.log.records[record.revision] = record
        self._observer = Observer(sim.loop.time, loaded.workloads, frozenset(options.nodes))
        self._observer.begin(loaded.objects)
        self._world.server.written = self._written
        self._began = sim.clock.now()
        self._apis = foreign_interceptors(snapshot, options.nodes, options.spec)
        self._turns = {name: turn_of(name, options.interceptors)[0] for name in self._apis}
        self._surge_seconds = surge_seconds(snapshot.of(DEPLOYMENTS))

    def _timings_of(self, pod: SimulatedPod) -> PodTimings:
        if self._pace is Pace.DRAWN:  # the same however often it is asked for
            drawn = stream_of(self._sim.seed, f"times of {pod.metadata.uid}")
            return self._observed.timings_of(pod, lambda: drawn.uniform(0.0, 1.0))
        return self._observed.timings_of(pod, lambda: float(self._pace is Pace.SLOW))

    def _written(self, record: Record) -> None:
        self._world.server.history.clear()  # nothing is checked on it, and it would keep every version
        self._observer.written(record)

    async def run(self) -> Run:
        async with self._world:
            await self._serve_interceptors()
            spec = {**self._options.spec, "nodes": list(self._options.nodes)}
            body: Obj = {
                "apiVersion": NODEMAINTENANCES.api_version,
                "kind": NODEMAINTENANCES.kind,
                "metadata": {"name": self._name},
                "spec": spec,
            }
            await self._world.client.create(NODEMAINTENANCES, body)
            self._observer.changed = self._observer.began = self._sim.loop.time()
            started = self._began = self._sim.clock.now()
            try:
                verdict = await self._follow()
            except StopPlan:
                verdict = Verdict.STOPPED
            maintenance = self._maintenance()
            pods = self._world.objects(PODS)
            there = unplaced(self._snapshot.of(PODS))
            pods_without_room = without_room(
                pods, there, lambda pod: workload_of(pod, self._loaded.workloads)
            )
            if verdict is Verdict.FINISHES and pods_without_room:
                verdict = Verdict.LACKS_ROOM
            refused = {one.pod: one.message for one in pods_without_room}
            missing = shortfalls(
                [(one, refused[name]) for one in pods if (name := _name_of(one)) in refused],
                self._world.objects(NODES),
                self._world.objects(PERSISTENTVOLUMECLAIMS),
                self._world.objects(PERSISTENTVOLUMES),
            )
            return describe(
                maintenance, self._observer, verdict, pods_without_room, missing, started, self._pace.value
            )

    async def _follow(self) -> Verdict:
        """Until it is finished and its pods run, or nothing changes for longer than any timer takes."""
        observer, time = self._observer, self._sim.loop.time
        moment = self._sim.clock.now()  # until then something may still happen although nothing is written
        while time() - observer.began < self._options.horizon:
            quiet = time() - observer.changed
            await self._sim.clock.sleep(_STEP if quiet < MAX_BACKOFF_SECONDS else _LONG_STEP)
            self._world.check()
            self._progress(time() - observer.began, observer.evicted)
            quiet = time() - observer.changed
            drained = self._maintenance().status.phase == DRAINED
            if drained and quiet > self._observed.longest() + 2 * _STEP:
                return Verdict.FINISHES
            if drained or quiet <= self._longest_wait or self._sim.clock.now() <= moment:
                continue
            # What was due by then has happened, or does not happen: it may have led to something else.
            moment = after(self._last_moment(), MARGIN)
            if moment < self._sim.clock.now():
                return Verdict.BLOCKS
        return Verdict.FINISHES if self._maintenance().status.phase == DRAINED else Verdict.RUNS_ON

    @property
    def _longest_wait(self) -> float:
        """Seconds within which an eviction is tried again, and a pod starts."""
        return max(MAX_BACKOFF_SECONDS, self._observed.longest()) * 1.1

    def _last_moment(self) -> dt.datetime:
        """The last one that is known by which something may happen by itself."""
        world = self._world
        tainted = [
            one["metadata"]["name"]
            for one in world.objects(NODES)
            if any(taint.get("effect") == "NoExecute" for taint in dig(one, "spec", "taints") or ())
        ]
        return last_moment(
            self._began,
            pods=world.objects(PODS),
            maintenances=world.objects(NODEMAINTENANCES),
            jobs=world.objects(JOBS),
            tainted=tainted,
            requests=[
                dialect.read(codec_for(dialect.wire).convert(one))
                for kind, dialect in DIALECTS.items()
                for one in world.objects(kind)
            ],
            turn_seconds=max([self._surge_seconds, *(one or 0.0 for one in self._turns.values())]),
        )

    def _maintenance(self) -> NodeMaintenance:
        found = self._world.find(NODEMAINTENANCES, self._name)
        assert found is not None, "nothing deletes the maintenance"
        return msgspec.convert(found, NodeMaintenance)

    async def _serve_interceptors(self) -> None:
        """Let the interceptors of others have their turns: each takes the time that is assumed of it."""
        serving = [
            self._interceptor(name, seconds) for name, seconds in self._turns.items() if seconds is not None
        ]
        if not serving:
            return

        def build(link: Transport, around: ComponentContext) -> Manager:
            deps, recorder = component_dependencies(link, "interceptors", around)
            return Manager(deps.informers, interceptor_controllers(deps, serving), runnables=[recorder])

        await self._world.start("interceptors", build, ADMIN)

    def _interceptor(self, name: str, seconds: float) -> Interceptor:
        async def take_turn(_context: EvictionContext) -> None:
            await self._sim.clock.sleep(seconds)

        return Interceptor(
            name,
            take_turn,
            concurrency=10_000,
            progress_within=None,
            allowed_names=(name,),
            apis=self._apis[name],
        )


def _name_of(pod: Obj) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
