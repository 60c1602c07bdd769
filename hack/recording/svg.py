"""Frames of a terminal as one animated SVG, which browsers and GitHub play without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from hack.recording.screen import Line, Style

Frame = tuple[float, tuple[Line, ...]]
"""A screen, and the second at which it is first seen."""

_CELL, _ROW, _MARGIN = 8.4, 18, 14
_COLOURS = {
    "black": "#6e7681", "red": "#ff7b72", "green": "#7ee787", "yellow": "#e3b341", "blue": "#79c0ff",
    "magenta": "#d2a8ff", "cyan": "#76e3ea",
}  # fmt: skip
_STYLE = (
    "text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#e6edf3;white-space:pre}"
)


def animated(frames: Sequence[Frame], size: tuple[int, int], hold: float, title: str) -> str:
    """The frames one after the other, the last one held for some seconds, for ever."""
    length = frames[-1][0] + hold
    ends = [*(began for began, _ in frames[1:]), length]
    width, height = size[0] * _CELL + 2 * _MARGIN, size[1] * _ROW + 2 * _MARGIN
    rules, groups = [_STYLE], []
    for number, ((began, lines), ended) in enumerate(zip(frames, ends, strict=True)):
        rules.append(_visible(number, began / length, ended / length, length))
        groups.append(f'<g class="f{number}">{"".join(map(_line, range(len(lines)), lines))}</g>')
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{''.join(rules)}</style>",
            f'<rect width="{width:.0f}" height="{height:.0f}" rx="8" fill="#0d1117"/>',
            *groups,
            "</svg>\n",
        ]
    )


def _visible(number: int, began: float, ended: float, length: float) -> str:
    """One frame is visible for its share of the time; step-end switches without fading."""
    stops = f"0%{{visibility:{'visible' if not began else 'hidden'}}}"
    if began:
        stops += f"{began:.3%}{{visibility:visible}}"
    if ended < 1:
        stops += f"{ended:.3%}{{visibility:hidden}}"
    return f".f{number}{{animation:k{number} {length:.1f}s step-end infinite}}@keyframes k{number}{{{stops}}}"


def _line(row: int, line: Line) -> str:
    parts, column = [], 0
    for style, cells in groupby(line, key=lambda cell: cell.style):
        text = "".join(cell.text for cell in cells)
        if text.strip():
            parts.append(f'<tspan x="{_MARGIN + column * _CELL:.1f}"{_look(style)}>{escape(text)}</tspan>')
        column += len(text)
    return f'<text y="{_MARGIN + (row + 1) * _ROW - 5}">{"".join(parts)}</text>' if parts else ""


def _look(style: Style) -> str:
    colour = f' fill="{_COLOURS[style.colour]}"' if style.colour else ""
    weight = ' font-weight="bold"' if style.bold else ""
    return colour + weight + (' opacity="0.6"' if style.dim else "")
