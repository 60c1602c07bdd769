"""`vacate status -w`: a live table on a terminal, a line or an object for each change elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from rich.live import Live
from rich.text import Text

from vacate.api.kinds import LIFECYCLE_REQUESTS, PODDISRUPTIONBUDGETS
from vacate.api.objectidentity import Unreadable
from vacate.api.types import PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.informer import Informer
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.managerwatch import ManagerWatch, watching
from vacate.cli.common.outage import Outage
from vacate.cli.common.output import WIDE
from vacate.cli.common.queries import list_budgets, read_by
from vacate.cli.common.text import safe
from vacate.cli.status.changes import Changes
from vacate.cli.status.lines import ChangeLines, WatchEvents
from vacate.cli.status.order import in_order
from vacate.cli.status.presence import MeantPods, NamedPods, left_over, nothing_to_follow
from vacate.cli.status.table import live_table
from vacate.cli.status.view import View
from vacate.entropy import system_entropy
from vacate.eviction.dialects.lifecycle.assembly import concerning
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.records.reader import is_superseded
from vacate.runtime.dependencies import InformerFactory
from vacate.views.managerhealth import Unattended, unattended_request, waiting_requests
from vacate.views.phrases import NOTHING
from vacate.views.statusrows import Row, pod_of, row_of, unreadable_row

_TICK_SECONDS = 1.0
DELETED = "Deleted"


class Follower:
    """Follows the requests of a namespace, or of all; ends when there is nothing to wait for.

    That is when each named pod is gone and no open request is about it, or its request is complete.
    One that is superseded is not over: a new one takes over.
    """

    def __init__(self, cluster: Cluster, view: View) -> None:
        self._cluster = cluster
        self._view = view
        self._console = terminal.console()
        self._informers = InformerFactory(cluster.client, cluster.clock, system_entropy())
        self._requests: list[Informer[EvictionRequest]] = []
        self._meant = MeantPods(self._informers, view)
        self._budgets: Informer[PodDisruptionBudget] | None = None
        self._pods = NamedPods(self._informers, view)
        self._changes = Changes()
        self._lines: ChangeLines | None = None
        self._outage = Outage(cluster.clock)
        self._seen: dict[str, bool | None] = {}  # by pod: whether its request is over; None: another follows
        say = (lambda _: self._changes.notify()) if self._console.is_terminal else None
        self._manager = ManagerWatch(cluster, self._unattended, say, self._waiting)
        self._noted: dict[str, EvictionRequest | None] = {}  # by UID, of lifecycle.k8s.io
        self._gone: dict[str, Row] = {}  # of named pods, whose end is worth a look: the request's last row

    async def run(self) -> None:
        """Show until cancelled, or until there is nothing more to wait for."""
        # Asked once beforehand, so that what is forbidden or not there is an error and not tried for ever.
        read = await read_by(self._cluster, self._view.dialect, self._view.namespace)
        await self._meant.check(self._cluster)
        if self._view.output not in ("", WIDE):
            await WatchEvents(self._cluster, self._view, read).run()
            return
        for one in read:
            self._requests.append(
                self._informers.requests(
                    one, namespace=self._view.namespace, label_selector=self._meant.request_labels
                )
            )
        if await list_budgets(self._cluster, self._view.namespace) is not None:
            self._budgets = self._informers.informer(
                PODDISRUPTIONBUDGETS, PodDisruptionBudget, namespace=self._view.namespace
            )
        await self._pods.follow(self._cluster, self._changes.notify)
        async with watching(self._manager), asyncio.TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in self._informers.all()]
            for informer in self._informers.all():
                await informer.wait_synced()
            await (self._draw() if self._console.is_terminal else self._print())
            for task in tasks:
                task.cancel()
        await self._say_what_remains()

    async def _unattended(self) -> Unattended | None:
        return unattended_request(self._current())

    async def _waiting(self) -> list[Unattended]:
        return waiting_requests(self._current())

    def _current(self, pod_uid: str = "") -> list[EvictionRequest]:
        """What concerns the pods that are meant, or one of them."""
        known = [one for informer in self._requests for one in informer.reader.list()]
        if pod_uid:
            known = [one for one in known if one.pod_uid == pod_uid]
        return [one for one in concerning(known) if self._meant.includes(pod_of(one), one.pod_uid)]

    async def _say_what_remains(self) -> None:
        about = {pod_of(one): one for one in self._current()}
        for name in self._view.pods:
            if name not in self._seen and self._pods.absent(name):
                terminal.echo(nothing_to_follow(name, self._view), err=True)
        left = [about[name] for name in self._view.pods if name in about]
        for note in await left_over(self._cluster, left):
            terminal.echo(note, err=True)

    async def _draw(self) -> None:
        """A table that is drawn anew at each change, and each second for the times in it."""
        for informer in self._informers.all():
            informer.subscribe(lambda _old, _new: self._changes.notify())
        self._subscribe()
        with Live(self._table(), console=self._console, auto_refresh=False) as live:
            while not self._done():
                await self._tick()
                live.update(self._table(), refresh=True)

    async def _print(self) -> None:
        self._lines = ChangeLines(self._view, self._rows(), self._cluster.clock)
        self._subscribe()
        while not self._done():
            await self._tick()

    def _subscribe(self) -> None:
        for informer in self._requests:
            informer.subscribe(self._note)
            informer.subscribe_unreadable(self._note_unreadable)

    async def _tick(self) -> None:
        """Wait for a change, no longer than a moment, and see whether changes still arrive."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TICK_SECONDS):
                await self._changes.wait()
        if self._lines is None:
            self._outage.check(self._informers.all())
        else:
            self._outage.report(self._informers.all())

    def _note(self, old: EvictionRequest | None, new: EvictionRequest | None) -> None:
        request, pods = new or old, self._view.pods
        if request is None or not self._meant.includes(pod_of(request), request.pod_uid):
            return
        if self._view.dialect is LIFECYCLE:
            about = self._current(request.pod_uid)
            new = next((one for one in about if _is_same(one, request)), None)
            if new is None and (about or old is None):
                return  # another object says more about the pod, or it does not concern the pod
            request = new or request
            if new is not None and self._noted.get(request.metadata.uid) == new:
                return
            self._noted[request.metadata.uid] = new
        pod, row = pod_of(request), row_of(request, self._known_budgets(), self._cluster.clock.now())
        self._seen[pod] = None if is_superseded(request) else new is None or new.complete
        if new is None:
            row = replace(row, stage=row.stage if request.complete else DELETED, active=NOTHING)
            self._gone |= {pod: row} if pods else {}
        else:
            self._gone.pop(pod, None)
        removed = new is None and request.complete  # its last line was that it is complete
        if self._lines is not None and old != new and not removed:
            self._lines.show(row)
        self._changes.notify()

    def _done(self) -> bool:
        pods = self._view.pods
        return bool(pods) and all(self._pods.is_over(pod, self._seen.get(pod)) for pod in pods)

    def _rows(self) -> list[Row]:
        pods, now = self._view.pods, self._cluster.clock.now()
        readers = [one.reader for one in self._requests]
        unread = {one.identity.uid: one for reader in readers for one in reader.list_unreadable()}
        wanted = [one for one in self._current() if one.metadata.uid not in unread]
        rows = [row_of(one, self._known_budgets(), now) for one in in_order(wanted, self._view.sort_by)]
        unreadable = [self._unreadable_row(one) for one in unread.values()]
        rows += [row for row in unreadable if not pods or row.pod in pods]
        return [*rows, *self._gone.values()]

    def _note_unreadable(self, one: Unreadable) -> None:
        row = self._unreadable_row(one)
        if self._lines is not None and (not self._view.pods or row.pod in self._view.pods):
            self._lines.show(row)
        self._changes.notify()

    def _unreadable_row(self, one: Unreadable) -> Row:
        """Under the pod's name where an earlier state had it, else under the request's."""
        place = one.identity
        found = (one.reader.get(place.namespace, place.name) for one in self._requests)
        known = next(filter(None, found), None)
        return unreadable_row(place, pod_of(known) if known else place.name)

    def _known_budgets(self) -> list[PodDisruptionBudget]:
        return list(self._budgets.reader.list()) if self._budgets is not None else []

    def _table(self) -> Text:
        rows, note = self._rows(), safe(self._outage.text or self._manager.health.line)
        if not rows:
            none = self._view.dialect.phrase(f"No eviction requests yet{self._view.where}; waiting for one.")
            return Text(note or none)
        size = (self._console.width, self._console.height)
        view = self._view
        return live_table(
            rows, size, namespace=not view.namespace, wide=view.wide, note=note, phrase=view.dialect.phrase
        )


def _is_same(one: EvictionRequest, changed: EvictionRequest) -> bool:
    """Whether it is what has changed: before an Eviction begins, all requests for a pod are shown as one."""
    return one.kind == changed.kind and (
        one.kind == LIFECYCLE_REQUESTS or one.metadata.uid == changed.metadata.uid
    )
