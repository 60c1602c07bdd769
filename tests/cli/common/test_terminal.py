"""The output boundary: no text steers the terminal, and nothing is written past it."""

from __future__ import annotations

import io
import json
import logging
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

import vacate.cli
from vacate.cli.common.console import SafeConsole
from vacate.cli.common.output import json_text, yaml_text
from vacate.cli.common.terminal import SafeFormatter, echo, echo_lines
from vacate.cli.common.text import INVISIBLE, REPLACEMENT, safe

pytestmark = pytest.mark.unit

PAST_THE_BOUNDARY = re.compile(
    r"click\.s?echo|(?<![.\w])print\(|\bConsole\(|sys\.std(out|err)\.write|click\.style"
)
EVERY_CHARACTER = st.text(st.characters(codec=None, categories=None), max_size=40)


@given(EVERY_CHARACTER)
def test_safe_text_is_printable_as_long_as_before_and_stays_as_it_is(text: str) -> None:
    shown = safe(text)
    assert shown.isprintable()
    assert len(shown) == len(text)
    assert safe(shown) == shown
    changed = {one for one, other in zip(text, shown, strict=True) if one.isprintable() and one != other}
    assert changed <= INVISIBLE
    assert not INVISIBLE & set(shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a�[31mb"),
        ("a\x9b2Jb\x7f", "a�2Jb�"),
        ("one\r\ntwo\tthree\u2028four\x85", "one  two three four "),
        ("\u202ereversed\u2066\u200b", "�reversed��"),
        ("half \ud800", "half �"),
        ("a\u3164b\u115f\u1160\uffa0\u2800", "a�b����"),
        ("Zoë 日本\u00a0é", "Zoë 日本 é"),
    ],
)
def test_what_becomes_of_it(text: str, shown: str) -> None:
    assert safe(text) == shown


# Default_Ignorable_Code_Point of Unicode, but for U+FE0E and U+FE0F, which choose how a picture is drawn.
IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0D),
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)  # fmt: skip


def test_no_character_that_terminals_leave_out_is_shown() -> None:
    every = "".join(chr(one) for first, last in IGNORABLE for one in range(first, last + 1))
    assert set(safe(every)) == {REPLACEMENT}


def test_one_line_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    echo("a\nFORGED")
    echo_lines(["b\nFORGED", "c"], err=True)
    assert capsys.readouterr() == ("a FORGED\n", "b FORGED\nc\n")


def test_a_stream_that_cannot_carry_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    echo("Zoë")
    stream.flush()
    assert stream.buffer.getvalue() == b"Zo?\n"


@given(EVERY_CHARACTER)
def test_tables_carry_only_their_own_sequences(text: str) -> None:
    drawn = io.StringIO()
    console = SafeConsole(file=drawn, width=60, color_system=None, markup=False, emoji=False)
    table = Table("a")
    table.add_row(Text(safe(text)))
    table.add_row(Text(text))
    console.print(table, text)
    assert all(map(str.isprintable, drawn.getvalue().split("\n")))
    assert not INVISIBLE & set(drawn.getvalue())


@given(
    st.dictionaries(
        st.text(max_size=10), st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=3
    )
)
def test_documents_escape_and_keep_the_value(value: dict[str, str]) -> None:
    for indent in (True, False):
        text = json_text(value, indent=indent)
        assert all(map(str.isprintable, text.split("\n")))
        assert json.loads(text) == value
    text = yaml_text(value)
    assert all(map(str.isprintable, text.split("\n")))
    assert yaml.safe_load(text) == value


def test_a_log_line_is_one_line_and_a_traceback_is_safe() -> None:
    formatter = SafeFormatter("%(name)s: %(message)s")
    try:
        raise ValueError("x\x1b[31m")
    except ValueError as error:
        record = logging.LogRecord(
            "n", 20, "", 0, "a\nFORGED\x1b[2J", (), (ValueError, error, error.__traceback__)
        )
    first, *rest = formatter.format(record).split("\n")
    assert first == "n: a FORGED�[2J"
    assert rest[-1] == "ValueError: x�[31m"


def test_nothing_is_written_past_the_boundary() -> None:
    root = Path(vacate.cli.__file__).parent
    own = {root / "common" / "terminal.py", root / "common" / "console.py"}
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in sorted(root.rglob("*.py"))
        if path not in own
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PAST_THE_BOUNDARY.search(line)
    ]
    assert found == []
