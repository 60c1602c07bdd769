"""Eviction requests for pods with interceptors: made when their bucket begins, withdrawn on cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from vacate.api.times import format_time
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import SHUTDOWN_DEADLINE, EvictionRequest
from vacate.api.types.meta import ObjectMeta
from vacate.client.client import Client
from vacate.client.hedging import HEDGE_AFTER_SECONDS, first_answer
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import ApiError, Conflict, Forbidden, NotFound, TransportError, VacateError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import DIALECTS, OWN_DIALECTS, dialect_of
from vacate.eviction.requesternames import fitted_requester
from vacate.kube.patches import guarded
from vacate.nodeagent.shutdown.buckets import ShutdownPod
from vacate.runtime.dependencies import InformerFactory
from vacate.runtime.podrequests import read_process
from vacate.runtime.tasks import TaskSet
from vacate.sdk.errors import CancellationForbidden
from vacate.sdk.requesters.requester import Requester

log = logging.getLogger(__name__)

REQUESTER_SUFFIX = "shutdown.vacate.dev"
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 1.0, 30.0


@dataclass(eq=False)
class ShutdownRequests:
    """The node as a requester."""

    client: Client
    clock: Clock
    entropy: Entropy
    node: str
    role: str = ""  # to bind to the node where it may not request evictions
    dialect: Dialect = EVICTION_REQUEST  # the API in which new requests are made
    _made: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _tasks: TaskSet = field(default_factory=TaskSet)
    _withdrawing: asyncio.Task[None] | None = None

    def request(
        self,
        pod: ShutdownPod,
        seconds: float,
        refused: Callable[[], None],
        prepared: Callable[[], None] | None = None,
    ) -> None:
        """Request the pod's eviction in the background, with the time by which it is ended anyway.

        `prepared` is called when every interceptor has had its turn, `refused` when none will have one.
        An API server that is slow, busy or away has not refused: it is asked until the time is over.
        """
        if self._withdrawing is not None:
            self._withdrawing.cancel()  # of a shutdown before this one; what is left of it counts again
            self._withdrawing = None
        if pod.uid not in self._made:
            self._made[pod.uid] = self._tasks.spawn(self._request(pod, seconds, refused, prepared))

    def withdraw_all(self) -> None:
        """No shutdown is under way: take back what was requested, also by an earlier agent of this node.

        In the background, and until the API server has heard it.
        """
        made, self._made = list(self._made.values()), {}
        if self._withdrawing is not None:
            self._withdrawing.cancel()
        self._withdrawing = self._tasks.spawn(self._withdraw_all(made))

    async def aclose(self) -> None:
        """Stop what is under way."""
        await self._tasks.cancel()

    async def _request(
        self,
        pod: ShutdownPod,
        seconds: float,
        refused: Callable[[], None],
        prepared: Callable[[], None] | None,
    ) -> None:
        at = format_time(self.clock.now() + dt.timedelta(seconds=seconds))
        end, pause, made = self.clock.monotonic() + seconds, FIRST_RETRY_SECONDS, list[EvictionRequest]()
        while (left := end - self.clock.monotonic()) > 0:
            try:
                async with asyncio.timeout(left):
                    request = await first_answer(lambda: self._ask(pod, at, made))
                log.info("the eviction of pod %s is requested; it is terminated at %s", pod.key, at)
                if prepared is not None:
                    await self._until_prepared(request)
                    log.info("pod %s is prepared by its interceptors", pod.key)
                    prepared()
                return
            except (VacateError, OSError) as error:
                why = str(error) or type(error).__name__
                if self.role and isinstance(error, Forbidden):
                    why += f"; bind the ClusterRole {self.role} to the identity of this node"
                # From the request on its interceptors may be at work.
                if not made and not _is_passing(error):
                    log.warning("pod %s is terminated without its interceptors: %s", pod.key, why)
                    self._made.pop(pod.uid, None)
                    refused()
                    return
                what = (
                    "how far it is prepared is not known" if made else "its interceptors were not asked yet"
                )
                log.warning("pod %s is terminated at %s; %s: %s", pod.key, at, what, why)
            await self.clock.sleep(min(pause, max(end - self.clock.monotonic(), 0.0)))
            pause = min(2 * pause, HEDGE_AFTER_SECONDS)

    async def _ask(self, pod: ShutdownPod, at: str, made: list[EvictionRequest]) -> EvictionRequest:
        reason = f"node {self.node} is shutting down; the pod is terminated at {at}"
        while True:
            made.append(await self._make(pod, reason))
            try:
                await self._annotate(made[-1], at)
                return made[-1]
            except Conflict as error:  # its interceptors are at work already
                if error.is_refusal:
                    raise

    async def _withdraw_all(self, made: list[asyncio.Task[None]]) -> None:
        for task in made:
            task.cancel()  # else a request could be made after it was looked for
        if made:
            await asyncio.wait(made)
        pause = FIRST_RETRY_SECONDS
        while True:
            try:
                for request in await self._requested():
                    await self._withdraw(request)
                return
            except Forbidden as error:
                log.info("eviction requests of this node, if there are any, stay: %s", error)
                return
            except (VacateError, OSError) as error:
                why = str(error) or type(error).__name__
                log.warning("eviction requests of this node cannot be withdrawn yet: %s", why)
            await self.clock.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_SECONDS)

    async def _until_prepared(self, made: EvictionRequest) -> None:
        """Return when interceptors have nothing left to do."""
        dialect = dialect_of(made)
        requester = self._requester(dialect)
        if made.kind in DIALECTS:
            async for one in requester.follow(made):
                if _is_prepared(one):
                    return
            return
        # The process is another object than the request, and has the names of its requesters as labels.
        process = next(one for one in DIALECTS.values() if one.for_requester("").kind == made.kind)
        namespace, ref = made.metadata.namespace, made.spec.target.pod_ref
        informer = InformerFactory(self.client, self.clock, self.entropy).requests(
            process, namespace=namespace, label_selector=requester.name
        )
        prepared = asyncio.Event()

        def look(_: EvictionRequest | None, one: EvictionRequest | None) -> None:
            if one is not None and one.spec.target.pod_ref == ref and _is_prepared(one):
                prepared.set()

        informer.subscribe(look)
        running = asyncio.get_running_loop().create_task(informer.run())
        try:
            await prepared.wait()
        finally:
            running.cancel()
            await asyncio.wait([running])

    async def _make(self, ended: ShutdownPod, reason: str) -> EvictionRequest:
        """Create the request, or join the one that goes on, by whichever API: a pod has one."""
        # And no other that has its name meanwhile.
        pod = Pod(ObjectMeta(name=ended.name, namespace=ended.namespace, uid=ended.uid))
        preferred = LIFECYCLE if ended.responders_only else self.dialect
        preferred = await self._going(pod, ended) or preferred
        try:
            return await self._requester(preferred).request(pod, reason=reason)
        except NotFound as error:
            if error.details.get("name") or preferred is LIFECYCLE:
                raise
            return await self._requester(LIFECYCLE).request(pod, reason=reason)  # what is served instead
        except Forbidden:
            for other in self._others():
                requester = self._requester(other)
                with contextlib.suppress(Forbidden):  # an API that is none of this node's
                    found = await requester.find(pod)
                    if found is not None and not found.complete:
                        return await requester.request(pod, reason=reason)
            raise

    async def _going(self, pod: Pod, ended: ShutdownPod) -> Dialect | None:
        """The API by which interceptors of the pod have turns already, where that is not the preferred one.

        A request beside theirs would wait for them, and they would not learn when the pod ends. Of its own
        kinds Vacate has one request for a pod, but lifecycle.k8s.io knows nothing of that.
        """
        if ended.responders_only or (self.dialect is not LIFECYCLE and not ended.responder):
            return None
        for other in (LIFECYCLE,) if self.dialect is not LIFECYCLE else OWN_DIALECTS:
            with contextlib.suppress(NotFound, Forbidden):  # not served, or none of this node's
                if other is LIFECYCLE:
                    name = ended.responder
                    found = await read_process(self.client, other, ended.namespace, ended.uid, name)
                else:
                    found = await self._requester(other).find(pod)
                if found is not None and not other.settled(found) and not _is_prepared(found):
                    return other
        return None

    async def _annotate(self, request: EvictionRequest, deadline: str | None) -> None:
        """Only upon the version that was read: a copy that arrives late must not name an old deadline."""
        meta, change = request.metadata, {"metadata": {"annotations": {SHUTDOWN_DEADLINE: deadline}}}
        await self.client.patch(request.kind, meta.name, guarded(meta, change), meta.namespace)

    async def _withdraw(self, request: EvictionRequest) -> None:
        key = f"{request.metadata.namespace}/{request.pod_name or request.metadata.name}"
        # First, since others may want the request to go on: its interceptors are in no hurry any more.
        with contextlib.suppress(NotFound):
            await self._annotate(request, None)
        try:
            if await self._requester(dialect_of(request)).withdraw(request):
                log.info("the eviction request of pod %s is withdrawn", key)
        except CancellationForbidden as error:
            log.warning("the eviction request of pod %s stays: %s", key, error)

    async def _requested(self) -> list[EvictionRequest]:
        """The requests in the name of this node, by either API."""
        found: list[EvictionRequest] = []
        for one in (self.dialect, *self._others()):
            name = self._requester(one).name
            own = one.for_requester(name)
            try:
                listing = await self.client.list(own.kind, into=own.wire)
            except NotFound:
                continue  # not served
            except Forbidden:
                if one is self.dialect:
                    raise
            else:
                requests = [own.read(item) for item in listing.items]
                found += [it for it in requests if any(who.name == name for who in it.spec.requesters)]
        return found

    def _others(self) -> list[Dialect]:
        return [one for one in DIALECTS.values() if one is not self.dialect]

    def _requester(self, dialect: Dialect) -> Requester:
        name = fitted_requester(self.node, REQUESTER_SUFFIX, dialect.max_requester)
        return Requester(self.client, name, clock=self.clock, dialect=dialect)


def _is_passing(error: Exception) -> bool:
    """Whether the server has not said that the pod's eviction cannot be requested."""
    return error.is_passing if isinstance(error, ApiError) else isinstance(error, (TransportError, OSError))


def _is_prepared(request: EvictionRequest) -> bool:
    """Whether interceptors have nothing left to do: the last has completed, or eviction is under way."""
    dialect, status, listed = dialect_of(request), request.status, request.spec.interceptors
    if dialect.settled(request):
        return request.complete  # else it has not begun
    if (
        request.complete
        or status.pod_eviction_status is not None
        or not dialect.process(request).interceptors
    ):
        return True
    return status.active_interceptor_completed and status.active_interceptor_name == listed[0].name
