"""Limits of fencing: how many nodes are out of service, what runs on them, and who reports meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from vacate.api.objects import dig
from vacate.embedded.store.log import Record
from vacate.kube.nodeleases import LEASE_NAMESPACE
from vacate.kube.nodes import OUT_OF_SERVICE
from vacate.sim.invariants.names import BreachReport, Invariant

MAX_REPORT_AGE = 130.0
"""Seconds: a fence is only right if enough of the other nodes reported so recently.

A fencing controller looks twice who reports, within a minute, and may use what it saw for another one.
"""


@dataclass(frozen=True, slots=True)
class FenceLimits:
    """What the policy of a scenario allows."""

    max_fenced: int
    min_healthy: int  # of the other nodes


class Fences:
    """Looks at every write of a node or its lease, and at every call of a fence agent."""

    def __init__(
        self,
        limits: FenceLimits,
        time: Callable[[], float],
        running: Callable[[str], Sequence[str]],
        breach: BreachReport,
        runs: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> None:
        self._limits = limits
        self._time = time
        self._running = running  # what runs on a machine and can do harm, whatever the API says
        self._runs = runs  # all processes on a machine, each by a name of its own
        self._left: dict[str, set[str]] = {}  # by node: what ran on when it was declared out of service
        self._breach = breach
        self._out: dict[str, None] = {}
        self._heard: dict[str, float] = {}
        self.released = 0  # how often a node was declared out of service

    @property
    def out_of_service(self) -> list[str]:
        """The nodes whose pods are released."""
        return list(self._out)

    def written(self, record: Record) -> None:
        """The server has stored something."""
        if record.resource == "leases.coordination.k8s.io" and record.namespace == LEASE_NAMESPACE:
            self._heard[record.name] = self._time()
        elif record.resource == "nodes":
            taints = dig(orjson.loads(record.value), "spec", "taints") or ()
            out = not record.deleted and any(one.get("key") == OUT_OF_SERVICE for one in taints)
            self._see(record.name, out=out)

    def switched_off(self, node: str) -> None:
        """A fence agent was asked to switch a node off."""
        now, others = self._time(), [at for name, at in self._heard.items() if name != node]
        heard = sum(now - at < MAX_REPORT_AGE for at in others)
        if heard < self._limits.min_healthy:
            violation = (
                f"{node} is switched off although only {heard} other nodes reported in {MAX_REPORT_AGE:g} s"
            )
            self._breach(Invariant.FENCE_QUORUM, violation)

    def given_back(self, node: str) -> None:
        """A node that a fence had cut off from its storage reaches it again."""
        if found := sorted(self._left.pop(node, set()) & set(self._runs(node))):
            violation = (
                f"{node} has its storage again, and {', '.join(found)} run there since before the fence"
            )
            self._breach(Invariant.FENCED_STAYS_CUT, violation)

    def _see(self, name: str, *, out: bool) -> None:
        if not out:
            self._out.pop(name, None)
            return
        if name not in self._out:
            self.released += 1
            self._out[name] = None
            self._left[name] = set(self._runs(name))
            if found := self._running(name):
                violation = f"{name} is declared out of service, and {', '.join(found)} run there"
                self._breach(Invariant.FENCED_IS_EMPTY, violation)
        if len(self._out) > self._limits.max_fenced:
            listed = f"{', '.join(self._out)}, and {self._limits.max_fenced} may be"
            self._breach(Invariant.FENCE_LIMIT, f"{len(self._out)} nodes are out of service: {listed}")
