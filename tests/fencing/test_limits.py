"""When a node may be fenced; the refusals first."""

from __future__ import annotations

import datetime as dt

import pytest
from msgspec.structs import replace

from vacate.api.types import Node
from vacate.api.types.meta import ObjectMeta
from vacate.client.codec import codec_for
from vacate.errors import ConfigError
from vacate.fencing.agentprotocol import PowerState, power_state, read_options, redacted, standard_input
from vacate.fencing.annotations import BEGUN, has_begun, mark
from vacate.fencing.limits import FencingLimits, check_limits

pytestmark = pytest.mark.unit

OUT = "node.kubernetes.io/out-of-service"


def node(name: str, ready: str = "True", *, out: bool = False) -> Node:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    taints = [{"key": OUT, "effect": "NoExecute"}] if out else []
    return codec_for(Node).convert(
        {"metadata": {"name": name}, "spec": {"taints": taints}, "status": {"conditions": conditions}}
    )


def refusal_for_a(*nodes: Node, limits: FencingLimits | None = None) -> str:
    return check_limits(nodes, "a", limits or FencingLimits())


def test_a_silent_node_among_healthy_ones_may_be_fenced() -> None:
    assert refusal_for_a(node("a", "Unknown"), node("b"), node("c")) == ""


@pytest.mark.parametrize("ready", ["True", "False", ""])
def test_a_node_that_reports_is_not_fenced(ready: str) -> None:
    assert "still reports" in refusal_for_a(node("a", ready), node("b"), node("c"))


def test_when_all_nodes_are_silent_nobody_is_fenced() -> None:
    refused = refusal_for_a(*(node(name, "Unknown") for name in "abc"), limits=FencingLimits(0, 9))
    assert "control plane is more likely to be cut off" in refused


def test_a_minimum_of_the_others_must_be_ready() -> None:
    nodes = [node("a", "Unknown"), node("b"), node("c", "Unknown")]
    assert "only 1 of the 2 other nodes are ready, and 2 must be" in refusal_for_a(*nodes)
    assert refusal_for_a(*nodes, limits=FencingLimits("50%")) == ""
    assert refusal_for_a(*nodes, limits=FencingLimits(1)) == ""


def test_no_more_than_so_many_at_once_and_none_twice() -> None:
    nodes = [node("a", "Unknown"), node("b"), node("c"), node("d"), node("e", "Unknown", out=True)]
    assert "at most 1 may be" in refusal_for_a(*nodes)
    assert refusal_for_a(*nodes, limits=FencingLimits(max_fenced=2)) == ""
    assert "out of service already" in refusal_for_a(node("a", "Unknown", out=True), node("b"))
    assert "there is no node a" in refusal_for_a(node("b"))


@pytest.mark.parametrize(("ready", "heard", "counts"), [
    ("Unknown", ("e",), True), ("False", ("e",), True), ("True", ("e",), False), ("True", None, False),
    ("True", (), True),  # so it is marked by who may be cut off
])  # fmt: skip
def test_a_taint_counts_but_on_a_node_that_is_seen_to_be_ready(
    ready: str, heard: tuple[str, ...] | None, counts: bool
) -> None:
    nodes = [node("a", "Unknown"), *map(node, "bcd"), node("e", ready, out=True)]
    seen = None if heard is None else ("b", "c", "d", *heard)
    assert ("at most 1 may be" in check_limits(nodes, "a", FencingLimits(), heard=seen)) is counts


@pytest.mark.parametrize(("ready", "heard", "counts"), [
    ("Unknown", (), True), ("Unknown", ("e",), False), ("True", (), False), ("False", (), False),
])  # fmt: skip
def test_a_mark_counts_only_on_a_node_that_does_not_report(
    ready: str, heard: tuple[str, ...], counts: bool
) -> None:
    marked = replace(node("e", ready), metadata=ObjectMeta(name="e", annotations={BEGUN: "alice at noon"}))
    others = [node("b"), node("c"), node("d")]
    found = check_limits(
        [node("a", "Unknown"), *others, marked], "a", FencingLimits(), heard=("b", "c", "d", *heard)
    )
    assert ("(e, begun by alice at noon), and at most 1 may be" in found) is counts
    assert bool(found) is counts


def test_what_an_agent_reads_and_says() -> None:
    options = read_options("# the BMC\nip=10.0.0.1\n\npasswd = a=b \n", "f")
    assert options == {"ip": "10.0.0.1", "passwd": "a=b"}
    assert standard_input(options, "off") == b"action=off\nip=10.0.0.1\npasswd=a=b\n"
    assert redacted("login a=b failed at 10.0.0.1", options) == "login *** failed at 10.0.0.1"
    states = [power_state(code) for code in (0, 2, 1, 3, -1, -9)]
    assert states == [PowerState.ON, PowerState.OFF, *[PowerState.UNKNOWN] * 4]


@pytest.mark.parametrize("text", ["nonsense", "=x", "action=on", "a b=c", "option=off"])
def test_options_that_an_agent_would_misread(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^f: "):
        read_options(text, "f")


def test_the_mark_of_a_policy_is_not_that_of_one_whose_name_begins_alike() -> None:
    long = "FencingPolicy " + "r" * 253
    for mine, others in (("FencingPolicy rack", "FencingPolicy rack-2"), (long, long[:-1])):
        for one, other in ((mine, others), (others, mine)):
            begun = mark(one, dt.datetime(2026, 3, 1, tzinfo=dt.UTC))
            marked = Node(metadata=ObjectMeta(name="n", annotations={BEGUN: begun}))
            assert has_begun(marked, one)
            assert not has_begun(marked, other)
