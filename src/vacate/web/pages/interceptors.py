"""PURE. Interceptors: registered by how many pods, whether they answer, and where one does not."""

from __future__ import annotations

from vacate.api.types import Pod
from vacate.eviction.records.reader import has_responded
from vacate.eviction.registration import registering_part
from vacate.views.interceptors import UNKNOWN, Bindings, InterceptorSummary, interceptor_summaries
from vacate.views.phrases import NOTHING, counted
from vacate.views.statusrows import pod_of, unchanged_since
from vacate.web.components import (
    DONE,
    LIMIT,
    MOVE,
    STUCK,
    WAIT,
    Column,
    Page,
    age,
    ago,
    broken,
    cell,
    chip,
    filter_box,
    matching,
    page_of,
    pod_link,
    quoted,
    row,
    section,
    table,
    unmatched,
    verdict,
)
from vacate.web.markup import Element, el
from vacate.web.pages.cards import causes_section
from vacate.web.snapshot import Snapshot

_SHAPES = {"NeverAnswered": STUCK, "FellSilent": STUCK, "Waiting": WAIT, "Answers": DONE}
_WORDS = {
    "NeverAnswered": "Never answered",
    "FellSilent": "Fell silent",
    "Waiting": "No answer yet",
    "NoTurnYet": "No turn yet",
}


def interceptors_page(snapshot: Snapshot, query: str = "", bindings: Bindings | None = None) -> Page:
    """Every interceptor that a pod registers or a request names."""
    parts = (registering_part(one) for one in snapshot.pods if _registers(one))
    found = interceptor_summaries(parts, snapshot.requests, bindings)
    shown = [one for one in found if matching(query, one.name.lower(), one.state.lower())]
    silent = [one for one in found if one.silent]
    causes = [one for one in snapshot.causes if one.needs_person and one.kind in ("Interceptor", "Responder")]
    if causes:
        words = str(causes[0].heading) if len(causes) == 1 else f"{len(causes)} interceptors hold evictions"
        head = verdict(STUCK, words)
    elif silent:
        head = verdict(
            STUCK,
            f"{counted(len(silent), 'interceptor does', 'interceptors do')} not answer",
            "Their turns end by their heartbeat deadline, and what they would do is not done.",
        )
    elif found:
        active = sum(one.active for one in found)
        head = verdict(
            MOVE if active else DONE,
            counted(len(found), "interceptor is registered", "interceptors are registered"),
            f"{counted(active, 'turn is', 'turns are')} under way.",
        )
    else:
        head = verdict(
            DONE,
            "No interceptor is registered",
            "Pods are evicted through the API at once. Pods register interceptors by annotations.",
        )
    main = [
        head,
        causes_section(snapshot, causes),
        filter_box("/interceptors", query, "Filter by name or state") if found else None,
        _table(snapshot, shown, {one.name for one in causes}) if shown else None,
        unmatched(query, shown, "interceptor") if found else None,
        _turns(snapshot, query),
    ]
    title = f"{len(silent)} silent: Interceptors" if silent else "Interceptors"
    return page_of(title, "interceptors", main)


def _registers(pod: Pod) -> bool:
    """Most pods name nobody, and cost nothing."""
    return bool(pod.metadata.annotations or pod.spec.eviction_interceptors or pod.spec.eviction_responders)


def _table(snapshot: Snapshot, found: list[InterceptorSummary], stuck: set[str]) -> Element:
    rows = [
        row(
            f"interceptor/{one.name}",
            cell("", el("span", "name", broken(one.name))),
            cell("o1", _state(one, stuck)),
            cell("num", str(one.pods), el("span", "unit", " pod" if one.pods == 1 else " pods")),
            cell(
                "num", str(one.active), el("span", "unit", " turns now" if one.active != 1 else " turn now")
            ),
            cell("num", f"{one.unanswered} / {one.turns}", el("span", "unit", " turns unanswered")),
            cell("num", str(one.timed_out), el("span", "unit", " timed out")),
            cell("num", *ago(one.last_answer, snapshot.now), unit="answered"),
            cell("wide", "" if one.bound_to in (NOTHING, UNKNOWN) else one.bound_to, unit="bound to"),
        )
        for one in found
    ]
    columns = (
        Column("Interceptor"),
        Column("State"),
        Column("Pods", "num"),
        Column("Turns now", "num"),
        Column("Unanswered", "num"),
        Column("Timed out", "num"),
        Column("Last answer", "num"),
        Column("Bound to"),
    )
    return table("Interceptors", columns, rows, key="interceptors/table", classes="counts")


def _state(one: InterceptorSummary, stuck: set[str]) -> Element:
    shape = STUCK if one.name in stuck else _SHAPES.get(one.state, WAIT)
    return chip(shape, _WORDS.get(one.state, one.state))


def _turns(snapshot: Snapshot, query: str) -> Element | None:
    """The turns that are under way: whose, since when, and what was last reported."""
    active = [
        one
        for one in snapshot.open_requests
        if one.status.active_interceptor_name
        and not one.status.active_interceptor_completed
        and matching(query, one.status.active_interceptor_name.lower())
    ]
    if not active:
        return None
    active.sort(key=lambda one: one.status.heartbeat_time or snapshot.now)
    rows = []
    for one in active[:LIMIT]:
        since, answered = unchanged_since(one), has_responded(one)
        message = quoted(one.status.message) if one.status.message else ""
        rows.append(
            row(
                f"turn/{one.metadata.namespace}/{one.kind.resource}/{one.metadata.name}",
                cell("", el("span", "name", broken(one.status.active_interceptor_name or ""))),
                cell("wide", pod_link(one.metadata.namespace, pod_of(one)), unit="for"),
                cell("wide", message),
                cell(
                    "num",
                    *(ago(one.status.heartbeat_time, snapshot.now) if answered else ["none yet"]),
                    unit="heartbeat",
                ),
                cell("num", age(since, snapshot.now) if since else None, unit="turn for"),
            )
        )
    columns = (
        Column("Interceptor"),
        Column("Pod"),
        Column("Last message"),
        Column("Heartbeat", "num"),
        Column("Turn for", "num"),
    )
    return section(
        "turns-now",
        "Turns under way",
        table("Turns under way", columns, rows, key="turns/table"),
        note="the longest silence first",
        key="turns-now",
    )
