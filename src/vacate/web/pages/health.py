"""PURE. Health: what `vacate check` finds, part by part, and what the pages could not read."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.install.check.findings import Finding, State
from vacate.views.phrases import advice, counted, sentence
from vacate.web.components import DONE, OVER, STAY, STUCK, Page, icon, page_of, remedies, section, verdict
from vacate.web.markup import Element, el
from vacate.web.snapshot import Snapshot

_SHAPES = {State.OK: DONE, State.WARNING: OVER, State.FAILED: STUCK, State.UNSEEN: STAY}
_ORDER = (State.FAILED, State.WARNING, State.UNSEEN, State.OK)


def health_page(snapshot: Snapshot, findings: Sequence[Finding]) -> Page:
    """Whether Vacate works, and what is in its way."""
    failed = [one for one in findings if one.state is State.FAILED]
    warnings = [one for one in findings if one.state is State.WARNING]
    if failed:
        head = verdict(STUCK, f"{counted(len(failed), 'part of Vacate fails', 'parts of Vacate fail')}")
    elif warnings:
        head = verdict(OVER, f"Vacate works; look at {counted(len(warnings), 'part')} of it")
    else:
        head = verdict(DONE, "Vacate works")
    shown = sorted(findings, key=lambda one: _ORDER.index(one.state))
    main = [
        head,
        section(
            "parts",
            "Parts",
            el("ul", "oks", [_line(one) for one in shown]),
            note=f"as {snapshot.program} check finds them, looked at twice a minute",
            classes="first",
            key="parts",
        ),
        _unread(snapshot),
    ]
    return page_of("Health", "health", main)


def _line(one: Finding) -> Element:
    shape = _SHAPES[one.state]
    # What is in order needs no remedy; elsewhere the command is beside it.
    helps = remedies(one.remedies, f"check/{one.check}") if one.state is not State.OK else []
    return el(
        "li",
        "",
        icon(shape, "is-stuck" if shape == STUCK else ""),
        el("b", "", one.check, el("span", "sr", f", {one.state}")),
        el("div", "", el("p", "", _sentence(one.text)), helps),
        key=f"check/{one.check}",
    )


def _sentence(text: str) -> str:
    """With a capital letter, unless a name or a command stands first."""
    first = text.partition(" ")[0].rstrip(":,")
    return advice(text) if first.isalpha() else sentence(text)


def _unread(snapshot: Snapshot) -> Element | None:
    if not snapshot.unread and not snapshot.unreadable:
        return None
    lines = [
        el("li", "", icon(STAY), el("b", "", one.resource), el("span", "", one.reason))
        for one in snapshot.unread
    ]
    lines += [
        el("li", "", icon(OVER), el("b", "", one.identity.name), el("span", "", one.reason))
        for one in snapshot.unreadable[:20]
    ]
    return section("unread-kinds", "What these pages do not show", el("ul", "oks", lines), key="unread-kinds")
