"""The eviction bridge at work: reads what a decision needs, makes or joins the request, records the caller.

Nothing is written for a caller before the API server is known to let that caller evict. The check for that is
made before the first write for a pod and a caller, and not for retries.

The answer never depends on what is slow: a lookup, a check or a request that takes long goes on behind it,
and the caller is asked to try again. Were it dropped, no request would be made on a cluster that is busy
enough, however often callers try. So it is where a request to the cluster is lost or fails for the moment. A
write that is refused for good, or fails for minutes, must not block a drain for ever: then the eviction
passes, with a warning.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
from collections.abc import Awaitable, Callable

import msgspec

from vacate.admission.pods.bridge import (
    BridgeConfig,
    Decision,
    EvictionReview,
    Gone,
    Lookup,
    LookupResults,
    Pass,
    Wait,
    decide_review,
    refusal,
)
from vacate.api.kinds import EVICTIONREQUESTS, Kind
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    NotFound,
    ServiceUnavailable,
    TransportError,
    Unauthorized,
)
from vacate.eviction.callers import (
    CALLERS,
    POD_LABEL,
    callers_of,
    pod_label,
    written_callers,
)
from vacate.eviction.pins import Pin
from vacate.eviction.records.reader import is_superseded
from vacate.metrics import Metrics
from vacate.sdk.requesters.requests import new_request
from vacate.views.bridge import (
    pinned_message,
    requested_message,
    terminating_message,
    unchecked_message,
    unmade_message,
    waiting_message,
)
from vacate.webhook.bridgeanswers import BridgeAnswer, BridgeBypasses, gone, without_time
from vacate.webhook.bridgehealth import BridgeHealth, ManagerWatch, is_passing
from vacate.webhook.bridgereader import BridgeReader
from vacate.webhook.callercheck import CHECK_SECONDS, PendingChecks
from vacate.webhook.callerwriter import WRITE_SECONDS, CallerWriter

_log = logging.getLogger(__name__)

BRIDGE_GATE = "EvictionBridge"
"""The feature gate, on the embedded server and in the webhook."""

LOOKUP_SECONDS = 1.1
"""How long may be looked things up for an answer."""

ANSWER_SECONDS = 1.6
"""After how long nothing is tried again; API servers wait two seconds for the answer. The rest is for what
the webhook cannot see: connections, handshakes, and reviews that wait for the event loop."""

Check = Callable[[Kind], Awaitable[None]]
"""Returns where the caller may have a request of this kind made; else raises what the caller is answered."""

_Lookup = asyncio.Task[tuple[LookupResults, Decision]]

LATE_SECONDS = 10.0
"""How long a lookup goes on whose caller was asked to try again."""

_LOOKUPS = 16  # evictions that are looked up at once: more of them would only be slower each
_MAX_LATE = 1_000
_MAKES = 4  # requests that are made at once: the lookups for others go first, and so do their own reviews
_MAX_ATTEMPTS, _PAUSE_SECONDS = 5, 0.02


class EvictionBridge:
    """Answers direct evictions."""

    def __init__(self, client: Client, clock: Clock, metrics: Metrics, *, embedded: bool = False) -> None:
        """`embedded`: in the server of `vacate up`, where other commands help than in an installation."""
        self._client = client
        self._reader = BridgeReader(client)
        self._clock = clock
        self._room = asyncio.Semaphore(_LOOKUPS)
        self._makes = asyncio.Semaphore(_MAKES)
        self._health = BridgeHealth(clock)
        self._manager = ManagerWatch(client, clock, embedded=embedded)
        self._making: dict[tuple[str, str], asyncio.Task[None]] = {}  # by pod's uid and requester
        self._callers = CallerWriter(client, self._reader, clock)
        self._checks = PendingChecks(clock)
        self._bypasses = BridgeBypasses(client, clock, metrics)
        self._late: dict[tuple[str, str, str], asyncio.Task[None]] = {}  # by namespace, pod and user

    async def answer(self, review: EvictionReview, config: BridgeConfig, check: Check) -> BridgeAnswer:
        """The answer. An ApiError or TransportError where the cluster has not answered for a while.

        A drain asks for all pods of a node at once. None may slip past its interceptors because that takes
        too long: as long as the cluster answers at all, the caller is asked to try again.
        """
        began = self._clock.monotonic()
        late = self._late.get((review.namespace, review.name, review.user.name))
        if late is not None:  # a second lookup beside it would make both slower
            await asyncio.wait({late}, timeout=LOOKUP_SECONDS)
            if not late.done():
                return self._busy(review)
        for number in range(_MAX_ATTEMPTS):
            # What a server has taken and not yet shown comes as a conflict: it needs a moment.
            await self._clock.sleep(number * _PAUSE_SECONDS)
            left = began + ANSWER_SECONDS - WRITE_SECONDS - self._clock.monotonic()
            if left <= 0:
                break
            lookup = asyncio.create_task(self._decided(review, config))
            try:
                await asyncio.wait({lookup}, timeout=min(LOOKUP_SECONDS, left))
                if not lookup.done():
                    self._go_on(review, config, check, lookup)
                    return self._busy(review)
                known, decision = lookup.result()
            except asyncio.CancelledError:
                lookup.cancel()
                raise
            except (ApiError, TransportError) as error:
                if not is_passing(error) or not self._health.is_busy():
                    raise
                continue  # one of many that succeed
            try:
                end = began + ANSWER_SECONDS - WRITE_SECONDS
                answer = await self._checked(review, known, decision, config, check, end)
                return answer or await self._carried_out(review, known, decision, config)
            except (AlreadyExists, Conflict, NotFound):
                continue  # another writer was faster: its result is read
        return self._busy(review)

    async def aclose(self) -> None:
        """Record what callers have heard, for a moment; then drop what is under way."""
        await self._callers.aclose()
        await self._checks.aclose()
        tasks = [*self._late.values(), *self._making.values(), *self._bypasses.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _busy(self, review: EvictionReview) -> BridgeAnswer:
        if not self._health.is_busy():
            raise ServiceUnavailable("the cluster does not answer")
        return BridgeAnswer(
            refusal(f"whether pod/{review.name} has interceptors was not known in time: try again")
        )

    async def _decided(self, review: EvictionReview, config: BridgeConfig) -> tuple[LookupResults, Decision]:
        known = LookupResults()
        async with self._room:
            while True:
                decision = decide_review(review, known, config, self._clock.now())
                if not isinstance(decision, Lookup):
                    return known, decision
                known = await self._reader.more(known, decision, review, config)
                self._health.answered()

    def _go_on(self, review: EvictionReview, config: BridgeConfig, check: Check, lookup: _Lookup) -> None:
        """Let a lookup end behind the answer, one for each pod and caller."""
        key = review.namespace, review.name, review.user.name
        if key in self._late or len(self._late) >= _MAX_LATE:
            lookup.cancel()
            return
        task = asyncio.create_task(self._made_late(review, config, check, lookup))
        self._late[key] = task
        task.add_done_callback(lambda _: self._late.pop(key))

    async def _made_late(
        self, review: EvictionReview, config: BridgeConfig, check: Check, lookup: _Lookup
    ) -> None:
        """Make or join the request that a late lookup asks for.

        Whatever else it says is left to the next attempt: the pod may be another by then.
        """
        try:
            async with asyncio.timeout(LATE_SECONDS):
                known, decision = await lookup
            pod = known.pod
            if not isinstance(decision, Wait) or not isinstance(pod, dict):
                return
            kind, request, old = _kind(pod, decision, config), decision.request, decision.replaced
            if not await self._is_allowed(review, pod, decision, kind, check, CHECK_SECONDS):
                return
            if request is not None:
                await self._callers.join(review, request, config, self._clock.now())
            elif old is None or _is_replaceable(old):
                self._making_of(review, pod, old, config)
        except (ApiError, TransportError, TimeoutError) as error:
            _log.info("the eviction of pod %s is not known yet: %s", review.name, error)

    async def _checked(
        self,
        review: EvictionReview,
        known: LookupResults,
        decision: Decision,
        config: BridgeConfig,
        check: Check,
        end: float,
    ) -> BridgeAnswer | None:
        """What the caller hears before anything is written for it; None where it may evict."""
        pod = known.pod
        if not isinstance(decision, Wait) or not isinstance(pod, dict):
            return None
        kind = _kind(pod, decision, config)
        key = pod["metadata"]["uid"], review.requester(kind)
        try:
            if await self._is_allowed(review, pod, decision, kind, check, end - self._clock.monotonic()):
                return None
            return self._unchecked(review, pod, key, None)
        except ApiError as error:
            if _is_final(error):
                self._health.made(key)  # nothing is left to be made
                return BridgeAnswer(without_time(error))
            return self._unchecked(review, pod, key, error)
        except (TransportError, TimeoutError) as error:
            return self._unchecked(review, pod, key, error)

    async def _is_allowed(
        self, review: EvictionReview, pod: Obj, decision: Wait, kind: Kind, check: Check, seconds: float
    ) -> bool:
        """Whether it is known in time that the caller may evict; raises what it is answered where it may not.

        Only the bridge writes the record of callers: each caller in it has been checked.
        """
        request, requester = decision.request, review.requester(kind)
        if request is not None and requester in callers_of(request.metadata.annotations):
            return True
        key = pod["metadata"]["uid"], requester
        return key in self._making or await self._checks.result(key, lambda: check(kind), seconds)

    def _unchecked(
        self, review: EvictionReview, pod: Obj, key: tuple[str, str], error: Exception | None
    ) -> BridgeAnswer:
        """It is not known for the moment whether the caller may evict."""
        if error is not None:
            self._health.unmade(key)
        why = str(error or "") or "the API server, or a webhook that it asks, has not answered yet"
        if self._health.may_be_made_later(key, error):
            return BridgeAnswer(refusal(unchecked_message(review.name, review.user.name, why)))
        return self._given_up(review, pod, why)

    async def _carried_out(
        self, review: EvictionReview, known: LookupResults, decision: Decision, config: BridgeConfig
    ) -> BridgeAnswer:
        now = self._clock.now()
        pod = known.pod if isinstance(known.pod, dict) else None
        match decision:
            case Pass(request=EvictionRequest() as request, final=final):
                # Behind the answer: the sooner the eviction goes on, the less can the pod be another by then.
                self._callers.record_later(review, request, config, pod, final=final)
                return BridgeAnswer()
            case Gone(request):
                await self._callers.record(review, request, config, answered=True)
                return BridgeAnswer(gone(review, request))
            case Pass(pin=Pin() as pin):
                return self._bypasses.answer(
                    pod, pinned_message(review.namespace, review.name, pin, now), "pinned"
                )
            case Wait(request=EvictionRequest() as request, process=process):
                unjoined = await self._callers.join(review, request, config, now)
                shown = process or request
                manager = await self._manager.health(shown, now)
                message = waiting_message(shown, now, manager=manager.line, unjoined=unjoined, pod=pod)
                return BridgeAnswer(refusal(message))
            case Wait(replaced=EvictionRequest() as over) if not _is_replaceable(over):
                manager = await self._manager.health(over, now)
                return BridgeAnswer(refusal(terminating_message(over, now, manager=manager.line)))
            case Wait(replaced=old, process=process) if pod is not None:
                return await self._make(review, pod, old, process, config)
            case _:
                return BridgeAnswer()

    async def _make(
        self,
        review: EvictionReview,
        pod: Obj,
        old: EvictionRequest | None,
        process: EvictionRequest | None,
        config: BridgeConfig,
    ) -> BridgeAnswer:
        """Make the request, as long as the caller can wait; the rest of it goes on behind the answer."""
        key = pod["metadata"]["uid"], review.requester(config.dialect_for(pod).kind)
        task = self._making_of(review, pod, old, config)
        await asyncio.wait({task}, timeout=WRITE_SECONDS)
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, Conflict | AlreadyExists):
                raise error
            if isinstance(error, ApiError | TransportError):
                if self._health.may_be_made_later(key, error):
                    return BridgeAnswer(refusal(unmade_message(review.name, str(error))))
                return self._given_up(review, pod, str(error))
            raise error
        if not task.done() and not self._health.may_be_made_later(key):
            return self._given_up(review, pod, "the cluster has not answered for a while")
        if process is not None:
            return BridgeAnswer(refusal(waiting_message(process, self._clock.now())))
        dialect = config.dialect_for(pod)
        names = dialect.registration(pod, config.allowed_interceptors).interceptors
        message = dialect.phrase(requested_message(review.namespace, review.name, names))
        return BridgeAnswer(refusal(message))

    def _making_of(
        self, review: EvictionReview, pod: Obj, old: EvictionRequest | None, config: BridgeConfig
    ) -> asyncio.Task[None]:
        """The task that makes the request, which goes on even if no caller waits for it any more."""
        key = pod["metadata"]["uid"], review.requester(config.dialect_for(pod).kind)
        task = self._making.get(key)
        if task is None:
            task = asyncio.create_task(self._made(review, pod, old, config, self._clock.now()))
            self._making[key] = task
            task.add_done_callback(lambda done: self._forget(key, done))
        return task

    async def _made(
        self,
        review: EvictionReview,
        pod: Obj,
        old: EvictionRequest | None,
        config: BridgeConfig,
        now: dt.datetime,
    ) -> None:
        if old is not None:
            meta = old.metadata
            with contextlib.suppress(NotFound):
                await self._client.delete(old.kind, meta.name, meta.namespace, DeleteOptions(uid=meta.uid))
        requester = review.requester(config.dialect_for(pod).kind)
        dialect = config.dialect_for(pod).for_requester(requester)
        reason = f"eviction through the API by {review.user.name}"
        made = new_request(msgspec.convert(pod, Pod), requester, reason, dialect=dialect)
        if dialect.kind == EVICTIONREQUESTS:
            # No owner: it outlives the pod for as long as its callers may ask for it.
            made["metadata"].pop("ownerReferences", None)
            made["metadata"]["labels"] = {POD_LABEL: pod_label(review.name)}
        callers = {requester: review.attempted(now, config.wait)}
        made["metadata"].setdefault("annotations", {})[CALLERS] = written_callers(callers)
        async with self._makes:
            await self._client.create(dialect.kind, made, review.namespace)

    def _forget(self, key: tuple[str, str], done: asyncio.Task[None]) -> None:
        self._making.pop(key, None)
        if done.cancelled():
            return
        # A caller that waits has it too; where none waits, the next attempt learns that it failed.
        error = done.exception()
        if error is None or isinstance(error, Conflict | AlreadyExists):
            self._health.made(key)
        else:
            self._health.unmade(key)

    def _given_up(self, review: EvictionReview, pod: Obj | None, error: str) -> BridgeAnswer:
        why = f"it could not be requested for them: {error}"
        text = f"pod/{review.name} is evicted past its interceptors: {why}"
        return self._bypasses.answer(pod, text, "unrequested")


def _kind(pod: Obj, decision: Wait, config: BridgeConfig) -> Kind:
    """Of the request that the eviction waits for, or will."""
    request = decision.request
    return request.kind if request is not None else config.dialect_for(pod).for_requester("").kind


def _is_replaceable(request: EvictionRequest) -> bool:
    """Whether it may be deleted for another: it is not deleted, and the controller does not replace it."""
    return request.complete and request.metadata.deletion_timestamp is None and not is_superseded(request)


def _is_final(error: ApiError) -> bool:
    """Whether it is an answer to the caller; 401 is one to us."""
    return 400 <= error.status_code < 500 and not isinstance(error, Unauthorized)
