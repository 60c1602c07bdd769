"""`vacate node` as a process of its own beside `vacate up` without nodes: it can be killed at any moment."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from support.nodes.containers import processes_of
from support.processes.cluster import ClusterProcess, environment
from support.waiting import until
from vacate.api.objects import Obj
from vacate.testing import pod

NODE = "laptop"
_FLAGS = 4  # of /proc/PID/stat, after the parent
_FORKED_AND_NOTHING_STARTED = 0x40  # PF_FORKNOEXEC of the kernel
PODS = "/api/v1/namespaces/default/pods"


class NodeProcess:
    """The agent of one folder; killed and started again as often as a test likes."""

    def __init__(self, cluster: ClusterProcess, folder: Path, name: str = NODE) -> None:
        self.cluster, self.folder, self.name = cluster, folder, name
        self.process: subprocess.Popen[bytes] | None = None
        self._log = (folder.parent / "agent.log").open("ab")

    def start(self) -> None:
        """Start it; it need not be ready yet."""
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "vacate", "node", "--name", self.name, "--no-taint", "--verbose"),
                *("--dir", str(self.folder), "--kubeconfig", str(self.cluster.kubeconfig)),
                *("--address", "127.0.0.1"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env=environment(),
        )

    def kill(self) -> None:
        """As a crash would end it, at this very moment."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(60)
        self.process = None

    def stop(self) -> int:
        """Ask it to end."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.process = None
        return code

    def running(self, marker: str) -> list[int]:
        """Living processes of the node whose command line has the marker."""
        return running(self.folder, marker)

    def close(self) -> None:
        if self.process is not None:
            self.kill()
        self._log.close()

    def registered(self) -> bool:
        """Whether the API server has the Node; fails where the agent has ended instead."""
        log = self.folder.parent / "agent.log"
        assert self.process is None or self.process.poll() is None, log.read_text()
        return self.cluster.https().call("GET", f"/api/v1/nodes/{self.name}").code == 200

    def create(self, name: str, script: str, **spec: Any) -> Obj:
        """A pod of one shell script on the node."""
        wanted = {"nodeName": self.name, "terminationGracePeriodSeconds": 60, **spec}
        obj = pod(name, spec=wanted)
        container: Obj = {"name": "main", "image": "none", "command": ["sh", "-c", script]}
        obj["spec"]["containers"] = [container | spec.get("container", {})]
        obj["spec"].pop("container", None)
        # Pod GC takes pods of a node that is not there for orphans, and an agent may need long to start.
        until(self.registered)
        return self.cluster.https().call("POST", PODS, obj).ok()

    def get(self, name: str) -> Obj | None:
        reply = self.cluster.https().call("GET", f"{PODS}/{name}")
        return None if reply.code == 404 else reply.ok()

    def delete(self, name: str, grace: int | None = None) -> None:
        body = {} if grace is None else {"gracePeriodSeconds": grace}
        if grace == 0:
            uid = self.cluster.https().get(f"{PODS}/{name}").ok()["metadata"]["uid"]
            confirmed = {"metadata": {"annotations": {"vacate.dev/confirm-force-delete": uid}}}
            self.cluster.https().patch(f"{PODS}/{name}", confirmed)
        self.cluster.https().call("DELETE", f"{PODS}/{name}", body).ok()

    def until(self, name: str, holds: Callable[[Obj], bool]) -> Obj:
        """The pod, once that holds."""
        found: list[Obj] = []

        def look() -> bool:
            obj = self.get(name)
            if obj is not None and holds(obj):
                found.append(obj)
            return bool(found)

        until(look)
        return found[-1]

    def gone(self, name: str) -> None:
        until(lambda: self.get(name) is None)


def running(folder: Path, marker: str) -> list[int]:
    """Living processes of that folder, not of other runs, with the marker in their command line.

    A shell that starts a program is two processes of the same command line for a moment: one is counted.
    """
    marked = [pid for pid in processes_of(folder) if marker.encode() in _command_line(pid)]
    return [pid for pid in marked if _forked_by(pid) not in marked]


def _forked_by(pid: int) -> int:
    """The parent of a process that has started no program of its own yet; 0 for others."""
    try:
        _state, parent, *more = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(parent) if int(more[_FLAGS]) & _FORKED_AND_NOTHING_STARTED else 0


def _command_line(pid: int) -> bytes:
    """Empty for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@contextlib.contextmanager
def node_process(cluster: ClusterProcess, folder: Path, name: str = NODE) -> Iterator[NodeProcess]:
    node = NodeProcess(cluster, folder, name)
    try:
        yield node
    finally:
        node.close()
