"""PURE. The parts of which pages are made: states, times, commands, tables, folds, links."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from vacate.api.times import format_time
from vacate.views.model import Remedy
from vacate.web.markup import Child, Content, Element, el

STUCK, MOVE, SELF, WAIT, DONE, STAY, OVER = "stuck", "move", "self", "wait", "done", "stay", "over"
"""The shapes. Only the first two have a colour: it needs a person, and it is under way."""

_CLASSES = {STUCK: "chip stuck", MOVE: "chip move", WAIT: "chip wait", DONE: "chip done"}
_TINT = {STUCK: "is-stuck", MOVE: "is-move"}
_SHAPE = "data-shape"


@dataclass(frozen=True, slots=True)
class Page:
    """What one address shows."""

    title: str  # of the browser's tab: the state first
    nav: str  # which entry of the navigation it belongs to
    main: tuple[Element, ...]
    still: bool = False  # made once, and not again when something changes


def page_of(title: str, nav: str, main: Iterable[Element | None], *, still: bool = False) -> Page:
    """The page with those of its parts that there are; its title is marked where its verdict is."""
    found = tuple(one for one in main if one is not None)
    stuck = any(one.attributes.get(_SHAPE) == STUCK for one in found)
    return Page(f"▲ {title}" if stuck else title, nav, found, still)


def icon(shape: str, classes: str = "") -> Element:
    """A shape; the word beside it says the same."""
    return el("svg", f"i {classes}".strip(), el("use", href=f"#{shape}"), aria_hidden="true")


def chip(shape: str, word: str) -> Element:
    """A shape and a word."""
    return el("span", _CLASSES.get(shape, "chip"), icon(shape), word)


def verdict(shape: str, headline: str, *lead: Content, acts: Content = None) -> Element:
    """The answer that the page gives, at its top."""
    return el(
        "div",
        "verdict",
        el("h1", "", icon(shape, _TINT.get(shape, "")), el("span", "", broken(headline))),
        el("p", "lead", *lead) if lead else None,
        el("div", "acts", acts) if acts else None,
        key="verdict",
        data_shape=shape,
    )


def duration(length: dt.timedelta) -> str:
    """`43m`, `4m12s`, `1h43m`: seconds below ten minutes, and hours where people think in hours."""
    seconds = max(int(length.total_seconds()), 0)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 600:
        return f"{seconds // 60}m{seconds % 60}s" if seconds % 60 else f"{seconds // 60}m"
    if seconds < 3600:
        return f"{seconds // 60}m"
    if seconds < 86_400:
        minutes = seconds % 3600 // 60
        return f"{seconds // 3600}h{minutes}m" if minutes else f"{seconds // 3600}h"
    hours = seconds % 86_400 // 3600
    return f"{seconds // 86_400}d{hours}h" if hours and seconds < 8 * 86_400 else f"{seconds // 86_400}d"


def local(moment: dt.datetime) -> dt.datetime:
    """In the zone of this machine; in UTC where the first or the last year would be left by that."""
    try:
        return moment.astimezone()
    except OverflowError:
        return moment.astimezone(dt.UTC)


def _time(moment: dt.datetime, form: str, text: str) -> Element:
    title = f"{local(moment):%Y-%m-%d %H:%M:%S %Z}"
    return el("time", "", text, datetime=format_time(moment), title=title, data_t=form)


def age(moment: dt.datetime, now: dt.datetime) -> Element:
    """How long ago; the script keeps it up to date."""
    return _time(moment, "age", duration(now - moment))


def ahead(moment: dt.datetime, now: dt.datetime) -> Element:
    """How long until then."""
    return _time(moment, "left", duration(moment - now))


def clock(moment: dt.datetime, *, seconds: bool = False) -> Element:
    """The time of day, in the zone of the reader; the script knows that zone."""
    form = "%H:%M:%S" if seconds else "%H:%M"
    return _time(moment, "clock-s" if seconds else "clock", f"{local(moment):{form}}")


_UTC = re.compile(r"(?:(\d{4}-\d\d-\d\d) )?([01]\d|2[0-3]):([0-5]\d):([0-5]\d) UTC\b")


_NEAR = dt.timedelta(hours=12)
"""The day of what is nearer is known without naming it, also past midnight."""


def local_times(text: str, now: dt.datetime) -> list[Child]:
    """A sentence of the commands, which name times in UTC: here they are those of the reader's zone."""
    made: list[Child] = []
    place = 0
    for found in _UTC.finditer(text):
        try:
            day = dt.date.fromisoformat(found[1]) if found[1] else now.astimezone(dt.UTC).date()
        except ValueError:
            continue
        time = dt.time(int(found[2]), int(found[3]), int(found[4]), tzinfo=dt.UTC)
        moment = dt.datetime.combine(day, time)
        if not found[1]:  # what is said without its day is near
            near = (moment + dt.timedelta(days=days) for days in (-1, 0, 1))
            moment = min(near, key=lambda one: abs(one - now))
        made.append(text[place : found.start()])
        if abs(moment - now) < _NEAR:
            made.append(clock(moment, seconds=True))
        else:
            made.append(_time(moment, "whole", f"{local(moment):%Y-%m-%d %H:%M:%S %Z}"))
        place = found.end()
    return [*made, text[place:]]


