"""Changes of requests as they go into a pipe: lines with a time, or watch events for programs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from vacate.api.objects import Obj, dig
from vacate.api.times import format_time
from vacate.api.types.evictionrequest import COMPLETE, PROGRESSING
from vacate.cache.informer import Informer
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.managerwatch import ManagerWatch, watching
from vacate.cli.common.outage import Outage
from vacate.cli.common.output import JSON, NAME, aligned_to, json_text, widths, yaml_text
from vacate.cli.common.queries import named_pod
from vacate.cli.status.changes import Changes
from vacate.cli.status.layout import titles
from vacate.cli.status.presence import NamedPods, nothing_to_follow
from vacate.cli.status.view import View
from vacate.clock import Clock
from vacate.entropy import system_entropy
from vacate.eviction.model import Stage
from vacate.runtime.dependencies import InformerFactory
from vacate.views.managerhealth import Unattended
from vacate.views.statusrows import Row, header_of

_TICK_SECONDS = 1.0
ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class ChangeLines:
    """Rows as lines of fixed columns, one for each change; each begins with the time of the change."""

    def __init__(self, view: View, rows: Sequence[Row], clock: Clock) -> None:
        self._view, self._clock = view, clock
        own = header_of(namespace=not view.namespace, wide=view.wide)
        header = ("TIME", *titles(own, view.dialect.phrase))
        cells = [self._cells(row)[:-1] for row in rows]
        self._columns = [*widths([header[:-1], *cells]), 0]  # the message is as long as it is
        self._show(header)

    def show(self, row: Row) -> None:
        """Print the row as of now."""
        self._show(self._cells(row))

    def _cells(self, row: Row) -> tuple[str, ...]:
        own = row.cells(namespace=not self._view.namespace, wide=self._view.wide)
        return (format_time(self._clock.now()), *own)

    def _show(self, cells: Sequence[str]) -> None:
        terminal.echo(aligned_to(self._columns, [cells])[0])


class WatchEvents:
    """Every change as an object; ends when the requests of all named pods are over, or the pods gone."""

    def __init__(self, cluster: Cluster, view: View) -> None:
        self._view, self._cluster = view, cluster
        self._informers = InformerFactory(cluster.client, cluster.clock, system_entropy())
        self._pods = NamedPods(self._informers, view)
        self._over: dict[str, bool | None] = {}  # by pod: whether its request is over; None: another follows
        self._changes = Changes()
        self._outage = Outage(cluster.clock)
        self._informer: Informer[Obj] = Informer(
            cluster.client,
            view.dialect.kind,
            dict,
            clock=cluster.clock,
            entropy=system_entropy(),
            namespace=view.namespace,
            label_selector=view.selector,
        )

    async def run(self) -> None:
        """Print until cancelled, or until there is nothing more to wait for."""
        self._informer.subscribe(self._see)
        await self._pods.follow(self._cluster, self._changes.notify)
        # A group: where a change cannot be printed, as its reader is gone, there is nothing to wait for.
        manager = ManagerWatch(self._cluster, self._unattended)
        async with watching(manager), asyncio.TaskGroup() as group:
            running = [group.create_task(one.run()) for one in (self._informer, *self._informers.all())]
            await self._informer.wait_synced()
            while not self._done():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_TICK_SECONDS):
                        await self._changes.wait()
                self._outage.report([self._informer])
            for task in running:
                task.cancel()
        for name in self._view.pods:
            if name not in self._over:
                terminal.echo(nothing_to_follow(name, self._view), err=True)

    async def _unattended(self) -> Unattended | None:
        """Only the Lease is looked at: these are objects as they are, for programs."""
        return None

    def _see(self, old: Obj | None, new: Obj | None) -> None:
        request = new or old or {}
        pod = named_pod(request)
        if self._view.pods and pod not in self._view.pods:
            return
        superseded = _is_over(request) and _stage(request) == Stage.SUPERSEDED
        self._over[pod] = None if superseded else new is None or _is_over(new)
        if old != new:
            self._print(DELETED if new is None else ADDED if old is None else MODIFIED, request, pod)
        self._changes.notify()

    def _print(self, kind: str, request: Obj, pod: str) -> None:
        shown = self._view.dialect.kind
        named = {"apiVersion": shown.api_version, "kind": shown.kind}
        event = {"type": kind, "object": {**named, **request}}
        if self._view.output == NAME:
            terminal.echo(f"pod/{pod}")
        elif self._view.output == JSON:
            terminal.echo(json_text(event, indent=False))
        else:
            terminal.echo_document("---\n" + yaml_text(event))

    def _done(self) -> bool:
        pods = self._view.pods
        return bool(pods) and all(self._pods.is_over(pod, self._over.get(pod)) for pod in pods)


def _is_over(request: Obj) -> bool:
    return any(one.get("status") == "True" for one in _conditions(request, COMPLETE))


def _stage(request: Obj) -> str:
    return next((str(one.get("reason")) for one in _conditions(request, PROGRESSING)), "")


def _conditions(request: Obj, type_: str) -> list[Obj]:
    found = dig(request, "status", "conditions")
    listed = found if isinstance(found, list) else []
    return [one for one in listed if isinstance(one, dict) and one.get("type") == type_]
