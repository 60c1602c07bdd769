"""`vacate evict`: ask pods to leave, and wait for it where wanted."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import click
import msgspec

from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.api.text import plain
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import (
    ADMITTED_STAMP,
    MAX_DEADLINE_SECONDS,
    MIN_DEADLINE_SECONDS,
    EvictionRequest,
)
from vacate.cli.common import terminal
from vacate.cli.common.apis import api_option
from vacate.cli.common.completing import complete_pods
from vacate.cli.common.connection import Cluster, Connection, cluster_options, connected
from vacate.cli.common.events import REQUESTED, note
from vacate.cli.common.exitcodes import CANCELLED, INTERRUPTED, TIMED_OUT, UNPREPARED, complain, each, end
from vacate.cli.common.output import output_option, print_object, print_objects
from vacate.cli.common.parameters import pod_name, span_between, subdomain
from vacate.cli.common.program import program_name
from vacate.cli.common.remedies import not_found_in
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.selectors import check_choice, selector_option
from vacate.cli.evict.progress import shown_progress
from vacate.cli.identity import own_requester
from vacate.entropy import system_entropy
from vacate.errors import NotFound, VacateError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.reader import shown_stage
from vacate.eviction.model import Ending
from vacate.sdk import Requester, Result, TurnResult
from vacate.views.phrases import command_line, listed, span

_WATCHES = 64  # each pod that is waited for holds a connection
_ENDS = {
    Ending.POD_DELETED: "evicted",
    Ending.POD_TERMINATED: "terminated",
    Ending.CANCELLED: "not evicted: the request was cancelled",
}


@dataclass(frozen=True, slots=True)
class EvictOptions:
    """The options of the command."""

    reason: str = ""
    deadline: dt.timedelta | None = None
    wait: bool = False
    timeout: dt.timedelta | None = None
    output: str = ""


@click.command()
@click.argument("pods", type=pod_name, shell_complete=complete_pods, nargs=-1, metavar="[POD…]")
@selector_option("Every pod with these labels instead.")
@click.option(
    "--reason", default="", metavar="TEXT", help="Why the eviction is requested; kept on the request."
)
@click.option(
    "--requester",
    type=subdomain,
    metavar="NAME",
    help="Name of the requester; USER.cli.vacate.dev by default, where USER is your user in the cluster.",
)
@click.option(
    "--deadline",
    type=span_between(MIN_DEADLINE_SECONDS, MAX_DEADLINE_SECONDS),
    metavar="SPAN",
    help="Heartbeat deadline of interceptors, 10m to 24h; 30m by default.",
)
@api_option("The API in which the eviction is requested.")
@click.option("--wait", is_flag=True, help="Wait until the pods are evicted or the requests are cancelled.")
@click.option("--timeout", type=span_between(), metavar="SPAN", help="Maximum time to wait; implies --wait.")
@cluster_options
@output_option()
def evict(
    pods: tuple[str, ...],
    selector: str,
    reason: str,
    requester: str | None,
    deadline: dt.timedelta | None,
    dialect: Dialect,
    wait: bool,
    timeout: dt.timedelta | None,
    reach: Connection,
    output: str,
) -> None:
    """Request the eviction of pods.

    Interceptors prepare each pod one after the other; then it is evicted, as far as disruption budgets
    allow. POD is NAME or pod/NAME. If a request for the pod exists already, you join it as a requester.

    Exit codes: 0 done, 1 refused or failed, 2 usage; with --wait also 3 cancelled, 4 timed out, and 5 evicted
    unprepared, because an interceptor failed or timed out.
    """
    check_choice(pods, selector)
    if output and dialect.kind is not EVICTIONREQUESTS:
        raise click.UsageError(
            f"-o shows EvictionRequests; for others use kubectl get {dialect.kind.plural} -o {output}"
        )
    options = EvictOptions(reason.strip(), deadline, wait or timeout is not None, timeout, output)
    codes: list[int] = []

    async def work() -> None:
        async with connected(reach) as cluster:
            who = Requester(
                cluster.client,
                requester or await own_requester(cluster),
                clock=cluster.clock,
                entropy=system_entropy(),
                dialect=dialect,
            )
            chosen = tuple(dict.fromkeys(pods)) or await _selected(cluster, selector)
            codes.extend(await Eviction(cluster, who, options).run(chosen))

    if run_until_signalled(work):
        terminal.echo(f"Interrupted. The eviction requests remain; see: {program_name()} status", err=True)
        sys.exit(INTERRUPTED)
    end(codes)


async def _selected(cluster: Cluster, selector: str) -> tuple[str, ...]:
    found = await cluster.client.list(PODS, cluster.namespace, label_selector=selector, into=Pod)
    if not found.items:
        terminal.echo(f"No pods match {selector!r} in namespace {cluster.namespace}.", err=True)
    return tuple(pod.metadata.name for pod in found.items)


class Eviction:
    """One call of the command."""

    def __init__(self, cluster: Cluster, requester: Requester, options: EvictOptions) -> None:
        self._cluster = cluster
        self._requester = requester
        self._options = options
        self._slots = asyncio.Semaphore(_WATCHES)

    async def run(self, pods: tuple[str, ...]) -> list[int]:
        """Request, wait where wanted, print the results; the exit codes of all pods."""
        codes: list[int] = []
        requests: dict[str, EvictionRequest] = {}
        for pod, requested in await each(pods, self._request):
            if isinstance(requested, VacateError):
                codes.append(complain(pod, requested))
                continue
            requests[pod] = requested
            self._say(pod, how_requested(requested, self._requester.name))
        if self._options.wait:
            async with self._progress(requests):
                codes += await asyncio.gather(*(self._wait(pod, requests) for pod in list(requests)))
        if self._options.output:
            self._print([_object(one) for one in requests.values()], single=len(pods) == 1)
        return codes

    def _progress(self, requests: dict[str, EvictionRequest]) -> AbstractAsyncContextManager[None]:
        if self._options.output or not requests:
            return contextlib.nullcontext()
        names = {one.metadata.name: pod for pod, one in requests.items()}
        return shown_progress(self._cluster, names, self._requester.dialect)

    async def _request(self, pod: str) -> EvictionRequest:
        deadline = self._options.deadline
        seconds = None if deadline is None else int(deadline.total_seconds())
        reason, own = self._options.reason, self._requester.name
        namespace = self._cluster.namespace
        try:
            request = await self._requester.request(pod, namespace, reason=reason, deadline_seconds=seconds)
        except NotFound as error:
            raise not_found_in(error, namespace) from error
        if reason:
            message = f"{own} requested the eviction of pod {pod}: {reason}"
            await note(self._cluster, request, REQUESTED, message)
        return request

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
        self._say(pod, _ended(result))
        for line in unprepared(result):
            terminal.error(f"pod/{pod}: {line}")
        if not result.pod_gone:
            return CANCELLED
        return UNPREPARED if result.failures else 0

    async def _late(self, pod: str, requests: dict[str, EvictionRequest]) -> int:
        now = await self._requester.find(requests[pod]) or requests[pod]
        requests[pod] = now
        waited = span(self._options.timeout or dt.timedelta())
        explain = command_line(program_name(), "explain", pod, "-n", self._cluster.namespace)
        terminal.echo(f"pod/{pod} is {shown_stage(now)} after {waited}; see: {explain}", err=True)
        return TIMED_OUT

    def _say(self, pod: str, text: str) -> None:
        if not self._options.output:
            terminal.echo(f"pod/{pod} {text}")

    def _print(self, objs: list[Obj], *, single: bool) -> None:
        if single and objs:
            print_object(objs[0], self._options.output)
        elif not single:
            print_objects(objs, self._options.output)


def how_requested(request: EvictionRequest, own: str) -> str:
    """The result of a request, as the rest of a sentence that begins with the pod."""
    names = [one.name for one in request.spec.requesters]
    if own not in names:
        requesters = listed(names) or "others"
        return f"eviction already requested by {requesters}; it can no longer be joined or cancelled"
    others = [name for name in names if name != own]
    text = f"eviction requested, also by {listed(others)}" if others else "eviction requested"
    if ADMITTED_STAMP not in request.metadata.annotations:
        return f"{text}, but it did not pass Vacate's admission and is not processed"
    first = request.spec.interceptors[-1].name if request.spec.interceptors else ""
    return f"{text}; first interceptor: {first}" if first else text


def _ended(result: Result) -> str:
    text = _ENDS[result.ending]
    if result.ending is Ending.CANCELLED and result.message:
        return f"{text} ({result.message.rstrip('.')})"
    return text


def unprepared(result: Result) -> list[str]:
    """A sentence for each interceptor that failed or timed out: the pod was evicted unprepared."""
    how = {
        TurnResult.FAILED: "failed",
        TurnResult.TIMED_OUT: "timed out",
        TurnResult.NEVER_RESPONDED: "timed out without responding",
    }
    return [
        f"interceptor {turn.interceptor} {how[turn.result]}"
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
