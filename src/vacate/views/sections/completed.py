"""The sections for requests that are complete, about to be complete, or not admitted."""

from __future__ import annotations

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import ADMITTED_STAMP, COMPLETE
from vacate.api.types.meta import condition
from vacate.eviction.model import CompletionReason, Stage
from vacate.eviction.pins import pin_of
from vacate.eviction.records.reader import forced_by, is_superseded
from vacate.views.bridge import FOREGROUND, pin_command
from vacate.views.model import ExplanationInput, Remedy, Section
from vacate.views.phrases import ago, listed, sentence
from vacate.views.remedies import request_again

_HEADLINES = {
    CompletionReason.POD_DELETED: "Pod {0} is deleted.",
    CompletionReason.POD_TERMINATED: "Pod {0} has terminated.",
    CompletionReason.CANCELLED: "The eviction request for pod {0} is cancelled.",
}


def over(inputs: ExplanationInput) -> Section:
    """The request is complete."""
    found = condition(inputs.request.status.conditions, COMPLETE)
    reason = _completion_reason(found.reason if found else "")
    since = found.last_transition_time if found else None
    cancelled = reason is CompletionReason.CANCELLED
    if is_superseded(inputs.request):
        return _superseded(inputs)
    if inputs.here and inputs.pod is not None and not cancelled:
        if not inputs.pod.terminal:
            return _still_running(inputs)
        if inputs.pod.terminating and inputs.pod.metadata.finalizers:
            return _held(inputs, inputs.pod)
    return Section(
        headline=_HEADLINES[reason].format(inputs.name),
        stage=Stage.CANCELLED if cancelled else Stage.COMPLETE,
        happened=(
            *((f"The request completed {ago(since, inputs.now)}.",) if since else ()),
            *((sentence(past.message),) if (past := forced_by(inputs.request)) and not cancelled else ()),
            *_what_remains(inputs, cancelled=cancelled),
        ),
        awaited=_finalizers(inputs),
        next=_after(inputs, "Nothing more happens to the request."),
        remedies=_ways_out(inputs, cancelled=cancelled),
    )


def _superseded(inputs: ExplanationInput) -> Section:
    """A new request takes over the requesters."""
    return Section(
        headline=f"A new request takes over the eviction of pod {inputs.name}.",
        stage=Stage.SUPERSEDED,
        happened=(sentence(message),) if (message := inputs.request.status.message) else (),
        next=("The controller creates a request of the same requesters, with turns for interceptors.",),
        next_at=inputs.now,
    )


def _held(inputs: ExplanationInput, pod: Pod) -> Section:
    """Its containers have terminated, and its object stays."""
    show = inputs.kubectl("get", "pod", inputs.name, "-o", "jsonpath={.metadata.finalizers}")
    return Section(
        headline=f"Pod {inputs.name} has terminated, and its object is held by finalizers.",
        stage=Stage.COMPLETE,
        happened=("Its containers have terminated, so the request is complete.",),
        awaited=(f"The removal of its finalizers is awaited: {listed(pod.metadata.finalizers)}.",),
        next=("The API server removes the pod when the last of its finalizers is gone.",),
        remedies=(Remedy("Ask the owner of these finalizers to remove them.", show),),
    )


def _still_running(inputs: ExplanationInput) -> Section:
    """No controller writes that: it completes a request when the pod has terminated or is gone."""
    return Section(
        headline=f"Pod {inputs.name} still runs, although its request is complete.",
        stage=Stage.COMPLETE,
        happened=("The controller did not complete it: another account wrote the request's status.",),
        next=("Nothing evicts the pod because of this request.",),
        remedies=(request_again(inputs),),
    )


def finishing(inputs: ExplanationInput, reason: CompletionReason) -> Section:
    """The request is over, and the controller has not recorded that yet."""
    cancelled = reason is CompletionReason.CANCELLED
    return Section(
        headline=_HEADLINES[reason].format(inputs.name),
        stage=Stage.CANCELLED if cancelled else Stage.COMPLETE,
        happened=_what_remains(inputs, cancelled=cancelled),
        awaited=_finalizers(inputs),
        next=_after(inputs, "The controller marks the request as complete now."),
        next_at=inputs.now,
        remedies=_ways_out(inputs, cancelled=cancelled),
    )


def unadmitted(inputs: ExplanationInput) -> Section:
    """The request is not processed."""
    request = inputs.request.metadata.name
    return Section(
        headline=f"The eviction request for pod {inputs.name} is not processed.",
        stage=None,
        happened=(f"It did not pass Vacate's admission, which sets the annotation {ADMITTED_STAMP}.",),
        next=("It has no effect on the pod.",),
        remedies=(
            Remedy(
                "Make sure that Vacate's admission runs, then delete the request.",
                inputs.kubectl("delete", inputs.request.kind.singular, request),
            ),
            Remedy("Request the eviction again.", inputs.command("evict")),
        ),
    )


def _completion_reason(reason: str) -> CompletionReason:
    try:
        return CompletionReason(reason)
    except ValueError:
        return CompletionReason.POD_DELETED


def _what_remains(inputs: ExplanationInput, *, cancelled: bool) -> tuple[str, ...]:
    if inputs.pod is None:
        return ()
    if not inputs.here:
        return ("A pod of the same name exists; it has another UID, and this request does not apply to it.",)
    if cancelled:
        return ("The pod is not evicted.",)
    return ("Its object is being removed." if inputs.pod.terminating else "Its object remains.",)


def _finalizers(inputs: ExplanationInput) -> tuple[str, ...]:
    meta = inputs.request.metadata
    if meta.deletion_timestamp is None or not meta.finalizers:
        return ()
    since = ago(meta.deletion_timestamp, inputs.now)
    owned = " (objects that it owns are deleted first)" if FOREGROUND in meta.finalizers else ""
    return (
        f"The request was deleted {since}, and waits for its finalizers: {listed(meta.finalizers)}{owned}.",
    )


def _after(inputs: ExplanationInput, otherwise: str) -> tuple[str, ...]:
    if not inputs.here or inputs.pod is None or pin_of(inputs.request, inputs.now) is None:
        return (otherwise,)
    return (
        "No other request can be made for the pod while this one exists.",
        "Drains and evictions go past it, and past the pod's interceptors, within disruption budgets.",
    )


def _ways_out(inputs: ExplanationInput, *, cancelled: bool) -> tuple[Remedy, ...]:
    again = (request_again(inputs),) if cancelled and inputs.here else ()
    pin = pin_of(inputs.request, inputs.now)
    if pin is None:
        return again
    return (Remedy("Ask the owner of these finalizers to remove them.", pin_command(pin)), *again)
