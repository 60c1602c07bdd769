"""PURE. All eviction requests: what is stuck first, then what moves; what is over folds."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.records.reader import shown_stage
from vacate.views.causes import Cause
from vacate.views.phrases import NOTHING, counted
from vacate.views.statusrows import pod_of, row_of, unchanged_since
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
    filter_box,
    fold,
    matching,
    more,
    node_link,
    page_of,
    pod_link,
    row,
    table,
    unmatched,
    verdict,
)
from vacate.web.markup import Content, Element, el
from vacate.web.pages.cards import causes_section
from vacate.web.pages.pod import request_shape
from vacate.web.snapshot import Snapshot

_ORDER = (STUCK, MOVE, SELF)


def requests_page(snapshot: Snapshot, query: str = "") -> Page:
    """The requests. The query chooses rows, by pod, namespace, node, stage or requester; the verdict is
    about all of them."""
    every = [(one, request_shape(one, _held(snapshot, one))) for one in snapshot.requests]
    stuck = sum(shape == STUCK for one, shape in every if not one.complete)
    open_ = len(snapshot.open_requests)
    shaped = [pair for pair in every if _matches(snapshot, pair[0], query)]
    going = [(one, shape) for one, shape in shaped if not one.complete]
    going.sort(key=lambda pair: (_ORDER.index(pair[1]) if pair[1] in _ORDER else 9, _age(snapshot, pair[0])))
    over = [(one, shape) for one, shape in shaped if one.complete]
    main: list[Element | None] = [
        _verdict(snapshot, open_, stuck, len(every) - open_),
        causes_section(snapshot, snapshot.of_manager),
        filter_box("/requests", query, "Filter by pod, namespace, node, stage or requester")
        if snapshot.requests or query
        else None,
        _table(snapshot, going[:LIMIT], "requests") if going else None,
        more(len(going), "requests"),
        unmatched(query, shaped, "request"),
        _over(snapshot, over),
    ]
    title = f"{stuck} stuck: Requests" if stuck else f"{open_} open: Requests"
    return page_of(title, "requests", main)


def _age(snapshot: Snapshot, request: EvictionRequest) -> float:
    since = unchanged_since(request) or snapshot.now
    return since.timestamp()


def _matches(snapshot: Snapshot, request: EvictionRequest, query: str) -> bool:
    if not query:
        return True
    pod = _pod_node(snapshot, request)
    names = [one.name for one in request.spec.requesters]
    texts = (request.metadata.namespace, pod_of(request), pod, shown_stage(request).value, *names)
    return matching(query, *(one.lower() for one in texts))


def _pod_node(snapshot: Snapshot, request: EvictionRequest) -> str:
    pod = snapshot.pods_by_uid.get(request.pod_uid)
    return pod.spec.node_name if pod else ""


def _verdict(snapshot: Snapshot, going: int, stuck: int, over: int) -> Element:
    if going and snapshot.of_manager:
        return verdict(STUCK, f"Stuck: {counted(going, 'eviction waits', 'evictions wait')} for a manager")
    if stuck:
        return verdict(
            STUCK,
            f"Stuck: {counted(stuck, 'eviction')} of {going}",
            "Each page of a pod says what holds it, and what helps.",
        )
    if going:
        words = counted(going, "eviction is", "evictions are")
        return verdict(MOVE, f"{words} under way, and nothing is stuck")
    lead = (
        f"{counted(over, 'request is', 'requests are')} over."
        if over
        else "A request is created when a node is drained, or with vacate evict."
    )
    return verdict(DONE, "No eviction is under way", lead)


def _held(snapshot: Snapshot, request: EvictionRequest) -> Sequence[Cause]:
    return snapshot.causes_by_pod.get((request.metadata.namespace, pod_of(request)), ())


def _table(snapshot: Snapshot, found: Sequence[tuple[EvictionRequest, str]], key: str) -> Element:
    columns = (Column("Pod"), Column("Stage"), Column("Waits for"), Column("Node"), Column("For", "num"))
    return table(
        "Requests", columns, [_row(snapshot, one, shape, key) for one, shape in found], key=f"{key}/table"
    )


def _row(snapshot: Snapshot, request: EvictionRequest, shape: str, key: str) -> Element:
    made = row_of(request, snapshot.budgets, snapshot.now)
    node = _pod_node(snapshot, request)
    since = unchanged_since(request)
    on: Content = node_link(node) if node else None
    waits = _waits(request, made.active, made.blocked_by, made.message)
    if held := _held(snapshot, request) if not request.complete else ():
        waits = str(held[0].heading)  # in the words of the other pages
    return row(
        f"{key}/{request.metadata.namespace}/{request.kind.resource}/{request.metadata.name}",
        cell("", pod_link(made.namespace, made.pod)),
        cell("o1", chip(shape, made.stage)),
        cell("wide", waits),
        cell("o9", on, unit="on"),
        cell("num", age(since, snapshot.now) if since else None, unit="for"),
    )


def _waits(request: EvictionRequest, active: str, blocked_by: str, message: str) -> str:
    """What `vacate status` says in its columns, as one text."""
    if active != NOTHING:
        return message if active in message else f"{active}{'' if message == NOTHING else f': {message}'}"
    if blocked_by != NOTHING:
        return blocked_by
    return "" if message == NOTHING else message


def _over(snapshot: Snapshot, found: Sequence[tuple[EvictionRequest, str]]) -> Element | None:
    if not found:
        return None
    newest = sorted(found, key=lambda pair: -_age(snapshot, pair[0]))
    summary = [chip(DONE, "Over"), el("span", "", el("b", "", str(len(found))))]
    return fold("over", summary, _table(snapshot, newest[:LIMIT], "over"), more(len(found), "requests"))
