"""When the last shutdown began and ended, as metrics. They outlive a restart and a reboot."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from vacate.nodeagent.shutdown.manager import ShutdownManager

_START = "When the last graceful shutdown of this node began, in seconds since 1970; 0 if there was none."
_END = "When the last graceful shutdown of this node ended, in seconds since 1970; 0 while it is under way."


@dataclass(eq=False)
class ShutdownCollector:
    """Under the names of the kubelet, and under those of the proposal that defined them."""

    manager: ShutdownManager

    def collect(self) -> Iterable[Metric]:
        """Read the record."""
        record, state = self.manager.record, self.manager.state
        start, end = _seconds(record.start), _seconds(record.end)
        yield GaugeMetricFamily("kubelet_graceful_shutdown_start_time_seconds", _START, value=start)
        yield GaugeMetricFamily("kubelet_graceful_shutdown_end_time_seconds", _END, value=end)
        yield GaugeMetricFamily("GracefulShutdownStartTime", _START, value=start)
        yield GaugeMetricFamily("GracefulShutdownEndTime", _END, value=end)
        yield GaugeMetricFamily(
            "vacate_shutdown_inhibitor_held",
            "1 while the node holds a delay lock of logind, without which it cannot terminate pods in order.",
            value=1.0 if state.locked else 0.0,
        )


def _seconds(moment: dt.datetime | None) -> float:
    return moment.timestamp() if moment is not None else 0.0
