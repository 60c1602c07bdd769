"""PURE. What surrounds every page: shapes, navigation, the state of the connection, and who one is."""

from __future__ import annotations

from collections.abc import Sequence

from vacate import __version__
from vacate.api.times import format_time
from vacate.web.components import Page, age, clock, icon, verdict
from vacate.web.markup import Content, Element, el, link_away, to_html
from vacate.web.snapshot import Snapshot

NAV: Sequence[tuple[str, str, str]] = (
    ("drains", "/drains", "Drains"),
    ("blockers", "/blockers", "Blockers"),
    ("nodes", "/nodes", "Nodes"),
    ("requests", "/requests", "Requests"),
    ("interceptors", "/interceptors", "Interceptors"),
    ("fencing", "/fencing", "Fencing"),
    ("plan", "/plan", "Plan"),
    ("health", "/health", "Health"),
)

_SHAPES = (
    '<svg class="defs" aria-hidden="true" focusable="false"><defs>'
    '<symbol id="stuck" viewBox="0 0 16 16"><path fill-rule="evenodd" d="M8 .8 15.8 14.8H.2ZM7.1 5.4l.25 5'
    'h1.3l.25-5ZM7.1 11.4v1.8h1.8v-1.8Z"/></symbol>'
    '<symbol id="move" viewBox="0 0 16 16"><path fill-rule="evenodd" d="M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1Zm0 '
    '1.6v10.8A5.4 5.4 0 0 1 8 2.6Z"/></symbol>'
    '<symbol id="wait" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" '
    'stroke-width="1.6"/></symbol>'
    '<symbol id="self" viewBox="0 0 16 16"><g fill="none" stroke="currentColor" stroke-width="1.6">'
    '<circle cx="8" cy="8" r="6.2"/><path d="M8 4.2V8.3l2.6 1.6"/></g></symbol>'
    '<symbol id="done" viewBox="0 0 16 16"><path d="M2.6 8.6 6.4 12.4 13.6 4" fill="none" '
    'stroke="currentColor" stroke-width="1.9"/></symbol>'
    '<symbol id="stay" viewBox="0 0 16 16"><path d="M3 8h10" fill="none" stroke="currentColor" '
    'stroke-width="1.9"/></symbol>'
    '<symbol id="over" viewBox="0 0 16 16"><path d="M3.5 3.5l9 9M12.5 3.5l-9 9" fill="none" '
    'stroke="currentColor" stroke-width="1.9"/></symbol>'
    '<symbol id="dot" viewBox="0 0 10 10"><circle cx="5" cy="5" r="4"/></symbol>'
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="hatch-l" x1="0" y1="0" x2="0" y2="6"/></pattern></defs></svg>'
)
_RESCAN_SECONDS = 10


def body_of(snapshot: Snapshot, page: Page) -> Element:
    """All that changes: the navigation, the state of the connection, the page, and what could not be read."""
    return el(
        "div",
        "",
        el("header", "top", _top(snapshot, page), _offline(snapshot), key="top"),
        el("main", "", _unread(snapshot), page.main, id="main", key="main"),
        _foot(snapshot),
        key="body",
    )


def title_of(snapshot: Snapshot, page: Page) -> str:
    """The title of the tab: the state first, since tabs are narrow."""
    return f"{page.title}, {snapshot.context}" if snapshot.context else page.title


def document(snapshot: Snapshot, page: Page, tab: str, body: Element) -> str:
    """The whole page as HTML."""
    again = 1 if snapshot.reading else _RESCAN_SECONDS
    head = _head(
        title_of(snapshot, page),
        # The page of an action is not made again: that would run its command again.
        None if page.still else el("noscript", "", el("meta", http_equiv="refresh", content=str(again))),
        el("script", type="module", src="/static/page.js"),
    )
    lost = _band(el("b", "", "Not live. "), el("span", "", id="lost-text"), id="lost", hidden="")
    skip = el("a", "skip", "Skip to content", href="#main")
    status = el("p", "sr", role="status", id="announcement")
    inside = "".join(to_html(one) for one in (skip, lost, body, status))
    data = f'data-tab="{tab}" data-now="{format_time(snapshot.now)}"'
    data += f' data-leave="{snapshot.leave}"' if snapshot.leave else ""
    return f'<!doctype html>\n<html lang="en">{to_html(head)}<body {data}>{_SHAPES}{inside}</body></html>'


def _head(title: str, *more: Element | None) -> Element:
    return el(
        "head",
        "",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", "", title),
        el("link", rel="stylesheet", href="/static/style.css"),
        *more,
    )


def _band(*message: Content, key: str = "", **attributes: str) -> Element:
    """A warning over the whole page."""
    text = el("p", "", icon("stuck"), el("span", "", *message))
    return el("div", "band", text, role="alert", key=key, **attributes)


