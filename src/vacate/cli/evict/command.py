"""`vacate evict`: request the eviction of pods, and wait for it where wanted."""

from __future__ import annotations

import asyncio
import datetime as dt
import sys

import click
import msgspec

from vacate.api.kinds import PODS
from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import (
    MAX_DEADLINE_SECONDS,
    MIN_DEADLINE_SECONDS,
)
from vacate.cli.common import terminal
from vacate.cli.common.apis import api_option, chosen_api
from vacate.cli.common.confirmation import confirmed
from vacate.cli.common.connection import Cluster, Connection, cluster_options_with, connected
from vacate.cli.common.exitcodes import (
    FAILED,
    INTERRUPTED,
    complain,
    each,
    end,
)
from vacate.cli.common.output import output_option
from vacate.cli.common.parameters import node_name, participant_name, span_between
from vacate.cli.common.program import program_name
from vacate.cli.common.queries import list_budgets
from vacate.cli.common.remedies import not_found_in
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.selectors import selector_option
from vacate.cli.common.shellcompletion import complete_nodes, complete_targets
from vacate.cli.evict.eviction import Eviction, EvictOptions
from vacate.cli.evict.selection import (
    Selection,
    Workload,
    is_wide,
    target,
)
from vacate.cli.evict.targets import EvictionTargets, by_api, select_pods
from vacate.cli.forecasts import forecast
from vacate.cli.identity import own_requester
from vacate.entropy import system_entropy
from vacate.errors import AlreadyExists, NotFound, VacateError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.sdk import Requester
from vacate.sdk.requesters.requests import Step, new_request, next_step
from vacate.views.budgets import covering, would_refuse


