"""The pods of a stock kubelet's node: ended by deleting them, so that the kubelet ends their containers."""

from __future__ import annotations

import asyncio
import functools
import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.terminationreason import EVICTION
from vacate.api.types.meta import ObjectMeta
from vacate.cache.informer import Informer
from vacate.client.client import Client
from vacate.client.hedging import first_answer
from vacate.clock import Clock
from vacate.errors import Conflict, NotFound, VacateError
from vacate.eviction.registration import PREFIXES
from vacate.kube.patches import guarded
from vacate.nodeagent.podrecord import PodRecord, RecordedPod, load_all, remove
from vacate.nodeagent.shutdown.buckets import ShutdownPod, TerminatePod
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.nodepods import described
from vacate.nodeagent.shutdown.requests import ShutdownRequests
from vacate.nodeagent.shutdownagent.kubelet import shares_bucket
from vacate.nodeagent.status import DISRUPTION_TARGET, SHUTDOWN, disruption_target
from vacate.nodeagent.view import AgentPod, AgentPodSpec
from vacate.runtime.reconcile import Key

log = logging.getLogger(__name__)

MARK_SECONDS = 5.0
RETRY_SECONDS = 0.5
MIRROR = "kubernetes.io/config.mirror"
_NOTED = (MIRROR, *PREFIXES)


