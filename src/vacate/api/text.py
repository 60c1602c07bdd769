"""Text from others, made safe to show."""

from __future__ import annotations


def plain(text: str, limit: int = 2000) -> str:
    """What someone else wrote, in one line that a terminal can show: nothing in it steers the terminal."""
    text = text[: 4 * limit]
    if not text.isprintable():
        text = "".join(one if one.isprintable() else " " for one in text)
    shown = " ".join(text.split())
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
