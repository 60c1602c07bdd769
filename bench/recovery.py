"""From a lost node to the StatefulSet's pod that runs again elsewhere: how long each phase takes.

    python -m bench.recovery [--unreachable-seconds N]

An embedded cluster with three simulated nodes and two process nodes. The pod is a real process with an
exclusive volume. Its node's agent is stopped, so that the pod goes on running; a fence agent, a program of
the ClusterLabs protocol, kills it. The pod notes each beat, so that an overlap of two copies would be seen.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.https import Https
from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.node import PODS, node_process
from support.waiting import until
from vacate.api.objects import Obj, dig
from vacate.kube.exclusivevolumes import ATTACHMENT
from vacate.testing import statefulset

A, B = "disk-a", "disk-b"
POLICIES = "/apis/vacate.dev/v1alpha1/fencingpolicies"

PUBLISHED = {"detect": 50.0, "wait": 300.0, "fence": 180.0, "release and start": 15.0}
"""Node Health Check with Self Node Remediation, as Red Hat gave them for OpenShift's workload availability
(Ask an OpenShift Expert, episode 159): t1 to t4 of a node failure, 545 s in all. The wait is a setting."""

# A dollar is written twice in a command of a pod.
POD = "echo $$$$ >> /data/pids; while :; do date +%s.%N >> /data/beats-$$$$; sleep 0.2; done"
AGENT = """#!/bin/sh
while IFS= read -r line; do case $line in action=*) action=${{line#action=}};; esac; done
case $action in
  off) for pid in $(cat "{folder}/machine" "{folder}/disk/pids"); do kill -9 $pid 2>/dev/null; done
       date +%s.%N > "{folder}/off";;
  status) [ ! -e "{folder}/off" ] || exit 2;;
esac
"""


def machine(folder: Path) -> list[int]:
    """The processes of a node, whose command lines name its folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if f"{folder}".encode() in command:
                found.append(int(entry.name))
    return found


