"""One pod at a time: what runs is brought closer to what is wanted, and its status is reported."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from vacate.api.events import WARNING
from vacate.api.kinds import PODS
from vacate.api.options import DeleteOptions
from vacate.api.terminationreason import EVICTION
from vacate.api.types.core import TERMINAL_PHASES
from vacate.cache.reader import Reader
from vacate.cache.written import newer
from vacate.client.hedging import first_answer
from vacate.errors import Conflict, NotFound
from vacate.kube.patches import guarded, pod_status_patch
from vacate.nodeagent.addresses import AddressPool
from vacate.nodeagent.containers.manager import ContainerManager
from vacate.nodeagent.decisions import PodPlan, plan
from vacate.nodeagent.model import NodeReason, PodProgress, TerminationCause, Waiting
from vacate.nodeagent.podrecord import PodRecord, facts, load_all
from vacate.nodeagent.podworker import PodWorker
from vacate.nodeagent.recovery import CONTAINER, NAMESPACE, POD, UID, adopt_runs, adopt_status, run_of
from vacate.nodeagent.runtime.protocol import ContainerRuntime, ContainerState
from vacate.nodeagent.settings import TAINT, AgentSettings
from vacate.nodeagent.status import DEADLINE, REJECTED, SHUTDOWN, Addresses, phase_when_stopped
from vacate.nodeagent.view import AgentPod
from vacate.nodeagent.volumes.inuse import VolumesInUse
from vacate.nodeagent.volumes.manager import PodVolumes
from vacate.nodeagent.volumes.storage import PodFolder
from vacate.queue.queue import Queue
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome

log = logging.getLogger(__name__)

STOP_SECONDS = 5.0
"""How long pods have that end with their agent, hooks included."""
_FOREIGN_PAUSE = 10.0

_NOT_MEANT = (
    "this node runs pods as local processes, and only those that name its taint: "
    f"add a toleration with key {TAINT}"
)


@dataclass(eq=False)
class PodReconciler:
    """The pods bound to this node, and those of which only processes are left."""

    deps: Dependencies
    pods: Reader[AgentPod]
    runtime: ContainerRuntime
    settings: AgentSettings
    boot: str = ""
    queue: Queue[Key] | None = None
    ours: Callable[[], bool] = lambda: True  # whether the Node is still this agent's
    shutting_down: bool = False  # the node goes down: pods that come now are rejected
    may_start: bool = True  # not while nobody knows which containers ended because the node goes down
    changed: Callable[[], None] = lambda: None  # called when a container has ended
    status_written: asyncio.Event = field(default_factory=asyncio.Event)  # set by each write
    _held: dict[str, PodWorker] = field(default_factory=dict)  # by uid
    _swept: bool = False
    _unlisted: bool = False  # whether the sweep has removed a user of an exclusive volume
    _abandoned: bool = False

    def __post_init__(self) -> None:
        settings = self.settings
        self._addresses = AddressPool(settings.address, loopback=settings.loopback_pods)
        self.volumes_in_use = VolumesInUse(self.deps.client, settings.pods_folder, settings.name)
        self.containers = ContainerManager(self.deps, self.runtime, settings, self._wake)

    def adopt(self, states: Iterable[ContainerState]) -> None:
        """Take over what runs, and go on with what was begun. Before the first reconcile."""
        by_uid: dict[str, list[ContainerState]] = {}
        for state in states:
            by_uid.setdefault(state.labels.get(UID, ""), []).append(state)
        records = dict(load_all(self.settings.pods_folder))
        for record in records.values():
            record.adopt(self.boot)
        for uid in {**by_uid, **{uid: () for uid, one in records.items() if one.order is not None}}:
            found, record = by_uid.get(uid, []), records.get(uid, PodRecord())
            labels = found[0].labels if found else {NAMESPACE: record.namespace, POD: record.name}
            key = Key(labels.get(NAMESPACE, ""), labels.get(POD, ""))
            held = self._hold(key, adopt_runs(uid, found, self.deps.clock.now()), record)
            if record.pod is not None:
                self._place(held, record.address)
            self.containers.go_on(held)
            if record.order is not None:
                held.go_on(self._asking(held))
                self._stop_due(held)  # what the one before was asked to do and did not come to
            self._add(key)

    def ended(self, state: ContainerState) -> None:
        """The runtime says that a run is over."""
        held = self._held.get(state.labels.get(UID, ""))
        if held is not None:
            self.containers.ended(held, state.labels.get(CONTAINER, ""), run_of(state))

    async def reconcile(self, key: Key) -> Outcome:
        """Bring one pod on. Of two pods of a name the older one must be gone before the newer one starts."""
        if not self.ours():
            return Later(self.deps.clock.now() + dt.timedelta(seconds=_FOREIGN_PAUSE))
        if not self._swept:
            await self._sweep()
        pod = self.pods.get(key.namespace, key.name)
        older = [one for one in self._held.values() if one.key == key]
        older = [one for one in older if pod is None or one.uid != pod.metadata.uid]
        for held in older:
            await self._retire(held)
        if pod is None or any(one.uid in self._held for one in older):
            return Done()
        return await self._attend(self._take(key, pod))

    @property
    def held(self) -> Mapping[str, PodWorker]:
        """The pods of this node by uid."""
        return self._held

    def end(
        self, uid: str, seconds: float, prepare: float = 0.0, *, key: Key | None = None, cause: NodeReason
    ) -> None:
        """The node ends the pod by itself, within so many seconds, and does not start it again.

        It is asked to end after `prepare` of them. Needs no API server. Where it is terminating already, a
        shorter time overtakes. `key` names a pod that may not be known here yet, as after a restart.
        """
        held = self._held.get(uid)
        if held is None:
            if key is None:
                return
            held = self._hold(key, PodProgress(uid, self.deps.clock.now()))
        held.order(seconds, prepare, cause, self._asking(held))

    def spare(self) -> None:
        """The shutdown is off: pods that were not asked to end yet go on as if nothing had been."""
        for held in self._held.values():
            held.spare()

    def node_goes_down(self, *, active: bool) -> None:
        """Whether it does, as logind says. An agent that comes up meanwhile starts nothing until that is off.

        Its records may be lost, and then what has ended in this shutdown looks as if it had to run again.
        """
        self.shutting_down = active
        if not self.may_start:
            self.may_start = not active
            for held in self._held.values():
                self._add(held.key)

    def _asking(self, held: PodWorker) -> Callable[[], Awaitable[None]]:
        async def ask() -> None:
            if (order := held.record.order) is not None:
                held.asked(order.deadline)
                self._stop_due(held)
                self._add(held.key)
                self.changed()  # one without a process is gone now

        return ask

    def _stop_due(self, held: PodWorker) -> None:
        """End what is due of a pod that ends with its node, at once: the API server may be away."""
        if held.pod is not None:
            due = plan(held.pod, held.progress, self.deps.clock.now(), terminating=True).stop
        else:
            due = [name for name, one in held.progress.containers.items() if one.running]
        for name in due:
            self.containers.stop(held, name, held.cause(name))

    async def stop_all(self) -> None:
        """End every container, quickly and with its hook: the node goes down with its agent."""
        running: list[str] = []
        for held in self._held.values():
            for name, state in held.progress.containers.items():
                if state.run is not None and state.running:
                    seconds = min(held.pod.grace_seconds if held.pod else 0.0, STOP_SECONDS)
                    cause = TerminationCause("The node is going down", seconds, reason=EVICTION, within=True)
                    self.containers.stop(held, name, cause)
                    running.append(state.run.id)
        await asyncio.gather(*(self.runtime.wait(one) for one in running))

    async def abandon(self) -> None:
        """Stop all work in the background; processes run on."""
        self._abandoned = True  # what is cancelled now must not begin anew
        for held in self._held.values():
            await held.abandon()

    def _take(self, key: Key, pod: AgentPod) -> PodWorker:
        held = self._held.get(pod.metadata.uid)
        if held is None:
            held = self._hold(key, PodProgress(pod.metadata.uid, self.deps.clock.now()))
        held.pod = newer(held.written, pod)
        if not held.seen:
            held.seen = True
            self._place(held, held.record.address or str(pod.status.get("podIP", "")))
            held.rejected = held.pod.rejected or (self.shutting_down and held.new)
            if held.rejected and not held.pod.terminal:
                held.note(WARNING, "NodeShutdown", REJECTED)
            adopt_status(held.pod, held.progress, self.deps.clock.now())
            self.containers.resume(held)
            self.changed()  # it may have been waited for
        if held.record.pod is not None and held.record.pod != facts(held.pod):
            held.save()
        return held

    def _hold(self, key: Key, progress: PodProgress, record: PodRecord | None = None) -> PodWorker:
        folder = PodFolder(self.settings.pods_folder, progress.uid)
        where = Addresses(self.settings.address, self.settings.address)
        volumes = PodVolumes(self.deps.client, self.deps.clock, folder, self.volumes_in_use)
        record = record or PodRecord(self.boot)
        held = PodWorker(
            key=key, uid=progress.uid, clock=self.deps.clock, root=folder.root, record=record, pod=record.pod,
            progress=progress, folder=folder, volumes=volumes, where=where, recorder=self.deps.recorder,
        )  # fmt: skip
        self._held[progress.uid] = held
        return held

    def _place(self, held: PodWorker, address: str) -> None:
        held.where = Addresses(self._addresses.take(held.uid, address), self.settings.address)

    async def _attend(self, held: PodWorker) -> Outcome:
        assert held.pod is not None
        if held.released:
            return Done()
        now, until = self.deps.clock.now(), held.pod.active_until
        if until is not None and until <= now and not (held.ending or held.pod.terminal or held.pod.deleting):
            held.order(held.pod.grace_seconds, 0.0, DEADLINE, self._asking(held))
        idle = (self._refuse(held) or held.rejected) and not held.pod.deleting
        steps = PodPlan() if idle else plan(held.pod, held.progress, now, terminating=held.ending)
        held.phase = held.phase or steps.phase
        if steps.start and not self.may_start:
            steps.start = []
            if self.shutting_down and not held.progress.busy:  # it has ended, or ends as it is
                held.order(0.0, 0.0, SHUTDOWN, self._asking(held))
        for name in steps.start:
            self.containers.start(held, name)
        for name in steps.stop:
            self.containers.stop(held, name, held.cause(name))
        await self._write_status(held, now)
        if held.pod.deleting and not held.progress.busy:
            await self._finish(held, now)
            return Done()
        return await self._next_look(held, steps)

    async def _next_look(self, held: PodWorker, steps: PodPlan) -> Outcome:
        assert held.pod is not None
        until = None if held.ending or held.pod.terminal else held.pod.active_until
        moments = [one for one in (steps.again, until) if one is not None]
        if held.progress.busy and not held.pod.deleting:
            seconds = await held.volumes.refresh(held.pod, held.fields)
            if seconds is not None:
                moments.append(self.deps.clock.now() + dt.timedelta(seconds=seconds))
        return Later(min(moments)) if moments else Done()

    async def _finish(self, held: PodWorker, now: dt.datetime) -> None:
        """No process is left: say how it ended, release what it held, and only then let the pod go."""
        assert held.pod is not None
        held.phase = held.phase or phase_when_stopped(held.pod, held.progress)
        await self._write_status(held, now)
        await self._clean(held)
        meta = held.pod.metadata
        try:
            at_once = DeleteOptions(grace_period_seconds=0, uid=meta.uid)
            await first_answer(lambda: self.deps.client.delete(PODS, meta.name, meta.namespace, at_once))
        except NotFound:
            log.info("%s is gone already", held.key)
        except Conflict:
            # Another pod has its name, or something on the way refused; the cache will know which.
            known = self.pods.get(meta.namespace, meta.name)
            if known is not None and known.metadata.uid == meta.uid:
                raise
            log.info("another pod has the name of %s", held.key)
        held.released = True
        self.status_written.set()
        # With finalizers it stays in the API; without, the watch brings its end.

    async def _write_status(self, held: PodWorker, now: dt.datetime) -> None:
        """Write what differs from the status that is known, and keep what the server answered.

        Only upon the version that was read: a write that arrives late must not replace a newer status. None
        is newer than the end.
        """
        try:
            try:
                await self._write_difference(held, now)
            except Conflict:  # someone else has written to the pod meanwhile, or an answer was lost
                assert held.pod is not None
                meta = held.pod.metadata
                found = await self.deps.client.get(PODS, meta.name, meta.namespace, into=AgentPod)
                if found.metadata.uid != meta.uid:
                    raise
                held.pod = held.written = found
                await self._write_difference(held, now)
        except NotFound:
            return  # the watch will say so, too

    async def _write_difference(self, held: PodWorker, now: dt.datetime) -> None:
        assert held.pod is not None
        meta, status = held.pod.metadata, held.status(now)
        patch = pod_status_patch(held.pod.status, status, meta.uid)
        if patch is None:
            return
        client = self.deps.client
        if status.get("phase") in TERMINAL_PHASES:
            answer = await first_answer(lambda: client.patch_status(PODS, meta.name, patch, meta.namespace))
        else:
            answer = await client.patch_status(PODS, meta.name, guarded(meta, patch), meta.namespace)
        held.pod = held.written = msgspec.convert(answer, AgentPod)
        self.status_written.set()

    async def _retire(self, held: PodWorker) -> None:
        """The pod was removed by force, now or while the agent was away: its processes must not stay."""
        if not held.progress.busy:
            await self._clean(held)
            await held.abandon()
            self._addresses.release(held.uid)
            self._held.pop(held.uid, None)
            self.status_written.set()  # there is none left to write
            self.changed()
            self._add(held.key)
            return
        self.kill(held)

    def kill(self, held: PodWorker) -> None:
        """End what runs of a pod that is gone from the API."""
        for name, state in held.progress.containers.items():
            if state.running:
                cause = TerminationCause(f"Pod is gone from the API: stopping {name}", 0.0, run_hook=False)
                self.containers.stop(held, name, cause)

    async def _clean(self, held: PodWorker) -> None:
        if held.cleaned:
            return
        for state in held.progress.containers.values():
            for run in (state.run, state.before):
                if run is not None and run.id:
                    await self.runtime.remove(run.id)
        used = self.volumes_in_use.noted(held.folder)
        held.folder.remove()
        if used or held.unlisted:
            held.unlisted = True  # until the server knows it, should this fail
            await self.volumes_in_use.report()
        held.cleaned = True

    def _refuse(self, held: PodWorker) -> bool:
        """Keep away pods that came by a toleration of everything, such as those of daemon sets."""
        assert held.pod is not None
        if not self.settings.taint or any(one.key == TAINT for one in held.pod.spec.tolerations):
            return False
        for container in held.pod.all_containers:
            held.progress.of(container.name).waiting = Waiting("CreateContainerConfigError", _NOT_MEANT)
        return True

    async def _sweep(self) -> None:
        """Once, with the cache synced: remove folders of pods that nobody knows any more."""
        folder = self.settings.pods_folder
        bound = {one.metadata.uid for one in self.pods.list()}
        for left in folder.iterdir() if folder.is_dir() else ():
            if left.name not in self._held and left.name not in bound:
                self._unlisted |= self.volumes_in_use.noted(PodFolder(folder, left.name))
                PodFolder(folder, left.name).remove()
        if self._unlisted:
            await self.volumes_in_use.report()
        self._swept = True

    def _wake(self, held: PodWorker) -> None:
        if held.ending and not self._abandoned:
            self._stop_due(held)
        self.changed()
        self._add(held.key)

    def _add(self, key: Key) -> None:
        if self.queue is not None:
            self.queue.add(key)
