"""Which drain is meant by what stands before and behind --follow and --cancel."""

from __future__ import annotations

import click
import pytest

from vacate.cli.drain.checks import named_before, node_or_drain
from vacate.cli.explain.several import SeveralPods
from vacate.views.model import Remedy

pytestmark = pytest.mark.unit

Named = tuple[tuple[str, ...], str | None, str | None]


@pytest.mark.parametrize(
    ("words", "follow", "cancel", "meant"),
    [
        (["node-1", "node/node-2"], None, "", (("node-1", "node-2"), None, "")),
        (["nodemaintenance/kernel"], None, "", ((), None, "kernel")),
        (["nm/kernel"], "", None, ((), "kernel", None)),
        (["nodemaintenance.vacate.dev/kernel"], None, "", ((), None, "kernel")),
        (["drain/kernel"], "", None, ((), "kernel", None)),
    ],
)
def test_a_drain_may_stand_where_nodes_do(
    words: list[str], follow: str | None, cancel: str | None, meant: Named
) -> None:
    assert named_before(tuple(map(node_or_drain, words)), follow, cancel) == meant


@pytest.mark.parametrize(
    ("words", "follow", "cancel"),
    [
        (["nodemaintenance/kernel"], None, None),
        (["nodemaintenance/kernel"], None, "other"),
        (["nodemaintenance/kernel", "node-1"], None, ""),
    ],
)
def test_a_drain_is_no_node(words: list[str], follow: str | None, cancel: str | None) -> None:
    with pytest.raises(click.UsageError, match="nodemaintenance/kernel is a drain"):
        named_before(tuple(map(node_or_drain, words)), follow, cancel)


def test_a_command_is_proposed_once() -> None:
    cancel = "vacate drain --cancel drain-node-1"
    ways = [Remedy("Follow it.", "vacate drain --follow drain-node-1"), Remedy("Cancel it.", cancel)]
    made = SeveralPods("A drain.", [], remedies=[Remedy("Cancel the whole drain.", cancel), *ways])
    assert [line.strip() for line in made.text()].count(cancel) == 1
