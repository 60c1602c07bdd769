"""What must hold of the processes on simulated machines, looked at after every write and every process.

- at most one live process for each identity of a pod and container
- at most one node uses an exclusive volume
- no pod object is gone before its processes, unless a person confirmed to know that

Processes of a machine that a fence has cut off from its storage do not count for as long as it is.
The check sees what the API does not: the processes themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import orjson

from vacate.admission.pods.forcedeletion import CONFIRMATION
from vacate.api.objects import Obj, dig
from vacate.embedded.store.log import Record
from vacate.nodeagent.recovery import CONTAINER
from vacate.nodeagent.runtime.protocol import ContainerState
from vacate.sim.invariants.names import BreachReport, Invariant
from vacate.sim.machines.machine import Machine
from vacate.sim.machines.runs import identity_of, uid_of


class LiveProcesses:
    """Compares processes with the pods that the server has stored. Each breach is reported once."""

    def __init__(
        self,
        machines: Sequence[Machine],
        breach: BreachReport,
        is_shut_out: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._machines = machines
        self._breach = breach
        self._is_shut_out = is_shut_out
        self._pods: dict[str, Obj] = {}  # by uid, those that are stored
        self._claims: dict[str, list[str]] = {}  # by uid
        self._confirmed: dict[str, None] = {}  # removed knowingly
        self._reported: dict[str, None] = {}
        self._homes: dict[str, str] = {}  # where an identity, or the user of a claim, ran last
        self.moves = 0  # how often an identity started on another node than before
        self.volume_moves = 0  # the same of exclusive volumes

    def written(self, record: Record) -> None:
        """The server has stored something."""
        if record.resource != "pods":
            return
        pod = orjson.loads(record.value)
        uid = str(pod["metadata"]["uid"])
        self._claims.setdefault(uid, list(_claims(pod)))
        if dig(pod, "metadata", "annotations", CONFIRMATION) == uid:
            self._confirmed[uid] = None
        if record.deleted:
            self._pods.pop(uid, None)
            for run, machine in self._living():
                if uid_of(run) == uid and uid not in self._confirmed:
                    violation = f"{_named(run, machine)}: the pod object is gone before its processes"
                    self._report(Invariant.PROCESSES_FIRST, violation)
        else:
            self._pods[uid] = pod

    def look(self) -> None:
        """A process has started or ended, or its machine has its storage again."""
        living = self._living()
        self._look_for_twins(living)
        self._look_at_volumes(living)

    def _living(self) -> list[tuple[ContainerState, Machine]]:
        able = [one for one in self._machines if not self._is_shut_out(one.name)]
        return [(run, machine) for machine in able for run in machine.living]

    def _look_for_twins(self, living: list[tuple[ContainerState, Machine]]) -> None:
        found: dict[tuple[str, str], tuple[ContainerState, Machine]] = {}
        for run, machine in living:
            if uid_of(run) in self._confirmed:
                continue  # a person confirmed that this one is dead
            key = (identity_of(run), run.labels.get(CONTAINER, ""))
            other = found.setdefault(key, (run, machine))
            self.moves += self._homes.setdefault(key[0], machine.name) != machine.name
            self._homes[key[0]] = machine.name
            if other[0] is not run:
                self._report(Invariant.ONE_PROCESS, f"{_named(run, machine)} runs beside {_named(*other)}")

    def _look_at_volumes(self, living: list[tuple[ContainerState, Machine]]) -> None:
        users: dict[str, dict[str, str]] = {}
        for run, machine in living:
            for claim in self._claims.get(uid_of(run), ()):
                users.setdefault(claim, {})[machine.name] = _named(run, machine)
        for claim, by_node in users.items():
            (place, *_) = by_node
            self.volume_moves += self._homes.setdefault(f"claim {claim}", place) != place
            self._homes[f"claim {claim}"] = place
            if len(by_node) > 1:
                violation = f"claim {claim} is used on {len(by_node)} nodes: {', '.join(by_node.values())}"
                self._report(Invariant.ONE_NODE, violation)

    def _report(self, broken: Invariant, text: str) -> None:
        if text not in self._reported:
            self._reported[text] = None
            self._breach(broken, text)


def _named(run: ContainerState, machine: Machine) -> str:
    return f"{identity_of(run)} ({run.id}) on {machine.name}"


def _claims(pod: Obj) -> Iterator[str]:
    for volume in dig(pod, "spec", "volumes") or ():
        name = dig(volume, "persistentVolumeClaim", "claimName")
        if isinstance(name, str):
            yield f"{pod['metadata']['namespace']}/{name}"
