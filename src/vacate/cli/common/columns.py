"""How many columns of a terminal a text takes, and texts cut to so many. Pure."""

from __future__ import annotations

import unicodedata

_NONE, _TWO = frozenset({"Mn", "Me"}), frozenset("WF")


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


def _columns(character: str) -> int:
    if unicodedata.category(character) in _NONE:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _TWO else 1
