"""PURE. When a node is short of something, by the thresholds of KubeletConfiguration, and which pod goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vacate.api.durations import parse_duration
from vacate.api.quantity import parse_quantity
from vacate.errors import ConfigErrors
from vacate.nodeagent.model import NodeReason
from vacate.nodeagent.shutdown.buckets import SYSTEM_CRITICAL_PRIORITY

HARD, SOFT = "evictionHard", "evictionSoft"
SOFT_PERIODS = "evictionSoftGracePeriod"
MAX_GRACE = "evictionMaxPodGracePeriod"
TRANSITION = "evictionPressureTransitionPeriod"

MEMORY, DISK, INODES = "memory.available", "nodefs.available", "nodefs.inodesFree"
CONDITIONS = {MEMORY: "MemoryPressure", DISK: "DiskPressure", INODES: "DiskPressure"}
RESOURCES = {MEMORY: "memory", DISK: "ephemeral-storage", INODES: "inodes"}
_OTHERS = frozenset(
    ("imagefs.available", "imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree",
     "pid.available", "allocatableMemory.available")
)  # fmt: skip
"""Signals of the kubelet about what a node with local processes has not."""

HARD_GRACE_SECONDS = 1.0
DEFAULT_TRANSITION_SECONDS = 300.0
INTERVAL_SECONDS = 10.0
"""Between two measurements, as in the kubelet. The kernel offers no event for amounts that are left."""
_QOS = {"BestEffort": 0, "Burstable": 1, "Guaranteed": 2}


@dataclass(frozen=True, slots=True)
class Measure:
    """How much of something is left, and how much there is."""

    available: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Threshold:
    """Less than this is too little."""

    signal: str
    text: str  # as it was written: 100Mi, 10%
    hold_seconds: float = 0.0  # how long it must be crossed; none for a hard threshold
    hard: bool = True

    def crossed(self, measure: Measure) -> bool:
        """Whether too little is left."""
        if self.text.endswith("%"):
            return measure.available < measure.capacity * float(self.text[:-1]) / 100
        return measure.available < float(parse_quantity(self.text).value())


@dataclass(frozen=True, slots=True)
class PressureConfig:
    """When pods are terminated because the node is short of something; nothing is measured without."""

    thresholds: tuple[Threshold, ...] = ()
    max_grace_seconds: float = 0.0  # what a pod may take at a soft threshold
    transition_seconds: float = DEFAULT_TRANSITION_SECONDS
    interval_seconds: float = INTERVAL_SECONDS

    @property
    def signals(self) -> frozenset[str]:
        """What must be measured."""
        return frozenset(one.signal for one in self.thresholds)

    def grace_seconds(self, threshold: Threshold, own: float) -> float:
        """How long a pod has to end, of what it wants itself."""
        return min(own, HARD_GRACE_SECONDS if threshold.hard else self.max_grace_seconds)


def read_thresholds(document: Mapping[str, Any], source: str = "") -> PressureConfig:
    """What a KubeletConfiguration says about eviction, or a ConfigError that names the fields."""
    problems: list[str] = []
    hard = [Threshold(*one) for one in _entries(document, HARD, problems)]
    periods = document.get(SOFT_PERIODS) or {}
    soft = []
    for signal, text in _entries(document, SOFT, problems):
        if not isinstance(periods, Mapping) or signal not in periods:
            problems.append(f"{SOFT_PERIODS}[{signal}]: is missing; say how long, such as 1m30s")
            continue
        held = _seconds(periods[signal], f"{SOFT_PERIODS}[{signal}]", problems)
        soft.append(Threshold(signal, text, held, hard=False))
    most = document.get(MAX_GRACE, 0)
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        problems.append(f"{MAX_GRACE}: must be a number of seconds, not {most!r}")
    transition = document.get(TRANSITION)
    seconds = DEFAULT_TRANSITION_SECONDS if transition is None else _seconds(transition, TRANSITION, problems)
    if problems:
        raise ConfigErrors(f"{source}: {one}" if source else one for one in problems)
    return PressureConfig((*hard, *soft), float(most), seconds)


def _entries(document: Mapping[str, Any], name: str, problems: list[str]) -> list[tuple[str, str]]:
    given = document.get(name) or {}
    if not isinstance(given, Mapping):
        problems.append(f"{name}: must map signals to amounts, such as memory.available: 100Mi")
        return []
    found = []
    for signal, text in given.items():
        if signal in _OTHERS:
            continue  # of a file that a kubelet uses as well
        if signal not in CONDITIONS:
            known = ", ".join(CONDITIONS)
            problems.append(f"{name}[{signal}]: is not a signal that is measured here; known are {known}")
        elif not isinstance(text, str) or not _is_amount(text):
            problems.append(f"{name}[{signal}]: must be an amount such as 100Mi, or 10%, not {text!r}")
        elif text not in ("0", "0%"):  # the kubelet's way to switch one off
            found.append((signal, text))
    return found


def _is_amount(text: str) -> bool:
    try:
        if text.endswith("%"):
            return 0 <= float(text[:-1]) <= 100
        return parse_quantity(text).sign >= 0
    except ValueError:
        return False


def _seconds(text: Any, name: str, problems: list[str]) -> float:
    try:
        seconds = parse_duration(text) if isinstance(text, str) else -1.0
    except ValueError:
        seconds = -1.0
    if seconds < 0:
        problems.append(f"{name}: must be a duration such as 30s, not {text!r}")
    return seconds


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
    left = str(measure.available) if resource == "inodes" else f"{measure.available // 1024}Ki"
    message = (
        f"The node was low on resource: {resource}. Threshold quantity: {threshold.text}, available: {left}. "
    )
    return NodeReason(f"the node is low on {resource}", "Evicted", message, phase="Failed")
