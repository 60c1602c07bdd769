"""PURE. A plan: what the drain of chosen nodes would come to, as `vacate plan` says it, with its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.names import dns1123_subdomain
from vacate.errors import ConfigError
from vacate.views.phrases import command_line
from vacate.web.actions import LACKS_ROOM, POSSIBLE, WOULD_BLOCK, Given, Outcome
from vacate.web.components import DONE, MOVE, STUCK, WAIT, Page, command, page_of, section, segment, verdict
from vacate.web.markup import Element, el
from vacate.web.snapshot import Snapshot

MAX_NODES = 50
_VERDICTS = {
    POSSIBLE: (DONE, "The drain would finish"),
    WOULD_BLOCK: (STUCK, "The drain would block"),
    LACKS_ROOM: (STUCK, "The drain would leave pods without room"),
}


@dataclass(slots=True)
class PlanRun:
    """A plan that is being made, and what is there of it."""

    text: Outcome | None = None
    picture: str = ""


def planned_nodes(given: Given) -> tuple[str, ...]:
    """The chosen nodes; ConfigError for what is no name, and for too many."""
    names = tuple(dict.fromkeys(given.get("nodes", "").replace(",", " ").split()))
    for name in names:
        if why := dns1123_subdomain(name):
            raise ConfigError(f"nodes: {name[:80]!r} is not a name: {'; '.join(why)}")
    if len(names) > MAX_NODES:
        raise ConfigError(f"nodes: {len(names)} are too many for this page; use vacate plan")
    return names


def plan_command(nodes: Sequence[str]) -> list[str]:
    """The words of the command."""
    return ["plan", *(f"node/{one}" for one in nodes), "--ignore-daemonsets"]


def plan_page(
    snapshot: Snapshot, nodes: Sequence[str], run: PlanRun | None, *, elsewhere: bool = False
) -> Page:
    """The form, and the plan as far as it is made; only its command where it has to be made elsewhere."""
    text = " ".join(nodes)
    main: list[Element | None] = [_elsewhere() if elsewhere else _verdict(text, run), _form(text)]
    title, words = "The same as a command", plan_command(nodes)
    if not nodes:
        title, words = "What would hold the drain of any node", ["plan", "--cluster"]
    same = section("same", title, command(command_line(snapshot.program, *words)), key="plan/command")
    if run is not None and run.picture:
        address = f"/plan.svg?nodes={segment(text)}"
        picture = el("img", "plan", src=address, alt="The nodes over time, as the text says; in full size")
        picture = el("a", "", picture, href=address)  # on a narrow screen it is too small to be read
        main.append(section("pic", "Over time", picture, key="plan/picture"))
    if run is not None and run.text is not None:
        output = el("pre", "out", run.text.output)
        main.append(section("plan", "The plan", output, key="plan/text"))
    main.append(same)
    return page_of(f"Plan: {text}" if text else "Plan", "plan", main)


def _verdict(text: str, run: PlanRun | None) -> Element:
    if run is None:
        lead = "Reads the cluster once and changes nothing: a copy of it runs forward in virtual time."
        return verdict(WAIT, "What would a drain come to?", lead)
    if run.text is None:
        return verdict(MOVE, f"Planning the drain of {text}", "A large cluster takes a minute or more.")
    shape, words = _VERDICTS.get(run.text.code, (STUCK, "The plan could not be made"))
    return verdict(shape, words)


def _elsewhere() -> Element:
    lead = (
        "It runs in an embedded cluster, which Vacate's image does not have. The command reads the cluster "
        "with your kubeconfig and changes nothing."
    )
    return verdict(WAIT, "Make a plan on your machine", lead)


def _form(text: str) -> Element:
    return el(
        "form",
        "filter",
        el(
            "label",
            "",
            el("span", "sr", "Nodes"),
            el("input", type="text", name="nodes", value=text, placeholder="Nodes, such as node-1 node-2"),
        ),
        el("button", "btn", "Plan", type="submit"),
        method="get",
        action="/plan",
        key="plan/form",
    )