def _top(snapshot: Snapshot, page: Page) -> Element:
    stuck = sum(one.needs_person for one in snapshot.causes)
    entries = []
    for name, address, title in NAV:
        count: Content = None
        if name == "blockers" and stuck:
            count = el(
                "span", "count", str(stuck), el("span", "sr", " needs you" if stuck == 1 else " need you")
            )
        current = "page" if name == page.nav else None
        entries.append(el("li", "", el("a", "", title, count, href=address, aria_current=current)))
    brand = el(
        "div",
        "brand",
        el("a", "", "Vacate", href="/drains"),
        el("span", "ctx", snapshot.context, title="context of your kubeconfig"),
    )
    nav = el("nav", "nav", el("ul", "", entries), aria_label="Pages")
    return el("div", "top-in", brand, nav, _live(snapshot, still=page.still))


def _live(snapshot: Snapshot, *, still: bool) -> Element:
    if snapshot.stall is not None:
        word: list[Content] = [age(snapshot.stall.since, snapshot.now), " old"]
    elif still:
        word = ["As of ", clock(snapshot.now, seconds=True)]
    else:
        word = ["Live"]
    old = el("span", "", id="live-old", hidden="")  # in its place while the program does not answer
    return el("div", "live", icon("dot"), el("span", "", word, id="live"), old, key="live")


def _offline(snapshot: Snapshot) -> Element | None:
    """The API server does not answer: said at once, with the age of what is seen."""
    stall = snapshot.stall
    if stall is None:
        return None
    return _band(
        el("b", "", "Not live."),
        " The API server has not answered for ",
        age(stall.since, snapshot.now),
        ". You see the state of ",
        clock(stall.since, seconds=True),
        "; drains go on without this page. It is tried again every few seconds. ",
        el("span", "", f"({stall.reason})"),
        key="offline",
    )


def _unread(snapshot: Snapshot) -> Element | None:
    """Which kinds are missing from the pages, and why; the rest works."""
    if not snapshot.unread and not snapshot.unreadable:
        return None
    lines = []
    for one in snapshot.unread:
        why = f"you may not read them ({one.reason})" if one.forbidden else one.reason
        lines.append(el("li", "", el("b", "", one.resource), f": {why}"))
    if snapshot.unreadable:
        names = ", ".join(str(one.identity.name) for one in snapshot.unreadable[:5])
        lines.append(el("li", "", f"{len(snapshot.unreadable)} objects cannot be decoded: {names}"))
    return el(
        "details",
        "itself",
        el(
            "summary",
            "",
            icon("stay"),
            el(
                "span",
                "",
                el("b", "", "Some of the cluster is not shown"),
                el("span", "dim", ", ".join(one.resource for one in snapshot.unread)),
            ),
        ),
        el("ul", "in", lines),
        key="unread",
        data_fold="unread",
    )


def _foot(snapshot: Snapshot) -> Element:
    who = f"You are {snapshot.user}. " if snapshot.user else ""
    zone = f"{snapshot.now.astimezone():%Z}"
    return el(
        "footer",
        "foot",
        el("span", "", f"{who}What you see and do here is limited by your own rights."),
        el("a", "", "Sign out", href=snapshot.leave) if snapshot.leave else None,
        el("span", "", link_away(snapshot.dashboard, "Drains over time")) if snapshot.dashboard else None,
        el("span", "", "Times: ", el("span", "", zone, id="zone")),
        el("span", "", f"vacate {__version__}"),
        key="foot",
    )


def refused_document(headline: str, text: str, link: str = "") -> str:
    """What a browser sees that is not let in."""
    again = el("p", "lead", el("a", "", "Open the page", href=link)) if link.startswith("/") else None
    return _plain(el("div", "verdict", el("h1", "", headline), el("p", "lead", text), again))


def sign_in_document(why: str, after: str) -> str:
    """What a browser sees whose user has not signed in; `after` is the page that was asked for."""
    field = el(
        "input",
        type="password",
        name="token",
        id="token",
        required="",
        autocomplete="off",
        spellcheck="false",
    )
    form = el(
        "form",
        "options sign-in",
        el("input", type="hidden", name="after", value=after),
        el("label", "line", "Token ", field),
        el("button", "btn", "Sign in", type="submit"),
        method="post",
        action="/sign-in",
    )
    lead = "These pages have no rights of their own: they show what your token may read, and do what it may."
    hint = "It is kept in memory until you sign out. A token of a service account is printed by"
    return _plain(
        verdict("wait", "Sign in to Vacate", lead),
        el("p", "line is-stuck", icon("stuck"), " ", why, role="alert") if why else None,
        form,
        el("p", "dim", hint, " ", el("code", "", "kubectl create token NAME -n NAMESPACE")),
    )


def _plain(*main: Element | None) -> str:
    """A document without navigation, for readers who are not signed in."""
    inside = to_html(el("main", "", main, id="main"))
    return f'<!doctype html>\n<html lang="en">{to_html(_head("Vacate"))}<body>{_SHAPES}{inside}</body></html>'
