"""Limits of fencing: never more nodes out of service than allowed, none when all others are silent."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from vacate.api.objects import dig
from vacate.embedded.store.log import Record
from vacate.kube.nodes import OUT_OF_SERVICE
from vacate.nodeagent.registration import LEASE_NAMESPACE

IN_TOUCH = 120.0
"""Seconds: a fence is only right if some other node reported so recently."""


class Fences:
    """Looks at every write of a node or its lease, and at every call of a fence agent."""

    def __init__(self, limit: int, time: Callable[[], float], breach: Callable[[str], None]) -> None:
        self._limit = limit
        self._time = time
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
        others = [at for name, at in self._heard.items() if name != node]
        if not any(self._time() - at < IN_TOUCH for at in others):
            self._breach(f"{node} is switched off although no other node has reported for {IN_TOUCH:g} s")

    def _see(self, name: str, *, out: bool) -> None:
        if not out:
            self._out.pop(name, None)
            return
        if name not in self._out:
            self.released += 1
            self._out[name] = None
        if len(self._out) > self._limit:
            listed = ", ".join(self._out)
            self._breach(f"{len(self._out)} nodes are out of service, and {self._limit} may be: {listed}")
