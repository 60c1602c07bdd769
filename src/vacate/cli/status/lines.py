"""Changes of requests as they go into a pipe: lines with a time, or watch events for programs."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Sequence

from vacate.api.kinds import LIFECYCLE_REQUESTS, Kind
from vacate.api.objectidentity import identity_of
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.cache.informer import Informer
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.managerwatch import ManagerWatch, watching
from vacate.cli.common.outage import Outage
from vacate.cli.common.output import JSON, NAME, aligned_to, json_text, widths, yaml_text
from vacate.cli.common.queries import named, named_pod, named_uid, records_of
from vacate.cli.status.changes import Changes
from vacate.cli.status.layout import titles
from vacate.cli.status.presence import MeantPods, NamedPods, nothing_to_follow
from vacate.cli.status.view import View
from vacate.clock import Clock
from vacate.entropy import system_entropy
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.records.reader import is_superseded
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

    def __init__(self, cluster: Cluster, view: View, read: Sequence[Dialect]) -> None:
        self._view, self._cluster = view, cluster
        self._informers = InformerFactory(cluster.client, cluster.clock, system_entropy())
        self._pods = NamedPods(self._informers, view)
        self._over: dict[str, bool | None] = {}  # by pod: whether its request is over; None: another follows
        self._changes = Changes()
        self._outage = Outage(cluster.clock)
        self._meant = MeantPods(self._informers, view)
        self._requests: dict[Kind, Informer[Obj]] = {
            one.kind: Informer(
                cluster.client,
                one.kind,
                dict,
                clock=cluster.clock,
                entropy=system_entropy(),
                namespace=view.namespace,
                label_selector=self._meant.request_labels,
            )
            for one in read
        }

    async def run(self) -> None:
        """Print until cancelled, or until there is nothing more to wait for."""
        await self._pods.follow(self._cluster, self._changes.notify)
        # A group: where a change cannot be printed, as its reader is gone, there is nothing to wait for.
        manager, following = ManagerWatch(self._cluster, self._unattended), [*self._requests.values()]
        async with watching(manager), asyncio.TaskGroup() as group:
            running = [group.create_task(one.run()) for one in self._informers.all()]
            for pods in self._informers.all():  # they say which requests are meant
                await pods.wait_synced()
            for kind, informer in self._requests.items():
                informer.subscribe(functools.partial(self._see, kind))
            running += [group.create_task(one.run()) for one in following]
            for one in following:
                await one.wait_synced()
            while not self._done():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_TICK_SECONDS):
                        await self._changes.wait()
                self._outage.report(following)
            for task in running:
                task.cancel()
        for name in self._view.pods:
            if name not in self._over:
                terminal.echo(nothing_to_follow(name, self._view), err=True)

    async def _unattended(self) -> Unattended | None:
        """Only the Lease is looked at: these are objects as they are, for programs."""
        return None

    def _see(self, kind: Kind, old: Obj | None, new: Obj | None) -> None:
        request = named(new or old or {}, kind)
        pod, uid, pod_uid = named_pod(request), identity_of(request).uid, named_uid(request)
        if not self._meant.includes(pod, pod_uid):
            return
        known = [(kind, one) for kind, each in self._requests.items() for one in each.reader.list()]
        about = records_of(named(one, kind) for kind, one in known if named_uid(one) == pod_uid)
        is_news = old is not None and not about  # the last request that there was is withdrawn, or gone
        if uid not in [identity_of(one.obj).uid for one in about] and not (
            kind != LIFECYCLE_REQUESTS or is_news
        ):
            return  # another object says more about the pod
        found = next(iter(records_of([request])), None)
        superseded = found is not None and found.record is not None and is_superseded(found.record)
        self._over[pod] = None if superseded else new is None or found is None or found.complete
        if old != new:
            self._print(DELETED if new is None else ADDED if old is None else MODIFIED, request, pod)
        self._changes.notify()

    def _print(self, kind: str, request: Obj, pod: str) -> None:
        event = {"type": kind, "object": request}
        if self._view.output == NAME:
            terminal.echo(f"pod/{pod}")
        elif self._view.output == JSON:
            terminal.echo(json_text(event, indent=False))
        else:
            terminal.echo_document("---\n" + yaml_text(event))

    def _done(self) -> bool:
        pods = self._view.pods
        return bool(pods) and all(self._pods.is_over(pod, self._over.get(pod)) for pod in pods)
