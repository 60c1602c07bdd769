"""One simulated machine: whether it is up and reachable, and the pods that live on it."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field

from vacate.embedded.nodes.nodeobjects import ADDRESSES_PER_NODE, NodeShape
from vacate.embedded.nodes.podlifecycle import PodLifecycle
from vacate.embedded.nodes.projections import SimulatedPod
from vacate.nodeagent.volumes.inuse import listing
from vacate.runtime.reconcile import Key


@dataclass(slots=True)
class PodOnMachine:
    """A pod on a machine, as far as its node process remembers it."""

    lifecycle: PodLifecycle
    address: int  # its place among the node's addresses; -1 for none of its own
    kept: PodLifecycle | None = None  # while its life is this one, its status stays as it was found
    written: SimulatedPod | None = None  # what the last write returned; newer than the cache for a while
    released: bool = False  # the final DELETE was accepted
    lacking: str = ""  # the volume that it was last reported to wait for


@dataclass(slots=True)
class Machine:
    """One node: what it is like, what state it is in, who lives there."""

    shape: NodeShape
    up: bool = True  # the node process runs
    isolated: bool = False  # it runs and reaches nobody
    booted: dt.datetime | None = None  # containers from before are gone; None where all outlived the start
    leased: bool = False  # its lease exists and was renewed last time
    registered: asyncio.Event = field(default_factory=asyncio.Event)  # set once the API has its Node
    residents: dict[Key, PodOnMachine] = field(default_factory=dict)
    volumes: dict[str, set[str]] = field(default_factory=dict)  # by the uid of a pod: exclusive ones in use
    listed: list[str] = field(default_factory=lambda: listing(()))  # what its Node says of them
    surveyed: bool = False  # the addresses of pods from before are known to be taken
    _taken: dict[int, str] = field(default_factory=dict)  # the uid that has each place
    _next: int = 0

    @property
    def active(self) -> bool:
        """Whether it can act on the API server."""
        return self.up and not self.isolated

    def survived(self, started: dt.datetime | None) -> bool:
        """Whether containers that started then are still there; statuses know whole seconds only."""
        if self.booted is None or started is None:
            return True
        return started >= self.booted.replace(microsecond=0)

    @property
    def listing(self) -> list[str]:
        """What its Node must say of volumes in use."""
        return listing(name for names in self.volumes.values() for name in names)

    def keep_volumes(self, pods: Iterable[str]) -> None:
        """Only these pods are left; what was removed has ended."""
        there = set(pods)
        self.volumes = {uid: names for uid, names in self.volumes.items() if uid in there}

    def take_address(self, uid: str, wanted: str = "") -> int:
        """A place that nobody else has: the wanted one if it is one of ours, else the next free one."""
        number = self._number_of(wanted)
        if number is None or self._taken.get(number, uid) != uid:
            number = self._free()
        self._taken[number] = uid
        return number

    def reserve_address(self, uid: str, address: str) -> None:
        """A pod from before has this address."""
        number = self._number_of(address)
        if number is not None:
            self._taken.setdefault(number, uid)

    def forget(self, key: Key) -> None:
        """The pod is gone; its address may be given to another."""
        resident = self.residents.pop(key, None)
        if resident is not None and self._taken.get(resident.address) == resident.lifecycle.uid:
            del self._taken[resident.address]

    def forget_pods(self) -> None:
        """The node process ends and remembers nothing."""
        self.residents.clear()
        self._taken.clear()
        self.surveyed = False
        self.leased = False

    def _free(self) -> int:
        places = ADDRESSES_PER_NODE - 2
        for _ in range(places):
            number, self._next = self._next, (self._next + 1) % places
            if number not in self._taken:
                return number
        return self._next  # more pods than addresses: better shared than stuck

    def _number_of(self, address: str) -> int | None:
        if not address:
            return None
        first, wanted = (_as_number(a) for a in (self.shape.pod_address(0), address))
        return wanted - first if 0 <= wanted - first < ADDRESSES_PER_NODE - 2 else None


def _as_number(address: str) -> int:
    parts = address.split(".")
    if len(parts) != 4 or not all(part.isdigit() for part in parts):
        return -1
    return int.from_bytes(bytes(min(int(part), 255) for part in parts))