@dataclass(eq=False)
class ApiPods:
    """Deletes with the time that the shutdown grants, never by force: what runs must be seen to end."""

    client: Client
    clock: Clock
    informer: Informer[AgentPod]
    requests: ShutdownRequests
    own_uid: str
    folder: Path  # of the records, also those of an earlier agent
    boot: str
    # Where the kubelet terminates pods itself: they are only prepared here.
    beside: ShutdownConfig | None = None
    _held: dict[str, RecordedPod] = field(default_factory=dict)  # by uid
    _unmarkings: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _prepared: set[str] = field(default_factory=set)
    _changed: Callable[[], None] = lambda: None
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._reader = self.informer.reader
        for uid, record in load_all(self.folder):
            if record.boot != self.boot:  # the kubelet knows from the API server what was asked then
                record.boot, record.order = self.boot, None
            self._hold(uid, Key(record.namespace, record.name), record)
        self.informer.subscribe(self._notify)

    def _hold(self, uid: str, key: Key, record: PodRecord | None = None) -> RecordedPod:
        made = RecordedPod(key, uid, self.clock, self.folder / uid, record or PodRecord(self.boot))
        self._held[uid] = made
        return made

    def _notify(self, old: AgentPod | None, new: AgentPod | None) -> None:
        """Note what an agent must know that starts in a shutdown without the API server."""
        if new is not None and not new.terminal:
            uid, known = new.metadata.uid, _noted(new)
            held = self._held.get(uid) or self._hold(uid, Key(known.metadata.namespace, known.metadata.name))
            if held.record.pod != known:
                held.record.pod = known
                held.save()
        elif (gone := new or old) is not None:
            self._forget(gone.metadata.uid)
        self._moved.set()
        self._changed()

    def _forget(self, uid: str) -> None:
        if (held := self._held.get(uid)) is not None and held.record.order is None:
            del self._held[uid]
            remove(held.root)

    def sweep(self) -> None:
        """Without a shutdown: forget the pods that are gone, also since an earlier agent."""
        for uid in self.gone(list(self._held)):
            self._held[uid].record.order = None
            self._forget(uid)

    def known(self) -> bool:
        """What an agent that goes on with a shutdown needs is in the record of that."""
        return True

    def are_known(self) -> bool:
        """Whether the API server has listed the pods of the node."""
        return self._reader.synced

    def are_recorded(self) -> bool:
        """Whether the API server does not answer, and an earlier agent has noted the pods of the node."""
        return bool(self._held) and self.informer.trouble is not None

    def _listed(self) -> list[AgentPod]:
        if self._reader.synced:
            return self._reader.list()
        return [one.record.pod for one in self._held.values() if one.record.pod is not None]

    def own_pod(self) -> AgentPod:
        """The pod of this agent; one that says nothing where it is not among the pods of the node."""
        return next((one for one in self._listed() if one.metadata.uid == self.own_uid), AgentPod())

    def running(self) -> list[ShutdownPod]:
        """All but the agent's own, terminated ones, and static ones, which only the kubelet can end."""
        found = []
        for pod in self._listed():
            if pod.terminal or pod.metadata.uid == self.own_uid:
                continue
            if MIRROR in pod.metadata.annotations:
                log.info("pod %s is static: it terminates with the machine", described(pod).key)
                continue
            ended = described(pod)
            if self.beside is None:
                found.append(ended)
            elif ended.interceptors and shares_bucket(ended, self.beside):
                log.warning(
                    "pod %s is terminated without its interceptors: its priority %d puts it in the "
                    "agent's own bucket",
                    ended.key, ended.priority,
                )  # fmt: skip
            elif ended.interceptors:
                # All the time is for preparation.
                found.append(replace(ended, grace_seconds=0.0, prepare_only=True))
        return found

    def end(self, order: TerminatePod) -> None:
        """Begin to end it; interceptors are asked first, where they have time."""
        pod = order.pod
        held = self._held.get(pod.uid) or self._hold(pod.uid, Key(pod.namespace, pod.name))
        if pod.prepare_only:
            if order.prepare > 0:
                done = functools.partial(self._mark_prepared, pod.uid)
                self.requests.request(pod, order.prepare, done, done)
            return
        self._order(held, order.seconds, order.prepare)
        if not held.ending:
            # Where no interceptor comes, its own time begins.
            own = lambda: self._order(held, pod.grace_seconds)  # noqa: E731
            self.requests.request(pod, order.prepare, own)

    def _order(self, held: RecordedPod, seconds: float, prepare: float = 0.0) -> None:
        if (unmarking := self._unmarkings.pop(held.uid, None)) is not None:
            unmarking.cancel()
        held.order(seconds, prepare, SHUTDOWN, lambda: self._ask(held))

    def cancel(self) -> None:
        """Spare what the API server was not asked to delete yet, and withdraw the requests.

        Marks of an earlier agent go too, also those from before a reboot.
        """
        for held in self._held.values():
            marked = held.ending
            if (held.spare() and marked) or self._is_left_marked(held):
                self._unmarkings[held.uid] = held.spawn(self._unmark(held), "unmark")
        self._prepared.clear()
        self.requests.withdraw_all()

    def gone(self, uids: Iterable[str]) -> set[str]:
        """Those that the API server has no more, or shows as ended. Without a list of its pods none is.

        One that was deleted is still to be removed by its kubelet, which needs the machine for that: an
        object that stays keeps the replacement of a StatefulSet's pod away while the machine is off.
        """
        if not self._reader.synced:
            return set()
        there = self._reader.list()
        removed_soon = {one.metadata.uid for one in there if one.deleting and not one.metadata.finalizers}
        running = {one.metadata.uid for one in there if not one.terminal} | removed_soon
        return {uid for uid in uids if uid not in running or uid in self._prepared}

    def on_change(self, callback: Callable[[], None]) -> None:
        """Subscribe to every change of a pod."""
        self._changed = callback

    async def flush(self) -> None:
        """Wait until the kubelet has reported the end of every pod that was deleted."""
        while not self._reader.synced or self._unreported():
            self._moved.clear()
            await self._moved.wait()

    def _unreported(self) -> set[str]:
        ordered = {uid for uid, one in self._held.items() if one.record.order is not None}
        return ordered - self.gone(ordered)

    async def aclose(self) -> None:
        """Stop what is under way."""
        for held in self._held.values():
            await held.abandon()

    def _mark_prepared(self, uid: str) -> None:
        self._prepared.add(uid)
        self._changed()

    async def _ask(self, held: RecordedPod) -> None:
        """Delete it, with the time that it has."""
        order = held.record.order
        if order is None:
            return
        if order.asked is None:
            await self._mark_disrupted(held)
        try:
            await first_answer(lambda: self._delete(held))
        except NotFound:
            pass
        except (VacateError, OSError) as error:
            if not isinstance(error, Conflict) or self._shown(held):  # else another pod has the name
                log.warning("pod %s cannot be deleted yet: %s", held.key, str(error) or type(error).__name__)
                await held.wait(RETRY_SECONDS)
                return
        held.asked(order.deadline)

    async def _delete(self, held: RecordedPod) -> None:
        if (order := held.record.order) is not None:
            own = held.record.pod.grace_seconds if held.record.pod is not None else math.inf
            left = min(order.deadline - self.clock.monotonic(), own)
            options = DeleteOptions(grace_period_seconds=whole_seconds(left), uid=held.uid, reason=EVICTION)
            await self.client.delete(PODS, held.key.name, held.key.namespace, options)

    def _shown(self, held: RecordedPod) -> AgentPod | None:
        """The pod as the API server shows it, and not another of its name."""
        found = self._reader.get(held.key.namespace, held.key.name)
        return found if found is not None and found.metadata.uid == held.uid else None

    async def _mark_disrupted(self, held: RecordedPod) -> None:
        """So that a Job does not count it as a failure of the program. Worth one attempt, and no delay."""
        key, found = held.key, self._shown(held)
        if found is None or found.terminal or _is_marked(found):  # the latter by an attempt before
            return
        try:
            async with asyncio.timeout(MARK_SECONDS):
                try:
                    await self._write_mark(found, self._mark(found))
                except Conflict:
                    found = await self.client.get(PODS, key.name, key.namespace, into=AgentPod)
                    if found.metadata.uid == held.uid:
                        await self._write_mark(found, self._mark(found))
        except (VacateError, OSError) as error:
            log.info("pod %s has no condition DisruptionTarget: %s", key, str(error) or type(error).__name__)

    def _mark(self, pod: AgentPod) -> Obj:
        return disruption_target(pod, SHUTDOWN.message, self.clock.now())

    async def _write_mark(self, found: AgentPod, mark: Obj) -> None:
        """Only upon the version that was read: a copy that arrives late must not mark a pod spared since."""
        meta, change = found.metadata, {"status": {"conditions": [mark]}}
        await self.client.patch_status(PODS, meta.name, guarded(meta, change), meta.namespace)

    def _is_left_marked(self, held: RecordedPod) -> bool:
        """Whether it has the mark of a shutdown that does not end it; a kubelet's own marks are its own."""
        if self.beside is not None or held.record.order is not None or held.uid in self._unmarkings:
            return False
        found = self._shown(held)
        return found is not None and not found.deleting and _is_marked(found)

    async def _unmark(self, held: RecordedPod) -> None:
        """The shutdown was cancelled before the pod was deleted: it is no target of a disruption."""
        if held.asking is not None:
            await asyncio.wait([held.asking])  # a deletion may be under way
        while True:
            try:
                found = await self.client.get(PODS, held.key.name, held.key.namespace, into=AgentPod)
                if found.metadata.uid == held.uid and not found.deleting and _is_marked(found):
                    await self._write_mark(found, {"type": DISRUPTION_TARGET, "$patch": "delete"})
                return
            except NotFound:
                return
            except (VacateError, OSError) as error:
                log.info(
                    "pod %s keeps its condition for now: %s", held.key, str(error) or type(error).__name__
                )
            await self.clock.sleep(RETRY_SECONDS)


def whole_seconds(left: float) -> int:
    """PURE. The grace period of a deletion: to the nearest second, since the calls before it took a moment.

    At least 1: 0 would remove the object while its containers run.
    """
    return max(round(left), 1)


def _is_marked(pod: AgentPod) -> bool:
    found = pod.conditions.get(DISRUPTION_TARGET, {})
    return found.get("message") == SHUTDOWN.message and not pod.terminal


def _noted(pod: AgentPod) -> AgentPod:
    """What the order of a shutdown needs of a pod: of its spec no more than that is written to the disk."""
    meta, spec = pod.metadata, pod.spec
    return AgentPod(
        ObjectMeta(
            name=meta.name,
            namespace=meta.namespace,
            uid=meta.uid,
            annotations={key: text for key, text in meta.annotations.items() if key.startswith(_NOTED)},
            deletion_timestamp=meta.deletion_timestamp,
            deletion_grace_period_seconds=meta.deletion_grace_period_seconds,
        ),
        AgentPodSpec(
            priority=spec.priority,
            termination_grace_period_seconds=spec.termination_grace_period_seconds,
            eviction_interceptors=spec.eviction_interceptors,
            eviction_responders=spec.eviction_responders,
        ),
    )
