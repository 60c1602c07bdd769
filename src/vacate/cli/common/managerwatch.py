"""Whether a manager works on what a command shows or waits for: read once, or every two seconds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from vacate.api.installednames import EMBEDDED_BUILD
from vacate.api.kinds import EVENTS
from vacate.api.objects import dig
from vacate.api.options import ListOptions
from vacate.api.times import EARLIEST, format_time
from vacate.api.types.core import Event
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.program import program_name
from vacate.client.codec import codec_for
from vacate.errors import ApiError, Forbidden, TransportError
from vacate.runtime.managerlease import manager_leases
from vacate.runtime.refusals import ACCEPTED as WRITE_ACCEPTED
from vacate.runtime.refusals import REASON as WRITE_REFUSED
from vacate.runtime.refusals import REFUSES
from vacate.views.managerhealth import (
    SILENT_AFTER,
    WORKS,
    ManagerHealth,
    ManagerState,
    Unattended,
    manager_health,
)
from vacate.views.phrases import sentence
from vacate.wire.message import Request

if TYPE_CHECKING:
    from vacate.install.check.findings import Finding

LOOK_SECONDS = 2.0
_READ_SECONDS = 3.0
_CHECK_SECONDS = 10.0
WORKS_AGAIN = "The manager works again."


async def read_manager_health(
    cluster: Cluster, unattended: Unattended | None = None, waiting: Sequence[Unattended] = ()
) -> ManagerHealth:
    """What is known now. A server that does not answer is no sign of the manager, and reported elsewhere.

    `waiting` are objects that were attended to: the manager may not be able to write to them any more.
    """
    try:
        async with asyncio.timeout(_READ_SECONDS):
            leases = await manager_leases(cluster.client)
            found = manager_health(leases, cluster.clock.now(), unattended, program=program_name())
            late = [one for one in (unattended, *waiting) if one is not None and _is_late(one, cluster)]
            refused = await _refused_write(cluster, late) if found.state in _MAY_BE_REFUSED else None
            if not found.text and refused is None:
                return found
            embedded = await _is_embedded(cluster)
    except (ApiError, TransportError, TimeoutError):
        return ManagerHealth(ManagerState.UNKNOWN)
    now = cluster.clock.now()
    about, why = refused or (unattended, "")
    found = manager_health(leases, now, about, refused=why, embedded=embedded, program=program_name())
    return replace(found, embedded=embedded)


async def say_if_unattended(cluster: Cluster) -> None:
    """Say so where no manager does what a command has left to it."""
    say_health(await read_manager_health(cluster))


def say_health(health: ManagerHealth, before: str = "") -> None:
    """What is wrong: on a terminal with each command on a line of its own, in a pipe all in one line."""
    if not health.text:
        return
    lines = [f"{before}{health.line}"]
    if terminal.columns(err=True):
        lines = [f"{before}{health.text}"]
        for one in health.remedies:
            lines += [f"  → {one.text}:", f"    {one.command}"] if one.command else [f"  → {one.text}"]
    terminal.echo_lines(lines, err=True)


_MAY_BE_REFUSED = (ManagerState.WORKS, ManagerState.SILENT)


def _is_late(one: Unattended, cluster: Cluster) -> bool:
    return cluster.clock.now() - one.since >= SILENT_AFTER


async def _refused_write(cluster: Cluster, late: Sequence[Unattended]) -> tuple[Unattended, str] | None:
    """The first of these that the API server refuses to have written, and its answer.

    None where it takes all, or Events are not readable.
    """
    objects = {one.uid: one for one in late if one.uid}
    only = f"involvedObject.uid={late[0].uid}," if len(objects) == 1 else ""
    for namespace in dict.fromkeys(one.namespace for one in objects.values()):
        try:
            refused = await _last_events(cluster, namespace, f"{only}reason={WRITE_REFUSED}")
            for uid, last in refused.items():
                one, at = objects.get(uid), last.last_timestamp or EARLIEST
                if one is None or one.namespace != namespace or at < one.since:
                    continue
                taken = f"involvedObject.uid={uid},reason={WRITE_ACCEPTED}"
                again = (await _last_events(cluster, namespace, taken)).get(uid)
                if again is None or (again.last_timestamp or EARLIEST) < at:
                    return one, last.message.partition(REFUSES)[2]
        except Forbidden:
            continue
    return None


async def _last_events(cluster: Cluster, namespace: str, selector: str) -> dict[str, Event]:
    """By the UID of what they are about."""
    listed = await cluster.client.list(EVENTS, namespace, ListOptions(field_selector=selector))
    found = [(str(dig(one, "involvedObject", "uid")), codec_for(Event).convert(one)) for one in listed.items]
    return dict(sorted(found, key=lambda one: one[1].last_timestamp or EARLIEST))


async def _read_causes(cluster: Cluster) -> tuple[Finding, ...]:
    """What `vacate check` finds of that which keeps Vacate from doing anything."""
    from vacate.install.check.reader import InstallationCheck  # noqa: PLC0415  only where nothing happens

    check = InstallationCheck(cluster.client, cluster.clock, cluster.namespace, program_name())
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            return tuple(await check.causes())
    except (ApiError, TransportError, TimeoutError):
        return ()


def with_causes(health: ManagerHealth, causes: Sequence[Finding]) -> ManagerHealth:
    """The health with what else has failed, and its remedies."""
    if not causes or not health.text:
        return health
    text = " ".join([health.text, *(f"{one.check}: {sentence(one.text)}" for one in causes)])
    remedies = dict.fromkeys([*health.remedies, *(remedy for one in causes for remedy in one.remedies)])
    return replace(health, text=text, remedies=tuple(remedies))


async def _is_embedded(cluster: Cluster) -> bool:
    """Whether this is a cluster of `vacate up`, where other commands help."""
    try:
        version = msgspec.json.decode(await cluster.client.send(Request("GET", "/version")))
    except (ApiError, msgspec.MsgspecError):
        return False
    return isinstance(version, dict) and str(version.get("gitVersion", "")).endswith(EMBEDDED_BUILD)


class ManagerWatch:
    """Looks again and again, and says what has changed."""

    def __init__(
        self,
        cluster: Cluster,
        unattended: Callable[[], Awaitable[Unattended | None]],
        say: Callable[[ManagerHealth], None] | None = None,
        waiting: Callable[[], Awaitable[Sequence[Unattended]]] | None = None,
    ) -> None:
        self._cluster = cluster
        self._unattended = unattended
        self._waiting = waiting
        self._say = say or self._echo
        self.health = WORKS
        self._causes: tuple[Finding, ...] = ()  # what else has failed, looked for when the state changes
        self.reading = asyncio.Lock()  # held while a request is under way

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            async with self.reading:
                waiting = await self._waiting() if self._waiting is not None else ()
                found = await read_manager_health(self._cluster, await self._unattended(), waiting)
                before = self.health
                changed = bool(found.text) != bool(before.text) or found.state is not before.state
                if changed:
                    wrong = bool(found.text) and not found.embedded
                    self._causes = await _read_causes(self._cluster) if wrong else ()
            self.health = with_causes(found, self._causes)
            if changed and (found.text or before.text):
                self._say(self.health)
            await self._cluster.clock.sleep(LOOK_SECONDS)

    def _echo(self, health: ManagerHealth) -> None:
        now = format_time(self._cluster.clock.now())
        if health.text:
            say_health(health, f"{now} ")
        else:
            terminal.echo(f"{now} {WORKS_AGAIN}", err=True)


@contextlib.asynccontextmanager
async def watching(watch: ManagerWatch) -> AsyncIterator[ManagerWatch]:
    """Look for the length of the block.

    A request that is under way at its end is waited for: the connection of one that is cancelled is still
    being shut down by TLS, and an event loop cannot be closed before that has ended.
    """
    task = asyncio.get_running_loop().create_task(watch.run())
    try:
        yield watch
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_READ_SECONDS), watch.reading:
                task.cancel()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)  # its reader may be gone
