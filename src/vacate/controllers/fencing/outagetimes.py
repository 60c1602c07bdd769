"""Since when nodes have been seen to be unreachable, by the clock of those who decide about them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from vacate.api.types import Node
from vacate.fencing.decision import lost_since
from vacate.kube.nodes import readiness


class OutageTimes:
    """Remembers the first sight of each outage. A process that starts in the middle of one counts anew."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[dt.datetime | None, dt.datetime]] = {}  # by UID: the outage, the sight

    def of(self, nodes: Sequence[Node], now: dt.datetime) -> Mapping[str, dt.datetime]:
        """By UID, since when the nodes that are unreachable now have been seen as such."""
        found = {}
        for node in nodes:
            if readiness(node) == "Unknown":
                outage = lost_since(node)
                known, seen = self._first.get(node.metadata.uid, (outage, now))
                found[node.metadata.uid] = (outage, seen if known == outage else now)
        self._first = found
        return {uid: seen for uid, (_, seen) in found.items()}
