"""PURE. One drain: its bar, its counts, its nodes under way, and folds for those that wait and are done."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vacate.api.types.nodemaintenance import (
    BLOCKED,
    CORDON,
    CORDONED,
    DRAINED,
    DRAINING,
    PENDING,
    NodeMaintenance,
    NodeProgress,
)
from vacate.views.causes import Cause
from vacate.views.phrases import counted
from vacate.web.components import (
    DONE,
    LIMIT,
    MOVE,
    OVER,
    SELF,
    STUCK,
    WAIT,
    Column,
    age,
    ago,
    ahead,
    cell,
    chip,
    clock,
    drain_link,
    duration,
    fold,
    icon,
    mini_bar,
    node_link,
    row,
    shown_names,
    table,
)
from vacate.web.markup import Child, Content, Element, el
from vacate.web.snapshot import Snapshot, is_under_way

_CELLS = 200
_FEW = 24
WORDS = {STUCK: "Stuck", MOVE: "Draining", SELF: "Blocked", WAIT: "Waiting", DONE: "Drained", OVER: "Gone"}


def node_shape(progress: NodeProgress, stuck: Collection[str]) -> str:
    """The state of a node as a shape; `stuck` are the nodes that wait for a person."""
    if progress.phase == DRAINED:
        return DONE
    if progress.phase == BLOCKED:
        return STUCK if progress.name in stuck else SELF
    if progress.phase == DRAINING:
        return MOVE
    return WAIT if progress.phase in (PENDING, CORDONED, "") else OVER


def concerns(node: str, cause: Cause) -> bool:
    """Whether the cause holds the node, or a pod of it."""
    return any(one.node == node for one in cause.waiting)


def drain_section(
    snapshot: Snapshot, one: NodeMaintenance, causes: Sequence[Cause], acts: Content = None
) -> Element:
    """One drain: head, bar, counts, nodes under way, and folds for those that wait and are done."""
    name, status, key = one.metadata.name, one.status, f"drain/{one.metadata.name}"
    shapes = [(row, node_shape(row, snapshot.stuck_nodes)) for row in status.nodes]
    return el(
        "section",
        "drain",
        el(
            "div", "drain-head", el("h2", "", drain_link(name), id=key), el("p", "dim", _about(snapshot, one))
        ),
        _bar(shapes, key),
        _facts(snapshot, one, shapes),
        el("div", "acts", acts) if acts else None,
        el("div", "rest", _under_way(snapshot, shapes, causes, key), _folds(shapes, key)),
        aria_labelledby=key,
        key=key,
    )


def _about(snapshot: Snapshot, one: NodeMaintenance) -> list[Content]:
    found: list[Content] = []
    if one.spec.reason:
        found += [one.spec.reason, " · "]
    if one.spec.stage == CORDON:
        found.append("cordon only · ")
    if one.metadata.deletion_timestamp:
        found.append("being undone · ")
    began = one.metadata.creation_timestamp
    if began is not None:
        found += [el("span", "n", "began ", clock(began), ","), " ", *ago(began, snapshot.now)]
    return found


def _bar(shapes: Sequence[tuple[NodeProgress, str]], key: str) -> Element:
    counts = {shape: sum(one == shape for _, one in shapes) for shape in WORDS}
    label = f"{counted(len(shapes), 'node')}: " + ", ".join(
        f"{number} {WORDS[shape].lower()}" for shape, number in counts.items() if number
    )
    if len(shapes) > _CELLS:
        return _segments(shapes, label, key)
    cells = [
        el(
            "i",
            f"c {_CELL.get(shape, 'wait')}",
            "!" if shape == STUCK else "",
            title=f"{one.name}: {WORDS[shape].lower()}",
        )
        for one, shape in shapes
    ]
    few = " few" if len(shapes) <= _FEW else ""
    return el("div", f"cells{few}", cells, role="img", aria_label=label, key=f"{key}/bar")


_CELL = {DONE: "done", STUCK: "stuck", MOVE: "move", SELF: "move", OVER: "done"}


def _segments(shapes: Sequence[tuple[NodeProgress, str]], label: str, key: str) -> Element:
    """Where there are too many nodes for a cell each: one segment for each state."""
    left, made = 0.0, []
    for shape in (DONE, OVER, STUCK, SELF, MOVE, WAIT):
        share = 100 * sum(one == shape for _, one in shapes) / len(shapes)
        if share:
            width = f"{share:.2f}%"
            made.append(el("rect", f"seg {shape}", x=f"{left:.2f}%", y="1", width=width, height="24", rx="2"))
        left += share
    return el("svg", "cells segments", made, role="img", aria_label=label, key=f"{key}/bar")


def _facts(snapshot: Snapshot, one: NodeMaintenance, shapes: Sequence[tuple[NodeProgress, str]]) -> Element:
    status = one.status

    def count(shape: str) -> int:
        return sum(found == shape for _, found in shapes)

    def fact(shape: str, tint: str = "") -> Element | None:
        number = count(shape)
        if not number:
            return None
        return el("div", "", el("dt", "", icon(shape, tint), WORDS[shape]), el("dd", "", str(number)))

    drained = el(
        "div",
        "f3",
        el("dt", "", icon(DONE), "Drained"),
        el(
            "dd", "", f"{status.nodes_drained} ", el("small", "", f"of {counted(status.nodes_total, 'node')}")
        ),
    )
    pods = el(
        "div",
        "f3",
        el("dt", "", "Pods evicted"),
        el("dd", "", f"{status.pods_evicted} ", el("small", "", f"of {status.pods_total}")),
    )
    return el(
        "dl",
        "facts",
        drained,
        fact(STUCK, "is-stuck"),
        fact(MOVE, "is-move"),
        fact(SELF),
        fact(WAIT),
        fact(OVER),
        pods,
        _forced(one),
        _finish(snapshot, one, count(STUCK) or len(snapshot.of_manager)),
    )


def _forced(one: NodeMaintenance) -> Element | None:
    if not one.status.pods_forced:
        return None
    return el(
        "div", "", el("dt", "", "Past a budget or interceptor"), el("dd", "", str(one.status.pods_forced))
    )


def _finish(snapshot: Snapshot, one: NodeMaintenance, stuck: int) -> Element | None:
    if not is_under_way(one):
        ended = max((row.drained_time for row in one.status.nodes if row.drained_time), default=None)
        if ended is None:
            return None
        return el("div", "end", el("dt", "", "Finished"), el("dd", "", *ago(ended, snapshot.now)))
    finish = one.status.estimated_finish_time
    known = finish is not None and finish > snapshot.now
    if stuck:
        value: list[Content] = ["None while stuck"]
    elif finish is not None and known:
        value = ["about ", clock(finish)]
    else:
        value = ["Not known yet"]
    more = (
        el("dd", "sub", "of the nodes under way, in ", ahead(finish, snapshot.now))
        if finish and known and not stuck
        else None
    )
    return el("div", "end", el("dt", "", "Expected finish"), el("dd", "", *value), more)


def _under_way(
    snapshot: Snapshot, shapes: Sequence[tuple[NodeProgress, str]], causes: Sequence[Cause], key: str
) -> Element | None:
    order = (STUCK, MOVE, SELF, OVER)
    shown = sorted(
        ((one, shape) for one, shape in shapes if shape in order),
        key=lambda pair: (order.index(pair[1]), pair[0].start_time or snapshot.now, pair[0].name),
    )
    if not shown:
        return None
    rows = [
        row(
            f"{key}/node/{one.name}",
            cell("", node_link(one.name, "name")),
            cell("o1", chip(shape, WORDS[shape])),
            cell("wide", _waits_for(one, shape, causes)),
            cell("bar gone", mini_bar(one.pods_evicted, one.pods_total, shape)),
            cell(
                "of",
                el("b", "", str(one.pods_evicted)),
                f" / {one.pods_total}",
                el("span", "unit", " pods gone"),
            ),
            cell("num", age(one.start_time, snapshot.now) if one.start_time else None, unit="for"),
        )
        for one, shape in shown[:LIMIT]
    ]
    columns = (
        Column("Node"),
        Column("State"),
        Column("Waits for"),
        Column("Pods gone", span=2),
        Column("For", "num"),
    )
    return table("Nodes under way", columns, rows, key=f"{key}/nodes", classes="nodes")


def _waits_for(one: NodeProgress, shape: str, causes: Sequence[Cause]) -> Child:
    mine = [cause for cause in causes if concerns(one.name, cause) and cause.needs_person == (shape == STUCK)]
    if shape in (STUCK, SELF) and mine:
        others = f", and {len(mine) - 1} more" if len(mine) > 1 else ""
        return f"{mine[0].heading}{others}"
    return one.message


def _folds(shapes: Sequence[tuple[NodeProgress, str]], key: str) -> list[Element]:
    waiting = [one for one, shape in shapes if shape == WAIT]
    done = [one for one, shape in shapes if shape == DONE]
    made = []
    if waiting:
        cordoned = all(one.phase == CORDONED for one in waiting)
        text = f"{shown_names([one.name for one in waiting])}{': cordoned' if cordoned else ''}"
        names = el("ul", "names", [el("li", "", node_link(one.name)) for one in waiting])
        made.append(counted_fold(f"{key}/waiting", WAIT, "Waiting", len(waiting), text, names))
    if done:
        took = [
            (one, one.drained_time - one.start_time if one.drained_time and one.start_time else None)
            for one in done
        ]
        names = el(
            "ul",
            "names",
            [
                el("li", "", node_link(one.name), el("span", "dim", duration(length)) if length else None)
                for one, length in took
            ],
        )
        lengths = sorted(length for _, length in took if length)
        within = "half of them within" if len(lengths) > 1 else "in"
        half = f": {within} {duration(lengths[len(lengths) // 2])}" if lengths else ""
        text = f"{shown_names([one.name for one in done])}{half}"
        made.append(counted_fold(f"{key}/drained", DONE, "Drained", len(done), text, names))
    return made


def counted_fold(key: str, shape: str, word: str, number: int, text: str, *content: Content) -> Element:
    """A fold whose line has a state, a count and a short text."""
    summary = [chip(shape, word), el("span", "", el("b", "", str(number)), " ", el("span", "dim", text))]
    return fold(key, summary, *content)
