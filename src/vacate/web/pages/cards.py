"""PURE. What holds drains, as cards: one for each cause, with what helps beside it."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.views.causes import Cause, WaitingPod
from vacate.views.phrases import counted
from vacate.web.components import (
    SELF,
    STUCK,
    Column,
    age,
    ahead,
    broken,
    cell,
    clock,
    icon,
    local_times,
    node_link,
    pod_link,
    remedies,
    row,
    segment,
    table,
)
from vacate.web.markup import Content, Element, el
from vacate.web.snapshot import Snapshot

_LISTED = 5
_CARDS = 20


def causes_section(snapshot: Snapshot, causes: Sequence[Cause]) -> Element | None:
    """The causes that need a person, longest first; what goes by itself is one line below them."""
    held = [one for one in causes if one.needs_person]
    by_itself = [one for one in causes if not one.needs_person]
    if not causes:
        return None
    title = f"Needs you: {counted(len(held), 'cause')}, the longest first" if held else "Held"
    return el(
        "section",
        "first",
        el("h2", "sr", title, id="needs"),
        [card(snapshot, one) for one in held[:_CARDS]],
        _others(held[_CARDS:]),
        _by_itself(snapshot, by_itself) if by_itself else None,
        aria_labelledby="needs",
        key="causes",
    )


def _others(held: Sequence[Cause]) -> Element | None:
    if not held:
        return None
    link = el("a", "", "by name, pod or node", href="/blockers")
    return el(
        "p",
        "line",
        f"{counted(len(held), 'more cause needs', 'more causes need')} you; filter them ",
        link,
        ".",
    )


def card(snapshot: Snapshot, cause: Cause) -> Element:
    """A cause: what holds, how long, who waits, what happens if nothing is done, and what helps."""
    identity = f"cause/{cause.key}"
    waiting = [_waiter(snapshot, one) for one in cause.waiting[:_LISTED]]
    if len(cause.waiting) > _LISTED:
        waiting.append(el("li", "dim", f"and {len(cause.waiting) - _LISTED} more"))
    if cause.more:
        waiting.append(el("li", "dim", _more(cause.more)))
    return el(
        "article",
        "blocker",
        el("div", "b-head", icon(STUCK), el("h3", "", _heading(cause), id=identity), _for(snapshot, cause)),
        el(
            "div",
            "b-body",
            el(
                "div",
                "b-what",
                el("p", "", local_times(cause.message, snapshot.now)),
                el("ul", "b-who", waiting, aria_label="Who waits"),
                el(
                    "p",
                    "b-else",
                    el("span", "label", "If nothing is done: "),
                    *local_times(cause.otherwise, snapshot.now),
                )
                if cause.otherwise
                else None,
            ),
            el("div", "", remedies(cause.remedies, identity)),
        ),
        aria_labelledby=identity,
        key=identity,
    )


def _heading(cause: Cause) -> list[Content]:
    """What holds; its name leads to what is known of it."""
    what, name, verb = cause.heading.what, cause.heading.name, cause.heading.verdict
    address = ""
    if cause.kind in ("Interceptor", "Responder"):
        address = f"/interceptors?q={segment(name)}"
    elif cause.kind == "DisruptionBudget":
        address = f"/blockers?q={segment(name)}"
    elif what == "Node":
        address = f"/nodes/{segment(name)}"
    shown: Content = el("a", "", broken(name), href=address) if address else el("b", "", broken(name))
    return [f"{what} " if what else "", shown if name else "", f" {verb}" if name else verb]


def _more(found: Sequence[WaitingPod]) -> str:
    shown = ", ".join(f"{one.pod} on {one.node}" if one.node else one.pod for one in found[:3])
    rest = f" and {len(found) - 3} others" if len(found) > 3 else ""
    return f"{len(found)} more will wait: {shown}{rest}"


def _for(snapshot: Snapshot, cause: Cause) -> Element | None:
    if cause.since is None:
        return None
    since = el("span", "dim", "since ", clock(cause.since))
    return el("div", "for", el("b", "", age(cause.since, snapshot.now)), " ", since)


def _waiter(snapshot: Snapshot, one: WaitingPod) -> Element:
    if not one.pod:
        return el("li", "", "node ", node_link(one.node))
    on: list[Content] = [" on ", node_link(one.node)] if one.node else []
    if one.since is not None:
        on += [", for ", age(one.since, snapshot.now)]
    return el("li", "", pod_link(one.namespace, one.pod), el("span", "dim", on))


def _by_itself(snapshot: Snapshot, causes: Sequence[Cause]) -> Element:
    total = sum(len(one.waiting) for one in causes)
    rows = [
        row(
            f"itself/{place}/{number}",
            cell("", pod_link(who.namespace, who.pod) if who.pod else node_link(who.node)),
            cell("wide", local_times(one.message, snapshot.now)),
            cell("o9", node_link(who.node) if who.pod and who.node else None, unit="on"),
            cell("num o1", _until(snapshot, one), unit="in"),
        )
        for place, one in enumerate(causes)
        for number, who in enumerate(one.waiting[:_LISTED])
    ]
    columns = (Column("Who"), Column("Waits for"), Column("Node"), Column("Gone in", "num"))
    verb = "goes by itself" if total == 1 else "go by themselves"
    return el(
        "details",
        "itself",
        el(
            "summary",
            "",
            icon(SELF),
            el("span", "", el("b", "", f"{total} {verb}"), el("span", "dim", _last(snapshot, causes))),
        ),
        table("What goes by itself", columns, rows, key="itself/table"),
        key="itself",
        data_fold="itself",
    )


def _until(snapshot: Snapshot, cause: Cause) -> Content:
    known = cause.end is not None and cause.end > snapshot.now
    return ahead(cause.end, snapshot.now) if cause.end is not None and known else None


def _last(snapshot: Snapshot, causes: Sequence[Cause]) -> list[Content]:
    ends = [one.end for one in causes]
    last = max((one for one in ends if one is not None), default=None)
    if last is None or None in ends or last <= snapshot.now:
        return ["held for now, and nothing to do"]
    return ["the last one in about ", ahead(last, snapshot.now)]
