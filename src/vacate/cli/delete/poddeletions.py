"""Deletes pods: with a reason, gracefully, or confirmed and by force; and waits until they are gone."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from vacate.admission.pods.forcedeletion import CONFIRMATION, may_leave_processes
from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj, dig, terminating
from vacate.api.options import DRY_RUN_ALL, DeleteOptions
from vacate.api.terminationreason import ANNOTATION
from vacate.api.types import Node, Pod
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.events import FORCE_CONFIRMED, note_pod
from vacate.cli.common.exitcodes import TIMED_OUT
from vacate.cli.common.program import program_name
from vacate.cli.common.remedies import not_found_in
from vacate.cli.identity import cluster_user
from vacate.client.codec import codec_for
from vacate.client.reasons import delete_with_reason
from vacate.errors import NotFound, VacateError
from vacate.kube.nodes import readiness

_POLL_SECONDS = 0.5
_GONE = "is gone already"


@dataclass(frozen=True, slots=True)
class DeletionOptions:
    """How the command deletes."""

    force: bool = False
    reason: str = ""
    grace_period: int | None = None
    dry_run: bool = False


class PodDeletions:
    """One call of the command."""

    def __init__(self, cluster: Cluster, options: DeletionOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._force = options.force
        self._uids: dict[str, str] = {}
        self._lost: dict[str, bool] = {}  # by node

    async def delete(self, name: str, *, uid: str = "") -> str:
        """Delete one pod; what was done, as the rest of a sentence that begins with the pod.

        With a UID only that very pod is meant: another one of its name may run elsewhere by now.
        """
        cluster = self._cluster
        try:
            pod = await cluster.client.get(PODS, name, cluster.namespace)
        except NotFound as error:
            if uid:
                return _GONE
            raise not_found_in(error, cluster.namespace) from None
        if uid and pod["metadata"]["uid"] != uid:
            return _GONE
        self._uids[name] = pod["metadata"]["uid"]
        if self._options.dry_run:
            uid = pod["metadata"]["uid"]
            await cluster.client.delete(
                PODS, name, cluster.namespace, DeleteOptions(uid=uid, dry_run=DRY_RUN_ALL)
            )
            return "would be deleted (dry run)"
        if self._force and may_leave_processes(pod, 0):
            return await self._remove(name, pod)
        grace = 0 if self._force else self._options.grace_period
        await self._send(name, pod, grace)
        node = dig(pod, "spec", "nodeName")
        if not node or self._force:
            return "deleted"
        if await self._is_lost(node):
            return (
                f"is terminating: node {node} does not report, and the pod stays until the node returns, "
                f"is fenced or is gone for good{self._about_reason(pod)}; "
                f"see: {program_name()} explain {name} -n {cluster.namespace}"
            )
        seconds = grace if grace is not None else dig(pod, "spec", "terminationGracePeriodSeconds")
        return (
            f"is terminating: node {node} ends its processes within {seconds}s and then removes it"
            f"{self._about_reason(pod)}"
        )

    async def wait(self, names: Sequence[str], timeout: dt.timedelta | None) -> list[int]:
        """Until the pods are gone; the exit codes of those that are not in time."""
        seconds = timeout.total_seconds() if timeout else None
        try:
            async with asyncio.timeout(seconds):
                for name in names:
                    await self._gone(name)
                    terminal.echo(f"pod/{name} gone")
        except TimeoutError:
            terminal.error(f"pods are still terminating after {seconds:g}s; they go on without this command")
            return [TIMED_OUT]
        return []

    async def _is_lost(self, node: str) -> bool:
        """Whether the node is known not to report. No error here: the deletion is done already."""
        if node not in self._lost:
            try:
                found = await self._cluster.client.get(NODES, node, into=Node)
            except VacateError:
                return False
            self._lost[node] = readiness(found) == "Unknown"
        return self._lost[node]

    async def _gone(self, name: str) -> None:
        cluster = self._cluster
        while True:
            try:
                pod = await cluster.client.get(PODS, name, cluster.namespace)
            except NotFound:
                return
            if pod["metadata"]["uid"] != self._uids[name]:
                return
            await cluster.clock.sleep(_POLL_SECONDS)

    async def _send(self, name: str, pod: Obj, grace: int | None) -> None:
        client, namespace, uid = self._cluster.client, self._cluster.namespace, pod["metadata"]["uid"]
        reason = "" if terminating(pod) else self._options.reason
        if reason:
            await delete_with_reason(
                client, name, namespace, uid=uid, reason=reason, grace_period_seconds=grace
            )
        else:
            await client.delete(PODS, name, namespace, DeleteOptions(uid=uid, grace_period_seconds=grace))

    def _about_reason(self, pod: Obj) -> str:
        if not self._options.reason or not terminating(pod):
            return ""
        first = dig(pod, "metadata", "reason") or dig(pod, "metadata", "annotations", ANNOTATION)
        stays = f"its reason stays {first!r}" if first else "it has no reason, and none can be added"
        return f"; it was terminating already, so {stays}"

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
        await self._send(name, pod, 0)
        suffix = "" if noted else "; no Event could be written about it"
        return f"force deleted: node {node} has not confirmed that its processes have ended{suffix}"