def ago(moment: dt.datetime | None, now: dt.datetime) -> list[Child]:
    """`5m ago`; nothing where the moment is not known."""
    return [] if moment is None else [age(moment, now), " ago"]


def command(text: str) -> Element:
    """A command to copy, seen whole: it breaks between its words only."""
    words: list[Child] = []
    for place, word in enumerate(_words(text)):
        words += [" "] if place else []
        words.append(el("span", "w", word))
    button = el("button", "btn", "Copy", el("span", "sr", " the command"), type="button", data_copy="")
    return el("div", "cmd", el("code", "", words), button)


def _words(text: str) -> list[str]:
    """The command at its blanks, those inside quotes excepted; what cannot be read so stays whole."""
    try:
        lexer = shlex.shlex(text, posix=False, punctuation_chars=False)
        lexer.whitespace_split, lexer.commenters = True, ""
        found = list(lexer)
    except ValueError:
        return [text]
    return found if " ".join(found) == text else [text]


def remedy(one: Remedy, *, first: bool = False) -> Element:
    """What it achieves, and the command."""
    text = one.text.removesuffix(".")
    return el(
        "div",
        "do",
        el("p", "", el("b", "", text) if first else text),
        command(one.command) if one.command else None,
    )


def remedies(found: Sequence[Remedy], key: str) -> list[Element]:
    """The first one open, the others folded."""
    if not found:
        return []
    # What can be run comes first; a sentence without a command stays where it was among the others.
    shown = next((one for one in found if one.command), found[0])
    others = [one for one in found if one is not shown]
    made = [remedy(shown, first=True)]
    if others:
        ways = "1 other way" if len(others) == 1 else f"{len(others)} other ways"
        made.append(
            el(
                "details",
                "other",
                el("summary", "", ways),
                [remedy(one) for one in others],
                key=f"{key}/ways",
            )
        )
    return made


def fold(key: str, summary: Content, *content: Content) -> Element:
    """What is done, or waits, under one line; open ones are kept in the address."""
    inside = el("div", "in", *content)
    return el("details", "fold", el("summary", "", summary), inside, key=key, data_fold=key)


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column, and the classes of its cells."""

    title: str
    classes: str = ""
    span: int = 1


def table(
    label: str, columns: Sequence[Column], rows: Iterable[Element], *, key: str, classes: str = ""
) -> Element:
    """A table; its rows have keys. The roles keep it a table where it is displayed as blocks."""
    heads = [
        el(
            "th",
            "num" if "num" in one.classes.split() else "",
            one.title,
            role="columnheader",
            colspan=str(one.span) if one.span > 1 else None,
        )
        for one in columns
    ]
    return el(
        "table",
        f"stack {classes}".strip(),
        el("thead", "", el("tr", "", heads, role="row"), role="rowgroup"),
        el("tbody", "", rows, role="rowgroup", key=f"{key}/rows"),
        role="table",
        aria_label=label,
        key=key,
    )


def row(key: str, *cells: Element) -> Element:
    """A row of a table."""
    return el("tr", "", cells, role="row", key=key)


def cell(classes: str, *content: Content, unit: str = "") -> Element:
    """A cell; `unit` is a word that is needed where the heads of the columns are not seen."""
    inside = [el("span", "unit", f"{unit} "), *content] if unit and any(content) else content
    return el("td", classes, inside, role="cell")


def section(
    identity: str, title: str, *content: Content, note: Content = None, key: str = "", classes: str = ""
) -> Element:
    """A part of a page under a heading, with a note beside it."""
    beside = el("p", "", note) if note else None
    head = el("div", "sec-head", el("h2", "", title, id=identity), beside)
    return el("section", classes, head, *content, aria_labelledby=identity, key=key)


def broken(name: str) -> list[Child]:
    """A long name that may break after its dots and slashes."""
    pieces = re.split(r"(?<=[./])", name)
    made: list[Child] = []
    for place, piece in enumerate(pieces):
        made += [el("wbr")] if place and piece else []
        made.append(piece)
    return made


def segment(text: str) -> str:
    """A name as a part of an address."""
    return quote(text, safe="")


def pod_address(namespace: str, name: str) -> str:
    """The address of a pod's page."""
    return f"/pods/{segment(namespace)}/{segment(name)}"


