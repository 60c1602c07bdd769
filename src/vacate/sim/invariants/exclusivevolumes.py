"""At most one node uses an exclusive volume at any moment, whatever the API says about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vacate.api.objects import Obj, dig, namespace_of
from vacate.sim.invariants.podprocesses import LivePod, PodProcesses


class VolumeUse:
    """Looks at the processes of pods after each commit, and at the claims that they use."""

    def __init__(self, processes: PodProcesses) -> None:
        self._processes = processes
        self._claims: dict[str, list[str]] = {}  # by uid
        self._reported: set[str] = set()

    def look(self, pods: Iterable[Obj]) -> Iterator[str]:
        """What goes against the rule now, each reported once; after the processes were looked at."""
        for pod in pods:
            self._claims.setdefault(str(pod["metadata"]["uid"]), list(_claims(pod)))
        users: dict[str, dict[str, LivePod]] = {}
        for one in self._processes.alive:
            for claim in self._claims.get(one.uid, ()):
                users.setdefault(claim, {}).setdefault(one.node, one)
        for claim, by_node in users.items():
            if len(by_node) < 2:
                continue
            violation = f"claim {claim} is used on {len(by_node)} nodes: " + ", ".join(
                map(str, by_node.values())
            )
            if violation not in self._reported:
                self._reported.add(violation)
                yield violation


def _claims(pod: Obj) -> Iterator[str]:
    for volume in dig(pod, "spec", "volumes") or ():
        name = dig(volume, "persistentVolumeClaim", "claimName")
        if isinstance(name, str):
            yield f"{namespace_of(pod)}/{name}"
