"""PURE. Fencing and volumes: policies, nodes that are lost, marks, exclusive volumes and their holders."""

from __future__ import annotations

from vacate.api.types.fencingpolicy import (
    AWAITING_APPROVAL,
    CONTRADICTED,
    FAILED,
    FENCED,
    HELD,
    FencingPolicy,
    NodeFencing,
)
from vacate.views.noderows import NODE_DOWN, NOT_READY, node_rows
from vacate.views.phrases import command_line, counted
from vacate.web.components import (
    DONE,
    LIMIT,
    MOVE,
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
    more,
    node_link,
    page_of,
    row,
    section,
    shown_names,
    table,
    unmatched,
    verdict,
)
from vacate.web.markup import Content, Element, el
from vacate.web.pages.volumes import held_volumes, volumes_section
from vacate.web.snapshot import Snapshot

_SHAPES = {AWAITING_APPROVAL: STUCK, FAILED: STUCK, CONTRADICTED: STUCK, HELD: SELF, FENCED: DONE}
_ORDER = (STUCK, MOVE, SELF, DONE)


def fencing_page(snapshot: Snapshot, query: str = "") -> Page:
    """What is lost, what is done about it, and which volumes are awaited.

    The query chooses rows; the verdict is about all of them.
    """
    rows = node_rows(snapshot.nodes, snapshot.pods, snapshot.policies, snapshot.now)
    lost = [one for one in rows if one.state == NODE_DOWN]
    late = sum(one.state == NOT_READY for one in rows)
    fences = [(policy, one) for policy in snapshot.policies for one in policy.status.nodes]
    fences.sort(key=lambda pair: _ORDER.index(_SHAPES.get(pair[1].phase, MOVE)))
    stuck = [one for _, one in fences if _SHAPES.get(one.phase) == STUCK]
    volumes = held_volumes(snapshot)
    waiting = sum(bool(one.awaited) for one in volumes)
    under = {one.name for _, one in fences}
    shown = [(policy, one) for policy, one in fences if matching(query, one.name, policy.metadata.name)]
    unfenced = [one.name for one in lost if one.name not in under and matching(query, one.name)]
    found = [one for one in volumes if matching(query, one.name, one.claim, one.node)]
    main = [
        _verdict(
            snapshot, len(lost), late, stuck, waiting, [one.name for one in lost if one.name not in under]
        ),
        filter_box("/fencing", query, "Filter by node, policy, volume or claim")
        if fences or lost or volumes or query
        else None,
        _fences(snapshot, shown) if shown else None,
        _unfenced(snapshot, unfenced),
        more(len(shown), "fences"),
        unmatched(query, shown or unfenced or found, "node or volume"),
        _policies(snapshot),
        volumes_section(snapshot, found[:LIMIT]) if found else None,
        more(len(found), "volumes"),
    ]
    return page_of(f"{len(lost)} lost: Fencing" if lost else "Fencing", "fencing", main)


def _verdict(
    snapshot: Snapshot, lost: int, late: int, stuck: list[NodeFencing], waiting: int, unfenced: list[str]
) -> Element:
    awaited = f"{counted(waiting, 'exclusive volume is', 'exclusive volumes are')} awaited."
    verb = "is lost, and nothing fences it" if len(unfenced) == 1 else "are lost, and nothing fences them"
    others = f"{shown_names(unfenced)} {verb}. " if unfenced else ""
    if stuck:
        names = f"the fence of {stuck[0].name} needs" if len(stuck) == 1 else f"{len(stuck)} fences need"
        return verdict(STUCK, f"Stuck: {names} you", others, awaited if waiting else "")
    if lost:
        words = f"{counted(lost, 'node is', 'nodes are')} lost"
        return verdict(STUCK, words, others, awaited if waiting else "")
    lead = "" if snapshot.policies else "No FencingPolicy exists: no node is fenced by itself. "
    if late:
        words = f"{counted(late, 'node is', 'nodes are')} not ready, and none is taken for lost"
        return verdict(SELF, words, lead, awaited if waiting else "")
    return verdict(DONE, "All nodes report", lead, awaited if waiting else "")


def _fences(snapshot: Snapshot, fences: list[tuple[FencingPolicy, NodeFencing]]) -> Element:
    rows = [
        row(
            f"fence/{policy.metadata.name}/{one.name}",
            cell("", node_link(one.name, "name")),
            cell("o1", chip(_SHAPES.get(one.phase, MOVE), one.phase)),
            cell("wide", one.message, _approve(snapshot, one)),
            cell("o9", policy.metadata.name, unit="policy"),
            cell(
                "num",
                str(one.pods_waiting),
                el("span", "unit", " pod waits" if one.pods_waiting == 1 else " pods wait"),
            ),
            cell("num", age(one.since, snapshot.now) if one.since else None, unit="for"),
        )
        for policy, one in fences[:LIMIT]
    ]
    columns = (
        Column("Node"),
        Column("State"),
        Column("What happens"),
        Column("Policy"),
        Column("Pods wait", "num"),
        Column("For", "num"),
    )
    return section(
        "fences",
        "Nodes under a fence",
        table("Nodes under a fence", columns, rows, key="fences/table"),
        classes="first",
        key="fences",
    )


def _approve(snapshot: Snapshot, one: NodeFencing) -> Content:
    if one.phase != AWAITING_APPROVAL:
        return None
    return command(command_line(snapshot.program, "fence", one.name, "--approve"))


def _unfenced(snapshot: Snapshot, names: list[str]) -> Element | None:
    if not names:
        return None
    items = [
        el(
            "li",
            "do",
            el("p", "", node_link(name), ": no policy is about it. Make sure that it is off, then"),
            command(command_line(snapshot.program, "fence", name)),
            key=f"unfenced/{name}",
        )
        for name in names[:20]
    ]
    return section("unfenced", "Lost, and not fenced", el("ul", "", items), key="unfenced")


def _policies(snapshot: Snapshot) -> Element | None:
    if not snapshot.policies:
        return None
    rows = [
        row(
            f"policy/{one.metadata.name}",
            cell("name", one.metadata.name),
            cell("wide", one.status.message),
            cell("num", str(one.status.nodes_unreachable), el("span", "unit", " unreachable")),
            cell("num", str(one.status.nodes_fenced), el("span", "unit", " fenced")),
        )
        for one in snapshot.policies
    ]
    columns = (Column("Policy"), Column("State"), Column("Unreachable", "num"), Column("Fenced", "num"))
    return section(
        "policies",
        "Fencing policies",
        table("Fencing policies", columns, rows, key="policies/table"),
        key="policies",
    )
