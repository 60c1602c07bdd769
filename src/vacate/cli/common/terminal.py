"""The output boundary: everything that a command writes to the screen or into a pipe leaves through here.

Names, messages and errors come from other users, and a terminal obeys what it is sent: an escape sequence in
a status message could rewrite lines that stand above it, a line break could forge one. So no text leaves with
a character that a terminal would act upon. `tests/cli/common/test_terminal.py` holds the other modules of the
command line to writing through this one.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
import sys
import traceback
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from vacate.cli.common.text import folded, safe
from vacate.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

_READABLE, _NARROWEST = 100, 40
_live: list[Console] = []  # what is being drawn, the innermost last


def echo(line: str, *, err: bool = False) -> None:
    """Write one line, whatever is in it; a terminal that is narrower shows it as several."""
    echo_lines([line], err=err)


def echo_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Write several lines; a break within one of them does not make another."""
    room = columns(err=err)
    _write("\n".join(part for line in lines for part in folded(safe(line), room)), err=err)


def echo_document(text: str, *, err: bool = False) -> None:
    """Write a text whose lines were made here, such as help or a document in which breaks are escaped."""
    shown = "\n".join(map(safe, text.removesuffix("\n").split("\n")))
    _write(shown, err=err)


@contextlib.contextmanager
def drawing(live: Console) -> Iterator[None]:
    """While something is drawn anew again and again, lines are written above it and not into it."""
    _live.append(live)
    try:
        yield
    finally:
        _live.remove(live)


def ask(question: str) -> None:
    """Write a question to standard error; the answer is typed on the same line."""
    click.echo(_encodable(safe(question), err=True), err=True, nl=False)


def error(message: object) -> None:
    """Write why something did not work."""
    echo(f"error: {message}", err=True)


def trace(problem: BaseException) -> None:
    """Write where an unexpected error came from."""
    echo_document("".join(traceback.format_exception(problem)), err=True)


def console(*, err: bool = False) -> Console:
    """A console for tables and live views, with the same promise."""
    from vacate.cli.common.console import SafeConsole  # noqa: PLC0415  most commands draw nothing

    return SafeConsole(highlight=False, markup=False, emoji=False, stderr=err)


def is_terminal(*, err: bool = False) -> bool:
    """Whether a person reads this while it is written."""
    stream = sys.stderr if err else sys.stdout
    return stream is not None and stream.isatty()


def columns(*, err: bool = False) -> int:
    """How many characters fit in a line of the terminal; 0 in a pipe, where nothing is cut."""
    return shutil.get_terminal_size().columns if is_terminal(err=err) else 0


def width(*, err: bool = False) -> int:
    """How long lines may be: as wide as the terminal, and no wider than can be read; in a pipe the latter."""
    if not is_terminal(err=err):
        return _READABLE
    return max(_NARROWEST, min(shutil.get_terminal_size().columns, _READABLE))


class SafeFormatter(logging.Formatter):
    """Log lines with the same promise; only a traceback has several lines."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        return "\n".join(map(safe, super().format(record).split("\n")))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  the name is the base class's
        """The line without its traceback."""
        return safe(super().formatMessage(record))


def _write(text: str, *, err: bool) -> None:
    shown = _encodable(text, err=err)
    if _live and is_terminal(err=err):
        _live[-1].print(shown, soft_wrap=True)
        return
    try:
        click.echo(shown, err=err)
    except OSError as error:
        if err or error.errno == errno.EPIPE:
            raise
        discard_output()  # as on a full disk
        raise ConfigError(f"the output cannot be written: {error.strerror}") from error


def discard_output() -> None:
    """Write nothing more to standard output, nor what is left in its buffer, as the interpreter would."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _encodable(text: str, *, err: bool) -> str:
    """The text without what the stream cannot carry, as in a terminal that is not set to UTF-8."""
    stream: IO[Any] | None = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace").decode(encoding, "replace")