@click.command()
@click.argument("targets", type=target, shell_complete=complete_targets, nargs=-1, metavar="[POD|TYPE/NAME…]")
@selector_option("Every pod with these labels instead; with --node, only these pods of the node.")
@click.option(
    "--node",
    type=node_name,
    shell_complete=complete_nodes,
    metavar="NODE",
    help="The pods of this node instead, of all namespaces or of -n.",
)
@click.option(
    "--reason", default="", metavar="TEXT", help="Why the eviction is requested; kept on the request."
)
@click.option(
    "--requester",
    type=participant_name,
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
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@cluster_options_with("Namespace; the context's by default. With --node, all namespaces by default.")
@output_option()
def evict(
    targets: tuple[str | Workload, ...],
    selector: str,
    node: str | None,
    reason: str,
    requester: str | None,
    deadline: dt.timedelta | None,
    dialect: Dialect | None,
    wait: bool,
    timeout: dt.timedelta | None,
    dry_run: bool,
    yes: bool,
    reach: Connection,
    output: str,
) -> None:
    """Request the eviction of pods.

    Interceptors prepare each pod one after the other; then it is evicted as soon as disruption budgets
    allow. POD is NAME or pod/NAME; TYPE/NAME is a workload whose pods are meant: deployment, replicaset,
    statefulset or job. If a request for the pod exists already, of whichever API, you join it as a
    requester. For more than ten pods that were not named one by one, and for pods of several namespaces, it
    asks for confirmation first; scripts pass --yes.

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
    options = EvictOptions(reason.strip(), deadline, wait or timeout is not None, timeout, output)
    codes: list[int] = []
    begun: list[bool] = []

    async def work() -> None:
        async with connected(reach) as cluster:

            async def who(api: Dialect) -> Requester:
                name = requester or await own_requester(cluster, api)
                entropy = system_entropy()
                return Requester(cluster.client, name, clock=cluster.clock, entropy=entropy, dialect=api)

            preferred = await chosen_api(cluster, dialect)
            if output and preferred is not EVICTION_REQUEST:
                kind = preferred.for_requester("").kind
                raise click.UsageError(
                    f"-o shows EvictionRequests of Vacate's own kind; for others use kubectl get "
                    f"{kind.resource} -o {output}"
                )
            choice = EvictionTargets(targets, selector, node or "")
            names, found = await select_pods(cluster, choice, reach.namespace)
            if dry_run:
                preview = Preview(cluster, await who(preferred), reason.strip(), deadline)
                codes.extend(await preview.run(names, found))
            elif await _may_go_on(found, yes=yes):
                begun.append(True)
                parts = await by_api(cluster, names, found, preferred)
                runs = [Eviction(cluster, await who(api), options).run(*part) for api, part in parts]
                for ended in await asyncio.gather(*runs):
                    codes.extend(ended)
            else:
                codes.append(FAILED)

    if run_until_signalled(work):
        api = dialect or EVICTION_REQUEST
        look = f"{program_name()} status{f' --api {dialect.name}' if dialect else ''}"
        remain = f" {api.phrase('The eviction requests')} remain; see: {look}" if begun else ""
        terminal.echo(f"Interrupted.{remain}", err=True)
        sys.exit(INTERRUPTED)
    end(codes)


async def _may_go_on(found: Selection, *, yes: bool) -> bool:
    if yes or not is_wide(found):
        return True
    return await confirmed(found.question)


_STEP_TEXTS = {
    Step.CREATE: "eviction would be requested",
    Step.REPLACE: "has an eviction request that is over; it would be replaced by a new one",
    Step.JOIN: "has an eviction request, which would be joined",
    Step.KEEP: "has an eviction request by this requester; nothing would change",
    Step.KEEP_COMPLETE: "has a complete eviction request; nothing would change",
    Step.KEEP_FIXED: "has an eviction request, which can no longer be joined; nothing would change",
}


class Preview:
    """One dry run: the server checks every request as if it were made, and keeps none."""

    def __init__(
        self, cluster: Cluster, requester: Requester, reason: str, deadline: dt.timedelta | None
    ) -> None:
        self._cluster = cluster
        self._requester = requester
        self._reason = reason
        self._seconds = None if deadline is None else int(deadline.total_seconds())
        self._found: dict[str, Pod] = {}
        self._budgets: list[PodDisruptionBudget] = []

    async def run(self, names: tuple[str, ...], found: Selection) -> list[int]:
        """Print a line for each pod, and one below it for what would block its eviction; the exit codes."""
        own = self._cluster.namespace
        for pod in found.pods:
            meta = pod.metadata
            self._found[meta.name if meta.namespace == own else f"{meta.namespace}/{meta.name}"] = pod
        for namespace in sorted({own, *found.namespaces}):
            self._budgets += await list_budgets(self._cluster, namespace) or []
        codes: list[int] = []
        for name, seen in await each(tuple(dict.fromkeys((*names, *self._found))), self._preview):
            if isinstance(seen, VacateError):
                codes.append(complain(name, seen))
                continue
            terminal.echo(f"pod/{name} {seen[0]}")
            for line in seen[1:]:
                terminal.echo(f"  {line}")
        return codes

    async def _preview(self, name: str) -> tuple[str, ...]:
        pod = self._found.get(name) or await self._named(name)
        meta, dialect = pod.metadata, self._requester.dialect
        made = new_request(pod, self._requester.name, self._reason, self._seconds, dialect)
        sentence = _STEP_TEXTS[Step.CREATE]
        try:
            kind = dialect.for_requester(self._requester.name).kind
            await self._cluster.client.create(kind, made, meta.namespace, dry_run=True)
        except AlreadyExists:
            step = next_step(await self._requester.find(pod), self._requester.name)
            sentence = dialect.phrase(_STEP_TEXTS[step])
        registered = dialect.registration(msgspec.to_builtins(pod))
        interceptors = tuple(reversed(registered.interceptors))
        after = f"; {dialect.terms.interceptor}s: {', then '.join(interceptors)}" if interceptors else ""
        held = covering(self._budgets, meta.namespace, meta.labels)
        first = f"{sentence} (dry run){after}"
        if not (why := would_refuse(pod, held) if held else ""):
            return (first,)
        foreseen = (await forecast(self._cluster, pod, interceptors, held)).sentence
        return (first, f"would be refused now: {why}", *filter(None, [foreseen]))

    async def _named(self, name: str) -> Pod:
        namespace = self._cluster.namespace
        try:
            return await self._cluster.client.get(PODS, name, namespace, into=Pod)
        except NotFound as error:
            raise not_found_in(error, namespace) from None
