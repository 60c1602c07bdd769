"""`vacate evict`: request the eviction of pods, and wait for it where wanted."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import click
import msgspec

from vacate.api.kinds import EVICTIONREQUESTS
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
from vacate.cli.common.confirmation import confirmed
from vacate.cli.common.connection import Cluster, Connection, cluster_options, connected
from vacate.cli.common.events import REQUESTED, note
from vacate.cli.common.exitcodes import (
    CANCELLED,
    FAILED,
    INTERRUPTED,
    TIMED_OUT,
    UNPREPARED,
    complain,
    each,
    end,
)
from vacate.cli.common.output import output_option, print_object, print_objects
from vacate.cli.common.parameters import node_name, span_between, subdomain
from vacate.cli.common.program import program_name
from vacate.cli.common.remedies import not_found_in
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.selectors import selector_option
from vacate.cli.evict.preview import Preview
from vacate.cli.evict.progress import shown_progress
from vacate.cli.evict.selection import (
    Selection,
    Workload,
    is_wide,
    merged,
    pods_by_label,
    pods_of_node,
    pods_of_workload,
    target,
)
from vacate.cli.identity import own_requester
from vacate.entropy import system_entropy
from vacate.errors import NotFound, VacateError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.reader import shown_stage
from vacate.eviction.dialects.registry import dialect_of
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


@dataclass(frozen=True, slots=True)
class Choice:
    """Which pods are meant."""

    targets: tuple[str | Workload, ...]
    selector: str
    node: str


@click.command()
@click.argument("targets", type=target, shell_complete=complete_pods, nargs=-1, metavar="[POD|TYPE/NAME…]")
@selector_option("Every pod with these labels instead; with --node, only these pods of the node.")
@click.option(
    "--node",
    type=node_name,
    metavar="NODE",
    help="The pods of this node instead, of all namespaces or of -n.",
)
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
@click.option(
    "--dry-run", is_flag=True, help="Show what would be requested and what would block it; change nothing."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before many pods are evicted.")
@cluster_options
@output_option()
def evict(
    targets: tuple[str | Workload, ...],
    selector: str,
    node: str | None,
    reason: str,
    requester: str | None,
    deadline: dt.timedelta | None,
    dialect: Dialect,
    wait: bool,
    timeout: dt.timedelta | None,
    dry_run: bool,
    yes: bool,
    reach: Connection,
    output: str,
) -> None:
    """Request the eviction of pods.

    Interceptors prepare each pod one after the other; then it is evicted, as far as disruption budgets
    allow. POD is NAME or pod/NAME; TYPE/NAME is a workload whose pods are meant: deployment, replicaset,
    statefulset or job. If a request for the pod exists already, you join it as a requester. More than ten
    pods that were not named one by one, or pods of several namespaces, are confirmed first; a script passes
    --yes.

    Exit codes: 0 done, 1 refused, not confirmed or failed, 2 usage; with --wait also 3 cancelled, 4 timed
    out, and 5 evicted unprepared, because an interceptor failed or timed out.
    """
    if bool(targets) == bool(selector or node):
        raise click.UsageError(
            "name pods and workloads, or use -l or --node, not both"
            if targets
            else "name at least one pod or workload, or select pods with -l or --node"
        )
    if dry_run and (wait or timeout is not None or output):
        raise click.UsageError("--dry-run requests nothing: there is nothing to wait for or to print with -o")
    if output and dialect.kind is not EVICTIONREQUESTS:
        raise click.UsageError(
            f"-o shows EvictionRequests; for others use kubectl get {dialect.kind.plural} -o {output}"
        )
    options = EvictOptions(reason.strip(), deadline, wait or timeout is not None, timeout, output)
    codes: list[int] = []
    begun: list[bool] = []

    async def work() -> None:
        async with connected(reach) as cluster:
            who = Requester(
                cluster.client,
                requester or await own_requester(cluster, dialect),
                clock=cluster.clock,
                entropy=system_entropy(),
                dialect=dialect,
            )
            choice = Choice(targets, selector, node or "")
            names, found = await chosen(cluster, choice, reach.namespace)
            if dry_run:
                codes.extend(await Preview(cluster, who, reason.strip(), deadline).run(names, found))
            elif await _may_go_on(found, yes=yes):
                begun.append(True)
                codes.extend(await Eviction(cluster, who, options).run(names, found))
            else:
                codes.append(FAILED)

    if run_until_signalled(work):
        remain = f" The eviction requests remain; see: {program_name()} status" if begun else ""
        terminal.echo(f"Interrupted.{remain}", err=True)
        sys.exit(INTERRUPTED)
    end(codes)


async def chosen(cluster: Cluster, choice: Choice, namespace: str) -> tuple[tuple[str, ...], Selection]:
    """The pods that were named one by one, and those that were selected; an empty selection is said.

    `namespace` is the one of the command line, if any.
    """
    if choice.node:
        found = await pods_of_node(cluster, choice.node, namespace, choice.selector)
        for pod, why in found.skipped:
            terminal.echo(f"pod/{shown_name(cluster, pod)} skipped: {why}", err=True)
    elif choice.selector:
        found = await pods_by_label(cluster, choice.selector)
    else:
        workloads = [one for one in dict.fromkeys(choice.targets) if isinstance(one, Workload)]
        found = merged([await pods_of_workload(cluster, one) for one in workloads])
    names = tuple(one for one in dict.fromkeys(choice.targets) if isinstance(one, str))
    if not names and not found.pods:
        terminal.echo(_nothing(cluster, choice), err=True)
    return names, found


def _nothing(cluster: Cluster, choice: Choice) -> str:
    if choice.node:
        also = f" match {choice.selector!r} and" if choice.selector else ""
        return f"No pods{also} can be evicted from node {choice.node}."
    if choice.selector:
        return f"No pods match {choice.selector!r} in namespace {cluster.namespace}."
    names = [f"{one.kind.singular}/{one.name}" for one in choice.targets if isinstance(one, Workload)]
    have = "has" if len(names) == 1 else "have"
    return f"{listed(names)} {have} no pods in namespace {cluster.namespace}."


async def _may_go_on(found: Selection, *, yes: bool) -> bool:
    if yes or not is_wide(found):
        return True
    return await confirmed(found.question)


def shown_name(cluster: Cluster, pod: Pod) -> str:
    """`NAME`, or `NAMESPACE/NAME` of a pod in another namespace than the one that commands speak of."""
    meta = pod.metadata
    return meta.name if meta.namespace == cluster.namespace else f"{meta.namespace}/{meta.name}"


class Eviction:
    """One call of the command."""

    def __init__(self, cluster: Cluster, requester: Requester, options: EvictOptions) -> None:
        self._cluster = cluster
        self._requester = requester
        self._options = options
        self._slots = asyncio.Semaphore(_WATCHES)
        self._found: dict[str, Pod] = {}  # by the name that is shown: the pods that were selected

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
            requests[pod] = requested
            self._say(pod, how_requested(requested, self._requester.name))
        if self._options.wait:
            async with self._progress(requests):
                codes += await asyncio.gather(*(self._wait(pod, requests) for pod in list(requests)))
        if self._options.output:
            self._print([_object(one) for one in requests.values()], single=len(pods) == 1)
        return codes

    def _namespace(self, pod: str) -> str:
        return self._found[pod].metadata.namespace if pod in self._found else self._cluster.namespace

    def _progress(self, requests: dict[str, EvictionRequest]) -> AbstractAsyncContextManager[None]:
        if self._options.output or not requests:
            return contextlib.nullcontext()
        names = {one.metadata.name: pod for pod, one in requests.items()}
        spaces = {self._namespace(pod) for pod in requests}
        namespace = spaces.pop() if len(spaces) == 1 else ""
        return shown_progress(self._cluster, names, self._requester.dialect, namespace)

    async def _request(self, pod: str) -> EvictionRequest:
        deadline = self._options.deadline
        seconds = None if deadline is None else int(deadline.total_seconds())
        reason, own = self._options.reason, self._requester.name
        namespace = self._namespace(pod)
        # Of a pod that was selected, that very pod is meant, and not one that got its name meanwhile.
        ref: Pod | str = self._found.get(pod, pod)
        try:
            request = await self._requester.request(ref, namespace, reason=reason, deadline_seconds=seconds)
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
    called = dialect_of(request).terms.interceptor
    return f"{text}; first {called}: {first}" if first else text


def _ended(result: Result) -> str:
    text = _ENDS[result.ending]
    if result.ending is Ending.CANCELLED and result.message:
        return f"{text} ({result.message.rstrip('.')})"
    return text


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
