"""Whether a manager works on what a command shows or waits for: read once, or every two seconds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from vacate.api.kinds import EVENTS
from vacate.api.objectnames import EMBEDDED_BUILD
from vacate.api.options import ListOptions
from vacate.api.times import EARLIEST, format_time
from vacate.api.types.core import Event
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.program import program_name
from vacate.errors import ApiError, Forbidden, TransportError
from vacate.runtime.managerlease import manager_leases
from vacate.runtime.refusals import REASON as WRITE_REFUSED
from vacate.runtime.refusals import REFUSES
from vacate.views.managerhealth import (
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


async def read_manager_health(cluster: Cluster, unattended: Unattended | None = None) -> ManagerHealth:
    """What is known now. A server that does not answer is no sign of the manager, and reported elsewhere."""
    try:
        async with asyncio.timeout(_READ_SECONDS):
            leases = await manager_leases(cluster.client)
            found = manager_health(leases, cluster.clock.now(), unattended, program=program_name())
            if not found.text:
                return found
            embedded = await _is_embedded(cluster)
            refused = await _refused_write(cluster, unattended) if unattended is not None else ""
    except (ApiError, TransportError, TimeoutError):
        return ManagerHealth(ManagerState.UNKNOWN)
    now = cluster.clock.now()
    found = manager_health(
        leases, now, unattended, refused=refused, embedded=embedded, program=program_name()
    )
    return replace(found, embedded=embedded)


async def say_if_unattended(cluster: Cluster) -> None:
    """One line where no manager does what a command has left to it."""
    if line := (await read_manager_health(cluster)).line:
        terminal.echo(line, err=True)


async def _refused_write(cluster: Cluster, about: Unattended) -> str:
    """What the API server answered the manager last, where Events are readable; empty where it took all."""
    selector = ListOptions(field_selector=f"involvedObject.uid={about.uid},reason={WRITE_REFUSED}")
    try:
        found = (await cluster.client.list(EVENTS, options=selector, into=Event)).items
    except Forbidden:
        return ""
    last = max(found, key=lambda one: one.last_timestamp or EARLIEST, default=None)
    return last.message.partition(REFUSES)[2] if last is not None else ""


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
    ) -> None:
        self._cluster = cluster
        self._unattended = unattended
        self._say = say or self._echo
        self.health = WORKS
        self._causes: tuple[Finding, ...] = ()  # what else has failed, looked for when the state changes
        self.reading = asyncio.Lock()  # held while a request is under way

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            async with self.reading:
                found = await read_manager_health(self._cluster, await self._unattended())
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
        terminal.echo(f"{now} {health.line or WORKS_AGAIN}", err=True)


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
