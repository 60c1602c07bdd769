"""Which interceptor was active when: the evictions, gathered from what is watched. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import shown_stage
from vacate.views.budgets import budgets_named_in
from vacate.views.statusrows import pod_of

TERMINATING, EVICTING, BLOCKED = "terminating", "evicting", "waiting for budget"
_FILLS = "▒▓▒▓"
_WAITS, _TERMINATES = "·", "█"
LEGEND = "▒▓ interceptor   · waiting   █ terminating"
"""What the strips consist of."""


@dataclass(slots=True)
class Step:
    """What went on with a pod from one moment to another, in seconds."""

    label: str
    began: float
    ended: float = 0.0


@dataclass(slots=True)
class PodTimeline:
    """One pod's way out."""

    pod: str
    steps: list[Step] = field(default_factory=list)
    gone: bool = False

    @property
    def label(self) -> str:
        """What goes on with the pod now."""
        return self.steps[-1].label if self.steps else ""

    def turn(self, label: str, now: float) -> bool:
        """Something else begins; False where it is no news. A pod that is evicted does not come back."""
        if self.gone or self.label in (label, TERMINATING):
            return False
        if self.steps:
            self.steps[-1].ended = now
        self.steps.append(Step(label, now))
        return True

    def end(self, now: float) -> bool:
        """The pod is gone."""
        if self.gone:
            return False
        if self.steps:
            self.steps[-1].ended = now
        self.gone = True
        return True


class Timeline:
    """The courses of all pods whose eviction is requested."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.pods: dict[str, PodTimeline] = {}
        self.refusals: dict[str, int] = {}
        self._say = say

    @property
    def length(self) -> float:
        """When the last step ended."""
        return max((step.ended for one in self.pods.values() for step in one.steps), default=0.0)

    def on_request(self, request: EvictionRequest, now: float) -> None:
        """A request is there, or has changed."""
        pod = pod_of(request)
        pod_timeline = self.pods.setdefault(pod, PodTimeline(pod))
        counted = request.status.pod_eviction_status
        if counted is not None:
            self.refusals[pod] = counted.failed_api_eviction_counter
        label = _label(request)
        if label and pod_timeline.turn(label, now):
            self._say(_line(pod, label, request))

    def on_pod(self, pod: Pod, now: float, *, gone: bool) -> None:
        """A pod has changed or is deleted; those without an eviction request do not count."""
        pod_timeline = self.pods.get(pod.metadata.name)
        if pod_timeline is None:
            return
        if gone:
            if pod_timeline.end(now):
                self._say(f"{pod_timeline.pod} is deleted")
        elif pod.terminating and pod_timeline.turn(TERMINATING, now):
            self._say(f"{pod_timeline.pod} is terminating")


def bar(pod_timeline: PodTimeline, length: float, width: int) -> str:
    """The course as a strip: interceptors in turn light and dark, waiting as dots, terminating solid."""
    strip = [" "] * width
    turns = 0
    for step in pod_timeline.steps:
        fill = _TERMINATES if step.label == TERMINATING else _WAITS
        if step.label not in (TERMINATING, EVICTING) and not step.label.startswith(BLOCKED):
            fill, turns = _FILLS[turns % len(_FILLS)], turns + 1
        first, last = (int(moment / length * width) if length else 0 for moment in (step.began, step.ended))
        for place in range(first, min(max(last, first + 1), width)):
            strip[place] = fill
    return "".join(strip)


def steps_of(pod_timeline: PodTimeline) -> list[str]:
    """Each step with its beginning and its end; an eviction that takes no time is not shown."""
    return [
        f"{step.label} {step.began:.1f}-{step.ended:.1f} s"
        for step in pod_timeline.steps
        if step.label != EVICTING or step.ended - step.began >= 0.5
    ]


def _label(request: EvictionRequest) -> str:
    stage = shown_stage(request)
    if stage is Stage.INTERCEPTING:
        return request.status.active_interceptor_name or ""
    if stage is Stage.BLOCKED:
        return f"{BLOCKED} {', '.join(budgets_named_in(request.status.message)) or 'unknown'}"
    return {Stage.EVICTING: EVICTING, Stage.TERMINATING: TERMINATING}.get(stage, "")


def _line(pod: str, label: str, request: EvictionRequest) -> str:
    if label.startswith(BLOCKED):
        return f"{pod} is blocked: {request.status.message.rpartition('. ')[2]}"
    if label == EVICTING:
        return f"{pod} is being evicted"
    return f"{pod} is terminating" if label == TERMINATING else f"{pod}: interceptor {label} has its turn"
