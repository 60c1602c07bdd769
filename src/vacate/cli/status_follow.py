"""`vacate status -w`: a live table on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from rich.live import Live
from rich.table import Table
from rich.text import Text

from vacate.api.kinds import EVICTIONREQUESTS, PODDISRUPTIONBUDGETS
from vacate.api.types import PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.informer import Informer
from vacate.cli.changes import Changes
from vacate.cli.common import terminal
from vacate.cli.output import aligned_to, widths
from vacate.cli.reach import Cluster
from vacate.cli.reading import list_budgets
from vacate.cli.status_rows import HEADER, NOTHING, WIDE_HEADER, Row, pod_of, row_of, rows_of
from vacate.cli.status_table import live_table
from vacate.entropy import system_entropy
from vacate.runtime.deps import InformerFactory

_TICK_SECONDS = 1.0
DELETED = "Deleted"


class Follower:
    """Follows the requests of a namespace, or of all; ends when all of the named pods have left."""

    def __init__(self, cluster: Cluster, namespace: str, pods: Sequence[str]) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._pods = tuple(pods)
        self._wide = not namespace
        self._console = terminal.console()
        self._informers = InformerFactory(cluster.client, cluster.clock, system_entropy())
        self._requests = self._informers.informer(EVICTIONREQUESTS, EvictionRequest, namespace=namespace)
        self._budgets: Informer[PodDisruptionBudget] | None = None
        self._changes = Changes()
        self._lines: Lines | None = None
        self._seen: dict[str, bool] = {}  # by pod: whether its request is over
        self._gone: dict[
            str, Row
        ] = {}  # of named pods, whose end is worth a look: what the request last said

    async def run(self) -> None:
        """Show until cancelled, or until there is nothing more to wait for."""
        # Asked once beforehand, so that what is forbidden or not there is said and not tried for ever.
        await self._cluster.client.list(EVICTIONREQUESTS, self._namespace, limit=1)
        if await list_budgets(self._cluster, self._namespace) is not None:
            self._budgets = self._informers.informer(
                PODDISRUPTIONBUDGETS, PodDisruptionBudget, namespace=self._namespace
            )
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in self._informers.all()]
            for informer in self._informers.all():
                await informer.wait_synced()
            await (self._draw() if self._console.is_terminal else self._print())
            for task in tasks:
                task.cancel()

    async def _draw(self) -> None:
        """A table that is drawn anew at each change, and each second for the times in it."""
        for informer in self._informers.all():
            informer.subscribe(lambda _old, _new: self._changes.tell())
        self._requests.subscribe(self._note)
        with Live(self._table(), console=self._console, auto_refresh=False) as live:
            while not self._done():
                try:
                    async with asyncio.timeout(_TICK_SECONDS):
                        await self._changes.wait()
                except TimeoutError:
                    pass
                live.update(self._table(), refresh=True)

    async def _print(self) -> None:
        rows = self._rows()
        header = WIDE_HEADER if self._wide else HEADER
        self._lines = Lines(widths([header, *(row.cells(namespace=self._wide) for row in rows)]))
        self._lines.show(header)
        self._requests.subscribe(self._note)
        while not self._done():
            await self._changes.wait()

    def _note(self, old: EvictionRequest | None, new: EvictionRequest | None) -> None:
        request = new or old
        if request is None or (self._pods and pod_of(request) not in self._pods):
            return
        pod, row = pod_of(request), row_of(request, self._known_budgets(), self._cluster.clock.now())
        self._seen[pod] = new is None or new.complete
        if new is None:
            row = replace(row, stage=row.stage if request.complete else DELETED, active=NOTHING)
            self._gone |= {pod: row} if self._pods else {}
        else:
            self._gone.pop(pod, None)
        if self._lines is not None and old != new:
            self._lines.show(row.cells(namespace=self._wide))
        self._changes.tell()

    def _done(self) -> bool:
        return bool(self._pods) and all(self._seen.get(pod, False) for pod in self._pods)

    def _rows(self) -> list[Row]:
        wanted = [one for one in self._requests.reader.list() if not self._pods or pod_of(one) in self._pods]
        return [*rows_of(wanted, self._known_budgets(), self._cluster.clock.now()), *self._gone.values()]

    def _known_budgets(self) -> list[PodDisruptionBudget]:
        return list(self._budgets.reader.list()) if self._budgets is not None else []

    def _table(self) -> Table | Text:
        rows = self._rows()
        if not rows:
            return Text("No eviction requests yet; waiting for one.")
        return live_table(rows, wide=self._wide)


class Lines:
    """Rows as lines of fixed columns, one for each change."""

    def __init__(self, columns: Sequence[int]) -> None:
        self._columns = columns

    def show(self, cells: Sequence[str]) -> None:
        """Print the row."""
        terminal.echo(aligned_to(self._columns, [cells])[0])
