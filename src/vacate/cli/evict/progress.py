"""What `vacate evict --wait` shows: a live table on a terminal, a line for each change elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.outage import Outage
from vacate.cli.common.queries import read_by
from vacate.cli.common.text import safe
from vacate.entropy import system_entropy
from vacate.errors import VacateError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.lifecycle.assembly import NOT_BEGUN, concerning
from vacate.eviction.dialects.registry import dialect_of
from vacate.runtime.dependencies import InformerFactory
from vacate.views.progress import progress_text
from vacate.views.statusrows import Row, row_of

_TICK_SECONDS = 1.0


class Progress:
    """The requests that are waited for, and how they stand."""

    def __init__(
        self, cluster: Cluster, pods: Mapping[str, str], read: Sequence[Dialect], namespace: str
    ) -> None:
        self._cluster = cluster
        self._pods = pods  # by their UIDs
        self._dialect = read[0]
        self._shown: dict[str, tuple[str, ...]] = {}
        self._outage = Outage(cluster.clock)
        informers = InformerFactory(cluster.client, cluster.clock, system_entropy())
        self._informers = [informers.requests(one, namespace=namespace) for one in read]

    async def run(self) -> None:
        """Show each change until cancelled."""
        live = terminal.is_terminal()
        if not live:
            for informer in self._informers:
                informer.subscribe(self._line)
        async with asyncio.TaskGroup() as group:
            for informer in self._informers:
                group.create_task(informer.run())
            await (self._draw() if live else self._report())

    def _line(self, old: EvictionRequest | None, new: EvictionRequest | None) -> None:
        if new is not None:
            for one in self._going(new.pod_uid):
                self._news(one, self._pod(one))

    def _news(self, request: EvictionRequest, pod: str) -> None:
        row = row_of(request, [], self._cluster.clock.now())
        if row.message == NOT_BEGUN:
            return  # it begins in a moment, or it is said that no manager works
        news = (row.stage, row.active, row.blocked_by, row.message)
        if self._shown.get(row.request) != news:
            self._shown[row.request] = news
            text = progress_text(row, dialect_of(request).terms.interceptor)
            terminal.echo(f"pod/{pod} {text}")

    def _pod(self, request: EvictionRequest) -> str:
        """The pod's name as it is shown; empty for another pod."""
        return self._pods.get(request.pod_uid, "")

    async def _report(self) -> None:
        while True:
            await self._cluster.clock.sleep(_TICK_SECONDS)
            self._outage.report(self._informers)

    async def _draw(self) -> None:
        from rich.live import Live  # noqa: PLC0415  only where there is a terminal
        from rich.text import Text  # noqa: PLC0415

        from vacate.cli.status.table import live_table  # noqa: PLC0415

        console = terminal.console()
        # Lines are written above the table by `drawing`, and not by what Live could put in place of stdout.
        live = Live(
            Text(""),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with live, terminal.drawing(console):
            while True:
                self._outage.check(self._informers)
                rows, note = self._rows(), safe(self._outage.text)
                size = (console.width, console.height)
                table = live_table(rows, size, note=note, phrase=self._dialect.phrase)
                live.update(table if rows else Text(note), refresh=True)
                await self._cluster.clock.sleep(_TICK_SECONDS)

    def _rows(self) -> list[Row]:
        now = self._cluster.clock.now()
        return [row_of(one, [], now) for one in self._going()]

    def _going(self, pod_uid: str = "") -> list[EvictionRequest]:
        known = (one for informer in self._informers for one in informer.reader.list() if self._pod(one))
        found = [one for one in known if pod_uid in ("", one.pod_uid)]
        return [one for one in concerning(found) if not one.complete]


@contextlib.asynccontextmanager
async def shown_progress(
    cluster: Cluster, pods: Mapping[str, str], dialect: Dialect, namespace: str
) -> AsyncIterator[None]:
    """Show how the requests go on, for the length of the block; those who may not list them see nothing.

    The requests are read in one namespace, or in all of them where none is given.
    """
    try:
        read = await read_by(cluster, dialect, namespace)
    except VacateError:
        yield
        return
    task = asyncio.get_running_loop().create_task(Progress(cluster, pods, read, namespace).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
