"""`vacate cancel`: take back one's request, or with the rights of an administrator everyone's."""

from __future__ import annotations

from collections.abc import Mapping

import click

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cli.cancel.drains import check_no_drain
from vacate.cli.cancel.override import STAYS, override
from vacate.cli.common import terminal
from vacate.cli.common.apis import api_option, chosen_api
from vacate.cli.common.connection import (
    Cluster,
    Connection,
    cluster_options,
    dry_run_option,
    run_on_cluster,
)
from vacate.cli.common.exitcodes import complain, each, end
from vacate.cli.common.parameters import participant_name, pod_name
from vacate.cli.common.queries import find, list_all_requests
from vacate.cli.common.selectors import check_choice, selector_option
from vacate.cli.common.shellcompletion import complete_pods
from vacate.cli.identity import own_requester
from vacate.entropy import system_entropy
from vacate.errors import ConfigError, VacateError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import DIALECTS, api_of, dialect_of
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import is_superseded, shown_stage
from vacate.eviction.succession import is_handed_over
from vacate.sdk import Requester
from vacate.views.phrases import listed
from vacate.views.statusrows import pod_of

Names = Mapping[Dialect, str]
"""By the API: the name under which this command withdraws. An API may limit its length."""

GOES = "is terminating already and cannot be kept:"


@click.command()
@click.argument("pods", type=pod_name, shell_complete=complete_pods, nargs=-1, metavar="[POD…]")
@selector_option("Every request for pods with these labels instead.")
@click.option(
    "--requester",
    type=participant_name,
    metavar="NAME",
    help="Name of the requester; USER.cli.vacate.dev by default, where USER is your user in the cluster.",
)
@api_option("Only requests of this API.", "all that are served")
@click.option(
    "--override", "overriding", is_flag=True, help="Remove every requester, even where that is forbidden."
)
@dry_run_option
@cluster_options
def cancel(
    pods: tuple[str, ...],
    selector: str,
    requester: str | None,
    dialect: Dialect | None,
    overriding: bool,
    dry_run: bool,
    reach: Connection,
) -> None:
    """Cancel eviction requests.

    Without --override only your own requester name is removed; the request continues for other requesters.
    With it every requester is removed. Where an interceptor has forbidden cancellation, it is allowed again
    first, and an Event records who did that. A request that a drain made is not cancelled, since the drain
    would make it again: cancel the drain.

    Exit codes: 0 done, 1 refused or failed, 2 usage.
    """
    check_choice(pods, selector)
    if overriding and dry_run:  # its second step needs the first one done
        raise click.UsageError("--dry-run and --override: give only one of them")

    async def work(cluster: Cluster) -> list[int]:
        api = dialect and await chosen_api(cluster, dialect)
        own = {
            one: one.participant(requester) if requester else await own_requester(cluster, one)
            for one in DIALECTS.values()
        }
        cancelling = Cancelling(cluster, own, overriding=overriding, only=api)
        chosen = tuple(dict.fromkeys(pods)) or await _selected(
            cluster, selector, None if overriding else own, api
        )
        codes: list[int] = []
        for pod, result in await each(chosen, cancelling.cancel):
            if isinstance(result, VacateError):
                codes.append(complain(pod, result))
            else:
                terminal.echo(f"pod/{pod} {result}{cluster.mark}")
        return codes

    end(run_on_cluster(reach, work, dry_run=dry_run))


async def _selected(
    cluster: Cluster, selector: str, own: Names | None, only: Dialect | None
) -> tuple[str, ...]:
    """The pods of open requests, those by one requester if given."""
    found = await list_all_requests(cluster, cluster.namespace, selector, only)
    requests = [one.typed for one in found]
    chosen = [
        pod_of(one)
        for one in requests
        if not one.complete and (own is None or own[api_of(one)] in [by.name for by in one.spec.requesters])
    ]
    if not chosen:
        whose = f" by {own[EVICTION_REQUEST]}" if own else ""
        where = f"in namespace {cluster.namespace}"
        terminal.echo(f"No open eviction requests{whose} match {selector!r} {where}.", err=True)
    return tuple(dict.fromkeys(chosen))


class Cancelling:
    """One call of the command."""

    def __init__(
        self, cluster: Cluster, own: Names, *, overriding: bool, only: Dialect | None = None
    ) -> None:
        self._cluster = cluster
        self._only = only
        self._own = own
        self._overriding = overriding

    async def cancel(self, pod: str) -> str:
        """Cancel for one pod; what was done, as the rest of a sentence that begins with the pod."""
        found = await find(self._cluster, pod, self._only)
        request, there = found.typed_request, found.typed_pod
        if (request is None or is_superseded(request)) and there is not None and is_handed_over(there):
            raise ConfigError(f"a new eviction request for pod {pod} is taking over: try again shortly")
        if request is None:
            raise ConfigError(f"there is no eviction request for pod {pod}")
        if request.complete:
            return _over(request, there)
        on_it, own = [one.name for one in request.spec.requesters], self._own[api_of(request)]
        # Without the own name among them, the drain is whom one has to turn to as well.
        meant = [own] if own in on_it and not self._overriding else on_it
        await check_no_drain(self._cluster, request, meant)
        result = await (
            override(self._cluster, request, self._own[api_of(request)])
            if self._overriding
            else self._withdraw(request)
        )
        # Once an eviction is accepted, cancelling changes only the request.
        return result.replace(STAYS, GOES, 1) if there is not None and there.terminating else result

    async def _withdraw(self, request: EvictionRequest) -> str:
        cluster, dialect = self._cluster, api_of(request)
        own = self._own[dialect]
        requester = Requester(
            cluster.client, own, clock=cluster.clock, entropy=system_entropy(), dialect=dialect
        )
        if not await requester.withdraw(request):
            names = listed([one.name for one in request.spec.requesters])
            raise ConfigError(
                f"{own} does not request the eviction of pod {pod_of(request)}; {dialect.terms.requester}s: "
                f"{names or 'none'}. Choose one with --requester, or remove all with --override"
            )
        others = [one.name for one in request.spec.requesters if one.name != own]
        if others:
            return f"eviction no longer requested by {own}, but still by {listed(others)}"
        return f"{STAYS} {dialect.phrase('the eviction request')} is cancelled"


def _over(request: EvictionRequest, pod: Pod | None) -> str:
    """A complete request: fine where it was cancelled, too late where the pod is deleted or terminated."""
    if is_superseded(request):
        raise ConfigError(f"a new request takes over the eviction of pod {pod_of(request)}; cancel again")
    if shown_stage(request) is Stage.CANCELLED:
        return f"{STAYS} {dialect_of(request).phrase('the eviction request')} was already cancelled"
    name = pod_of(request)
    if pod is None or pod.metadata.uid != request.pod_uid:
        raise ConfigError(f"it is too late: pod {name} is evicted")
    if not pod.terminal:
        raise ConfigError(
            f"the request is complete, but pod {name} still exists: its status was not written by the "
            "controller. Nothing evicts the pod any more"
        )
    held = f"; its deletion waits for its finalizers: {listed(pod.metadata.finalizers)}"
    held = held if pod.terminating and pod.metadata.finalizers else ""
    raise ConfigError(f"it is too late: pod {name} has terminated{held}")
