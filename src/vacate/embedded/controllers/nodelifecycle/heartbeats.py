"""When each node was last heard of, on the clock of this process."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from vacate.api.types import Lease, Node
from vacate.clock import PassiveClock
from vacate.kube.nodes import readiness

LEASES_NAMESPACE = "kube-node-lease"
_USUAL_LEASE = 40


@dataclass(slots=True)
class _LastHeartbeat:
    at: dt.datetime
    renewed: dt.datetime | None = None
    lease_seconds: int = _USUAL_LEASE


class HeartbeatTimes:
    """Leases and status reports with the local time of their arrival: the nodes' own clocks prove nothing."""

    def __init__(self, clock: PassiveClock) -> None:
        self._clock = clock
        self._heard: dict[str, _LastHeartbeat] = {}

    def on_lease(self, _: Lease | None, new: Lease | None) -> None:
        """A renewal is a sign of life."""
        if new is not None and new.metadata.namespace == LEASES_NAMESPACE:
            self.renewed(new)

    def renewed(self, lease: Lease) -> bool:
        """Take note of a lease; whether it is newer than the last one."""
        heard = self._of(lease.metadata.name)
        heard.lease_seconds = lease.spec.lease_duration_seconds or _USUAL_LEASE
        if lease.spec.renew_time is None or lease.spec.renew_time == heard.renewed:
            return False
        heard.renewed, heard.at = lease.spec.renew_time, self._clock.now()
        return True

    def on_node(self, old: Node | None, new: Node | None) -> None:
        """A status that the node wrote itself is a sign of life as well."""
        if new is None:
            if old is not None:
                self._heard.pop(old.metadata.name, None)
            return
        heard = self._of(new.metadata.name)
        changed = old is not None and old.status.conditions != new.status.conditions
        if changed and readiness(new) in ("True", "False"):
            heard.at = self._clock.now()

    def last(self, name: str) -> tuple[dt.datetime, int]:
        """When the node was last heard of, and for how many seconds its lease is good."""
        heard = self._of(name)
        return heard.at, heard.lease_seconds

    def _of(self, name: str) -> _LastHeartbeat:
        if name not in self._heard:
            self._heard[name] = _LastHeartbeat(self._clock.now())
        return self._heard[name]