_SHORT = 30  # a name that fits the narrowest screen is not broken at its dashes


def pod_link(namespace: str, name: str) -> Element:
    """A pod, the namespace lighter than the name."""
    classes = "name n" if len(namespace) + len(name) < _SHORT else "name"
    return el("a", classes, el("span", "ns", f"{namespace}/"), name, href=pod_address(namespace, name))


def node_link(name: str, classes: str = "n") -> Element:
    """A node."""
    return el("a", classes, name, href=f"/nodes/{segment(name)}")


def drain_link(name: str, classes: str = "n") -> Element:
    """A NodeMaintenance."""
    return el("a", classes, name, href=f"/drains/{segment(name)}")


def crumb(*steps: Content) -> Element:
    """The way to this object."""
    made: list[Content] = []
    for place, step in enumerate(steps):
        made += [" / "] if place else []
        made.append(step)
    return el("p", "crumb", made, key="crumb")


def pairs(*items: tuple[str, Content]) -> Element:
    """Names and values."""
    return el("dl", "pairs", [(el("dt", "", name), el("dd", "", value)) for name, value in items])


def state(title: str, word: Content, *text: Content) -> Element:
    """One of the states of a node: a heading, a word and a sentence."""
    return el("div", "", el("dt", "", title), el("dd", "", el("b", "", word), el("p", "", *text)))


def quoted(text: str) -> str:
    """Text of others, in quotation marks."""
    return f"“{text}”"


def mini_bar(done: int, total: int, shape: str) -> Element:
    """How much is gone, beside the number that says it."""
    share = 100 * done / total if total else 0
    tone = shape if shape in (STUCK, MOVE) else ""
    return el(
        "svg",
        "mini",
        el("rect", f"track {tone}".strip(), x="0.5", y="0.5", width="99%", height="7", rx="1"),
        el("rect", f"fill {tone}".strip(), x="0", y="0", width=f"{share:.1f}%", height="8", rx="1"),
        aria_hidden="true",
    )


def shown_names(names: Sequence[str]) -> str:
    """`a to z`, or the names where they are few."""
    if len(names) <= 3:
        return ", ".join(names)
    return f"{names[0]} to {names[-1]}"


def filter_box(address: str, query: str, label: str) -> Element:
    """A filter that works without the script, too: it is in the address."""
    return el(
        "form",
        "filter",
        el(
            "label",
            "",
            el("span", "sr", label),
            el("input", "", type="search", name="q", value=query, placeholder=label, autocomplete="off"),
        ),
        el("button", "btn", "Filter", type="submit"),
        method="get",
        action=address,
        role="search",
        key="filter",
        data_filter="",
    )


def matching(query: str, *texts: str) -> bool:
    """Whether each word of the query is in one of the texts."""
    return all(any(word in text.lower() for text in texts) for word in query.lower().split())


LIMIT = 200
"""So many rows of a list are shown; the filter finds the others."""


def more(total: int, what: str) -> Element | None:
    """That there are more than are shown."""
    if total <= LIMIT:
        return None
    return el("p", "dim", f"{total - LIMIT} more {what} are not shown: filter the list.")


def unmatched(query: str, shown: object, what: str) -> Element | None:
    """That the filter leaves nothing of a list, which is no news about the cluster."""
    return el("p", "dim", f"No {what} matches the filter.") if query and not shown else None