def objects(folder: Path) -> tuple[Obj, Obj, Obj]:
    """The volume, the StatefulSet of one, and the policy."""
    terms = [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk", "annotations": {"vacate.dev/exclusive": "true"}},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "hostPath": {"path": str(folder / "disk")},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    claim = {"metadata": {"name": "data"}, "spec": wanted}
    main = {
        "name": "main",
        "image": "none",
        "command": ["sh", "-c", POD],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    template = {"spec": {"containers": [main], "terminationGracePeriodSeconds": 5}}
    members = statefulset("db", replicas=1, template=template, spec={"volumeClaimTemplates": [claim]})
    agent = {"command": {"program": "fence_bench"}}
    policy = {
        "apiVersion": "vacate.dev/v1alpha1",
        "kind": "FencingPolicy",
        "metadata": {"name": "bench"},
        "spec": {"when": "Always", "agent": agent},
    }
    return volume, members, policy


class Watch:
    """Notes when something is first seen, in seconds since the loss."""

    def __init__(self) -> None:
        self.began = time.time()
        self.seen: dict[str, float] = {}

    def wait(self, what: str, holds: Callable[[], object], seconds: float = 900.0) -> None:
        """Until it holds."""
        until(lambda: bool(holds()), seconds)
        self.seen[what] = time.time() - self.began


def run(folder: Path, unreachable: int) -> Watch:
    """One loss and its recovery."""
    volume, members, policy = objects(folder)
    policy["spec"]["unreachableSeconds"] = unreachable
    (folder / "disk").mkdir()
    program = folder / "fence_bench"
    program.write_text(AGENT.format(folder=folder))
    program.chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    with (
        running_cluster(folder / "cluster", "--nodes", "3", *FAST_PODS) as cluster,
        node_process(cluster, folder / A, A) as first,
        node_process(cluster, folder / B, B) as second,
    ):
        first.start()
        second.start()
        https = cluster.https()
        until(lambda: all(https.get(f"/api/v1/nodes/{one}").code == 200 for one in (A, B)), 60)
        https.create("/api/v1/persistentvolumes", volume)
        https.patch(f"/api/v1/nodes/{A}", {"metadata": {"labels": {"disk": "reached"}}})
        https.create("/apis/apps/v1/namespaces/default/statefulsets", members)
        until(lambda: _is_ready_on(https, A), 60)
        https.patch(f"/api/v1/nodes/{B}", {"metadata": {"labels": {"disk": "reached"}}})
        https.create(POLICIES, policy)
        (folder / "machine").write_text("".join(f"{pid}\n" for pid in machine(folder / A)))
        assert first.process is not None
        first.process.send_signal(signal.SIGSTOP)
        watch = Watch()
        watch.wait("detected", lambda: _ready(https, A) == "Unknown")
        watch.wait("decided", lambda: _row(https).get("phase") in ("Fencing", "Confirming", "Fenced"))
        watch.wait("off", (folder / "off").exists)
        watch.wait("confirmed", lambda: _row(https).get("phase") == "Fenced")
        watch.wait("pod released", lambda: _uid_on(https) != A)
        watch.wait("volume handed over", lambda: B in _attachment(https))
        watch.wait("replaced", lambda: _is_ready_on(https, B))
        return watch


def _ready(https: Https, node: str) -> str:
    found = https.get(f"/api/v1/nodes/{node}").ok()
    return next(str(one["status"]) for one in found["status"]["conditions"] if one["type"] == "Ready")


def _row(https: Https) -> Obj:
    rows = https.get(f"{POLICIES}/bench").ok().get("status", {}).get("nodes") or []
    return next((one for one in rows if one["name"] == A), {})


def _uid_on(https: Https) -> str:
    reply = https.get(f"{PODS}/db-0")
    return "" if reply.code == 404 else str(dig(reply.ok(), "spec", "nodeName") or "")


def _attachment(https: Https) -> str:
    found = https.get("/api/v1/persistentvolumes/disk").ok()
    return str(found["metadata"]["annotations"].get(ATTACHMENT))


def _is_ready_on(https: Https, node: str) -> bool:
    reply = https.get(f"{PODS}/db-0")
    if reply.code == 404 or dig(reply.ok(), "spec", "nodeName") != node:
        return False
    conditions = dig(reply.ok(), "status", "conditions") or ()
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


def end(folder: Path) -> None:
    """Pods outlive the agent of their node, as they should: here they end with the measurement."""
    pids = folder / "disk/pids"
    noted = map(int, pids.read_text().split()) if pids.exists() else ()
    for pid in (*noted, *machine(folder / A), *machine(folder / B)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def overlap(folder: Path) -> float:
    """Seconds in which two copies ran at once; negative is the pause between them."""
    disk = folder / "disk"
    old, new = (disk / f"beats-{pid}" for pid in (disk / "pids").read_text().split())
    return float(old.read_text().split()[-1]) - float(new.read_text().split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--unreachable-seconds", type=int, default=60, help="of the FencingPolicy")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vacate-recovery-") as name:
        folder = Path(name)
        try:
            seen = run(folder, options.unreachable_seconds).seen
            both = overlap(folder)
        finally:
            end(folder)
    ours = {
        "detect": seen["detected"],
        "wait": seen["decided"] - seen["detected"],
        "fence": seen["confirmed"] - seen["decided"],
        "release and start": seen["replaced"] - seen["confirmed"],
    }
    print(f"{'phase':<20}{'Vacate':>9}{'medik8s, published':>20}")
    for phase, published in PUBLISHED.items():
        print(f"{phase:<20}{ours[phase]:>7.1f} s{published:>18.0f} s")
    total, theirs = sum(ours.values()), sum(PUBLISHED.values())
    print(f"{'total':<20}{total:>7.1f} s{theirs:>18.0f} s   {total / theirs:.2f} of it")
    same = total - ours["wait"] + PUBLISHED["wait"]
    print(f"with their wait of {PUBLISHED['wait']:.0f} s it would be {same:.0f} s, {same / theirs:.2f} of it")
    print("seen: " + ", ".join(f"{what} {at:.1f} s" for what, at in seen.items()))
    print(f"between the last beat of the old copy and the first of the new one: {-both:.1f} s")
    assert both < 0, "two copies ran at once"


if __name__ == "__main__":
    main()
