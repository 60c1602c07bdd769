"""Rows of requests on a terminal that is drawn anew again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.text import Text

from vacate.cli.status.layout import layout
from vacate.views.statusrows import Row

_STYLES = {
    "yellow": ("Blocked",),
    "cyan": ("Intercepting", "Terminating"),
    "green": ("Complete",),
    "dim": ("Cancelled", "Deleted"),
}


def live_table(
    rows: Sequence[Row],
    size: tuple[int, int],
    *,
    namespace: bool = False,
    wide: bool = False,
    note: str = "",
    phrase: Callable[[str], str] = str,
) -> Text:
    """The table for a terminal of so many columns and lines, with a note below it."""
    columns, lines = size
    drawn = layout(rows, namespace=namespace, width=columns, wide=wide, phrase=phrase)
    room = max(lines - 2 - bool(note), 3)
    if len(drawn) > room:
        drawn = [*drawn[: room - 1], f"… {len(drawn) - room + 1} more lines; a taller terminal shows them"]
    text = Text("\n".join(drawn), overflow="fold")
    for style, words in _STYLES.items():
        text.highlight_words(words, style)
    if note:
        text.append(f"\n{note}", style="bold red")
    return text
