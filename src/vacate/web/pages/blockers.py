"""PURE. Blockers: who waits for what, over all drains, by cause or by node; the longest first."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.views.causes import Cause
from vacate.views.phrases import command_line, counted
from vacate.web.components import (
    DONE,
    LIMIT,
    SELF,
    STUCK,
    Column,
    Page,
    age,
    cell,
    chip,
    command,
    filter_box,
    matching,
    node_link,
    page_of,
    pod_link,
    row,
    section,
    table,
    unmatched,
    verdict,
)
from vacate.web.markup import Element, el
from vacate.web.pages.cards import causes_section
from vacate.web.snapshot import Snapshot


def blockers_page(snapshot: Snapshot, query: str = "") -> Page:
    """Every cause, and below them every pod that waits. The query chooses rows; the verdict is about all."""
    causes = snapshot.causes
    found = [
        one
        for one in causes
        if matching(
            query,
            str(one.heading).lower(),
            one.message.lower(),
            *(f"{who.namespace}/{who.pod} {who.node}".lower() for who in one.waiting),
        )
    ]
    stuck = [one for one in causes if one.needs_person]
    waiting = sum(len(one.waiting) for one in causes)
    if stuck:
        words = f"{counted(len(stuck), 'cause needs', 'causes need')} you"
        head = verdict(
            STUCK,
            f"Stuck: {words}",
            f"{counted(waiting, 'pod or node waits', 'pods and nodes wait')}." if waiting else "",
        )
    elif causes:
        held = counted(
            waiting, "pod is held for now, and goes by itself", "pods are held for now, and go by themselves"
        )
        head = verdict(SELF, "Nothing needs you", f"{held}.")
    else:
        lead = "What holds a drain or an eviction stands here, with what helps."
        head = verdict(DONE, "Nothing is blocked", lead)
    main = [
        head,
        filter_box("/blockers", query, "Filter by budget, interceptor, pod or node")
        if causes or query
        else None,
        causes_section(snapshot, found),
        _who_waits(snapshot, found) if any(one.waiting for one in found) else None,
        unmatched(query, found, "cause") if causes else None,
        None if causes else _what_would(snapshot),
    ]
    title = f"{counted(len(stuck), 'needs', 'need')} you: Blockers" if stuck else "Blockers"
    return page_of(title, "blockers", main)


def _what_would(snapshot: Snapshot) -> Element:
    """The next command where nothing is blocked."""
    return section(
        "would",
        "What would hold the drain of any node",
        command(command_line(snapshot.program, "plan", "--cluster")),
        key="would",
    )


def _who_waits(snapshot: Snapshot, found: Sequence[Cause]) -> Element:
    pairs = [(cause, who) for cause in found for who in cause.waiting]
    pairs.sort(key=lambda pair: (pair[1].since or snapshot.now, pair[1].node, pair[1].pod))
    rows = [
        row(
            f"waits/{cause.key}/{who.maintenance}/{who.node}/{who.namespace}/{who.pod}",
            cell("", pod_link(who.namespace, who.pod) if who.pod else el("span", "name", "the node itself")),
            cell(
                "o1",
                chip(STUCK if cause.needs_person else SELF, "Stuck" if cause.needs_person else "Blocked"),
            ),
            cell("wide", str(cause.heading)),
            cell("o9", node_link(who.node) if who.node else None, unit="on"),
            cell("num", age(who.since, snapshot.now) if who.since else None, unit="for"),
        )
        for cause, who in pairs[:LIMIT]
    ]
    columns = (Column("Who waits"), Column("State"), Column("For what"), Column("Node"), Column("For", "num"))
    return section(
        "who",
        "Who waits for whom",
        table("Who waits for whom", columns, rows, key="waits/table"),
        note="the longest first",
        key="waits",
    )
