"""One run of `vacate evict`: request the evictions, wait where wanted, print the results."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import msgspec

from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objects import Obj
from vacate.api.options import ListOptions
from vacate.api.text import plain
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import (
    ADMITTED_STAMP,
    EvictionRequest,
)
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.events import REQUESTED, note
from vacate.cli.common.exitcodes import (
    CANCELLED,
    TIMED_OUT,
    UNPREPARED,
    complain,
    each,
)
from vacate.cli.common.managerwatch import ManagerWatch, watching
from vacate.cli.common.output import print_object, print_objects
from vacate.cli.common.program import program_name
from vacate.cli.common.queries import evictions_of
from vacate.cli.common.remedies import not_found_in
from vacate.cli.evict.progress import shown_progress
from vacate.cli.evict.selection import (
    Selection,
)
from vacate.cli.evict.targets import shown_name
from vacate.errors import ApiError, NotFound, TooManyRequests, TransportError, VacateError
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.model import CompletionReason
from vacate.eviction.records.reader import shown_stage
from vacate.sdk import EvictionRefused, HeldByFinalizers, Requester, Result, TurnResult
from vacate.sdk.requesters.requests import has_requester
from vacate.views.managerhealth import Unattended, unattended_request, waiting_requests
from vacate.views.phrases import command_line, listed, span
from vacate.views.progress import forced_outcome

_RETRY_SECONDS = 5.0  # as kubectl drain
_WATCHES = 64  # each pod that is waited for holds a connection
_ENDS = {
    CompletionReason.POD_DELETED: "evicted",
    CompletionReason.POD_TERMINATED: "terminated",
    CompletionReason.CANCELLED: "not evicted: the request was cancelled",
}


@dataclass(frozen=True, slots=True)
class EvictOptions:
    """The options of the command."""

    reason: str = ""
    deadline: dt.timedelta | None = None
    wait: bool = False
    timeout: dt.timedelta | None = None
    output: str = ""


class Eviction:
    """One call of the command."""

    def __init__(self, cluster: Cluster, requester: Requester, options: EvictOptions) -> None:
        self._cluster = cluster
        self._requester = requester
        self._options = options
        self._slots = asyncio.Semaphore(_WATCHES)
        self._found: dict[str, Pod] = {}  # by the name that is shown: the pods that were selected
        self._unchanged: set[str] = set()  # pods that this requester had requested before

    async def run(self, names: tuple[str, ...], found: Selection) -> list[int]:
        """Request, wait where wanted, print the results; the exit codes of all pods."""
        self._found = {shown_name(self._cluster, pod): pod for pod in found.pods}
        pods = tuple(dict.fromkeys((*names, *self._found)))
        codes: list[int] = []
        requests: dict[str, EvictionRequest] = {}
        for pod, requested in await each(pods, self._request):
            if isinstance(requested, VacateError):
                codes.append(complain(pod, requested))
                continue
            if requested is None:
                continue  # evicted past one that is over
            requests[pod] = requested
            self._say(pod, how_requested(requested, self._requester.name, again=pod in self._unchanged))
        if self._options.wait:
            async with self._progress(requests), watching(self._manager(requests)):
                codes += await asyncio.gather(*(self._wait(pod, requests) for pod in list(requests)))
        if self._options.output:
            self._print([_object(one) for one in requests.values()], single=len(pods) == 1)
        return codes

    def _namespace(self, pod: str) -> str:
        return self._found[pod].metadata.namespace if pod in self._found else self._cluster.namespace

    def _progress(self, requests: dict[str, EvictionRequest]) -> AbstractAsyncContextManager[None]:
        if self._options.output or not requests:
            return contextlib.nullcontext()
        names = {one.pod_uid: pod for pod, one in requests.items()}
        spaces = {self._namespace(pod) for pod in requests}
        namespace = spaces.pop() if len(spaces) == 1 else ""
        return shown_progress(self._cluster, names, self._requester.dialect, namespace)

    def _manager(self, requests: dict[str, EvictionRequest]) -> ManagerWatch:
        waiting = [one for one in requests.values() if not one.complete]

        async def unattended() -> Unattended | None:
            """The request that has waited for longest, until one of them was seen to be attended to."""
            found = unattended_request(waiting)
            if found is None:
                return None
            with contextlib.suppress(VacateError):
                waiting[:] = [now for one in waiting if (now := await self._requester.find(one)) is not None]
            return unattended_request(waiting)

        async def going() -> list[Unattended]:
            """The requests that go on, in which what is reported may be refused."""
            going = [one for one in requests.values() if not one.complete]
            if self._requester.dialect is LIFECYCLE:
                with contextlib.suppress(VacateError):
                    going += await evictions_of(self._cluster, going)
            return waiting_requests(going)

        return ManagerWatch(self._cluster, unattended, waiting=going)

    async def _request(self, pod: str) -> EvictionRequest | None:
        deadline = self._options.deadline
        seconds = None if deadline is None else int(deadline.total_seconds())
        reason, own = self._options.reason, self._requester.name
        namespace = self._namespace(pod)
        # Of a pod that was selected, that very pod is meant, and not one that got its name meanwhile.
        ref: Pod | str = self._found.get(pod, pod)
        before = await self._requester.find(ref, namespace)
        try:
            request = await self._requester.request(ref, namespace, reason=reason, deadline_seconds=seconds)
        except NotFound as error:
            raise not_found_in(error, namespace) from error
        except HeldByFinalizers as held:
            await self._evict_past(pod, ref, held)
            return None
        if before is not None and before.metadata.uid == request.metadata.uid and has_requester(before, own):
            self._unchanged.add(pod)
        if reason:
            message = f"{own} requested the eviction of pod {pod}: {reason}"
            await note(self._cluster, request, REQUESTED, message)
        return request

    async def _evict_past(self, pod: str, ref: Pod | str, held: HeldByFinalizers) -> None:
        """Evict the pod although no request can be made for it; with --wait as soon as budgets allow it."""
        wait, timeout = self._options.wait, self._options.timeout
        end = None if timeout is None else self._requester.clock.monotonic() + timeout.total_seconds()
        while True:
            try:
                await self._requester.evict_past(ref, self._namespace(pod), wait=wait)
                break
            except (ApiError, TransportError) as error:
                now = self._requester.clock.monotonic()
                if not wait or not isinstance(error, TooManyRequests) or (end is not None and now >= end):
                    raise EvictionRefused(f"{held}; the eviction past it is refused: {error}") from error
            await self._requester.clock.sleep(_RETRY_SECONDS)
        self._say(pod, "evicted past its interceptors")
        terminal.error(f"pod/{pod}: {held}")

    async def _wait(self, pod: str, requests: dict[str, EvictionRequest]) -> int:
        timeout = self._options.timeout
        seconds = None if timeout is None else timeout.total_seconds()
        try:
            async with asyncio.timeout(seconds), self._slots:
                result = await self._requester.wait(requests[pod])
        except TimeoutError:
            return await self._late(pod, requests)
        except VacateError as error:
            return complain(pod, error)
        requests[pod] = result.request or requests[pod]
        self._say(pod, self._requester.dialect.phrase(_ended(result)))
        for line in unprepared(result, self._requester.dialect.terms.interceptor):
            terminal.error(f"pod/{pod}: {line}")
        if not result.pod_ended:
            return CANCELLED
        return UNPREPARED if result.failures else 0

    async def _late(self, pod: str, requests: dict[str, EvictionRequest]) -> int:
        now = await self._requester.find(requests[pod]) or requests[pod]
        requests[pod] = now
        waited = span(self._options.timeout or dt.timedelta())
        name = pod.rpartition("/")[2]
        explain = command_line(program_name(), "explain", name, "-n", self._namespace(pod))
        process = await self._process(now)
        stage = f" (stage {shown_stage(process)})" if process is not None else ""
        late = f"not evicted within {waited}{stage}; the request continues"
        terminal.echo(f"pod/{pod} {self._requester.dialect.phrase(late)}; see: {explain}", err=True)
        return TIMED_OUT

    async def _process(self, request: EvictionRequest) -> EvictionRequest | None:
        """The one that knows the turns, which is another object where each requester has its own."""
        dialect, ref = self._requester.dialect, request.spec.target.pod_ref
        if dialect.for_requester(self._requester.name).kind == dialect.kind:
            return request
        taking_part = ListOptions(label_selector=self._requester.name)
        with contextlib.suppress(VacateError):
            found = await self._cluster.client.list(
                dialect.kind, request.metadata.namespace, taking_part, into=dialect.wire
            )
            records = [dialect.read(one) for one in found.items]
            mine = [one for one in records if one.spec.target.pod_ref == ref and not one.complete]
            return next(iter(mine), None)
        return None

    def _say(self, pod: str, text: str) -> None:
        if not self._options.output:
            terminal.echo(f"pod/{pod} {text}")

    def _print(self, objs: list[Obj], *, single: bool) -> None:
        if single and objs:
            print_object(objs[0], self._options.output)
        elif not single:
            print_objects(objs, self._options.output)


def how_requested(request: EvictionRequest, own: str, *, again: bool = False) -> str:
    """The result of a request, as the rest of a sentence that begins with the pod.

    `again`: the same requester had requested it before, so that nothing was changed.
    """
    names = [one.name for one in request.spec.requesters]
    if own not in names:
        requesters = listed(names) or "others"
        return f"eviction already requested by {requesters}; it can no longer be joined or cancelled"
    others = [name for name in names if name != own]
    text = f"eviction requested, also by {listed(others)}" if others else "eviction requested"
    if again:
        text = f"eviction already requested by {listed([own, *others])}"
    if ADMITTED_STAMP not in request.metadata.annotations:
        return f"{text}, but it did not pass Vacate's admission and is not processed"
    if again:
        return f"{text}; nothing changed"
    first = request.spec.interceptors[-1].name if request.spec.interceptors else ""
    called = dialect_of(request).terms.interceptor
    return f"{text}; first {called}: {first}" if first else text


def _ended(result: Result) -> str:
    text = _ENDS[result.reason]
    if result.reason is CompletionReason.CANCELLED and result.message:
        return f"{text} ({result.message.rstrip('.')})"
    past = forced_outcome(result.request) if result.request and result.pod_ended else ""
    return past or text


def unprepared(result: Result, called: str = "interceptor") -> list[str]:
    """A sentence for each interceptor that failed or timed out: the pod was evicted unprepared."""
    how = {
        TurnResult.FAILED: "failed",
        TurnResult.TIMED_OUT: "timed out",
        TurnResult.NEVER_RESPONDED: "timed out without responding",
    }
    return [
        f"{called} {turn.interceptor} {how[turn.result]}"
        + (f" ({plain(turn.message).rstrip('.')})" if turn.message else "")
        + "; it did not prepare the pod"
        for turn in result.failures
    ]


def _object(request: EvictionRequest) -> Obj:
    return {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        **msgspec.to_builtins(request),
    }
