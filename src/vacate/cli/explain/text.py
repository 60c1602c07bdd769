"""An explanation as text, and as an object for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from vacate.api.objects import Obj
from vacate.api.times import format_exact_time
from vacate.cli.common.text import safe
from vacate.views.explanation import Explanation, TurnView
from vacate.views.model import Refusals, Remedy


def as_lines(explanation: Explanation, width: int = 0) -> list[str]:
    """The explanation with its headings; lines are broken at the width, where there is one.

    A line break in a text of others does not begin a new line.
    """
    parts = [
        ("", [explanation.headline, *explanation.requested]),
        (explanation.turns_title, _numbered(explanation.turns)),
        ("What has happened:", explanation.all_happened),
        ("What it waits for:", explanation.awaited),
        ("What happens next:", explanation.next),
    ]
    blocks = [_block(title, texts, width) for title, texts in parts if texts]
    if explanation.remedies:
        blocks.append(["What you can do:", *remedy_lines(explanation.remedies, width)])
    return [line for block in blocks for line in ("", *block)][1:]


def as_object(explanation: Explanation) -> Obj:
    """The explanation for programs: the same sentences, with exact times."""
    return {
        "namespace": explanation.namespace,
        "pod": explanation.pod,
        "evictionRequest": explanation.request,
        "stage": explanation.stage.value if explanation.stage else "",
        "headline": explanation.headline,
        "requested": list(explanation.requested),
        "interceptors": [_turn(turn) for turn in explanation.turns],
        "happened": list(explanation.happened),
        "refusals": [_refusals(one) for one in explanation.refusals],
        "awaited": list(explanation.awaited),
        "next": list(explanation.next),
        "nextAt": format_exact_time(explanation.next_at) if explanation.next_at else None,
        "remedies": [{"text": one.text, "command": one.command} for one in explanation.remedies],
    }


def _turn(turn: TurnView) -> Obj:
    return {
        "name": turn.interceptor,
        "state": turn.state.value,
        "text": str(turn),
        "began": format_exact_time(turn.began) if turn.began else None,
        "ended": format_exact_time(turn.ended) if turn.ended else None,
    }


def _refusals(one: Refusals) -> Obj:
    times = {"first": format_exact_time(one.first), "last": format_exact_time(one.last)}
    return {**times, "count": one.count, "message": one.message}


def _numbered(turns: Iterable[TurnView]) -> list[str]:
    return [f"{number}. {turn}" for number, turn in enumerate(turns, 1)]


def _block(title: str, texts: Iterable[str], width: int) -> list[str]:
    indent = "  " if title else ""
    lines = [line for text in texts for line in _broken(text, width, indent)]
    return [title, *lines] if title else lines


def remedy_lines(remedies: Iterable[Remedy], width: int) -> list[str]:
    """What helps, each with its command on a line of its own."""
    lines: list[str] = []
    for remedy in remedies:
        lines += _broken(f"- {remedy.text}", width, "  ")
        if remedy.command:
            lines.append(f"      {safe(remedy.command)}")  # never broken: it is there to be copied
    return lines


def _broken(text: str, width: int, indent: str) -> list[str]:
    hanging = indent + " " * (3 if text[:1].isdigit() else 2 if text.startswith("- ") else 0)
    return broken(text, width, indent, hanging)


def broken(text: str, width: int, indent: str, hanging: str) -> list[str]:
    """The text in lines of that width; without a width it is one line."""
    text = safe(text)
    if not width:
        return [indent + text]
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
