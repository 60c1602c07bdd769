"""The API server's clock from the dates of its answers."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from email.utils import format_datetime

import pytest

from vacate.client.serverclock import DatedTransport, ServerClock
from vacate.clock import SystemClock
from vacate.metrics import Metrics
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
MS = dt.timedelta(milliseconds=1)


class Machine(SystemClock):
    """A clock that is so far off, and stands still."""

    def __init__(self, off: float) -> None:
        self.time = NOON + dt.timedelta(seconds=off)
        self.ticks = 0.0

    def now(self) -> dt.datetime:
        return self.time

    def monotonic(self) -> float:
        return self.ticks


class Dated:
    """A server that answers with its date, after what happens until then."""

    def __init__(self, date: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.date = date
        self.meanwhile = meanwhile

    async def send(self, _request: Request) -> Response:
        self.meanwhile()
        return Response(200, headers={"Date": self.date} if self.date else {})

    async def aclose(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("off", [-3600.0, -30.0, -6.0, 6.0, 30.0, 3600.0])
async def test_a_clock_that_is_off_is_corrected_to_within_a_second(off: float) -> None:
    machine = Machine(off)
    clock = ServerClock(machine, metrics := Metrics())
    transport = DatedTransport(Dated(format_datetime(NOON, usegmt=True)), clock)
    await transport.send(Request("GET", "/"))
    assert abs(clock.now() - NOON) <= dt.timedelta(seconds=1)
    value = metrics.registry.get_sample_value("vacate_clock_offset_seconds")
    assert value is not None
    assert abs(value + off) <= 1


def test_a_clock_that_is_right_is_left_alone() -> None:
    clock = ServerClock(Machine(0))
    for late in (0, 200, 999):
        clock.observe(NOON, NOON + late * MS, NOON + (late + 5) * MS)
    assert clock.offset == dt.timedelta(0)


def test_answers_narrow_the_offset_down_and_a_clock_that_was_set_starts_anew() -> None:
    clock = ServerClock(Machine(0))
    true = dt.timedelta(seconds=30, milliseconds=400)
    for tenth in range(40):
        sent = NOON + tenth * 100 * MS
        clock.observe((sent + true).replace(microsecond=0), sent, sent + 2 * MS)
    assert abs(clock.offset - true) <= 60 * MS
    later = NOON + dt.timedelta(minutes=1)
    clock.observe(later, later, later)  # someone has set the machine's clock right
    assert clock.offset == dt.timedelta(0)


@pytest.mark.parametrize("off", [0.0, 300.0])
@pytest.mark.parametrize("seconds", [-600.0, 600.0])
@pytest.mark.parametrize("when", ["between answers", "while one is on its way", "and back"])
async def test_a_machine_whose_clock_is_set_goes_on_by_the_servers(
    when: str, seconds: float, off: float
) -> None:
    machine = Machine(off)
    clock = ServerClock(machine)
    dated = Dated(format_datetime(NOON, usegmt=True))
    await DatedTransport(dated, clock).send(Request("GET", "/"))

    def set_clock(by: float = seconds) -> None:
        machine.time += dt.timedelta(seconds=by)

    if when == "while one is on its way":
        dated.meanwhile = set_clock
        await DatedTransport(dated, clock).send(Request("GET", "/"))
    else:
        set_clock()
        assert abs(clock.now() - NOON) <= dt.timedelta(seconds=1)
    if when == "and back":
        set_clock(-seconds)
    assert abs(clock.now() - NOON) <= dt.timedelta(seconds=1)


async def test_time_that_passes_is_no_clock_that_is_set() -> None:
    machine = Machine(0)
    clock = ServerClock(machine)
    await DatedTransport(Dated(format_datetime(NOON, usegmt=True)), clock).send(Request("GET", "/"))
    machine.time += dt.timedelta(hours=1)
    machine.ticks += 3600
    assert clock.now() == NOON + dt.timedelta(hours=1)


def test_a_process_that_was_halted_while_it_read_the_clocks_reads_them_again() -> None:
    class Halted(Machine):
        def now(self) -> dt.datetime:
            self.time += dt.timedelta(seconds=self.pause)
            self.ticks += self.pause
            self.pause = 0.0
            return self.time

        pause = 0.0

    machine = Halted(0)
    clock = ServerClock(machine)
    clock.observe(NOON, NOON, NOON)
    machine.pause = 30.0
    assert clock.now() == NOON + dt.timedelta(seconds=30)
    assert clock.offset == dt.timedelta(0)


@pytest.mark.parametrize(
    "date", ["", "yesterday", "Sun, 99 Foo 2026 12:00:00 GMT", "Sun, 01 Mar 2026 12:00:00"]
)
async def test_answers_without_a_readable_date_change_nothing(date: str) -> None:
    clock = ServerClock(Machine(99))
    await DatedTransport(Dated(date), clock).send(Request("GET", "/"))
    assert clock.offset == dt.timedelta(0)


def test_a_notable_offset_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = ServerClock(Machine(0))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            clock.observe(NOON + dt.timedelta(seconds=30), NOON, NOON)
    (record,) = caplog.records
    assert "30.5 s behind the API server's" in record.getMessage()
