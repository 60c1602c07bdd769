"""The informer: drives the list-and-watch machine over a client and keeps a table up to date."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from vacate.api.kinds import Kind
from vacate.api.options import ListOptions, WatchOptions
from vacate.api.times import after
from vacate.cache import listwatch as machine
from vacate.cache.listwatch import Effect, Input, Position, Step, step
from vacate.cache.reader import Reader
from vacate.cache.reflector import Handler, Projection, Reflector, UnreadableHandler
from vacate.cache.store import IndexFunction, ObjectTable
from vacate.client.client import Client
from vacate.client.watch import Watch
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import ApiError, TransportError, VacateError

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tuning:
    """How patient an informer is, in seconds."""

    watch_seconds: tuple[float, float] = (300.0, 600.0)  # a watch is asked for anew after this, at random
    overdue_seconds: float = 30.0  # a watch that lives so much longer than asked for has fallen silent
    first_pause: float = 0.8
    max_pause: float = 7.5


class Informer(Generic[T]):
    """A live copy of one collection.

    At rest it waits on one open watch: no polling and no listing. Handlers are called in the order of the
    changes, and must neither block nor raise: an error in one ends `run`. An object that cannot be decoded,
    projected or indexed is skipped, logged once for each of its states, and listed by the reader as
    unreadable until it changes or goes.
    """

    def __init__(
        self,
        client: Client,
        kind: Kind,
        into: type[T],
        *,
        clock: Clock,
        entropy: Entropy,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        indexes: Mapping[str, IndexFunction[T]] | None = None,
        tuning: Tuning | None = None,
        project: Projection[T] | None = None,
    ) -> None:
        self.kind = kind
        self.into = into
        self.project = project
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._tuning = tuning or Tuning()
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._table: ObjectTable[T] = ObjectTable(indexes or {})
        self._writer = Reflector(kind, self._table, project)
        self._started = False
        self._position = Position()
        self._unbroken_since: float | None = None  # on the monotonic clock
        self._stalled_since: dt.datetime | None = None
        self._trouble: VacateError | None = None
        self._logged_trouble = ""  # what the log says is wrong at present
        self.reader = Reader(self._table)

    @property
    def position(self) -> Position:
        """Where the list-and-watch machine stands."""
        return self._position

    @property
    def unbroken_since(self) -> dt.datetime | None:
        """Since when changes have arrived without a gap; None while none can arrive.

        A watch that the server ends in good order and that is opened again at once is no gap. One that broke,
        fell silent or could not be opened is: nothing is missed then either, since the next one begins where
        the last one ended, but for a while nobody could know what happened, or perhaps even make it happen.
        By the clock as it shows now: one that was set changes nothing about how long that is.
        """
        if self._unbroken_since is None:
            return None
        return after(self._clock.now(), self._unbroken_since - self._clock.monotonic())

    @property
    def trouble(self) -> VacateError | None:
        """Why the last attempt failed; None once changes arrive again."""
        return self._trouble

    @property
    def stalled_since(self) -> dt.datetime | None:
        """Since when no change can have arrived although the informer runs; None while changes arrive."""
        return self._stalled_since

    def add_indexes(self, indexes: Mapping[str, IndexFunction[T]]) -> None:
        """Index by more functions. Only before `run`; a name keeps the function it got first."""
        for name, function in indexes.items():
            if name in self._table.functions:
                continue
            if self._started:
                raise RuntimeError(f"{self.kind.resource}: index {name!r} comes too late, the informer runs")
            self._table.functions[name] = function
            self._table.indexed[name] = {}

    def subscribe(self, handler: Handler[T]) -> None:
        """Call the handler for every change from now on, and at once for what is already known."""
        self._writer.handlers.append(handler)
        for obj in self.reader.list():
            handler(None, obj)

    def subscribe_unreadable(self, handler: UnreadableHandler) -> None:
        """Call the handler for every state that cannot be decoded from now on, and for those known."""
        self._writer.unreadable_handlers.append(handler)
        for one in self.reader.list_unreadable():
            handler(one)

    async def wait_synced(self) -> None:
        """Return when the first whole listing is there."""
        await self._writer.synced.wait()

    async def run(self) -> None:
        """Follow the collection until cancelled."""
        self._started = True
        self._stalled_since = self._clock.now()
        position, effects = step(self._position, machine.Started())
        while True:
            self._position = position
            position, effects = await self._turn(position, effects)

    async def _turn(self, position: Position, effects: Sequence[Effect]) -> Step:
        """Do what a step asks for and make the next step of the outcome."""
        self._writer.perform(effects)
        match effects[-1]:
            case machine.FetchPage() as fetch:
                return step(position, await self._fetch(fetch))
            case machine.OpenStream() as opening:
                return await self._follow(position, opening)
            case machine.Pause() as pause:
                self._unbroken_since = None
                await self._clock.sleep(self._pause_seconds(pause))
                return step(position, machine.Started())
            case other:
                raise AssertionError(f"{other} cannot begin a turn")

    async def _fetch(self, fetch: machine.FetchPage) -> Input:
        options = ListOptions(
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            limit=fetch.limit,
            continue_token=fetch.continue_token,
        )
        try:
            page = await self._client.list(self.kind, self._namespace, options, into=self.into)
        except (ApiError, TransportError) as error:
            return self._failed(error)
        return machine.Page(page.items, page.resource_version, page.continue_token, page.unreadable)

    async def _follow(self, position: Position, opening: machine.OpenStream) -> Step:
        """Open a watch and stay on it to its end; return the step after that."""
        seconds = self._entropy.uniform(*self._tuning.watch_seconds)
        options = WatchOptions(
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            resource_version=opening.resource_version,
            timeout_seconds=max(int(seconds), 1),
            send_initial_events=opening.initial_events or None,
        )
        watch = self._client.watch(self.kind, self._namespace, options, into=self.into)
        began = self._clock.monotonic()
        self._position = position
        try:
            async with asyncio.timeout(seconds + self._tuning.overdue_seconds), watch:
                await self._stay(watch)
            outcome: Input = machine.Ended(self._clock.monotonic() - began)
        except TimeoutError:
            outcome = self._failed(TransportError("the watch has stopped sending changes"))
        except (ApiError, TransportError) as error:
            outcome = self._failed(error)
        return step(self._position, outcome)

    def _failed(self, error: VacateError) -> machine.Failed:
        self._unbroken_since, self._trouble = None, error
        self._stalled_since = self._stalled_since or self._clock.now()
        text = str(error)
        if self._position.failures and text != self._logged_trouble:  # a single failure is not worth a line
            self._logged_trouble = text
            log.warning("%s: cannot be followed, trying again: %s", self.kind.resource, text)
        return machine.Failed(error)

    def _note_watching(self) -> None:
        """Note that changes arrive from now on, if they do and did not before."""
        if self._unbroken_since is None and self._position.phase is machine.Phase.WATCHING:
            self._unbroken_since, self._trouble = self._clock.monotonic(), None
            self._stalled_since = None
            if self._logged_trouble:
                self._logged_trouble = ""
                log.warning("%s: changes arrive again", self.kind.resource)

    async def _stay(self, watch: Watch[T]) -> None:
        await watch.open()
        self._position, effects = step(self._position, machine.Opened())
        self._note_watching()
        while (events := await watch.read()) is not None:
            self._position, effects = step(self._position, machine.Events(events))
            self._writer.perform(effects)
            self._note_watching()

    def _pause_seconds(self, pause: machine.Pause) -> float:
        """Doubling from the first pause up to the longest, plus up to as much again by chance."""
        doubled = self._tuning.first_pause * 2.0 ** min(pause.failures - 1, 16)
        seconds = min(doubled, self._tuning.max_pause) * self._entropy.uniform(1.0, 2.0)
        return max(seconds, pause.at_least)
