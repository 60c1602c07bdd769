"""`vacate retry` and `vacate skip`: push an eviction that does not move, without undoing the drain.

Both write an annotation of the request, which takes the right to change requests and to delete the pod.
Admission records who wrote it, and the controller does the rest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence

import click

from vacate.api.kinds import LIFECYCLE_REQUESTS, NODEMAINTENANCES, NODES
from vacate.api.names import dns1123_subdomain
from vacate.api.times import format_exact_time
from vacate.api.types.evictionrequest import RETRY, SKIP, EvictionRequest
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.cli.common import terminal
from vacate.cli.common.connection import (
    Cluster,
    Connection,
    cluster_options,
    dry_run_option,
    run_on_cluster,
)
from vacate.cli.common.events import RETRIED, SKIPPED, note
from vacate.cli.common.exitcodes import FAILED, complain, each, end
from vacate.cli.common.managerwatch import say_if_unattended
from vacate.cli.common.output import JSON, json_text
from vacate.cli.common.parameters import is_drain, participant_name, pod_name
from vacate.cli.common.program import program_name
from vacate.cli.common.queries import find, list_all_requests, list_pods, named_uid
from vacate.cli.common.remedies import no_maintenance, no_node, with_remedy
from vacate.cli.common.shellcompletion import complete_pods, complete_retried
from vacate.cli.identity import cluster_user
from vacate.errors import ConfigError, Forbidden, NotFound, VacateError
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.dialects.turn_conditions import has_ended, past_turns
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import is_superseded, shown_stage
from vacate.kube.patches import guarded
from vacate.maintenance.blockers import RETRIED_REFUSALS
from vacate.maintenance.names import requester_of
from vacate.views.phrases import command_line, counted, listed
from vacate.views.statusrows import pod_of

_NODES = ("node/", "nodes/", "no/")
_PODS = ("pod/", "pods/", "po/")


json_option = click.option(
    "-o", "--output", type=click.Choice([JSON]), default=None, help="Print a JSON object for each target."
)


async def pushed(
    targets: Sequence[str], do: Callable[[str], Awaitable[str]], output: str | None, kind: str = ""
) -> list[int]:
    """Do the same for all targets and print what was done, or why not; the exit codes.

    `kind` stands before the names of targets in errors, where the errors do not name them.
    """
    ends: Sequence[tuple[str, str | VacateError]]
    try:
        ends = await each(targets, do)
    except VacateError as error:  # the same for all of them
        if output != JSON and not kind:
            raise
        ends = [(target, error) for target in targets]
    codes = []
    for target, result in ends:
        failed = isinstance(result, VacateError)
        codes.append(FAILED if failed else 0)
        if output == JSON:
            shown = str(with_remedy(result)) if isinstance(result, VacateError) else result
            made = {"target": target, "done": not failed, "message": shown}
            terminal.echo_document(json_text(made, indent=False))
        elif isinstance(result, VacateError):
            complain(target, result, kind=kind)
        else:
            terminal.echo(result)
    return codes


def retried(text: str) -> str:
    """A pod, a node or a drain, as NAME or TYPE/NAME."""
    name = text.rpartition("/")[2]
    if "/" in text and not text.startswith((*_NODES, *_PODS)) and not is_drain(text):
        raise click.BadParameter(
            f"{text[:80]!r} is not a pod, node or drain; write pod/NAME, node/NAME or drain/NAME"
        )
    if why := dns1123_subdomain(name):
        raise click.BadParameter(f"{name[:80]!r} is not a name: {'; '.join(why)}")
    return text


@click.command()
@click.argument(
    "targets",
    type=retried,
    shell_complete=complete_retried,
    nargs=-1,
    required=True,
    metavar="POD|NODE|DRAIN…",
)
@dry_run_option
@cluster_options
@json_option
def retry(targets: tuple[str, ...], dry_run: bool, reach: Connection, output: str | None) -> None:
    """Try blocked evictions again at once.

    The eviction is attempted without waiting for the next scheduled attempt. If it is refused again,
    the pod's interceptors get another turn. The drain that requested it goes on as before. A target is
    pod/NAME, node/NAME (its pods) or drain/NAME (the pods of a NodeMaintenance); NAME alone is the first of
    these that exists.

    Exit codes: 0 done, 1 refused or failed, or nothing to try again, 2 usage.
    """

    async def work(cluster: Cluster) -> Sequence[int]:
        codes = await pushed(tuple(dict.fromkeys(targets)), Retrying(cluster).retry, output)
        if 0 in codes:
            await say_if_unattended(cluster)
        return codes

    end(run_on_cluster(reach, work, dry_run=dry_run))


@click.command()
@click.argument("pod", type=pod_name, shell_complete=complete_pods)
@click.argument("interceptor", type=participant_name)
@cluster_options
@json_option
def skip(pod: str, interceptor: str, reach: Connection, output: str | None) -> None:
    """End the turn of an interceptor that does not respond.

    The turn counts as failed, and the next interceptor is active, or the pod is evicted. An interceptor whose
    turn is still to come is skipped when it comes. POD is NAME or pod/NAME.

    Exit codes: 0 done, 1 refused or failed, 2 usage.
    """

    async def work(cluster: Cluster) -> Sequence[int]:
        codes = await pushed((pod,), lambda one: skip_turn(cluster, one, interceptor), output, "pod/")
        if 0 in codes:
            await say_if_unattended(cluster)
        return codes

    end(run_on_cluster(reach, work))


async def skip_turn(cluster: Cluster, pod: str, interceptor: str) -> str:
    """Have the controller end the turn; what was done."""
    request = _open_request((await find(cluster, pod)).typed_request, pod)
    terms, names = dialect_of(request).terms, [one.name for one in reversed(request.spec.interceptors)]
    named = f"{terms.interceptor} {interceptor}"
    if interceptor not in names:
        those = f"it has {listed(names)}" if names else "it has none"
        raise ConfigError(f"the request for pod {pod} has no {named}; {those}")
    active = request.status.active_interceptor_name
    over = any(turn.interceptor == interceptor for turn in past_turns(request))
    if over or (active == interceptor and has_ended(request)):
        raise ConfigError(f"the turn of {named} is over already")
    skipped = [*filter(None, request.metadata.annotations.get(SKIP, "").split(",")), interceptor]
    await _annotate(cluster, request, SKIP, ",".join(dict.fromkeys(skipped)))
    who = await cluster_user(cluster) or "a user"
    await note(cluster, request, SKIPPED, f"{who} skips {named}.", warning=True)
    then = "its turn ends now" if active == interceptor else "it gets no turn"
    return f"pod/{pod} {named} is skipped: {then}"


class Retrying:
    """One call of the command."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def retry(self, target: str) -> str:
        """Try again for one target; what was done."""
        return await self._retry(target) + self._cluster.mark

    async def _retry(self, target: str) -> str:
        name = target.rpartition("/")[2]
        if target.startswith(_NODES):
            try:
                return await self._node(name)
            except NotFound:
                raise no_node(name) from None
        if is_drain(target):
            try:
                return await self._drain(name)
            except NotFound:
                raise no_maintenance(name) from None
        try:
            return await self._pod(name)
        except NotFound:
            if "/" in target:
                raise
        with contextlib.suppress(NotFound, Forbidden):  # one who may not read nodes may know a drain
            return await self._node(name)
        with contextlib.suppress(NotFound):
            return await self._drain(name)
        raise ConfigError(
            f"there is no pod {name} in namespace {self._cluster.namespace}, no node and no drain of that "
            "name; choose another namespace with -n"
        )

    async def _pod(self, name: str) -> str:
        request = _open_request((await find(self._cluster, name)).typed_request, name)
        if why := _not_blocked(request):
            raise ConfigError(why)
        await self._push(request)
        return f"pod/{name} is tried again"

    async def _node(self, name: str) -> str:
        pods = await list_pods(self._cluster, "", field_selector=f"spec.nodeName={name}")
        if not pods:
            await self._cluster.client.get(NODES, name)  # NotFound where there is no such node
        uids = {pod.metadata.uid for pod in pods}
        found = [one for one in await list_all_requests(self._cluster, "") if named_uid(one.obj) in uids]
        return await self._push_all(f"node/{name}", [one.typed for one in found])

    async def _drain(self, name: str) -> str:
        drain = await self._cluster.client.get(NODEMAINTENANCES, name, into=NodeMaintenance)
        # Requests that were refused are made again: the change wakes the controller.
        asked = {"metadata": {"annotations": {RETRY: format_exact_time(self._cluster.clock.now())}}}
        await self._cluster.client.patch(NODEMAINTENANCES, name, guarded(drain.metadata, asked))
        requests = [one.typed for one in await list_all_requests(self._cluster, "")]
        own = [one for one in requests if _requests(one, name)]
        refused = any(one.kind in RETRIED_REFUSALS for one in drain.status.blockers)
        return await self._push_all(f"nodemaintenance/{name}", own, refused=refused)

    async def _push_all(
        self, what: str, requests: Collection[EvictionRequest], *, refused: bool = False
    ) -> str:
        blocked = [one for one in requests if not one.complete and not _not_blocked(one)]
        waiting = [why for one in requests if not one.complete and (why := _not_blocked(one))]
        for why in waiting:
            terminal.echo(why, err=True)
        for one in blocked:
            await self._push(one)
        if not blocked and refused:
            return f"{what}: what was refused is tried again"
        if not blocked:
            raise ConfigError(f"{what} has no eviction that is blocked")
        return f"{what}: {counted(len(blocked), 'eviction is', 'evictions are')} tried again"

    async def _push(self, request: EvictionRequest) -> None:
        await _annotate(self._cluster, request, RETRY, format_exact_time(self._cluster.clock.now()))
        who = await cluster_user(self._cluster) or "a user"
        await note(self._cluster, request, RETRIED, f"{who} asks for another try of the eviction.")


