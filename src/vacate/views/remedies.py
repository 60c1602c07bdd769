"""What the reader of a story can do about it: each remedy with the command to type."""

from __future__ import annotations

import datetime as dt

from vacate.api.text import plain
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.views.model import ExplanationInput, Remedy

_NAMED = 3
PROMPT = dt.timedelta(seconds=30)
"""A controller that runs does what is due long before this."""


def change_of_mind(scene: ExplanationInput) -> tuple[Remedy, ...]:
    """How the request can be taken back, as far as its policy allows."""
    if scene.process.forbids_cancellation:
        return (
            Remedy(
                "Cancel it all the same, as an administrator: this first allows cancellation again, and the "
                "interceptor may be in the midst of something.",
                scene.command("cancel", "--override"),
            ),
        )
    names = scene.process.requesters
    if len(names) == 1:
        return (Remedy("Cancel the request.", scene.command("cancel", "--requester", names[0])),)
    everyone = Remedy("Cancel the request for all requesters.", scene.command("cancel", "--override"))
    # A reader who is none of them would be refused without a name.
    each = (
        Remedy(f"Withdraw {name} only.", scene.command("cancel", "--requester", name))
        for name in names[:_NAMED]
    )
    return *each, everyone


def decide_on_failure(scene: ExplanationInput) -> tuple[Remedy, ...]:
    """What an administrator can do about an interceptor that failed and holds its turn."""
    name = scene.request.metadata.name
    done = ("--subresource=status", "--type=merge", "-p", '{"status":{"activeInterceptorCompleted":true}}')
    return (
        Remedy("Fix the cause and restart the interceptor: it tries again."),
        Remedy(
            "End its turn as failed, as an administrator.",
            scene.kubectl("patch", "evictionrequest", name, *done),
        ),
    )


def follow(scene: ExplanationInput) -> Remedy:
    """Watch it go on."""
    return Remedy("Follow it.", scene.command("status", "-w"))


def ask_again(scene: ExplanationInput) -> Remedy:
    """A new request in place of one that is over."""
    return Remedy("Ask it to leave again.", scene.command("evict"))


def look_at_budgets(scene: ExplanationInput) -> tuple[Remedy, ...]:
    """What to do about the budgets that stand in the way."""
    names = [budget.metadata.name for budget in scene.budgets]
    if not names:
        return ()
    look = scene.kubectl("describe", "pdb", *names)
    past = Remedy(
        "Delete the pod past its budget, if its application can bear that.",
        scene.kubectl("delete", "pod", scene.name),
    )
    if len(names) > 1:
        return Remedy("Change the budgets so that only one of them selects the pod.", look), past
    return Remedy("See which pods the budget counts; more healthy ones make room.", look), past


def find_interceptor(scene: ExplanationInput, interceptor: str) -> Remedy:
    """Silence usually means that nobody of that name runs."""
    return Remedy(
        f"Make sure that {interceptor} runs and may update the status of EvictionRequests.",
        scene.kubectl("get", "evictionrequest", scene.request.metadata.name, "-o", "yaml"),
    )


def look_for_controller(scene: ExplanationInput, due: dt.datetime | None) -> tuple[Remedy, ...]:
    """What is due and does not happen has nobody to do it."""
    if due is None or scene.now - due < PROMPT:
        return ()
    return (Remedy("Make sure that Vacate's controller runs: this is overdue.", "kubectl get leases -A"),)


def reason_of(request: EvictionRequest) -> str:
    """Why the leave is asked for, where someone wrote it down."""
    return plain(request.metadata.annotations.get(REASON, ""))


REASON = "vacate.dev/reason"
"""The annotation that holds the free text of a request."""
