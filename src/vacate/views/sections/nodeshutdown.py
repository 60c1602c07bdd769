"""What an explanation adds where the node of the pod shuts down: that the pod has less time than it seems."""

from __future__ import annotations

from dataclasses import replace

from vacate.api.types.evictionrequest import shutdown_deadline
from vacate.eviction.model import Stage
from vacate.views.model import ExplanationInput, Section
from vacate.views.phrases import ago, ahead

_BEFORE_THE_END = (Stage.INTERCEPTING, Stage.EVICTING, Stage.BLOCKED)


def with_shutdown(inputs: ExplanationInput, section: Section) -> Section:
    """The section with the moment at which the node ends the pod, where the pod still runs."""
    at = shutdown_deadline(inputs.request.metadata.annotations)
    if at is None or not inputs.here or section.stage not in _BEFORE_THE_END:
        return section
    node = inputs.pod.spec.node_name if inputs.pod else ""
    who = f"Node {node}" if node else "The node of the pod"
    if at > inputs.now:
        what = (
            f"{who} shuts down: it terminates the pod {ahead(at, inputs.now)} at the latest, prepared or not."
        )
    else:
        what = f"{who} shuts down: the time of the pod was over {ago(at, inputs.now)}, prepared or not."
    later = section.next_at is not None and section.next_at > at  # then it never comes to that
    return replace(
        section,
        next=(what,) if later else (what, *section.next),
        next_at=at if later else section.next_at or at,
    )
