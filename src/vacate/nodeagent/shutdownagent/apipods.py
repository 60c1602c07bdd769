"""The pods of a stock kubelet's node: ended by deleting them, so that the kubelet ends their containers."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace

from vacate.api.kinds import PODS
from vacate.api.options import DeleteOptions
from vacate.api.terminationreason import EVICTION
from vacate.cache.informer import Informer
from vacate.client.client import Client
from vacate.client.requests import STRATEGIC_PATCH
from vacate.clock import Clock
from vacate.errors import Conflict, NotFound, VacateError
from vacate.kube.patches import guarded
from vacate.nodeagent.conditions import DISRUPTION_TARGET, SHUTDOWN, disruption_target
from vacate.nodeagent.shutdown.buckets import ShutdownPod
from vacate.nodeagent.shutdown.config import ShutdownConfig
from vacate.nodeagent.shutdown.machine import TerminatePod
from vacate.nodeagent.shutdown.nodepods import has_interceptors
from vacate.nodeagent.shutdown.requests import ShutdownRequests
from vacate.nodeagent.shutdownagent.kubelet import AgentPodLimits, shares_bucket
from vacate.nodeagent.view import AgentPod

log = logging.getLogger(__name__)

CALL_SECONDS = 5.0
RETRY_SECONDS = 0.5
MIRROR = "kubernetes.io/config.mirror"


@dataclass(slots=True)
class _Termination:
    """A pod that is to be deleted at `start` and gone at `end`, on the monotonic clock."""

    pod: ShutdownPod
    start: float
    end: float
    asked: float = math.inf  # the end that the API server knows of
    marked: bool = False  # it may have the condition DisruptionTarget
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class ApiPods:
    """Deletes with the time that the shutdown grants, never by force: what runs must be seen to end."""

    def __init__(
        self, client: Client, clock: Clock, pods: Informer[AgentPod], requests: ShutdownRequests, own_uid: str
    ) -> None:
        self._client = client
        self._clock = clock
        self._reader = pods.reader
        self._requests = requests
        self._own_uid = own_uid
        self._terminations: dict[str, _Termination] = {}
        self._unmarkings: dict[str, asyncio.Task[None]] = {}
        self._prepared: set[str] = set()
        self._changed: Callable[[], None] = lambda: None
        self._moved = asyncio.Event()
        self.beside: ShutdownConfig | None = (
            None  # the kubelet terminates pods itself: they are only prepared here
        )
        pods.subscribe(lambda _old, _new: self._notify())

    def known(self) -> bool:
        """What an agent that goes on with a shutdown needs is in the record of that."""
        return True

    def are_known(self) -> bool:
        """Whether the API server has listed the pods of the node."""
        return self._reader.synced

    def own_limits(self) -> AgentPodLimits:
        """What the pod of this agent says; the defaults where it is not among the pods of the node."""
        for pod in self._reader.list():
            if pod.metadata.uid == self._own_uid:
                return AgentPodLimits(pod.spec.priority or 0, pod.grace_seconds)
        return AgentPodLimits()

    def running(self) -> list[ShutdownPod]:
        """All but the agent's own, terminated ones, and static ones, which only the kubelet can end."""
        found = []
        for pod in self._reader.list():
            if pod.terminal or pod.metadata.uid == self._own_uid:
                continue
            if MIRROR in pod.metadata.annotations:
                log.info("pod %s is static: it terminates with the machine", _described(pod).key)
                continue
            described = _described(pod)
            if self.beside is None:
                found.append(described)
            elif described.interceptors and shares_bucket(described, self.beside):
                log.warning(
                    "pod %s is terminated without its interceptors: its priority %d puts it in the "
                    "agent's own bucket",
                    described.key, described.priority,
                )  # fmt: skip
            elif described.interceptors:
                # All the time is for preparation.
                found.append(replace(described, grace_seconds=0.0, prepare_only=True))
        return found

    def end(self, order: TerminatePod) -> None:
        """Begin to end it; interceptors are asked first, where they have time."""
        pod = order.pod
        if pod.prepare_only:
            if order.prepare > 0:
                done = self._mark_prepared(pod.uid)
                self._requests.request(pod, order.prepare, done, done)
            return
        now = self._clock.monotonic()
        self._schedule(pod, now + order.prepare, now + order.seconds)
        if order.prepare > 0:
            self._requests.request(pod, order.prepare, lambda: self._start_grace_now(pod))

    def cancel(self) -> None:
        """Spare what the API server was not asked to delete yet, and withdraw the requests."""
        for uid, termination in list(self._terminations.items()):
            if termination.asked == math.inf and termination.task is not None:
                termination.task.cancel()
                del self._terminations[uid]
                if termination.marked:
                    self._unmarkings[uid] = self._spawn(self._unmark(termination))
        self._prepared.clear()
        self._requests.withdraw_all()

    def gone(self, uids: Iterable[str]) -> set[str]:
        """Those that the API server has no more, or shows as ended. Without a list of its pods none is.

        One that was deleted is still to be removed by its kubelet, which needs the machine for that: an
        object that stays keeps the replacement of a StatefulSet's pod away while the machine is off.
        """
        if not self._reader.synced:
            return set()
        running = {
            one.metadata.uid for one in self._reader.list() if not one.terminal or _is_removed_soon(one)
        }
        return {uid for uid in uids if uid not in running or uid in self._prepared}

    def on_change(self, callback: Callable[[], None]) -> None:
        """Subscribe to every change of a pod."""
        self._changed = callback

    async def flush(self) -> None:
        """Wait until the kubelet has reported the end of every pod that was deleted."""
        while set(self._terminations) - self.gone(self._terminations):
            self._moved.clear()
            await self._moved.wait()

    def _notify(self) -> None:
        self._moved.set()
        self._changed()

    async def aclose(self) -> None:
        """Stop what is under way."""
        tasks = [one.task for one in self._terminations.values() if one.task is not None]
        tasks += self._unmarkings.values()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _mark_prepared(self, uid: str) -> Callable[[], None]:
        def mark() -> None:
            self._prepared.add(uid)
            self._changed()

        return mark

    def _start_grace_now(self, pod: ShutdownPod) -> None:
        """No interceptor comes: its own time begins now."""
        now = self._clock.monotonic()
        self._schedule(pod, now, now + pod.grace_seconds)

    def _schedule(self, pod: ShutdownPod, start: float, end: float) -> None:
        known = self._terminations.get(pod.uid)
        if known is None:
            if (unmarking := self._unmarkings.pop(pod.uid, None)) is not None:
                unmarking.cancel()
            known = self._terminations[pod.uid] = _Termination(pod, start, end)
            known.task = self._spawn(self._end(known))
            return
        known.start, known.end = min(known.start, start), min(known.end, end)
        known.changed.set()

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    async def _end(self, termination: _Termination) -> None:
        while (left := termination.start - self._clock.monotonic()) > 0:
            await self._wait(termination, left)
        termination.marked = True
        await self._mark_disrupted(termination.pod)
        while True:
            termination.changed.clear()
            if termination.end < termination.asked:
                try:
                    await self._delete(termination)
                except NotFound:
                    return
                except (VacateError, OSError, TimeoutError) as error:
                    if isinstance(error, Conflict) and not self._is_there(termination.pod):
                        return  # another pod has the name
                    why = str(error) or type(error).__name__
                    log.warning("pod %s cannot be deleted yet: %s", termination.pod.key, why)
                    await self._wait(termination, RETRY_SECONDS)
                    continue
            await termination.changed.wait()

    async def _wait(self, termination: _Termination, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await termination.changed.wait()
        except TimeoutError:
            return
        termination.changed.clear()

    def _is_there(self, pod: ShutdownPod) -> bool:
        found = self._reader.get(pod.namespace, pod.name)
        return found is not None and found.metadata.uid == pod.uid

    async def _delete(self, termination: _Termination) -> None:
        pod, end = termination.pod, termination.end
        grace = whole_seconds(min(end - self._clock.monotonic(), pod.grace_seconds))
        async with asyncio.timeout(CALL_SECONDS):
            await self._client.delete(
                PODS,
                pod.name,
                pod.namespace,
                DeleteOptions(grace_period_seconds=grace, uid=pod.uid, reason=EVICTION),
            )
        termination.asked = end

    async def _mark_disrupted(self, pod: ShutdownPod) -> None:
        """So that a Job does not count it as a failure of the program. Worth one attempt, and no delay."""
        found = self._reader.get(pod.namespace, pod.name)
        if found is None or found.metadata.uid != pod.uid or found.terminal:
            return
        target = disruption_target(found, SHUTDOWN.message, self._clock.now())
        change = {"metadata": {"uid": pod.uid}, "status": {"conditions": [target]}}
        try:
            async with asyncio.timeout(CALL_SECONDS):
                await self._client.patch(
                    PODS, pod.name, change, pod.namespace, patch_type=STRATEGIC_PATCH, subresource="status"
                )
        except (VacateError, OSError, TimeoutError) as error:
            log.info(
                "pod %s has no condition DisruptionTarget: %s", pod.key, str(error) or type(error).__name__
            )

    async def _unmark(self, termination: _Termination) -> None:
        """The shutdown was cancelled before the pod was deleted: it is no target of a disruption."""
        if termination.task is not None:
            await asyncio.wait([termination.task])  # a deletion may be under way
        pod = termination.pod
        while True:
            try:
                async with asyncio.timeout(CALL_SECONDS):
                    found = await self._client.get(PODS, pod.name, pod.namespace, into=AgentPod)
                    if found.metadata.uid != pod.uid or found.deleting or found.terminal:
                        return
                    gone = {"type": DISRUPTION_TARGET, "$patch": "delete"}
                    change = guarded(found.metadata, {"status": {"conditions": [gone]}})
                    await self._client.patch(
                        PODS, pod.name, change, pod.namespace,
                        patch_type=STRATEGIC_PATCH, subresource="status",
                    )  # fmt: skip
                return
            except NotFound:
                return
            except (VacateError, OSError, TimeoutError) as error:
                log.info(
                    "pod %s keeps its condition for now: %s", pod.key, str(error) or type(error).__name__
                )
            await self._clock.sleep(RETRY_SECONDS)


def whole_seconds(left: float) -> int:
    """PURE. The grace period of a deletion: to the nearest second, since the calls before it took a moment.

    At least 1: 0 would remove the object while its containers run.
    """
    return max(round(left), 1)


def _described(pod: AgentPod) -> ShutdownPod:
    meta, priority = pod.metadata, pod.spec.priority or 0
    return ShutdownPod(
        meta.uid, meta.namespace, meta.name, priority, pod.grace_seconds, has_interceptors(pod)
    )


def _is_removed_soon(pod: AgentPod) -> bool:
    return pod.deleting and not pod.metadata.finalizers
