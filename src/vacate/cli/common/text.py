"""Text for a terminal: with nothing in it that steers the terminal, and cut to its columns. Pure."""

from __future__ import annotations

import re
import unicodedata

REPLACEMENT = "�"
_SPACES = frozenset({"Zs", "Zl", "Zp"})
_BREAKS = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x85")
INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0xFE00, 0xFE0E), *range(0xE0100, 0xE01F0)))
)
"""Characters that count as printable, and of which nothing is seen: fillers of Hangul, an empty pattern of
Braille, joiners, and selectors of variants, but for those that pictures have.
"""
_COMMAND = re.compile(r"(?:^ *(?:\$ )?|: )(?:export|helm|kubectl|vacate) [^;]+|`[^`]+`")
_INDENT, _BOUND = "  ", "\0"
_NONE, _TWO = frozenset({"Mn", "Me"}), frozenset("WF")


def safe(text: str) -> str:
    """The text on one line, as long as before, with nothing in it that steers a terminal.

    Breaks and unusual spaces become spaces; control characters, invisible ones (such as those that reverse
    the direction of writing) and halves of characters become the replacement character.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one.isprintable() and one not in INVISIBLE else _replaced(one) for one in text)


def _replaced(character: str) -> str:
    if character in _BREAKS or unicodedata.category(character) in _SPACES:
        return " "
    return REPLACEMENT


def columns_of(text: str) -> int:
    """Characters of East Asia and pictures take two columns, marks above a letter none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def padded(text: str, columns: int) -> str:
    """The text with spaces up to that column."""
    return text + " " * (columns - columns_of(text))


def cut(text: str, columns: int) -> str:
    """As much of the text as fits; that there is more is shown by an ellipsis."""
    if columns_of(text) <= columns:
        return text
    kept, room = "", columns - 1
    for one in text:
        room -= _columns(one)
        if room < 0:
            break
        kept += one
    return f"{kept}…"


def folded(text: str, columns: int) -> list[str]:
    """A safe text in lines that fit, broken between words; without columns, or where it fits, one line.

    A command in it stays on one line, however long, so that it can be copied.
    """
    if not columns or columns_of(text) <= columns:
        return [text]
    bound = _COMMAND.sub(lambda found: found[0].replace(" ", _BOUND).replace(f":{_BOUND}", ": "), text)
    lines: list[str] = []
    indent = " " * (len(text) - len(text.lstrip())) + _INDENT
    for gap, word in re.findall("( *)([^ ]+)", bound):
        if lines and columns_of(f"{lines[-1]}{gap}{word}") <= columns:
            lines[-1] += f"{gap}{word}"
        else:
            lines.append(f"{indent if lines else gap}{word}")
    return [line.replace(_BOUND, " ") for line in lines] or [text]


def _columns(character: str) -> int:
    if unicodedata.category(character) in _NONE:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _TWO else 1
