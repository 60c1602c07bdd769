"""Putting an installation into a cluster: server-side apply, so that what others wrote there stays.

The webhook writes its authority into the configurations, users may add labels: an upgrade touches neither.
Applying twice changes nothing. What an earlier installation had and this one has not is removed at the end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from vacate.api.installednames import PART_OF
from vacate.api.objects import Obj, dig, namespace_of
from vacate.api.untyped import has_condition
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.crds.definition import defined_kind
from vacate.entropy import Entropy
from vacate.errors import VacateError
from vacate.install.apply import preflight
from vacate.install.apply.inventory import Inventory, line_of, object_of
from vacate.install.apply.lock import alone, unchecked
from vacate.install.apply.polling import answer_of, wait_until
from vacate.install.apply.pruner import Pruner
from vacate.install.apply.requests import applied, counted_objects, existing
from vacate.install.objectkinds import DEFINITIONS, kind_of, shown
from vacate.install.objects import objects
from vacate.install.settings import Settings

Report = Callable[[str], None]
_DRY = " (server dry run)"
FOREIGN = "kept: it does not belong to Vacate"


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """How to install: only look, or do it; and what becomes of that which is no longer needed."""

    dry_run: bool = False
    prune: bool = True
    wait: bool = False  # waiting afterwards needs the right to watch
    kept: str = ""  # what the next run starts from, as its command reads it
    seen: str | None = None  # what this run has started from; None where that does not matter


class OptionsChanged(VacateError):
    """Another run came first: what this one started from is no longer so. It has changed nothing."""


class Installer:
    """One run of `vacate install`."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        entropy: Entropy,
        report: Report,
        options: InstallOptions | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._report = report
        self._options = options or InstallOptions()

    async def install(self, settings: Settings) -> None:
        """Check that the cluster can take all of it, apply one after the other, and prune."""
        wanted, where = objects(settings), settings.namespace
        await self._check(wanted, where)
        namespace, *rest = wanted
        if self._options.dry_run:
            await self._look(namespace, rest, where)
            return
        await self._wait_until_deleted(namespace)
        await self._make(namespace)
        async with alone(self._client, self._clock, self._entropy, where, self._report) as turn:
            notes = Inventory(self._client, where)
            if self._options.seen not in (None, await notes.options()):
                raise OptionsChanged("another vacate install has changed the options of the installation")
            noted = await notes.lines()
            lines = [line_of(obj) for obj in wanted]
            await notes.note([*noted, *lines], self._options.kept)
            await self.apply(rest, turn.check)
            if not self._options.prune:
                return
            await turn.check()
            await Pruner(self._client, self._report).prune(wanted, noted, where)
            await turn.check()
            await notes.note(
                [*(line for line in noted if object_of(line) is None), *lines], self._options.kept
            )

    async def apply(self, some: Sequence[Obj], check: Callable[[], Awaitable[None]] = unchecked) -> None:
        """Apply these one after the other, and nothing else; before each, check that it is still our turn."""
        for obj in some:
            await check()
            await self._apply(obj)
            if kind_of(obj) == DEFINITIONS:
                await self._served(obj)

    async def _check(self, wanted: Sequence[Obj], namespace: str) -> None:
        client = self._client
        await preflight.require_release(client)
        await preflight.require_groups(client, wanted)
        more = preflight.waiting_rights(namespace) if self._options.wait else []
        await preflight.require_rights(client, [*preflight.needed_rights(wanted, namespace), *more])
        await preflight.require_one_place(client, namespace)

    async def _apply(self, obj: Obj) -> None:
        before = await answer_of(lambda: existing(self._client, obj), self._clock)
        after = await answer_of(lambda: applied(self._client, obj), self._clock)
        self._report(f"{shown(obj)} {outcome(before, after)}")

    async def _make(self, namespace: Obj) -> None:
        """One that was created for other things is left as it is: its labels would rule their pods too."""
        found = await existing(self._client, namespace)
        if found is None or made_for_vacate(found):
            await self._apply(namespace)
        else:
            self._report(f"{shown(namespace)} {FOREIGN}")

    async def _look(self, namespace: Obj, rest: Sequence[Obj], where: str) -> None:
        """What would become of each, by the word of the API server, which changes nothing."""
        home = await existing(self._client, namespace)
        for obj in [namespace, *rest]:
            if obj is namespace and home is not None and not made_for_vacate(home):
                self._report(f"{shown(namespace)} {FOREIGN}{_DRY}")
            elif home is not None or not namespace_of(obj):
                before = await existing(self._client, obj)
                after = await applied(self._client, obj, dry_run=True)
                self._report(f"{shown(obj)} {outcome(before, after)}{_DRY}")
            else:
                self._report(f"{shown(obj)} created (not checked: its namespace is not there yet)")
        if self._options.prune:
            noted = await Inventory(self._client, where).lines()
            pruner = Pruner(self._client, lambda line: self._report(f"{line}{_DRY}"), dry_run=True)
            await pruner.prune([namespace, *rest], noted, where)

    async def _wait_until_deleted(self, namespace: Obj) -> None:
        """A namespace that is being deleted takes nothing new; a moment later it can be made again."""

        async def ready() -> bool:
            found = await existing(self._client, namespace)
            return not dig(found or {}, "metadata", "deletionTimestamp")

        await wait_until(ready, self._clock, f"{shown(namespace)} is still being deleted")

    async def _served(self, definition: Obj) -> None:
        """Wait until the API server answers for the new kind."""

        async def ready() -> bool:
            if not has_condition(await existing(self._client, definition), "Established"):
                return False
            return await counted_objects(self._client, defined_kind(definition)) is not None

        await wait_until(ready, self._clock, f"{shown(definition)} is not served yet")


def made_for_vacate(namespace: Obj) -> bool:
    """Whether an installation has created the namespace, and not a user who has other things in it."""
    return PART_OF.items() <= (namespace["metadata"].get("labels") or {}).items()


def outcome(before: Obj | None, after: Obj) -> str:
    """What applying has done to an object."""
    if before is None:
        return "created"
    return "unchanged" if _content(before) == _content(after) else "configured"


def _content(obj: Obj) -> Obj:
    """The object without the books that the API server keeps: noting who applied it is no change."""
    books = ("resourceVersion", "managedFields")
    meta = {key: value for key, value in obj["metadata"].items() if key not in books}
    return {**obj, "metadata": meta, "status": None}
