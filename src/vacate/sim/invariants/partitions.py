"""Partitions are visible: pods of a node that does not report say so, and say so no more when it reports.

Those that write it need time, in which one of them can: nothing is found sooner than WITHIN seconds after all
of them were away at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from vacate.api.objects import Obj, dig, name_of
from vacate.api.types.core import TERMINAL_PHASES
from vacate.kube.nodes import NODE_DOWN
from vacate.sim.invariants.names import BreachReport, Invariant

WITHIN = 120.0
EVERY = 5.0
"""Seconds between two looks at all pods."""


class ShownPartitions:
    """Compares what pods say with what their nodes do, after each write."""

    def __init__(
        self,
        pods: Callable[[], Iterable[Obj]],
        nodes: Callable[[], Iterable[Obj]],
        time: Callable[[], float],
        is_able: Callable[[], bool],
        breach: BreachReport,
    ) -> None:
        self._pods = pods
        self._nodes = nodes
        self._time = time
        self._is_able = is_able  # whether somebody could write it now
        self._breach = breach
        self._looked = self._unable = -EVERY
        self._wrong: dict[tuple[str, bool], float] = {}  # by uid and what is true: since when it is not said

    def look(self) -> None:
        """Something was written."""
        now = self._time()
        if not self._is_able():
            self._unable = now
        elif now - self._looked >= EVERY:
            self._looked = now
            self._compare(now)

    def _compare(self, now: float) -> None:
        found = dict(self._untrue())
        self._wrong = {key: self._wrong.get(key, now) for key in found}
        for key, since in self._wrong.items():
            if now - max(since, self._unable) > WITHIN:
                self._breach(Invariant.PARTITIONS_SHOWN, found[key])

    def _untrue(self) -> Iterator[tuple[tuple[str, bool], str]]:
        lost = {node["metadata"]["name"]: _status(node, "Ready") == "Unknown" for node in self._nodes()}
        for pod in self._pods():
            node = dig(pod, "spec", "nodeName")
            if node not in lost or dig(pod, "status", "phase") in TERMINAL_PHASES:
                continue
            says = _status(pod, NODE_DOWN) == "True"
            if says != lost[node]:
                state = "reports" if says else "does not report"
                text = f"{name_of(pod)} does not say that {node}, on which it is, {state}"
                yield (str(pod["metadata"]["uid"]), lost[node]), text


def _status(obj: Obj, condition: str) -> str:
    conditions = dig(obj, "status", "conditions") or ()
    return next((str(one["status"]) for one in conditions if one["type"] == condition), "")
