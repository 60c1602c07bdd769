"""Faults of certain requests: what nodes say of single pods, and what managers hear of volumes."""

from __future__ import annotations

from collections.abc import Container, Iterable

from vacate.sim.faults.transport import Fault, Plan
from vacate.wire.message import Request

LAG = 30.0


class RefusedReports:
    """The status of certain pods cannot be written, as where a webhook of others fails for them."""

    def __init__(self, plan: Plan, pods: Iterable[str]) -> None:
        self._plan = plan
        self._pods = pods

    def fault(self, request: Request) -> Fault:
        """Refused where it is the status of one of the pods."""
        if any(request.path.endswith(f"/pods/{name}/status") for name in self._pods):
            return Fault(status=500)
        return self._plan.fault(request)


class LateVolumes:
    """A manager hears late of volumes, for as long as its watch lasts."""

    def __init__(self, plan: Plan, name: str, lagging: Container[str]) -> None:
        self._plan = plan
        self._name = name
        self._lagging = lagging

    def fault(self, request: Request) -> Fault:
        """A watch of volumes lags where the manager is among those that do."""
        watches = "watch" in request.query and request.path.endswith("/persistentvolumes")
        return Fault(lag=LAG) if watches and self._name in self._lagging else self._plan.fault(request)
