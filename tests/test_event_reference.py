"""docs/reference/events.md names every Event that the product writes, and none that it does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from vacate.api.types.nodemaintenance import DRAINED, NODE_PHASES
from vacate.cli.common import events as cli_events
from vacate.eviction.model import CompletionReason

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src/vacate"
PAGE = ROOT / "docs/reference/events.md"
# What Kubernetes' own controllers write, and what a kubelet writes about containers, is not documented here.
ELSEWHERE = ("embedded", "nodeagent")
# What only files have that write Events: to parse all the others takes seconds.
WRITES = re.compile(r"\b(NORMAL|WARNING)\b|\.event\(")
# A reason that is put together from a value at run time, or kept in a constant.
COMPUTED = {
    *(reason.value for reason in CompletionReason),
    *(f"Node{phase}" for phase in NODE_PHASES),
    DRAINED,
    cli_events.REQUESTED,
    cli_events.OVERRIDDEN,
    cli_events.FORCE_CONFIRMED,
}


def constants(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def reasons(tree: ast.Module) -> Iterator[str]:
    """A reason stands behind its type, in a call or a table; the SDK gives it first to `event`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call | ast.Tuple):
            continue
        items = node.args if isinstance(node, ast.Call) else node.elts
        called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        behind = [after for before, after in pairwise(items) if is_type(before)]
        for one in [*behind, *(items[:1] if called == "event" else [])]:
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield one.value


def is_type(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Name) and one.id in ("NORMAL", "WARNING") for one in ast.walk(node))


def test_every_event_is_documented_and_every_documented_event_is_written() -> None:
    texts = {one: one.read_text() for one in SOURCES.rglob("*.py")}
    product = [text for one, text in texts.items() if one.relative_to(SOURCES).parts[0] not in ELSEWHERE]
    writers = [ast.parse(text) for text in product if WRITES.search(text)]
    written = {reason for tree in writers for reason in reasons(tree)} | COMPUTED
    documented = set(re.findall(r"^\| `([A-Z]\w+)` \|", PAGE.read_text(), re.MULTILINE))
    assert written - documented == set()
    if unwritten := documented - written:
        named = [ast.parse(text) for text in texts.values() if any(one in text for one in unwritten)]
        assert unwritten <= {text for tree in named for text in constants(tree)}
