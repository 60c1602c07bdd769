"""PURE. Whether the node is under pressure, and which pod goes next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vacate.nodeagent.model import NodeReason
from vacate.nodeagent.pressure.thresholds import (
    CONDITIONS,
    RESOURCES,
    Measure,
    PressureConfig,
    Threshold,
)
from vacate.nodeagent.shutdown.buckets import SYSTEM_CRITICAL_PRIORITY

_QOS = {"BestEffort": 0, "Burstable": 1, "Guaranteed": 2}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pod that could be ended."""

    uid: str
    priority: int
    qos: str
    started: str  # RFC 3339, as its status has it


@dataclass(slots=True)
class Pressure:
    """What was crossed since when, on the monotonic clock."""

    since: dict[Threshold, float] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)  # by condition, when it was last so

    def observe(self, config: PressureConfig, measures: Mapping[str, Measure], now: float) -> None:
        """Take note of a measurement. A signal without one stays as it was."""
        for threshold in config.thresholds:
            measure = measures.get(threshold.signal)
            if measure is None:
                continue
            if threshold.crossed(measure):
                self.since.setdefault(threshold, now)
            else:
                self.since.pop(threshold, None)
        for threshold in self.due(now):
            self.last[CONDITIONS[threshold.signal]] = now

    def due(self, now: float) -> list[Threshold]:
        """The thresholds that have been crossed for long enough, hard ones first."""
        found = [one for one, began in self.since.items() if now - began >= one.hold_seconds]
        return sorted(found, key=lambda one: not one.hard)

    def conditions(self, config: PressureConfig, now: float) -> frozenset[str]:
        """The conditions of the node that hold: each for a while longer than its cause."""
        return frozenset(
            name for name, at in self.last.items() if now == at or now - at < config.transition_seconds
        )


def victim(candidates: Iterable[Candidate]) -> Candidate | None:
    """The pod of the lowest priority; among equals that which was promised least, then the youngest."""
    eligible = [one for one in candidates if one.priority < SYSTEM_CRITICAL_PRIORITY]
    youngest_first = sorted(eligible, key=lambda one: one.started, reverse=True)
    return min(youngest_first, key=lambda one: (one.priority, _QOS.get(one.qos, 0)), default=None)


def eviction(threshold: Threshold, measure: Measure) -> NodeReason:
    """The message about the pod, in the kubelet's words."""
    resource = RESOURCES[threshold.signal]
    message = (
        f"The node was low on resource: {resource}. Threshold quantity: {threshold.text}, "
        f"available: {_amount(threshold, measure)}. "
    )
    return NodeReason(f"the node is low on {resource}", "Evicted", message, phase="Failed")


def _amount(threshold: Threshold, measure: Measure) -> str:
    if RESOURCES[threshold.signal] == "inodes":
        return str(measure.available)
    return f"{measure.available // 1024}Ki"
