"""A console of rich that lets no text steer the terminal: only its own styles and movements reach it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from vacate.cli.common.text import safe


class SafeConsole(Console):
    """Every segment of text is made safe on its way out; segments of control come from rich itself."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of something to draw."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else _kept(text), style, control)


def _kept(text: str) -> str:
    """The text made safe; breaks between lines are rich's own."""
    return "\n".join(map(safe, text.split("\n")))
