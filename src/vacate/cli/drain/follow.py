"""Following a drain: bars on a terminal, a line for each change in a pipe, JSON events for programs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec

from vacate.api.kinds import LIFECYCLE_REQUESTS, NODEMAINTENANCES
from vacate.api.options import ListOptions
from vacate.api.text import plain
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.cache.informer import Informer
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.managerwatch import WORKS_AGAIN, ManagerWatch, say_if_unattended, watching
from vacate.cli.common.outage import FOUND, Outage
from vacate.cli.common.output import JSON
from vacate.cli.common.program import program_name
from vacate.cli.common.text import safe
from vacate.cli.drain.events import event_line
from vacate.cli.drain.outcome import CANCELLED_END, DRAINED_END, REPLACED_END, DrainOutcome
from vacate.entropy import system_entropy
from vacate.errors import Forbidden, NotFound, UnreadableObject
from vacate.eviction.dialects.lifecycle.assembly import concerning
from vacate.eviction.dialects.registry import DIALECTS, READ_DIALECTS, dialect_of
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import is_superseded, shown_stage
from vacate.maintenance.names import requester_of
from vacate.sdk.watch import WatchedObject, watched
from vacate.views.causes import Cause, causes_of
from vacate.views.maintenance import (
    cause_lines,
    cause_sections,
    node_line,
    overview,
    progress_line,
    summary,
)
from vacate.views.managerhealth import ManagerHealth, Unattended, unattended_maintenance
from vacate.views.phrases import counted
from vacate.views.progress import forced_outcome

if TYPE_CHECKING:
    from rich.text import Text

_TICK_SECONDS = 1.0
_PREPARING = 8
_MAX_WRITTEN = 5  # causes at a time, above the live view
_EVICTED, _UNDER_WAY, _NOT_BEGUN = "evicted", "is being evicted", "is still to be evicted"  # outcomes of pods
_FORCED = "removed past its disruption budgets or interceptors"
_STEP = 10  # percent between two lines of a pipe


class Follower:
    """Shows one maintenance until its nodes are drained, or it is gone."""

    def __init__(self, cluster: Cluster, name: str, output: str) -> None:
        self._cluster = cluster
        self._name = name
        self._output = output
        self._requests: list[Informer[EvictionRequest]] = []
        self._ends: dict[str, str] = {}  # by pod: what became of it
        self._past: dict[str, str] = {}  # by pod: past what the eviction controller has removed it
        self._printed: dict[str, tuple[str, int]] = {}  # by node: the phase and step that were printed last
        self._held: dict[tuple[str, bool], Cause] = {}
        self._written: set[str] = set()  # causes whose remedies stand above the live view
        self._outage = Outage(cluster.clock)
        self._outcome = DrainOutcome()
        self._followed: WatchedObject[NodeMaintenance] | None = None
        say = self._write_health if output == JSON else None
        self.manager = ManagerWatch(cluster, self._unattended, say)

    async def run(self) -> str:
        """Return how it ended; NotFound where there is no such maintenance."""
        client, clock = self._cluster.client, self._cluster.clock
        await client.get(NODEMAINTENANCES, self._name)
        async with (
            self._watch_requests(),
            watched(
                client, NODEMAINTENANCES, NodeMaintenance, "", self._name, clock, system_entropy()
            ) as one,
            watching(self.manager),
        ):
            self._followed = one
            if self._output == JSON:
                end = await self._events(one)
            elif terminal.is_terminal():
                end = await self._draw(one)
            else:
                end = await self._print(one)
        last = one.current or one.last
        self._sum_up(last, end, going=one.current is not None)
        if end == CANCELLED_END and one.current is not None and not self.manager.health.text:
            await say_if_unattended(self._cluster)  # the watch may have had no time to look
        if end == REPLACED_END and last is not None:
            for row in self._outcome.replaced(last):
                terminal.error(f"node/{row.name}: {row.message}")
        return end

    async def _change(self, one: WatchedObject[NodeMaintenance], since: int) -> None:
        """Wait for more changes than so many, no longer than a moment; see whether changes still arrive."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TICK_SECONDS):
                await one.change(since)
        if self._output != JSON:
            self._outage.report([one])
        elif self._outage.check([one]):
            text = self._outage.text
            self._write_event("connection", state="Lost" if text else "Restored", message=text or FOUND)

    async def _unattended(self) -> Unattended | None:
        with contextlib.suppress(UnreadableObject):
            if self._followed is not None and (current := self._followed.current) is not None:
                return unattended_maintenance(current)
        return None

    def _write_health(self, health: ManagerHealth) -> None:
        self._write_event("manager", state=health.state.value, message=health.line or WORKS_AGAIN)

    def _end(self, one: WatchedObject[NodeMaintenance]) -> str | None:
        return self._outcome.note(one.current)

    # On a terminal

    async def _draw(self, one: WatchedObject[NodeMaintenance]) -> str:
        from rich.live import Live  # noqa: PLC0415  only where there is a terminal

        console = terminal.console()
        with (
            Live(
                self._screen(one, console.width, console.height), console=console, auto_refresh=False
            ) as live,
            terminal.drawing(console),
        ):
            while (end := self._end(one)) is None:
                if one.current is not None:
                    self._write_remedies(one.current)
                await self._change(one, one.changes)
                live.update(self._screen(one, console.width, console.height), refresh=True)
        return end

    def _screen(self, one: WatchedObject[NodeMaintenance], width: int, height: int) -> Text:
        from rich.text import Text  # noqa: PLC0415

        current, now = one.current or one.last, self._cluster.clock.now()
        if current is None or not current.status.nodes:
            return Text("Waiting for the controller…")
        lines = overview(current, now, width, height, moves=not self.manager.health.text)
        lines += self._preparing(width)[: max(height - len(lines), 0)]
        return Text("\n".join(map(safe, lines)), no_wrap=True, overflow="ellipsis")

    def _write_remedies(self, current: NodeMaintenance) -> None:
        """Write what needs a person above the live view, once: a command stays there on a line of its own."""
        now = self._cluster.clock.now()
        causes = [one for one in causes_of([current], now) if one.needs_person]
        new = [one for one in causes if one.key not in self._written]
        self._written.update(one.key for one in new)
        if not new:
            return
        lines = cause_sections(new[:_MAX_WRITTEN], now, terminal.width())
        if len(new) > _MAX_WRITTEN:
            more = counted(len(new) - _MAX_WRITTEN, "more cause")
            lines.append(f"  … and {more}; with commands: {program_name()} drains {self._name}")
        terminal.echo_lines(lines)

    def _preparing(self, width: int) -> list[str]:
        """What interceptors say about the pods that they prepare."""
        found = []
        for request in self._own_requests():
            status = request.status
            who = status.active_interceptor_name or ""
            if request.complete or not (who or request.kind == LIFECYCLE_REQUESTS):
                continue
            pod = f"{request.metadata.namespace}/{request.pod_name}"
            text = ": ".join(filter(None, (who, plain(status.message, 200))))
            found.append(f"  … pod {pod}: {text}")
        lines = [line if len(line) <= width else f"{line[: width - 1]}…" for line in found[:_PREPARING]]
        return [*lines, f"  … and {len(found) - _PREPARING} more"] if len(found) > _PREPARING else lines

    # In a pipe

    async def _print(self, one: WatchedObject[NodeMaintenance]) -> str:
        if one.current is not None and one.current.status.nodes:  # else its creation was just printed
            terminal.echo(f"nodemaintenance/{self._name}: {progress_line(one.current)}")
        while (end := self._end(one)) is None:
            seen = one.changes
            if one.current is not None:
                self._print_changes(one.current)
            await self._change(one, seen)
        if one.current is not None:
            self._print_changes(one.current)
        return end

    def _print_changes(self, current: NodeMaintenance) -> None:
        now = self._cluster.clock.now()
        for row in current.status.nodes:
            step = (row.phase, row.percent // _STEP)
            if self._printed.get(row.name) != step:
                self._printed[row.name] = step
                terminal.echo(f"node/{node_line(row, now, 200, 0)}")
        there = {(one.key, one.needs_person): one for one in causes_of([current], now)}
        for key, held in there.items():
            if key not in self._held:
                terminal.echo_lines(cause_lines(held, now, 200))
        self._held = there

    # For programs

    async def _events(self, one: WatchedObject[NodeMaintenance]) -> str:
        shown = -1
        while (end := self._end(one)) is None:
            seen = one.changes
            if one.current is not None and seen != shown:
                self._write_event("progress", **msgspec.to_builtins(one.current.status))
            shown = seen
            await self._change(one, seen)
        if one.current is not None:
            self._write_event("progress", **msgspec.to_builtins(one.current.status))
        return end

    def _write_event(self, type_: str, **fields: Any) -> None:
        now = self._cluster.clock.now()
        terminal.echo_document(event_line(type_, self._name, now, **fields))

    # The end

    def _sum_up(self, last: NodeMaintenance | None, end: str, *, going: bool) -> None:
        if end == DRAINED_END:  # no pod is left, though requests may be there for a moment longer
            self._ends = {
                pod: self._past.get(pod, _EVICTED) if outcome == _UNDER_WAY else outcome
                for pod, outcome in self._ends.items()
            }
        rows = last.status.nodes if last is not None else []
        unbegun = [one for one in self._own_requests() if one.kind == LIFECYCLE_REQUESTS]
        self._ends |= {f"{one.metadata.namespace}/{one.pod_name}": _NOT_BEGUN for one in unbegun}
        # A pod whose request is pinned, or was never accepted, may have no request of its own in this drain.
        forced = {pod: self._past.get(pod, _FORCED) for row in rows for pod in row.forced_pods}
        ends = self._ends | forced
        pods = [{"pod": pod, "outcome": outcome} for pod, outcome in sorted(ends.items())]
        if self._output == JSON:
            self._write_event("end", result=end, pods=pods)
            return
        if end == CANCELLED_END:
            state = "is being deleted: the manager withdraws its requests and uncordons its nodes"
            state = state if going else "was deleted: its requests are withdrawn and its nodes uncordoned"
            count = last.status.pods_evicted if last is not None else 0
            stay = f"; {counted(count, 'pod')} that it evicted {'stays' if count == 1 else 'stay'} evicted"
            terminal.echo(f"nodemaintenance/{self._name} {state}{stay if count else ''}.")
            return
        for one in pods:
            terminal.echo(f"pod/{one['pod']} {one['outcome']}")
        if last is not None:
            terminal.echo_lines(summary(last, self._cluster.clock.now()))

    # What else is seen

    @contextlib.asynccontextmanager
    async def _watch_requests(self) -> AsyncIterator[None]:
        """Follow the requests as well, where one may: they show what interceptors report.

        A maintenance joins requests of another kind than its own, so both are followed.
        """
        client, clock = self._cluster.client, self._cluster.clock
        for dialect in READ_DIALECTS:
            with contextlib.suppress(Forbidden, NotFound):
                await client.list(dialect.kind, options=ListOptions(limit=1))
                args = (client, dialect.kind, dialect.wire)
                one = Informer(*args, clock=clock, entropy=system_entropy(), project=dialect.read)
                if dialect in DIALECTS.values():  # an Eviction says what becomes of its requests
                    one.subscribe(self._note)
                self._requests.append(one)
        tasks = [asyncio.get_running_loop().create_task(one.run()) for one in self._requests]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    def _own_requests(self) -> list[EvictionRequest]:
        known = [one for requests in self._requests for one in requests.reader.list()]
        return [one for one in concerning(known) if self._is_own(one)]

    def _is_own(self, request: EvictionRequest) -> bool:
        own = requester_of(self._name, dialect_of(request))
        return any(one.name == own for one in request.spec.requesters)

    def _note(self, old: EvictionRequest | None, new: EvictionRequest | None) -> None:
        request = new or old
        if request is None or not request.pod_name or not self._is_own(request):
            return
        pod = f"{request.metadata.namespace}/{request.pod_name}"
        if past := forced_outcome(request):
            self._past[pod] = past
        if is_superseded(request):
            self._ends[pod] = _UNDER_WAY  # a new request takes over
        elif new is None or new.complete:
            cancelled = shown_stage(request) is Stage.CANCELLED
            ended = self._past.get(pod, _EVICTED)
            self._ends[pod] = "not evicted: the request was cancelled" if cancelled else ended
        else:
            self._ends[pod] = _UNDER_WAY
