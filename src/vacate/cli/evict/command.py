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
from vacate.eviction.dialects.evictionrequest.reader import shown_stage
from vacate.eviction.model import Ending
from vacate.sdk import Requester, Result, TurnResult
from vacate.views.phrases import command_line, listed, span

_WATCHES = 64  # each pod that is waited for holds a connection
_ENDS = {
    Ending.POD_DELETED: "has left",
    Ending.POD_TERMINATED: "has ended",
    Ending.CANCELLED: "stays: the request was cancelled",
}


@dataclass(frozen=True, slots=True)
class Asking:
    """What was asked for on the command line."""

    because: str = ""
    deadline: dt.timedelta | None = None
    wait: bool = False
    timeout: dt.timedelta | None = None
    output: str = ""


@click.command()
@click.argument("pods", type=pod_name, shell_complete=complete_pods, nargs=-1, metavar="[POD…]")
@selector_option("Every pod with these labels instead.")
@click.option("--because", default="", metavar="TEXT", help="Why; kept on the request for people to read.")
@click.option(
    "--requester",
    type=subdomain,
    metavar="NAME",
    help="Who asks; USER.cli.vacate.dev by default, USER being the one the cluster knows you as.",
)
@click.option(
    "--deadline",
    type=span_between(MIN_DEADLINE_SECONDS, MAX_DEADLINE_SECONDS),
    metavar="SPAN",
    help="How long an interceptor may be silent, 10m to 24h; 30m by default.",
)
@click.option("--wait", is_flag=True, help="Return when the pods have left, or the requests are cancelled.")
@click.option(
    "--timeout", type=span_between(), metavar="SPAN", help="Wait no longer than that; implies --wait."
)
@cluster_options
@output_option()
def evict(
    pods: tuple[str, ...],
    selector: str,
    because: str,
    requester: str | None,
    deadline: dt.timedelta | None,
    wait: bool,
    timeout: dt.timedelta | None,
    reach: Connection,
    output: str,
) -> None:
    """Ask pods to leave.

    Their interceptors prepare the leave one after the other; then they are evicted, as far as disruption
    budgets allow. POD is NAME or pod/NAME. Who asks for a pod that is asked already joins the request.

    Exit codes: 0 done, 1 refused or failed, 2 usage; with --wait also 3 cancelled, 4 timed out, and 5 gone
    without the preparation of an interceptor that failed or timed out.
    """
    check_choice(pods, selector)
    asking = Asking(because.strip(), deadline, wait or timeout is not None, timeout, output)
    codes: list[int] = []

    async def work() -> None:
        async with connected(reach) as cluster:
            who = Requester(
                cluster.client,
                requester or await own_requester(cluster),
                clock=cluster.clock,
                entropy=system_entropy(),
            )
            chosen = tuple(dict.fromkeys(pods)) or await _selected(cluster, selector)
            codes.extend(await Eviction(cluster, who, asking).run(chosen))

    if run_until_signalled(work):
        terminal.echo(f"Interrupted. What was asked for stays asked for: {program_name()} status", err=True)
        sys.exit(INTERRUPTED)
    end(codes)


async def _selected(cluster: Cluster, selector: str) -> tuple[str, ...]:
    found = await cluster.client.list(PODS, cluster.namespace, label_selector=selector, into=Pod)
    if not found.items:
        terminal.echo(f"No pods match {selector!r} in namespace {cluster.namespace}.", err=True)
    return tuple(pod.metadata.name for pod in found.items)


