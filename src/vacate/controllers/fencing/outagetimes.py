"""Since when nodes have been seen to be unreachable, by the clock of those who decide about them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from vacate.api.times import after
from vacate.api.types import Node
from vacate.clock import PassiveClock
from vacate.fencing.decision import lost_since
from vacate.kube.nodes import readiness


class OutageTimes:
    """Remembers the first sight of each outage. A process that starts in the middle of one counts anew."""

    def __init__(self, clock: PassiveClock) -> None:
        self._clock = clock
        # By UID: the outage, and the sight on the monotonic clock. A wall clock that is set fences nobody.
        self._first: dict[str, tuple[dt.datetime | None, float]] = {}

    def of(self, nodes: Sequence[Node]) -> Mapping[str, dt.datetime]:
        """By UID, since when the nodes that are unreachable now have been seen as such."""
        found, now = {}, self._clock.monotonic()
        for node in nodes:
            if readiness(node) == "Unknown":
                outage = lost_since(node)
                known, seen = self._first.get(node.metadata.uid, (outage, now))
                found[node.metadata.uid] = (outage, seen if known == outage else now)
        self._first = found
        wall = self._clock.now()
        return {uid: after(wall, seen - now) for uid, (_, seen) in found.items()}
