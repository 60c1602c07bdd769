"""PURE. The turns of a request as a picture: a lane for each interceptor, the eviction and the termination.

All x are percentages and all marks have pixels, so that the picture stretches and its strokes do not. Nothing
is drawn for what may never come.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.times import after
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import COMPLETE, PROGRESSING, EvictionRequest
from vacate.api.types.meta import condition
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import has_responded, shown_stage
from vacate.views.budgets import budgets_named_in
from vacate.views.model import Explanation
from vacate.views.phrases import counted
from vacate.views.turns import TurnState, TurnView
from vacate.web.components import age, broken, duration, local
from vacate.web.markup import Content, Element, el

_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 604800, 2592000)
_LINES = 9
_AHEAD = 0.12  # of the whole is kept for what comes next
_CROSS = "M-3.5 -3.5l7 7M3.5 -3.5l-7 7"
_RESULTS = {
    TurnState.COMPLETED: "Completed",
    TurnState.TIMED_OUT: "Timed out",
    TurnState.NEVER_RESPONDED: "Timed out, never answered",
    TurnState.DECLINED: "Declined",
    TurnState.FAILED: "Failed",
    TurnState.CANCELLED: "Cancelled",
    TurnState.POD_GONE: "The pod ended",
    TurnState.HELD: "Failed, waits for you",
    TurnState.ACTIVE: "Has the turn",
    TurnState.OVERDUE: "Past its deadline",
    TurnState.WAITING: "Waits for its turn",
    TurnState.NOT_NEEDED: "Not needed",
    TurnState.UNKNOWN: "Had its turn",
}
_BAD_ENDS = (TurnState.TIMED_OUT, TurnState.NEVER_RESPONDED, TurnState.FAILED)


@dataclass(frozen=True, slots=True)
class _Scale:
    """From a moment to a place in the picture."""

    begin: dt.datetime
    end: dt.datetime
    now: dt.datetime | None  # None once the request is over

    def at(self, moment: dt.datetime) -> str:
        return f"{self.percent(moment):.2f}%"

    def percent(self, moment: dt.datetime) -> float:
        share = (moment - self.begin) / (self.end - self.begin)
        return 100 * min(max(share, 0.0), 1.0)

    def width(self, begin: dt.datetime, end: dt.datetime) -> str:
        return f"{max(self.percent(end) - self.percent(begin), 0.3):.2f}%"

    @property
    def lines(self) -> list[dt.datetime]:
        whole = (self.end - self.begin).total_seconds()
        step = next((one for one in _STEPS if whole / one <= _LINES), whole / _LINES)
        first = self.begin.timestamp() // step * step + step
        count = int((self.end.timestamp() - first) // step) + 1
        return [dt.datetime.fromtimestamp(first + step * one, dt.UTC) for one in range(max(count, 0))]


def timeline(
    request: EvictionRequest,
    explanation: Explanation,
    pod: Pod | None,
    heartbeats: Sequence[dt.datetime],
    now: dt.datetime,
) -> Element:
    """The picture, with a key of its marks."""
    created = request.metadata.creation_timestamp or now
    over = condition(request.status.conditions, COMPLETE) if request.complete else None
    ended = over.last_transition_time if over is not None else None
    last = max(ended or now, created + dt.timedelta(seconds=1))
    scale = _scale(created, last, explanation, None if request.complete else now)
    silent = "" if has_responded(request) else request.status.active_interceptor_name
    lanes = [
        _turn_lane(scale, place, turn, heartbeats, now, silent=turn.interceptor == silent)
        for place, turn in enumerate(explanation.turns, 1)
    ]
    lanes.append(_eviction_lane(scale, request, explanation, pod, ended, now))
    lanes.append(_termination_lane(scale, request, pod, ended, now))
    return el("figure", "", el("ol", "lanes", _axis(scale), lanes, key="lanes"), _KEY)


def _scale(
    created: dt.datetime, last: dt.datetime, explanation: Explanation, now: dt.datetime | None
) -> _Scale:
    length = last - created
    begin, end = after(created, length * -0.03), after(last, length * (_AHEAD if now else 0.03))
    near = after(last, length * 0.6)
    if now is not None and explanation.next_at is not None and explanation.next_at < near:
        end = max(end, after(explanation.next_at, length * 0.02))
    return _Scale(begin, end, now)


def _axis(scale: _Scale) -> Element:
    labels = []
    here = scale.percent(scale.now) if scale.now else None
    fine = (scale.end - scale.begin) < dt.timedelta(minutes=8)
    for place, moment in enumerate(scale.lines):
        if here is not None and abs(scale.percent(moment) - here) < 6:
            continue
        form = "%H:%M:%S" if fine else "%H:%M"
        classes = "t-txt" if place % 3 == 0 else "t-txt alt"
        labels.append(
            el(
                "text",
                classes,
                f"{local(moment):{form}}",
                x=scale.at(moment),
                y="17",
                text_anchor="middle",
                data_at=str(int(moment.timestamp())),
                data_form="s" if fine else "m",
            )
        )
    if scale.now is not None:
        labels.append(el("text", "t-txt t-now", "now", x=scale.at(scale.now), y="17", text_anchor="middle"))
    picture = el("div", "pic", el("svg", "", labels))
    return el(
        "li", "lane axis", el("div", "who"), picture, el("div", "res"), aria_hidden="true", key="lane/axis"
    )


def _lane(
    scale: _Scale,
    key: str,
    who: Content,
    kind: Content,
    label: str,
    marks: Content,
    result: Sequence[Content],
) -> Element:
    grid = [el("line", "g", x1=scale.at(one), x2=scale.at(one), y1="0", y2="100%") for one in scale.lines]
    here: Content = None
    if scale.now is not None:
        here = el("line", "now", x1=scale.at(scale.now), x2=scale.at(scale.now), y1="0", y2="100%")
    return el(
        "li",
        "lane",
        el("div", "who", el("b", "", who), el("span", "", kind)),
        el("div", "pic", el("svg", "", grid, marks, here, role="img", aria_label=label)),
        el("div", "res", *result),
        key=key,
    )


def _block(scale: _Scale, classes: str, begin: dt.datetime, end: dt.datetime) -> Element:
    return el(
        "rect", classes, x=scale.at(begin), width=scale.width(begin, end), y="28%", height="44%", rx="2"
    )


def _cross(scale: _Scale, classes: str, moment: dt.datetime) -> Element:
    cross = el("path", classes, d=_CROSS)
    return el("svg", "", cross, x=scale.at(moment), y="50%", width="1", height="1", overflow="visible")


def _refused(scale: _Scale, explanation: Explanation, classes: str) -> list[Element]:
    """The first and the last refusal for each reason: Events keep no others."""
    moments = {moment for one in explanation.refusals for moment in (one.first, one.last)}
    return [_cross(scale, classes, one) for one in sorted(moments)]


def _turn_lane(
    scale: _Scale,
    place: int,
    turn: TurnView,
    heartbeats: Sequence[dt.datetime],
    now: dt.datetime,
    *,
    silent: bool,
) -> Element:
    key, kind = f"lane/{place}/{turn.interceptor}", f"Interceptor {place}"
    silent = turn.state is TurnState.NEVER_RESPONDED or (silent and turn.ended is None)
    word = "No answer yet" if silent and turn.state is TurnState.ACTIVE else _RESULTS[turn.state]
    if turn.began is None:
        return _lane(
            scale, key, broken(turn.interceptor), kind, word, None, (el("b"), el("span", "dim", word))
        )
    ended = turn.ended or (now if scale.now else scale.end)
    ticks = [one for one in heartbeats if turn.began < one <= ended]
    marks: list[Content] = [_block(scale, "turn silent" if silent else "turn", turn.began, ended)]
    marks += [el("line", "hb", x1=scale.at(one), x2=scale.at(one), y1="36%", y2="64%") for one in ticks]
    if turn.state in _BAD_ENDS:
        marks.append(_cross(scale, "x", ended))
    label = f"{word}: turn from {_clock(turn.began)}" + (f" to {_clock(turn.ended)}" if turn.ended else "")
    label += f", {counted(len(ticks), 'heartbeat')} seen" if ticks else ""
    tint = "is-stuck" if turn.state in (TurnState.HELD, TurnState.OVERDUE) else ""
    length: Content = duration(turn.ended - turn.began) if turn.ended else age(turn.began, now)
    if turn.ended is None and scale.now is None:
        length = ""
    return _lane(
        scale,
        key,
        broken(turn.interceptor),
        kind,
        label,
        marks,
        (el("b", tint, length), el("span", "dim", word)),
    )


def _eviction_lane(
    scale: _Scale,
    request: EvictionRequest,
    explanation: Explanation,
    pod: Pod | None,
    ended: dt.datetime | None,
    now: dt.datetime,
) -> Element:
    failed = request.status.pod_eviction_status
    refusals = failed.failed_api_eviction_counter if failed else 0
    budgets = budgets_named_in(request.status.message)
    who = f"Budget {budgets[0]}" if budgets else "Eviction"
    kind = "Eviction" if budgets else "through the API"
    stage, progress = shown_stage(request), condition(request.status.conditions, PROGRESSING)
    since = progress.last_transition_time if progress else None
    before = _refused(scale, explanation, "x")
    begun = [turn.ended for turn in explanation.turns if turn.ended]
    begin = max(begun, default=request.metadata.creation_timestamp)
    if stage is Stage.BLOCKED and since is not None:
        marks: list[Content] = [_block(scale, "wait-b", since, now)]
        marks += _refused(scale, explanation, "no") or [_cross(scale, "no", since)]
        if explanation.next_at is not None and explanation.next_at > now:
            marks.append(_block(scale, "soon", now, explanation.next_at))
        words = f"{counted(refusals, 'attempt')} refused"
        label = f"refused since {_clock(since)}, {words}"
        return _lane(
            scale,
            "lane/eviction",
            who,
            kind,
            label,
            marks,
            (el("b", "is-stuck", age(since, now)), el("span", "dim", words)),
        )
    if stage is Stage.EVICTING and not request.complete:
        marks = [*before, _block(scale, "turn", since or now, now)]
        return _lane(
            scale, "lane/eviction", who, kind, "under way", marks, (el("b"), el("span", "dim", "Under way"))
        )
    if stage is Stage.INTERCEPTING and not request.complete:
        note = "begins after the last turn" if explanation.turns else ""
        return _lane(
            scale,
            "lane/eviction",
            who,
            kind,
            "has not begun",
            [*before, _later(scale, note)],
            (el("b"), el("span", "dim", "Not yet")),
        )
    gone = pod.metadata.deletion_timestamp if pod is not None else None
    happened = stage in (Stage.TERMINATING, Stage.COMPLETE)
    word = "Accepted" if happened else "Not needed"
    if refusals:
        word = f"{word} after {counted(refusals, 'refusal')}"
    moment = (since if stage is Stage.TERMINATING else None) or (ended if gone is None else None) or begin
    marks = [_block(scale, "turn", begin, moment)] if happened and refusals and begin and moment else []
    marks += before
    return _lane(scale, "lane/eviction", who, kind, word, marks, (el("b"), el("span", "dim", word)))


def _termination_lane(
    scale: _Scale, request: EvictionRequest, pod: Pod | None, ended: dt.datetime | None, now: dt.datetime
) -> Element:
    stage = shown_stage(request)
    progress = condition(request.status.conditions, PROGRESSING)
    since = progress.last_transition_time if progress else None
    key, who = "lane/termination", "Termination"
    if stage is Stage.TERMINATING and since is not None:
        gone = pod.metadata.deletion_timestamp if pod is not None else None
        marks: list[Content] = [_block(scale, "ending", since, now)]
        if gone is not None and gone > now:
            marks.append(_block(scale, "soon", now, gone))
        until = f"ends by {_clock(gone)}" if gone else "grace period"
        return _lane(
            scale,
            key,
            who,
            until,
            f"since {_clock(since)}",
            marks,
            (el("b", "", age(since, now)), el("span", "dim", "Under way")),
        )
    if not request.complete:
        return _lane(
            scale,
            key,
            who,
            "",
            "has not begun",
            _later(scale, "begins when an attempt is accepted"),
            (el("b"), el("span", "dim", "Not yet")),
        )
    word = "The pod is gone" if stage is Stage.COMPLETE else "Not begun"
    marks = [_cross(scale, "x", ended)] if stage is Stage.COMPLETE and ended else []
    return _lane(scale, key, who, "", word, marks, (el("b"), el("span", "dim", word)))


def _later(scale: _Scale, text: str) -> Content:
    if not text or scale.now is None:
        return None
    return el("text", "t-txt", text, x=scale.at(scale.now), dx="-8", y="50%", dy="4", text_anchor="end")


def _clock(moment: dt.datetime) -> str:
    return f"{local(moment):%H:%M:%S}"


def _mark(*shape: Element) -> Element:
    return el("svg", "", *shape, aria_hidden="true")


_KEY = el(
    "ul",
    "key",
    el(
        "li",
        "",
        _mark(el("line", "hb", x1="9", x2="9", y1="2", y2="12")),
        "heartbeat that this page has seen",
    ),
    el("li", "", _mark(el("rect", "turn silent", x="1", y="2", width="16", height="10")), "no answer"),
    el("li", "", _mark(el("path", "no", d="M5 3l8 8M13 3l-8 8")), "attempt refused: the first and the last"),
    el(
        "li",
        "",
        _mark(el("rect", "soon", x="1", y="2", width="16", height="10")),
        "next attempt, or end, at the latest",
    ),
    aria_label="Key",
)