class Eviction:
    """One call of the command."""

    def __init__(self, cluster: Cluster, requester: Requester, asking: Asking) -> None:
        self._cluster = cluster
        self._requester = requester
        self._asking = asking
        self._room = asyncio.Semaphore(_WATCHES)

    async def run(self, pods: tuple[str, ...]) -> list[int]:
        """Ask, wait where wanted, say what came of it; the codes of all ends."""
        codes: list[int] = []
        requests: dict[str, EvictionRequest] = {}
        for pod, asked in await each(pods, self._ask):
            if isinstance(asked, VacateError):
                codes.append(complain(pod, asked))
                continue
            requests[pod] = asked
            self._say(pod, how_asked(asked, self._requester.name))
        if self._asking.wait:
            async with self._progress(requests):
                codes += await asyncio.gather(*(self._wait(pod, requests) for pod in list(requests)))
        if self._asking.output:
            self._print([_object(one) for one in requests.values()], single=len(pods) == 1)
        return codes

    def _progress(self, requests: dict[str, EvictionRequest]) -> AbstractAsyncContextManager[None]:
        if self._asking.output or not requests:
            return contextlib.nullcontext()
        return shown_progress(self._cluster, {one.metadata.name: pod for pod, one in requests.items()})

    async def _ask(self, pod: str) -> EvictionRequest:
        deadline = self._asking.deadline
        seconds = None if deadline is None else int(deadline.total_seconds())
        because, own = self._asking.because, self._requester.name
        namespace = self._cluster.namespace
        try:
            request = await self._requester.request(pod, namespace, reason=because, deadline_seconds=seconds)
        except NotFound as error:
            raise not_found_in(error, namespace) from error
        if because:
            said = f"{own} asks pod {pod} to leave: {because}"
            await note(self._cluster, request, REQUESTED, said)
        return request

    async def _wait(self, pod: str, requests: dict[str, EvictionRequest]) -> int:
        timeout = self._asking.timeout
        seconds = None if timeout is None else timeout.total_seconds()
        try:
            async with asyncio.timeout(seconds), self._room:
                result = await self._requester.wait(requests[pod])
        except TimeoutError:
            return await self._late(pod, requests)
        except VacateError as error:
            return complain(pod, error)
        requests[pod] = result.request or requests[pod]
        self._say(pod, _ended(result))
        for line in unprepared(result):
            terminal.error(f"pod/{pod}: {line}")
        if not result.left:
            return CANCELLED
        return UNPREPARED if result.failures else 0

    async def _late(self, pod: str, requests: dict[str, EvictionRequest]) -> int:
        now = await self._requester.find(requests[pod]) or requests[pod]
        requests[pod] = now
        waited = span(self._asking.timeout or dt.timedelta())
        tell = command_line(program_name(), "explain", pod, "-n", self._cluster.namespace)
        terminal.echo(f"pod/{pod} is {shown_stage(now)} after {waited}; see: {tell}", err=True)
        return TIMED_OUT

    def _say(self, pod: str, text: str) -> None:
        if not self._asking.output:
            terminal.echo(f"pod/{pod} {text}")

    def _print(self, objs: list[Obj], *, single: bool) -> None:
        if single and objs:
            print_object(objs[0], self._asking.output)
        elif not single:
            print_objects(objs, self._asking.output)


def how_asked(request: EvictionRequest, own: str) -> str:
    """What has come of asking, as the rest of a sentence that begins with the pod."""
    names = [one.name for one in request.spec.requesters]
    if own not in names:
        return f"leaves already, asked by {listed(names) or 'others'}; nobody can join or cancel that"
    others = [name for name in names if name != own]
    text = f"is asked to leave, as {listed(others)} asked before" if others else "is asked to leave"
    if ADMITTED_STAMP not in request.metadata.annotations:
        return f"{text}; but this did not pass Vacate's admission, and nobody processes it"
    first = request.spec.interceptors[-1].name if request.spec.interceptors else ""
    return f"{text}; {first} prepares it first" if first else text


def _ended(result: Result) -> str:
    text = _ENDS[result.ending]
    if result.ending is Ending.CANCELLED and result.message:
        return f"{text} ({result.message.rstrip('.')})"
    return text


def unprepared(result: Result) -> list[str]:
    """A sentence for each interceptor that failed or timed out: the pod went on without its preparation."""
    how = {
        TurnResult.FAILED: "failed",
        TurnResult.TIMED_OUT: "timed out",
        TurnResult.NEVER_RESPONDED: "timed out and never responded",
    }
    return [
        f"interceptor {turn.interceptor} {how[turn.result]}"
        + (f" ({plain(turn.message).rstrip('.')})" if turn.message else "")
        + "; the pod went on without its preparation"
        for turn in result.failures
    ]


def _object(request: EvictionRequest) -> Obj:
    return {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        **msgspec.to_builtins(request),
    }
