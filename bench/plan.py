"""What a plan costs: 100 nodes, 2,000 pods behind 40 budgets, 10 nodes drained three at a time.

python bench/plan.py [NODES [DEPLOYMENTS [DRAINED]]]
"""

from __future__ import annotations

import datetime as dt
import os
import sys
import time
from pathlib import Path

from vacate.api.kinds import DEPLOYMENTS, NODES, PODDISRUPTIONBUDGETS, PODS, REPLICASETS, Kind
from vacate.api.objects import Obj
from vacate.plan.fields import reduced
from vacate.plan.report import make_plans
from vacate.plan.run import PlanOptions
from vacate.plan.snapshot import Snapshot
from vacate.testing.builders import deployment, node, pdb, pod, replicaset

REPLICAS = 50
TAKEN = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
_REQUESTS = {"requests": {"cpu": "200m", "memory": "256Mi"}}
_SPEC: Obj = {"containers": [{"name": "main", "image": "app:1", "resources": _REQUESTS}]}
_COUNTS = {"observedGeneration": 1, "replicas": REPLICAS, "readyReplicas": REPLICAS}


def snapshot(nodes: int, deployments: int) -> Snapshot:
    """A cluster in which every pod runs since an hour, and was ready 13 s after it had a node."""
    found: dict[Kind, list[Obj]] = {
        NODES: [node(f"node-{n}", metadata={"uid": f"n{n}"}) for n in range(1, nodes + 1)],
        DEPLOYMENTS: [], REPLICASETS: [], PODS: [], PODDISRUPTIONBUDGETS: [],
    }  # fmt: skip
    for number in range(deployments):
        name, first = f"web-{number}", f"web-{number}-hash"
        labels = {"app": name, "pod-template-hash": "hash"}
        counts = {**_COUNTS, "availableReplicas": REPLICAS, "updatedReplicas": REPLICAS}
        top = deployment(
            name, replicas=REPLICAS, template={"metadata": {"labels": {"app": name}}, "spec": _SPEC},
            metadata=_meta(f"d{number}"), status=counts,
        )  # fmt: skip
        inner = replicaset(
            first, replicas=REPLICAS, labels=labels, spec={"selector": {"matchLabels": labels}},
            template={"metadata": {"labels": labels}, "spec": _SPEC},
            metadata={**_meta(f"r{number}"), **_owned("Deployment", name, f"d{number}")}, status=_COUNTS,
        )  # fmt: skip
        allowed = {"expectedPods": REPLICAS, "currentHealthy": REPLICAS, "desiredHealthy": REPLICAS - 1}
        budget = pdb(
            name, min_available=REPLICAS - 1, metadata=_meta(f"b{number}"),
            status={"observedGeneration": 1, "disruptionsAllowed": 1, **allowed},
        )  # fmt: skip
        for kind, obj in ((DEPLOYMENTS, top), (REPLICASETS, inner), (PODDISRUPTIONBUDGETS, budget)):
            found[kind].append(obj)
        for one in range(REPLICAS):
            place = number * REPLICAS + one
            owner = _owned("ReplicaSet", first, f"r{number}")
            found[PODS].append(
                pod(
                    f"{first}-{one:05}",
                    node=f"node-{place % nodes + 1}",
                    ready=True,
                    labels=labels,
                    metadata={"uid": f"p{place}", **owner},
                    spec=_SPEC,
                    status=_running(),
                )
            )
    return Snapshot(TAKEN, {kind: [reduced(kind, one) for one in some] for kind, some in found.items()})


def _meta(uid: str) -> Obj:
    return {"uid": uid, "generation": 1, "annotations": {"deployment.kubernetes.io/revision": "1"}}


def _owned(kind: str, name: str, uid: str) -> Obj:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}
    return {"ownerReferences": [owner]}


def _running() -> Obj:
    def after(seconds: int) -> str:
        return (TAKEN + dt.timedelta(seconds=seconds - 3600)).strftime("%Y-%m-%dT%H:%M:%SZ")

    moments = {"PodScheduled": 0, "Initialized": 0, "ContainersReady": 13, "Ready": 13}
    conditions = [
        {"type": type_, "status": "True", "lastTransitionTime": after(seconds)}
        for type_, seconds in moments.items()
    ]
    state = {"running": {"startedAt": after(3)}}
    status = {"name": "main", "ready": True, "restartCount": 0, "state": state}
    return {"startTime": after(0), "conditions": conditions, "containerStatuses": [status]}


class Memory:
    """The most that this process and its children hold at a time; what they share counts once."""

    def __init__(self) -> None:
        self.most, self._looked = 0, 0.0

    def look(self, _seconds: float, _pods: int) -> None:
        """Take a look, at most each half second."""
        if time.monotonic() - self._looked < 0.5:
            return
        own = os.getpid()
        processes = [own, *Path(f"/proc/self/task/{own}/children").read_text().split()]
        rollups = [Path(f"/proc/{one}/smaps_rollup").read_text() for one in processes]
        found = sum(
            int(line.split()[1]) for text in rollups for line in text.splitlines() if line.startswith("Pss:")
        )
        self.most, self._looked = max(self.most, found >> 10), time.monotonic()


def main() -> int:
    """Print what a plan of two runs takes beside the limits; 1 where it is more."""
    small = (100, 40, 10)
    nodes, deployments, drained = (*map(int, sys.argv[1:]), *small[len(sys.argv) - 1 :])
    limit_seconds, limit_mib = (10, 300) if (nodes, deployments, drained) == small else (90, 2048)
    read, memory = snapshot(nodes, deployments), Memory()
    options = PlanOptions(tuple(f"node-{n}" for n in range(1, drained + 1)), {"maxNodes": 3})
    began, before = time.perf_counter(), time.process_time()
    (*_, plan) = make_plans(read, options, progress=lambda _what: memory.look)
    took = time.perf_counter() - began
    spent = [time.process_time() - before, sum(os.times()[2:4])]  # its children's too
    found = plan.outcome
    print(f"{nodes} nodes, {len(read.of(PODS))} pods, {drained} drained: {found.verdict.value}, ", end="")
    print(f"{found.fastest:g} to {found.slowest:g} s")
    print(f"{spent[0]:.1f} and {spent[1]:.1f} s of processor time, {took:.1f} s; limit {limit_seconds} s")
    print(f"{memory.most} MiB; limit {limit_mib} MiB")
    return int(max(spent) > limit_seconds or memory.most > limit_mib)


if __name__ == "__main__":
    sys.exit(main())
