"""The acts in which nothing is left to do: over, about to be over, and never begun."""

from __future__ import annotations

from vacate.api.types.evictionrequest import ADMITTED_STAMP, COMPLETE
from vacate.api.types.meta import condition
from vacate.eviction.model import Ending, Stage
from vacate.views.model import ExplanationInput, Remedy, Section
from vacate.views.phrases import ago, listed
from vacate.views.remedies import ask_again

_HEADLINES = {
    Ending.POD_DELETED: "Pod {0} is gone.",
    Ending.POD_TERMINATED: "Pod {0} has ended.",
    Ending.CANCELLED: "The request that pod {0} leave is cancelled.",
}


def over(scene: ExplanationInput) -> Section:
    """The request is complete."""
    found = condition(scene.request.status.conditions, COMPLETE)
    ending = _ending(found.reason if found else "")
    since = found.last_transition_time if found else None
    cancelled = ending is Ending.CANCELLED
    return Section(
        headline=_HEADLINES[ending].format(scene.name),
        stage=Stage.CANCELLED if cancelled else Stage.COMPLETE,
        happened=(
            *((f"The request completed {ago(since, scene.now)}.",) if since else ()),
            *_who_is_there(scene, cancelled=cancelled),
        ),
        awaited=_kept_by(scene),
        next=("Nothing more happens to it.",),
        remedies=(ask_again(scene),) if cancelled and scene.here else (),
    )


def finishing(scene: ExplanationInput, ending: Ending) -> Section:
    """The end has come and is not written down yet."""
    cancelled = ending is Ending.CANCELLED
    return Section(
        headline=_HEADLINES[ending].format(scene.name),
        stage=Stage.CANCELLED if cancelled else Stage.COMPLETE,
        happened=_who_is_there(scene, cancelled=cancelled),
        next=("The controller writes down now that the request is complete.",),
        next_at=scene.now,
        remedies=(ask_again(scene),) if cancelled and scene.here else (),
    )


def unadmitted(scene: ExplanationInput) -> Section:
    """Nobody processes it."""
    request = scene.request.metadata.name
    return Section(
        headline=f"The request that pod {scene.name} leave is not processed.",
        stage=None,
        happened=(f"It did not pass Vacate's admission, which leaves the annotation {ADMITTED_STAMP}.",),
        next=("Nothing happens to the pod because of it.",),
        remedies=(
            Remedy(
                "Make sure that Vacate's admission runs, then delete the request.",
                scene.kubectl("delete", "evictionrequest", request),
            ),
            Remedy("Ask again.", scene.command("evict")),
        ),
    )


def _ending(reason: str) -> Ending:
    try:
        return Ending(reason)
    except ValueError:
        return Ending.POD_DELETED


def _who_is_there(scene: ExplanationInput, *, cancelled: bool) -> tuple[str, ...]:
    if scene.pod is None:
        return ()
    if not scene.here:
        return ("A pod of the same name is there; it is another one, and the request is not about it.",)
    if cancelled:
        return ("The pod stays as it is.",)
    return ("Its object is being removed." if scene.pod.terminating else "Its object remains.",)


def _kept_by(scene: ExplanationInput) -> tuple[str, ...]:
    meta = scene.request.metadata
    if meta.deletion_timestamp is None or not meta.finalizers:
        return ()
    return (f"The request's own removal waits for its finalizers: {listed(meta.finalizers)}.",)
