"""Measures at intervals, reports conditions of the node, and ends one pod at a time while it must."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from vacate.clock import Clock
from vacate.nodeagent.pods import PodReconciler
from vacate.nodeagent.podworker import PodWorker
from vacate.nodeagent.pressure.thresholds import (
    Candidate,
    Measure,
    Pressure,
    PressureConfig,
    Threshold,
    eviction,
    victim,
)

log = logging.getLogger(__name__)


@dataclass(eq=False)
class PressureManager:
    """Runs beside the other parts of an agent."""

    name = "pressure"

    config: PressureConfig
    pods: PodReconciler
    clock: Clock
    measure: Callable[[Collection[str]], Mapping[str, Measure]]
    report: Callable[[frozenset[str]], None]
    _pressure: Pressure = field(default_factory=Pressure)
    _failing: bool = False
    _helpless: bool = False  # under pressure, with nothing to end

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            self.look()
            await self.clock.sleep(self.config.interval_seconds)

    def look(self) -> None:
        """Measure once, and do what is due."""
        now = self.clock.monotonic()
        measures = self._measured()
        self._pressure.observe(self.config, measures, now)
        self.report(self._pressure.conditions(self.config, now))
        due = [one for one in self._pressure.due(now) if one.signal in measures]
        if due and not any(_ends(one) for one in self.pods.held.values()):
            self._end_one(due[0], measures[due[0].signal])

    def _measured(self) -> Mapping[str, Measure]:
        try:
            found = self.measure(self.config.signals)
        except OSError as error:
            if not self._failing:
                log.warning("memory and disk cannot be measured: %s", error)
            self._failing = True
            return {}
        self._failing = False
        return found

    def _end_one(self, threshold: Threshold, measure: Measure) -> None:
        held = self.pods.held
        chosen = victim(_candidate(one) for one in held.values() if one.progress.busy)
        if chosen is None:
            if not self._helpless:
                log.warning("%s is below %s, and no pod may be terminated", threshold.signal, threshold.text)
            self._helpless = True
            return
        self._helpless = False
        pod = held[chosen.uid].pod
        assert pod is not None
        cause = eviction(threshold, measure)
        log.warning("pod %s is evicted: %s", held[chosen.uid].key, cause.message)
        self.pods.end(chosen.uid, self.config.grace_seconds(threshold, pod.grace_seconds), cause=cause)


def _ends(held: PodWorker) -> bool:
    """Whether a pod is terminating: what it uses is released by itself."""
    return held.progress.busy and (
        held.record.order is not None or (held.pod is not None and held.pod.deleting)
    )


def _candidate(held: PodWorker) -> Candidate:
    pod = held.pod
    if pod is None or not held.seen:
        return Candidate(held.uid, 2**31, "Guaranteed", "")  # not yet known: nothing is decided about it
    status = pod.status
    return Candidate(
        held.uid, pod.spec.priority or 0, str(status.get("qosClass", "")), str(status.get("startTime", ""))
    )
