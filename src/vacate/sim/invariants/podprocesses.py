"""At most one live process for each identity of a pod, and no pod object gone before its processes.

The check knows what the API does not: whether the machine of a node is on. Processes end when their node has
reported it of each container, or with the machine; a phase that another client wrote ends nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.objects import Obj, dig, name_of, namespace_of
from vacate.api.types.core import TERMINAL_PHASES
from vacate.embedded.nodes.simulatednode import Machine


@dataclass(frozen=True, slots=True)
class LivePod:
    """The processes of one pod."""

    uid: str
    identity: str  # namespace and name: what a StatefulSet knows its pods by
    node: str
    since: dt.datetime

    def __str__(self) -> str:
        return f"{self.identity} ({self.uid}) on {self.node}"


class PodProcesses:
    """Looks at all pods after each commit, and keeps what was found."""

    def __init__(self, machines: Mapping[str, Machine]) -> None:
        self._machines = machines
        self._alive: dict[str, LivePod] = {}
        self._reported: dict[str, None] = {}

    @property
    def alive(self) -> list[LivePod]:
        """The pods whose processes run now, whatever the API says."""
        return list(self._alive.values())

    def look(self, pods: Iterable[Obj], now: dt.datetime) -> Iterator[str]:
        """What goes against the rules now, each reported once."""
        present = {str(pod["metadata"]["uid"]): pod for pod in pods}
        for uid, pod in present.items():
            self._see(uid, pod, now)
        self._alive = {uid: one for uid, one in self._alive.items() if self._survived(one)}
        for uid, one in list(self._alive.items()):
            if uid in present:
                continue
            if self._machine(one).active:
                # The node sees that the pod is gone and ends its processes at once.
                del self._alive[uid]
            elif uid not in self._reported:
                self._reported[uid] = None
                yield f"{one}: the pod is gone from the API before its processes"
        yield from self._twice()

    def _see(self, uid: str, pod: Obj, now: dt.datetime) -> None:
        confirmed = dig(pod, "metadata", "annotations", CONFIRMATION) == uid
        if _all_ended(pod) or confirmed:
            self._alive.pop(uid, None)
        elif dig(pod, "status", "phase") == "Running" and uid not in self._alive:
            node = str(dig(pod, "spec", "nodeName"))
            machine = self._machines[node]
            if machine.booted is not None and not machine.up:
                return  # the machine is off; the API has not heard of it yet
            self._alive[uid] = LivePod(uid, f"{namespace_of(pod)}/{name_of(pod)}", node, now)

    def _twice(self) -> Iterator[str]:
        found: dict[str, LivePod] = {}
        for one in self._alive.values():
            other = found.setdefault(one.identity, one)
            pair = f"{other.uid} {one.uid}"
            if other is not one and pair not in self._reported:
                self._reported[pair] = None
                yield f"{one} runs beside {other}"

    def _survived(self, one: LivePod) -> bool:
        """Whether the machine has been on since; to the instant, unlike the times in statuses."""
        booted = self._machine(one).booted
        return booted is None or one.since > booted

    def _machine(self, one: LivePod) -> Machine:
        return self._machines[one.node]


def _all_ended(pod: Obj) -> bool:
    """Whether the node has reported that each container has terminated."""
    statuses = dig(pod, "status", "containerStatuses") or []
    return (
        bool(statuses)
        and all(dig(one, "state", "terminated") for one in statuses)
        and (dig(pod, "status", "phase") in TERMINAL_PHASES)
    )
