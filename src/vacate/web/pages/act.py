"""PURE. An action before it is done, with what would happen and the command; and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.views.phrases import command_line
from vacate.web.actions import LACKS_ROOM, POSSIBLE, WOULD_BLOCK, Action, Given, Outcome
from vacate.web.components import DONE, OVER, STUCK, WAIT, Page, command, crumb, page_of, section, verdict
from vacate.web.markup import Content, Element, el
from vacate.web.snapshot import Snapshot

_DRY_RUNS = {
    POSSIBLE: (WAIT, "It can be done."),
    WOULD_BLOCK: (STUCK, "It would block until a person acts."),
    LACKS_ROOM: (STUCK, "Pods would be left without room: their replacements would find no node."),
}
_REFUSED = (STUCK, "The dry run was refused.")


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether the user may do something: why not, or why that is not known; both empty where the user may."""

    refused: str = ""
    unknown: str = ""


def action_button(action: Action, word: str, answer: Answer, **names: str) -> list[Element]:
    """A link to the action; where the user may not, or that is not known, the reason stands beside it."""
    identity, refused = "-".join(("why-not", action.name, *names.values())), answer.refused
    if not refused:
        link = el("a", "btn", f"{word}…", href=action.address(**names))
        if not answer.unknown:
            return [link]
        hint = f"Whether you may is not known, and the dry run tells: {answer.unknown}"
        return [link, el("p", "hint", hint)]
    return [
        el("span", "btn", f"{word}…", role="link", aria_disabled="true", aria_describedby=identity),
        el("p", "hint", refused, id=identity),
    ]


def preview_page(
    snapshot: Snapshot, action: Action, given: Given, outcome: Outcome | None, refused: str, token: str
) -> Page:
    """What would happen; nothing has been done."""
    title = action.heading(given)
    code = outcome.code if outcome is not None else 0
    shape, lead = (STUCK, refused) if refused else _DRY_RUNS.get(code, _REFUSED)
    headline = f"{title}?" if not refused and code in _DRY_RUNS else f"Not possible: {title}"
    main = [
        crumb(el("a", "", "Back", href=action.page(given)), title),
        verdict(
            shape,
            headline,
            lead,
            " Nothing has been changed." if refused else " Nothing has been changed yet.",
        ),
        _options(action, given) if action.choices or action.reason else None,
        section(
            "would",
            "What would happen" if code in _DRY_RUNS else "What the dry run says",
            el("p", "", action.effect) if code in _DRY_RUNS else None,
            el("pre", "out", outcome.output or "Nothing was printed.") if outcome is not None else None,
        ),
        section(
            "same", "The same as a command", command(command_line(snapshot.program, *action.command(given)))
        ),
        _form(action, given, title, token) if not refused and code in _DRY_RUNS else None,
    ]
    return page_of(title, "", main, still=True)


def done_page(snapshot: Snapshot, action: Action, given: Given, outcome: Outcome) -> Page:
    """What became of it."""
    title = action.heading(given)
    failed = outcome.code != 0
    words = f"Not done: {title}" if failed else f"Done: {title}"
    return Page(
        words,
        "",
        (
            verdict(OVER if failed else DONE, words),
            section(
                "output",
                "What the command printed",
                el("pre", "out", outcome.output or "Nothing."),
                command(command_line(snapshot.program, *action.command(given))),
            ),
            el("p", "confirm", el("a", "btn", "See what becomes of it", href=action.page(given))),
        ),
        still=True,
    )


def _options(action: Action, given: Given) -> Element:
    """The options; the dry run is made again with them."""
    names = action.names(given)
    boxes: list[Content] = [el("input", type="hidden", name=key, value=value) for key, value in names.items()]
    boxes.append(el("input", type="hidden", name="asked", value="1"))
    for one in action.choices:
        checked = "" if action.is_chosen(one, given) else None
        box = el("input", type="checkbox", name=one.option, value="on", checked=checked)
        boxes.append(el("label", "line", box, f" {one.text} ", el("code", "dim", one.option)))
    if action.reason:
        text = el("input", type="text", name="reason", value=given.get("reason", ""), maxlength="500")
        boxes.append(el("label", "line", "Reason ", text))
    again = el("button", "btn", "Show what would happen with these", type="submit")
    return el("form", "options", boxes, again, method="get", action=f"/act/{action.name}")


def _form(action: Action, given: Given, title: str, token: str) -> Element:
    """The same names and options as are shown above, with the token of the form."""
    kept = dict(action.names(given)) | {"asked": "1", "token": token, "reason": given.get("reason", "")}
    kept |= {one.option: "on" for one in action.choices if action.is_chosen(one, given)}
    hidden = [el("input", type="hidden", name=key, value=value) for key, value in kept.items()]
    return el(
        "form",
        "confirm",
        hidden,
        el("button", "btn", title, type="submit"),
        " ",
        el("a", "btn", "Do nothing", href=action.page(given)),
        method="post",
        action=f"/act/{action.name}",
    )
