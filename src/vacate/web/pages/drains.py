"""PURE. Drains: is one stuck, on what, and what helps; then how far each of them is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from vacate.api.types.nodemaintenance import (
    CORDONED,
    DRAINED,
    DRAINING,
    PENDING,
    NodeMaintenance,
)
from vacate.views.causes import Cause
from vacate.views.phrases import counted
from vacate.web.components import (
    DONE,
    MOVE,
    STUCK,
    WAIT,
    Page,
    ago,
    ahead,
    clock,
    crumb,
    drain_link,
    filter_box,
    matching,
    page_of,
    section,
    shown_names,
    unmatched,
    verdict,
)
from vacate.web.markup import Content, Element, el
from vacate.web.pages.cards import causes_section
from vacate.web.pages.drainsection import concerns, counted_fold, drain_section, node_shape
from vacate.web.pages.idle import idle_page
from vacate.web.snapshot import Snapshot, is_under_way

_FEW = 3  # drains are found without a filter


def drains_page(snapshot: Snapshot, acts: Callable[[str], Content] = lambda _: None, query: str = "") -> Page:
    """All drains. The query chooses those that are shown; the verdict is about all of them."""
    causes = snapshot.causes
    going = [one for one in snapshot.maintenances if is_under_way(one)]
    if not going:
        return idle_page(snapshot, _finished(snapshot, ""))
    stuck = [one for one in causes if one.needs_person]
    going.sort(key=lambda one: _urgency(one, stuck, snapshot))
    shown, finished = [one for one in going if _matches(query, one)], _finished(snapshot, query)
    main = [
        _verdict(snapshot, going, stuck),
        causes_section(snapshot, causes),
        filter_box("/drains", query, "Filter by drain, node or reason")
        if len(snapshot.maintenances) > _FEW or query
        else None,
        *(drain_section(snapshot, one, causes, acts(one.metadata.name)) for one in shown),
        finished,
        unmatched(query, shown or finished, "drain"),
    ]
    words = f"{counted(len(stuck), 'needs', 'need')} you" if stuck else f"{len(going)} draining"
    return page_of(f"{words}: Drains", "drains", main)


def drain_page(snapshot: Snapshot, name: str, acts: Content = None) -> Page | None:
    """One drain; None where there is none of this name."""
    one = snapshot.maintenance(name)
    if one is None:
        return None
    causes = [
        *(snapshot.of_manager if is_under_way(one) else ()),
        *(cause for cause in snapshot.causes if any(concerns(row.name, cause) for row in one.status.nodes)),
    ]
    stuck = [cause for cause in causes if cause.needs_person]
    main = [
        crumb(el("a", "", "Drains", href="/drains"), name),
        _verdict(snapshot, [one], stuck, acts),
        causes_section(snapshot, causes),
        drain_section(snapshot, one, causes),
    ]
    return page_of(f"{one.status.phase or PENDING}: {name}", "drains", main)


def _urgency(
    one: NodeMaintenance, stuck: Sequence[Cause], snapshot: Snapshot
) -> tuple[bool, dt.datetime, str]:
    names = {row.name for row in one.status.nodes}
    mine = [cause for cause in stuck if any(waiter.node in names for waiter in cause.waiting)]
    since = min((cause.since or snapshot.now for cause in mine), default=snapshot.now)
    return not mine, since, one.metadata.name


def _verdict(
    snapshot: Snapshot, going: Sequence[NodeMaintenance], stuck: Sequence[Cause], acts: Content = None
) -> Element:
    drained = sum(one.status.nodes_drained for one in going)
    total = sum(one.status.nodes_total for one in going)
    who: Content = (
        [drain_link(going[0].metadata.name), " has"] if len(going) == 1 else [f"{len(going)} drains have"]
    )
    lead: list[Content] = [who, f" drained {drained} of {counted(total, 'node')}"]
    rows = [row for one in going for row in one.status.nodes]
    held = sum(node_shape(row, snapshot.stuck_nodes) == STUCK for row in rows)
    moving = sum(row.phase == DRAINING for row in rows)
    if stuck:
        rest = f"; {counted(held, 'node')} stuck, {moving} draining." if held else "."
        words = f"{counted(len(stuck), 'cause needs', 'causes need')} you"
        return verdict(STUCK, f"Stuck: {words}", *lead, rest, acts=acts)
    finish = max((one.status.estimated_finish_time or snapshot.now for one in going), default=snapshot.now)
    until: list[Content] = []
    if finish > snapshot.now:
        waiting = any(node_shape(row, snapshot.stuck_nodes) == WAIT for row in rows)
        around = (". About ", " left, until ")
        if waiting:  # the estimate is of the nodes whose turn has come
            around = (". The nodes under way are done in about ", ", at ")
        until = [around[0], ahead(finish, snapshot.now), around[1], clock(finish)]
    if all(one.status.phase in (DRAINED, CORDONED) and not one.metadata.deletion_timestamp for one in going):
        return verdict(DONE, "Done: nothing is stuck", *lead, ".", acts=acts)
    name = (
        f"{going[0].metadata.name} is draining" if len(going) == 1 else f"{len(going)} drains are under way"
    )
    if all(one.metadata.deletion_timestamp for one in going):
        name = f"{going[0].metadata.name} is being undone" if len(going) == 1 else "Drains are being undone"
    return verdict(MOVE, f"{name}, and nothing is stuck", *lead, *until, ".", acts=acts)


def _matches(query: str, one: NodeMaintenance) -> bool:
    return not query or matching(
        query, one.metadata.name, one.spec.reason.lower(), *(row.name for row in one.status.nodes)
    )


def _finished(snapshot: Snapshot, query: str) -> Element | None:
    found = [one for one in snapshot.maintenances if not is_under_way(one) and _matches(query, one)]
    if not found:
        return None

    def line(one: NodeMaintenance) -> Element:
        ended = max((row.drained_time for row in one.status.nodes if row.drained_time), default=None)
        pods = counted(one.status.pods_evicted, "pod")
        text = f": {counted(one.status.nodes_total, 'node')}, {pods} evicted"
        when: list[Content] = [", ", *ago(ended, snapshot.now)] if ended else []
        return el("li", "", drain_link(one.metadata.name), text, when, key=f"finished/{one.metadata.name}")

    return section(
        "fin",
        "Finished drains",
        counted_fold(
            "finished",
            DONE,
            "Drained",
            len(found),
            shown_names([one.metadata.name for one in found]),
            el("ul", "", [line(one) for one in found]),
        ),
        note="their nodes stay cordoned until they are cancelled or uncordoned",
        key="finished-section",
    )
