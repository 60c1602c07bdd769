"""One pod at a time: what runs is brought closer to what is wanted, and its status is reported."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Iterable, Mapping

from vacate.api.kinds import PODS
from vacate.api.options import DeleteOptions
from vacate.cache.reader import Reader
from vacate.errors import Conflict, NotFound
from vacate.nodeagent.addresses import AddressPool
from vacate.nodeagent.adopt import CONTAINER, NAMESPACE, POD, UID, adopt_runs, adopt_status, run_of
from vacate.nodeagent.conditions import SHUTDOWN
from vacate.nodeagent.containers.manager import ContainerManager
from vacate.nodeagent.decisions import Plan, plan
from vacate.nodeagent.held import HeldPod, is_active
from vacate.nodeagent.model import NodeReason, PodProgress, TerminationCause, Waiting
from vacate.nodeagent.podterminations import PodTerminations
from vacate.nodeagent.runtime.protocol import ContainerRuntime, ContainerState
from vacate.nodeagent.settings import TAINT, AgentSettings
from vacate.nodeagent.status import Addresses, phase_when_stopped
from vacate.nodeagent.statuswriter import StatusWriter, newer
from vacate.nodeagent.view import AgentPod
from vacate.nodeagent.volumes.inuse import VolumesInUse
from vacate.nodeagent.volumes.manager import PodVolumes
from vacate.nodeagent.volumes.storage import PodFolder
from vacate.queue.queue import Queue
from vacate.runtime.dependencies import Deps
from vacate.runtime.reconcile import Done, Key, Later, Outcome

log = logging.getLogger(__name__)

_FOREIGN_PAUSE = 10.0

_NOT_MEANT = (
    "this node runs pods as local processes, and only those that name its taint: "
    f"add a toleration with key {TAINT}"
)


class PodReconciler:
    """The pods bound to this node, and those of which only processes are left."""

    def __init__(
        self, deps: Deps, pods: Reader[AgentPod], runtime: ContainerRuntime, settings: AgentSettings
    ) -> None:
        self._deps = deps
        self._client = deps.client
        self._clock = deps.clock
        self._pods = pods
        self._runtime = runtime
        self._settings = settings
        self._addresses = AddressPool(settings.address, loopback=settings.loopback_pods)
        self._held: dict[str, HeldPod] = {}  # by uid
        self.volumes_in_use = VolumesInUse(deps.client, settings.pods_folder, settings.name)
        self._swept = False
        self._unlisted = False  # whether the sweep has removed a user of an exclusive volume
        self.containers = ContainerManager(deps, runtime, settings, self._wake)
        self._ends = PodTerminations(deps.clock, self.containers)
        self._status = StatusWriter(deps.client, self._ends)
        self.queue: Queue[Key] | None = None
        self.ours: Callable[[], bool] = lambda: True  # whether the Node is still this agent's
        self.shutting_down = False  # the node goes down: pods that come now are rejected
        self.changed: Callable[[], None] = lambda: None  # called when a container has ended
        self.status_written = self._status.written
        self._abandoned = False

    def adopt(self, states: Iterable[ContainerState]) -> None:
        """Take over what runs already. Before the first reconcile."""
        by_uid: dict[str, list[ContainerState]] = {}
        for state in states:
            by_uid.setdefault(state.labels.get(UID, ""), []).append(state)
        for uid, found in by_uid.items():
            labels = found[0].labels
            key = Key(labels.get(NAMESPACE, ""), labels.get(POD, ""))
            self._hold(key, adopt_runs(uid, found, self._clock.now())).labels = labels
            self._add(key)

    def ended(self, state: ContainerState) -> None:
        """The runtime says that a run is over."""
        held = self._held.get(state.labels.get(UID, ""))
        if held is not None:
            self.containers.ended(held, state.labels.get(CONTAINER, ""), run_of(state))

    async def reconcile(self, key: Key) -> Outcome:
        """Bring one pod on. Of two pods of a name the older one must be gone before the newer one starts."""
        if not self.ours():
            return Later(self._clock.now() + dt.timedelta(seconds=_FOREIGN_PAUSE))
        if not self._swept:
            await self._sweep()
        pod = self._pods.get(key.namespace, key.name)
        older = [one for one in self._held.values() if one.key == key]
        older = [one for one in older if pod is None or one.uid != pod.metadata.uid]
        for held in older:
            await self._retire(held)
        if pod is None or any(one.uid in self._held for one in older):
            return Done()
        return await self._attend(self._take(key, pod))

    @property
    def held(self) -> Mapping[str, HeldPod]:
        """The pods of this node by uid."""
        return self._held

    def end(self, uid: str, seconds: float, prepare: float = 0.0, *, cause: NodeReason = SHUTDOWN) -> None:
        """The node ends the pod by itself, within so many seconds, and does not start it again.

        It is asked to end after `prepare` of them. Needs no API server. Where it is terminating already, a
        shorter time overtakes.
        """
        held = self._held.get(uid)
        if held is None:
            self._ends.order_unknown(uid, seconds, prepare, cause)
            return
        self._ends.order(held, seconds, prepare, cause)
        held.spawn(self._end_later(held, prepare), "end with the node")

    def may_run(self, held: HeldPod) -> bool:
        """Whether it has a process, or would get one: nothing has asked it to end."""
        return held.progress.busy or (is_active(held) and not self._ends.begun(held))

    def spare(self) -> None:
        """The shutdown is off: pods that were not asked to end yet go on as if nothing had been."""
        self._ends.spare(self._held.values())

    async def _end_later(self, held: HeldPod, seconds: float) -> None:
        await self._clock.sleep(seconds)
        if self._ends.begun(held):
            self._ends.stop_due(held)
            self._add(held.key)
            self.changed()  # one without a process is gone now

    async def stop_all(self) -> None:
        """End every container, quickly: the machine goes down as far as the pods are concerned."""
        for held in self._held.values():
            for name, state in held.progress.containers.items():
                if state.running:
                    self.containers.stop(
                        held, name, TerminationCause("The node is going down", 3.0, run_hook=False)
                    )
        running = [one.run.id for held in self._held.values() for one in held.progress.containers.values()
                   if one.run is not None and one.run.exit is None]  # fmt: skip
        await asyncio.gather(*(self._runtime.wait(one) for one in running))

    async def abandon(self) -> None:
        """Stop all work in the background; processes run on."""
        self._abandoned = True  # what is cancelled now must not begin anew
        for held in self._held.values():
            await held.abandon()

    def _take(self, key: Key, pod: AgentPod) -> HeldPod:
        held = self._held.get(pod.metadata.uid)
        if held is None:
            held = self._hold(key, PodProgress(pod.metadata.uid, self._clock.now()))
        first = held.pod is None
        held.pod = newer(held.written, pod)
        if first:
            address = self._addresses.take(held.uid, str(pod.status.get("podIP", "")))
            held.where = Addresses(address, self._settings.address)
            held.rejected = held.pod.rejected or (self.shutting_down and held.new)
            adopt_status(held.pod, held.progress, self._clock.now())
            self.containers.resume(held)
        return held

    def _hold(self, key: Key, progress: PodProgress) -> HeldPod:
        folder = PodFolder(self._settings.pods_folder, progress.uid)
        where = Addresses(self._settings.address, self._settings.address)
        volumes = PodVolumes(self._client, self._clock, folder, self.volumes_in_use)
        held = HeldPod(key, progress, folder, volumes, where)
        self._held[progress.uid] = held
        if (seconds := self._ends.take_unknown(held)) is not None:
            held.spawn(self._end_later(held, seconds), "end with the node")
        return held

    async def _attend(self, held: HeldPod) -> Outcome:
        assert held.pod is not None
        if held.released:
            return Done()
        now = self._clock.now()
        idle = (self._refuse(held) or held.rejected) and not held.pod.deleting
        steps = Plan() if idle else plan(held.pod, held.progress, now, terminating=self._ends.begun(held))
        held.phase = held.phase or steps.phase
        if self._ends.begun(held) and not held.progress.busy:
            assert held.end is not None
            held.phase = held.phase or held.end.cause.phase or phase_when_stopped(held.pod, held.progress)
        for name in steps.start:
            self.containers.start(held, name)
        for name in steps.stop:
            self.containers.stop(held, name, self._ends.cause(held, name))
        await self._status.write(held, now)
        if held.pod.deleting and not held.progress.busy:
            await self._finish(held, now)
            return Done()
        return await self._next_look(held, steps)

    async def _next_look(self, held: HeldPod, steps: Plan) -> Outcome:
        assert held.pod is not None
        moments = [steps.again] if steps.again is not None else []
        if held.progress.busy and not held.pod.deleting:
            seconds = await held.volumes.refresh(held.pod, held.fields)
            if seconds is not None:
                moments.append(self._clock.now() + dt.timedelta(seconds=seconds))
        return Later(min(moments)) if moments else Done()

    async def _finish(self, held: HeldPod, now: dt.datetime) -> None:
        """No process is left: say how it ended, release what it held, and only then let the pod go."""
        assert held.pod is not None
        held.phase = held.phase or phase_when_stopped(held.pod, held.progress)
        await self._status.write(held, now)
        await self._clean(held)
        meta = held.pod.metadata
        try:
            await self._client.delete(
                PODS, meta.name, meta.namespace, DeleteOptions(grace_period_seconds=0, uid=meta.uid)
            )
        except NotFound:
            log.info("%s is gone already", held.key)
        except Conflict:
            # Another pod has its name, or something on the way refused; the cache will know which.
            known = self._pods.get(meta.namespace, meta.name)
            if known is not None and known.metadata.uid == meta.uid:
                raise
            log.info("another pod has the name of %s", held.key)
        held.released = True
        # With finalizers it stays in the API; without, the watch brings its end.

    async def _retire(self, held: HeldPod) -> None:
        """The pod was removed by force, now or while the agent was away: its processes must not stay."""
        if not held.progress.busy:
            await self._clean(held)
            await held.abandon()
            self._addresses.release(held.uid)
            self._held.pop(held.uid, None)
            self.changed()
            self._add(held.key)
            return
        self.kill(held)

    def kill(self, held: HeldPod) -> None:
        """End what runs of a pod that is gone from the API."""
        for name, state in held.progress.containers.items():
            if state.running:
                cause = TerminationCause(f"Pod is gone from the API: stopping {name}", 0.0, run_hook=False)
                self.containers.stop(held, name, cause)

    async def _clean(self, held: HeldPod) -> None:
        if held.cleaned:
            return
        for state in held.progress.containers.values():
            for run in (state.run, state.before):
                if run is not None and run.id:
                    await self._runtime.remove(run.id)
        used = self.volumes_in_use.noted(held.folder)
        held.folder.remove()
        if used or held.unlisted:
            held.unlisted = True  # until the server knows it, should this fail
            await self.volumes_in_use.report()
        held.cleaned = True

    def _refuse(self, held: HeldPod) -> bool:
        """Keep away pods that came by a toleration of everything, such as those of daemon sets."""
        assert held.pod is not None
        if not self._settings.taint or any(one.key == TAINT for one in held.pod.spec.tolerations):
            return False
        for container in held.pod.all_containers:
            held.progress.of(container.name).waiting = Waiting("CreateContainerConfigError", _NOT_MEANT)
        return True

    async def _sweep(self) -> None:
        """Once, with the cache synced: remove folders of pods that nobody knows any more."""
        folder = self._settings.pods_folder
        for left in folder.iterdir() if folder.is_dir() else ():
            if left.name not in self._held and not self._is_bound(left.name):
                self._unlisted |= self.volumes_in_use.noted(PodFolder(folder, left.name))
                PodFolder(folder, left.name).remove()
        if self._unlisted:
            await self.volumes_in_use.report()
        self._swept = True

    def _is_bound(self, uid: str) -> bool:
        return any(one.metadata.uid == uid for one in self._pods.list())

    def _wake(self, held: HeldPod) -> None:
        if self._ends.begun(held) and not self._abandoned:
            self._ends.stop_due(held)
        self.changed()
        self._add(held.key)

    def _add(self, key: Key) -> None:
        if self.queue is not None:
            self.queue.add(key)
