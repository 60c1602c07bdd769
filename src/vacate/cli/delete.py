"""`vacate delete pod`: begin graceful deletion, or, confirmed, remove a pod that its node cannot remove."""

from __future__ import annotations

import click

from vacate.admission.pods.forcedeletion import CONFIRMATION, may_leave_processes
from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig
from vacate.api.types import Pod
from vacate.cli.common import terminal
from vacate.cli.common.completing import complete_pods
from vacate.cli.common.connection import Cluster, Connection, cluster_options, connected
from vacate.cli.common.events import FORCE_CONFIRMED, note_pod
from vacate.cli.common.exitcodes import complain, each, end, interrupted
from vacate.cli.common.parameters import pod_name
from vacate.cli.common.remedies import not_found_in
from vacate.cli.common.run import run_until_signalled
from vacate.cli.identity import cluster_user
from vacate.client.codec import codec_for
from vacate.errors import ConfigError, NotFound, VacateError

_TYPES = ("pod", "pods", "po")
CONSEQUENCES = (
    "force deletion does not wait for the node to confirm that the processes ended. They may go on running, "
    "and a replacement with the same identity and the same volumes may start beside them and damage data. "
    "Nothing was deleted. Delete without --force, or pass --confirm if you know that the processes are gone"
)


@click.command()
@click.argument("names", shell_complete=complete_pods, nargs=-1, required=True, metavar="pod NAME…")
@click.option("--force", is_flag=True, help="Remove the pod without waiting for its node; needs --confirm.")
@click.option("--confirm", is_flag=True, help="You know the consequences of --force.")
@cluster_options
def delete(names: tuple[str, ...], force: bool, confirm: bool, reach: Connection) -> None:
    """Delete pods; by force only where that is confirmed.

    The pod's node ends the processes within the pod's grace period and then removes the object. With --force
    --confirm the object goes at once, whatever the node does: for a node that is known to be gone for good.
    An Event says who did it. Disruption budgets and interceptors are not asked; `vacate evict` asks them.

    Exit codes: 0 done, 1 refused or failed, 2 usage.
    """
    pods = _pods(names)
    if confirm and not force:
        raise click.UsageError("--confirm is for --force; without it nothing needs to be confirmed.")
    if force and not confirm:
        raise ConfigError(CONSEQUENCES)
    codes: list[int] = []

    async def work() -> None:
        async with connected(reach) as cluster:
            deleting = _Deleting(cluster, force=force)
            for pod, said in await each(pods, deleting.delete):
                if isinstance(said, VacateError):
                    codes.append(complain(pod, said))
                else:
                    terminal.echo(f"pod/{pod} {said}")

    if run_until_signalled(work):
        interrupted()
    end(codes)


def _pods(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, after an optional `pod`, as kubectl has it."""
    rest = names[1:] if names[0] in _TYPES else names
    if not rest:
        raise click.UsageError("Name a pod: delete pod NAME, or delete pod/NAME.")
    return tuple(dict.fromkeys(pod_name(one) for one in rest))


class _Deleting:
    """One call of the command."""

    def __init__(self, cluster: Cluster, *, force: bool) -> None:
        self._cluster = cluster
        self._force = force

    async def delete(self, name: str) -> str:
        """Delete one pod; what was done, as the rest of a sentence that begins with the pod."""
        cluster = self._cluster
        try:
            pod = await cluster.client.get(PODS, name, cluster.namespace)
        except NotFound as error:
            raise not_found_in(error, cluster.namespace) from None
        if self._force and may_leave_processes(pod, 0):
            return await self._remove(name, pod)
        grace = 0 if self._force else None
        await cluster.client.delete(
            PODS, name, cluster.namespace, uid=pod["metadata"]["uid"], grace_period_seconds=grace
        )
        node = dig(pod, "spec", "nodeName")
        if not node or self._force:
            return "deleted"
        seconds = dig(pod, "spec", "terminationGracePeriodSeconds")
        return f"is terminating: node {node} ends its processes within {seconds}s and then removes it"

    async def _remove(self, name: str, pod: Obj) -> str:
        """Confirm for this very pod, say who does it, and remove it."""
        cluster, uid, node = self._cluster, pod["metadata"]["uid"], dig(pod, "spec", "nodeName")
        confirmed = {"metadata": {"uid": uid, "annotations": {CONFIRMATION: uid}}}
        await cluster.client.patch(PODS, name, confirmed, cluster.namespace)
        who = await cluster_user(cluster) or "a user of vacate delete"
        message = (
            f"{who} confirmed force deletion; node {node} has not confirmed that the processes have ended."
        )
        noted = await note_pod(cluster, codec_for(Pod).convert(pod), FORCE_CONFIRMED, message)
        await cluster.client.delete(PODS, name, cluster.namespace, uid=uid, grace_period_seconds=0)
        told = "" if noted else "; no Event could be written about it"
        return f"force deleted: node {node} has not confirmed that its processes have ended{told}"