def _requests(request: EvictionRequest, drain: str) -> bool:
    own = requester_of(drain, dialect_of(request))
    return any(one.name == own for one in request.spec.requesters)


def _open_request(request: EvictionRequest | None, pod: str) -> EvictionRequest:
    if request is None:
        raise ConfigError(f"there is no eviction request for pod {pod}")
    if request.complete and not is_superseded(request):
        raise ConfigError(f"the eviction request for pod {pod} is over: {request.status.message}")
    if request.kind == LIFECYCLE_REQUESTS:
        raise ConfigError(f"the eviction of pod {pod} has not begun: {request.status.message}")
    return request


def _not_blocked(request: EvictionRequest) -> str:
    """Why there is nothing to try again, and what helps instead; empty where the eviction is blocked."""
    stage, active, pod = shown_stage(request), request.status.active_interceptor_name, pod_of(request)
    if stage is Stage.BLOCKED:
        return ""
    if request.kind == LIFECYCLE_REQUESTS:
        return f"pod/{pod} is not blocked: its eviction has not begun"
    if stage is Stage.INTERCEPTING and active:
        way = command_line(program_name(), "skip", pod, active, "-n", request.metadata.namespace)
        return f"pod/{pod} waits for {dialect_of(request).terms.interceptor} {active}; to end its turn: {way}"
    return f"pod/{pod} is not blocked: its stage is {stage}"


async def _annotate(cluster: Cluster, request: EvictionRequest, key: str, value: str) -> None:
    meta = request.metadata
    patch = guarded(meta, {"metadata": {"annotations": {key: value}}})
    await cluster.client.patch(request.kind, meta.name, patch, meta.namespace)
