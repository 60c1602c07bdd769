"""Which part of a log `kubectl logs` is shown, and the times of its lines."""

from __future__ import annotations

import datetime as dt
import os
import random
from pathlib import Path

import pytest

from vacate.api.options import LogOptions
from vacate.clock import SystemClock
from vacate.errors import ApiError, BadRequest, Invalid
from vacate.nodeagent.containerlogs import read_log
from vacate.nodeagent.runtime.supervisor.logtimes import SUFFIX, Marks, read_marks

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 1, 1, 12, 0, 0, tzinfo=dt.UTC)
NOON = NOW.timestamp()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three lines, of 10 and of 5 seconds before noon, and one of noon, after the last look."""
    path = tmp_path / "0.log"
    marks = Marks(str(path))
    path.write_bytes(b"first\nsec")
    marks.look(path.stat().st_size, NOON - 10)
    with path.open("ab") as file:
        file.write(b"ond\nthird\n")
    marks.look(path.stat().st_size, NOON - 5)
    marks.look(path.stat().st_size, NOON - 4)  # nothing new
    with path.open("ab") as file:
        file.write(b"fourth\n")
    os.utime(path, (NOON, NOON))
    return path


def shown(path: Path, **query: str) -> bytes:
    answer = read_log(path, LogOptions.of(query, "p", NOW), lambda: False, SystemClock())
    assert isinstance(answer.body, bytes)
    return answer.body


ALL = b"first\nsecond\nthird\nfourth\n"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ALL),
        ({"sinceSeconds": "60"}, ALL),
        ({"sinceSeconds": "10"}, ALL),
        ({"sinceSeconds": "9"}, b"third\nfourth\n"),  # the second line began before
        ({"sinceSeconds": "4"}, b"fourth\n"),
        ({"sinceTime": "2026-01-01T12:00:01Z"}, b""),
        ({"sinceTime": "2026-01-01T13:59:56+02:00"}, b"fourth\n"),
        ({"sinceSeconds": "9", "tailLines": "1"}, b"fourth\n"),
        ({"sinceSeconds": "4", "tailLines": "3"}, b"fourth\n"),
        ({"tailLines": "0"}, b""),
        ({"limitBytes": "8"}, b"first\nse"),
        (
            {"timestamps": "true", "tailLines": "3"},
            (
                b"2026-01-01T11:59:50.000000Z second\n2026-01-01T11:59:55.000000Z third\n"
                b"2026-01-01T12:00:00.000000Z fourth\n"
            ),
        ),
        ({"timestamps": "1", "limitBytes": "30"}, b"2026-01-01T11:59:50.000000Z fi"),
        ({"timestamps": "false", "follow": "0", "stream": "All"}, ALL),
    ],
)
def test_options(log: Path, query: dict[str, str], expected: bytes) -> None:
    assert shown(log, **query) == expected


@pytest.mark.parametrize(
    ("query", "kind", "words"),
    [
        ({"tailLines": "-1"}, Invalid, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ({"limitBytes": "0"}, Invalid, "limitBytes: Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": "0"}, Invalid, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": "1", "sinceTime": "2026-01-01T12:00:01Z"}, Invalid, "at most one of `sinceTime`"),
        ({"stream": "Stderr"}, Invalid, 'stream: Unsupported value: "Stderr"'),
        ({"tailLines": "many"}, BadRequest, "tailLines: 'many' is not a number"),
        ({"sinceTime": "yesterday"}, BadRequest, "sinceTime: 'yesterday' is not a time such as"),
        ({"sinceSeconds": "9" * 30}, BadRequest, "is not a number"),
    ],
)
def test_mistakes(query: dict[str, str], kind: type[ApiError], words: str) -> None:
    with pytest.raises(kind) as caught:
        LogOptions.of(query, "p", NOW)
    assert words in str(caught.value)


async def test_a_follower_goes_on_after_the_log_was_cut(log: Path) -> None:
    rounds: list[bytes] = [b"later\n", b"last\n"]

    def runs() -> bool:
        """Between two looks the log is cut and written on, as by the supervisor."""
        if len(rounds) == 2:
            log.write_bytes(rounds.pop(0))
        elif rounds:
            log.write_bytes(log.read_bytes() + rounds.pop(0))
        return bool(rounds)

    answer = read_log(log, LogOptions(follow=True, tail=0), runs, SystemClock())
    assert not isinstance(answer.body, bytes)
    assert b"".join([chunk async for chunk in answer.body]) == b"later\nlast\n"
    await answer.body.aclose()


def test_marks_are_bounded_outlive_their_writer_and_forget_a_log_that_was_cut(tmp_path: Path) -> None:
    path = tmp_path / f"0.log{SUFFIX}"
    marks = Marks(str(tmp_path / "0.log"))
    for number in range(1, 10_000):
        marks.look(number, NOON + number)
    kept = read_marks(str(path))
    assert len(kept) <= 4096
    assert kept[-1] == (NOON + 9999, 9999)
    with path.open("ab") as file:
        file.write(b"half")  # a writer that died
    Marks(str(tmp_path / "0.log")).look(10_000, NOON)
    assert read_marks(str(path)) == [*kept, (NOON, 10_000)]
    marks.look(5, NOON)
    assert read_marks(str(path)) == [(NOON, 5)]


@pytest.mark.parametrize("content", [b"\xff" * 160, b"\0" * 160, b"x", random.Random(7).randbytes(16 * 4096)])
def test_marks_that_make_no_sense_do_no_harm(log: Path, content: bytes) -> None:
    log.with_name(f"0.log{SUFFIX}").write_bytes(content)
    read = shown(log, timestamps="true", sinceSeconds="100000")
    assert [line.partition(b" ")[2] for line in read.splitlines()] in (ALL.splitlines(), [b"fourth"], [])
