"""PURE. Nothing is draining: that it is so, and what to do next, in the order of risk."""

from __future__ import annotations

from vacate.kube.nodes import readiness
from vacate.views.phrases import counted
from vacate.web.components import (
    DONE,
    MOVE,
    SELF,
    STUCK,
    WAIT,
    Page,
    command,
    icon,
    local_times,
    page_of,
    section,
    verdict,
)
from vacate.web.markup import Content, Element, el
from vacate.web.pages.cards import causes_section
from vacate.web.snapshot import Snapshot


def idle_page(snapshot: Snapshot, finished: Element | None) -> Page:
    """Nothing is draining: say so, and what to do next, in the order of risk."""
    ready = sum(readiness(one) == "True" for one in snapshot.nodes)
    running = sum(one.status.phase == "Running" for one in snapshot.pods)
    lead = (
        f"{counted(ready, 'node is', 'nodes are')} ready and {counted(running, 'pod runs', 'pods run')}. "
        "When a node is drained or a pod is evicted, this page shows how far it is, what holds it and "
        "what to do."
    )
    node = next((one.metadata.name for one in reversed(snapshot.nodes)), "NODE")
    program = snapshot.program
    steps = (
        (
            "See what would hold a drain in this cluster",
            (
                "Reads only. Lists budgets that never allow an eviction, pods that nothing re-creates, "
                "interceptors that never answered."
            ),
            f"{program} plan --cluster",
        ),
        (
            "See what would happen to one node",
            "Changes nothing. Says whether the drain would finish, when, and what would block it.",
            f"{program} plan {node} --ignore-daemonsets",
        ),
        (
            "Drain it",
            "The drain is an object in the cluster: it goes on when you close the terminal, or this page.",
            f"{program} drain {node} --ignore-daemonsets",
        ),
        (
            "Give it back",
            "Lets pods return. Cancel the drain first, if it is still under way.",
            f"{program} uncordon {node}",
        ),
    )
    how = section(
        "first",
        "The next drain" if finished is not None else "Your first drain",
        el(
            "ol",
            "steps",
            [
                el("li", "", el("div", "", el("h3", "", title), el("p", "", text), command(line)))
                for title, text, line in steps
            ],
        ),
    )
    held = [one for one in snapshot.causes if one.needs_person]
    health: list[Content] = []
    if snapshot.unmanaged and snapshot.manager.text:  # nothing waits for it yet
        link = el("a", "", "Health", href="/health")
        health = [*local_times(snapshot.manager.text, snapshot.now), " What helps is under ", link, ". "]
    head = verdict(DONE, "Nothing is stuck, and nothing is draining", *health, lead)
    if held:  # by requests outside of drains
        words = f"{counted(len(held), 'cause needs', 'causes need')} you"
        head = verdict(
            STUCK, f"Stuck: {words}", "Nothing is draining; evictions that were requested are held."
        )
    main = (
        head,
        causes_section(snapshot, snapshot.causes),
        finished,
        el("div", "two", how, el("div", "", _key()), key="first-drain"),
    )
    title = f"{counted(len(held), 'needs', 'need')} you: Drains" if held else "Drains"
    return page_of(title, "drains", main)


def _key() -> Element:
    rows = (
        (STUCK, "is-stuck", "Stuck", ": does not go on until a person acts; the command is beside it"),
        (MOVE, "is-move", "Moving", ": an interceptor works, or a pod ends"),
        (SELF, "", "Goes by itself", ": held for now, and nothing to do"),
        (WAIT, "", "Waiting", ": its turn has not come"),
        (DONE, "", "Done", ": drained, gone or in order"),
    )
    items = [
        el("li", "", el("span", tint, icon(shape)), el("span", "", el("b", tint, word), text))
        for shape, tint, word, text in rows
    ]
    return section("read", "How to read these pages", el("ul", "read", items))
