"""A real control plane on loopback: etcd, kube-apiserver and, where wanted, controllers and scheduler.

The programs are children of the process that starts them. They end in the reverse order of their start; if
that process is killed, the kernel kills them.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from hack.kubelab import flags
from hack.kubelab.certificates import write_certificates
from hack.kubelab.children import end_child, end_group, start_child
from hack.kubelab.etcd import Etcd
from hack.kubelab.flags import HOST, Layout, Ports
from hack.kubelab.health import Probe
from hack.kubelab.ports import release_ports, reserve_ports
from hack.kubelab.release import KubeError

API_SERVER = "kube-apiserver"
# Beside others on a slow disk it takes minutes; only a failing start waits for all of it.
START_SECONDS = 300.0
STOP_SECONDS = 10.0
_POLL_SECONDS = 0.05
_LOG_LINES = 40


class ControlPlane:
    """One control plane in one folder. Started once; `stop` may be called at any time, also twice."""

    def __init__(
        self,
        programs: Path,
        folder: Path,
        *,
        controllers: bool = True,
        audit: bool = False,
        address: str = "",  # of a node whose pods really run, and reach the API server there
        hosts: Sequence[str] = (),  # addresses of further nodes, whose kubelets have the same certificate
        fairness: bool = False,
        lifecycle: bool = False,  # serve lifecycle.k8s.io
        confined_nodes: bool = False,  # give identities of nodes the rights that they have everywhere
        lost_after: int = 0,  # seconds without a report after which a node is lost; 0 is the default
    ) -> None:
        self.layout = Layout(folder)
        self.ports = Ports(*reserve_ports(5))
        self._programs = programs
        self._controllers = controllers
        self._audit = audit
        self._fairness = fairness
        self._lifecycle = lifecycle
        self._confined_nodes = confined_nodes
        self._lost_after = lost_after
        self._node_address = address
        self._hosts = hosts
        self._children: list[tuple[str, subprocess.Popen[bytes]]] = []

    @property
    def address(self) -> str:
        """Where the API is served."""
        return f"https://{HOST}:{self.ports.api}"

    @property
    def etcd_address(self) -> str:
        """Where etcd is, for those who have to reach behind the API server."""
        return f"http://{HOST}:{self.ports.etcd}"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self.layout.kubeconfig()

    def start(self) -> None:
        """Return when every program says that it is ready; KubeError with the end of its log if one fails."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the programs; the folder with their logs stays."""
        while self._children:
            _, child = self._children[-1]
            end_child(child, STOP_SECONDS)
            self._children.pop()
        release_ports(astuple(self.ports))

    def ended(self) -> str:
        """The name of a program that has ended by itself, or nothing."""
        return next((name for name, child in self._children if child.poll() is not None), "")

    def forget_history(self) -> None:
        """Nothing of the past can be read afterwards: etcd has compacted it, and the API server is a new one.

        An API server remembers for itself what it has seen, so that compaction alone would not do.
        """
        self.kill_api_server()
        Etcd(self.etcd_address).compact()
        self.begin_api_server()
        self._wait(API_SERVER, self._children[self._place()][1], self._probe(self.ports.api, "readyz"))

    def kill_api_server(self) -> None:
        """End it as a power cut would; `begin_api_server` brings a new one to the same address."""
        end_group(self._children[self._place()][1])

    def begin_api_server(self) -> None:
        """Start a new one in its place, without waiting until it answers."""
        place = self._place()
        self._begin(API_SERVER, self._api_server())
        self._children[place] = self._children.pop()

    def freeze_store(self) -> None:
        """Let etcd stand still: the API server is cut off from what it stores."""
        self._store().send_signal(signal.SIGSTOP)

    def thaw_store(self) -> None:
        """Let etcd go on."""
        self._store().send_signal(signal.SIGCONT)

    def _store(self) -> subprocess.Popen[bytes]:
        return next(child for name, child in self._children if name == "etcd")

    def api_server_failure(self) -> str:
        """Why the API server does not serve, or nothing."""
        return self._probe(self.ports.api, "readyz").failure()

    def _place(self) -> int:
        return [name for name, _ in self._children].index(API_SERVER)

    def _start(self) -> None:
        layout, ports = self.layout, self.ports
        there = self._node_address
        write_certificates(
            layout, ports.api, [there, flags.KUBERNETES_SERVICE, *self._hosts] if there else ()
        )
        layout.logs.mkdir(parents=True, exist_ok=True)
        layout.audit_policy.write_text(json.dumps(flags.AUDIT_POLICY))
        self._run("etcd", flags.etcd(layout, ports), Probe(f"{self.etcd_address}/readyz"))
        self._run(API_SERVER, self._api_server(), self._probe(ports.api, "readyz"))
        everything, containers = self._controllers, bool(there)
        manager = flags.controller_manager(
            layout, ports, everything=everything, containers=containers, lost_after=self._lost_after
        )
        self._run("kube-controller-manager", manager, self._probe(ports.controllers, "healthz"))
        if self._controllers:
            scheduler = flags.scheduler(layout, ports)
            self._run("kube-scheduler", scheduler, self._probe(ports.scheduler, "readyz"))

    def _api_server(self) -> list[str]:
        return flags.api_server(
            self.layout, self.ports,
            audit=self._audit, address=self._node_address,
            fairness=self._fairness, lifecycle=self._lifecycle, confined_nodes=self._confined_nodes,
        )  # fmt: skip

    def _run(self, name: str, arguments: Sequence[str], probe: Probe) -> None:
        self._wait(name, self._begin(name, arguments), probe)

    def _begin(self, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        with self._log(name).open("ab") as log:
            child = start_child([str(self._programs / name), *arguments], stdout=log, cwd=self.layout.root)
        self._children.append((name, child))
        return child

    def _wait(self, name: str, child: subprocess.Popen[bytes], probe: Probe) -> None:
        end = time.monotonic() + START_SECONDS
        while failure := probe.failure():
            if child.poll() is not None:
                raise KubeError(f"{name} ended with {child.returncode}:\n{self.log_tail(name)}")
            if time.monotonic() > end:
                waited = f"{name} is not ready after {START_SECONDS:.0f} s: {failure}"
                raise KubeError(f"{waited}\n{self.log_tail(name)}")
            time.sleep(_POLL_SECONDS)

    def ready_nodes(self) -> set[str]:
        """The names of the nodes that are ready and have no taint left."""
        listed = json.loads(self._probe(self.ports.api, "api/v1/nodes").read())["items"]
        return {node["metadata"]["name"] for node in listed if _is_ready(node)}

    def log_tail(self, name: str) -> str:
        """The end of a program's log."""
        lines = self._log(name).read_text(errors="replace").splitlines()
        return "\n".join([f"--- {self._log(name)}", *lines[-_LOG_LINES:]])

    def _log(self, name: str) -> Path:
        return self.layout.logs / f"{name}.log"

    def _probe(self, port: int, path: str) -> Probe:
        layout = self.layout
        identity = layout.pki / "admin.pem"
        return Probe(f"https://{HOST}:{port}/{path}", trusted=layout.authority, identity=identity)


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = {one["type"]: one["status"] for one in node["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")


@contextlib.contextmanager
def running(
    programs: Path, folder: Path, *,
    controllers: bool = True, audit: bool = False, fairness: bool = False, lifecycle: bool = False,
    confined_nodes: bool = False,
) -> Iterator[ControlPlane]:  # fmt: skip
    """A control plane that is gone at the end of the block."""
    plane = ControlPlane(
        programs, folder, controllers=controllers, audit=audit, fairness=fairness, lifecycle=lifecycle,
        confined_nodes=confined_nodes,
    )  # fmt: skip
    plane.start()
    try:
        yield plane
    finally:
        plane.stop()
