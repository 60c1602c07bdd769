"""`vacate cancel`: take back one's request, or with the rights of an administrator everyone's."""

from __future__ import annotations

import click
import msgspec

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cli.cancel.override import STAYS, override
from vacate.cli.common import terminal
from vacate.cli.common.completing import complete_pods
from vacate.cli.common.connection import Cluster, Connection, cluster_options, connected
from vacate.cli.common.exitcodes import complain, each, end, interrupted
from vacate.cli.common.parameters import pod_name, subdomain
from vacate.cli.common.queries import find, list_requests
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.selectors import check_choice, selector_option
from vacate.cli.identity import own_requester
from vacate.entropy import system_entropy
from vacate.errors import ConfigError, VacateError
from vacate.eviction.dialects.evictionrequest.reader import shown_stage
from vacate.eviction.model import Stage
from vacate.sdk import Requester
from vacate.views.phrases import listed
from vacate.views.statusrows import pod_of

GOES = "has begun to leave and goes all the same:"


@click.command()
@click.argument("pods", type=pod_name, shell_complete=complete_pods, nargs=-1, metavar="[POD…]")
@selector_option("Every request for pods with these labels instead.")
@click.option(
    "--requester",
    type=subdomain,
    metavar="NAME",
    help="Whose request; USER.cli.vacate.dev by default, USER being the one the cluster knows you as.",
)
@click.option(
    "--override", "overriding", is_flag=True, help="Remove every requester, even where that is forbidden."
)
@cluster_options
def cancel(
    pods: tuple[str, ...], selector: str, requester: str | None, overriding: bool, reach: Connection
) -> None:
    """Take back the request that pods leave.

    Without --override only one's own name is taken out: whoever else asked still wants the pod gone. With
    it every name is removed; where an interceptor has forbidden that, the policy is set back to Allow first,
    and an Event says who did it.

    Exit codes: 0 done, 1 refused or failed, 2 usage.
    """
    check_choice(pods, selector)
    codes: list[int] = []

    async def work() -> None:
        async with connected(reach) as cluster:
            name = requester or await own_requester(cluster)
            cancelling = Cancelling(cluster, name, overriding=overriding)
            chosen = tuple(dict.fromkeys(pods)) or await _selected(
                cluster, selector, "" if overriding else name
            )
            for pod, said in await each(chosen, cancelling.cancel):
                if isinstance(said, VacateError):
                    codes.append(complain(pod, said))
                else:
                    terminal.echo(f"pod/{pod} {said}")

    if run_until_signalled(work):
        interrupted()
    end(codes)


async def _selected(cluster: Cluster, selector: str, requester: str) -> tuple[str, ...]:
    """The pods of open requests by that requester; a request carries the labels of its pod."""
    found = await list_requests(cluster, cluster.namespace, selector)
    requests = [msgspec.convert(obj, EvictionRequest) for obj in found]
    chosen = [
        pod_of(one)
        for one in requests
        if not one.complete and (not requester or requester in [by.name for by in one.spec.requesters])
    ]
    if not chosen:
        whose = f" by {requester}" if requester else ""
        where = f"in namespace {cluster.namespace}"
        terminal.echo(f"No open eviction requests{whose} match {selector!r} {where}.", err=True)
    return tuple(dict.fromkeys(chosen))


class Cancelling:
    """One call of the command."""

    def __init__(self, cluster: Cluster, requester: str, *, overriding: bool) -> None:
        self._cluster = cluster
        self._requester = Requester(cluster.client, requester, clock=cluster.clock, entropy=system_entropy())
        self._overriding = overriding

    async def cancel(self, pod: str) -> str:
        """Cancel for one pod; what was done, as the rest of a sentence that begins with the pod."""
        found = await find(self._cluster, pod)
        request, there = found.typed_request, found.typed_pod
        if request is None:
            raise ConfigError(f"nobody asks pod {pod} to leave")
        if request.complete:
            return _over(request, there)
        said = await (self._override(request) if self._overriding else self._withdraw(request))
        # Once an eviction is accepted, cancelling changes only the request.
        return said.replace(STAYS, GOES, 1) if there is not None and there.terminating else said

    async def _override(self, request: EvictionRequest) -> str:
        return await override(self._cluster, request, self._requester.name)

    async def _withdraw(self, request: EvictionRequest) -> str:
        own = self._requester.name
        if not await self._requester.withdraw(request):
            names = listed([one.name for one in request.spec.requesters])
            raise ConfigError(
                f"{own} does not ask pod {pod_of(request)} to leave; {names or 'nobody'} does: name "
                "another one with --requester, or remove all with --override"
            )
        others = [one.name for one in request.spec.requesters if one.name != own]
        if others:
            return f"is no longer asked to leave by {own}, but still by {listed(others)}"
        return f"{STAYS} nobody asks it to leave any more"


def _over(request: EvictionRequest, pod: Pod | None) -> str:
    """A request that is over: fine where it was cancelled, too late where the pod has gone or ended."""
    if shown_stage(request) is Stage.CANCELLED:
        return f"{STAYS} the request is cancelled already"
    name = pod_of(request)
    if pod is None or pod.metadata.uid != request.metadata.name:
        raise ConfigError(f"it is too late: pod {name} has left")
    if not pod.terminal:
        raise ConfigError(
            f"the request is complete, but pod {name} is still there: its status was not written by the "
            "controller. Nothing evicts the pod any more"
        )
    held = f"; its removal waits for its finalizers: {listed(pod.metadata.finalizers)}"
    held = held if pod.terminating and pod.metadata.finalizers else ""
    raise ConfigError(f"it is too late: the containers of pod {name} have ended{held}")
