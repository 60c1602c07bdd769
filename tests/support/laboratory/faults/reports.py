"""Faults of certain requests: what nodes say of single pods, and what managers hear of volumes."""

from __future__ import annotations

from collections.abc import Container, Iterable

from vacate.sim.faults.transport import Fault, FaultSource
from vacate.wire.message import Request

LAG = 30.0
SHOWN_FROM = ("nodes", "pods")
"""What a manager must hear of to say on pods whether their nodes report."""


class RefusedReports:
    """The status of certain pods cannot be written, as where a webhook of others fails for them."""

    def __init__(self, plan: FaultSource, pods: Iterable[str]) -> None:
        self._plan = plan
        self._pods = pods

    def fault(self, request: Request) -> Fault:
        """Refused where it is the status of one of the pods."""
        if any(request.path.endswith(f"/pods/{name}/status") for name in self._pods):
            return Fault(status=500)
        return self._plan.fault(request)


class ManagersWatches:
    """A manager may hear late of volumes, for as long as a watch lasts; whether it hears of pods is kept."""

    def __init__(
        self, plan: FaultSource, name: str, lagging: Container[str], deaf: dict[tuple[str, str], None]
    ) -> None:
        self._plan = plan
        self._name = name
        self._lagging = lagging
        self._deaf = deaf

    def fault(self, request: Request) -> Fault:
        """A watch of volumes lags where the manager is among those that do."""
        if "watch" not in request.query:
            return self._plan.fault(request)
        resource = request.path.rpartition("/")[2]
        if resource == "persistentvolumes" and self._name in self._lagging:
            return Fault(lag=LAG)
        fault = self._plan.fault(request)
        self._deaf.pop((self._name, resource), None)
        if resource in SHOWN_FROM and fault.stall_after is not None:
            self._deaf[self._name, resource] = None
        return fault
