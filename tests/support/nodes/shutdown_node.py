"""`vacate node` on a machine with a logind of its own, beside an API server that outlives the machine."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from hack.kubelab.certificates import write_kubeconfigs
from hack.kubelab.flags import Layout
from hack.kubelab.ports import reserve_port
from hack.logindlab.machine import LogindMachine

from support.nodes.machine import write_buckets
from support.processes.cluster import ClusterProcess, environment, running_cluster
from support.processes.node import NODE, NodeProcess
from support.waiting import until
from vacate.api.installednames import SHUTDOWN_REQUESTER
from vacate.api.objects import Obj
from vacate.embedded.bootstrap import identities

_PASSED = ("PATH", "HOME", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "COLUMNS")
REQUESTS = "/apis/evictionrequest.coordination.k8s.io/v1alpha1/namespaces/default/evictionrequests"
_SIGNAL = re.compile(r"^(\w+) ([0-9.]+)$", re.MULTILINE)


class ShutdownNode(NodeProcess):
    """An agent inside of the machine, and what its pods say of their own end."""

    def __init__(self, machine: LogindMachine, cluster: ClusterProcess, buckets: dict[int, int]) -> None:
        super().__init__(cluster, machine.shared / "node")
        self.machine = machine
        self.unit = ""
        self.config = write_buckets(machine.shared / "kubelet.yaml", buckets)
        self.identity = _identity(cluster)

    @property
    def agent_log(self) -> str:
        return (self.machine.shared / "agent.log").read_text()

    @property
    def record(self) -> Obj:
        found: Obj = json.loads((self.folder / "graceful_node_shutdown_state").read_bytes())
        return found

    def start(self) -> None:
        """Start the agent as a service and return when it holds the lock, or is in a shutdown.

        A service and no child of ours: systemd stops every process on its way down, and what entered the
        machine from outside would stay stopped with it.
        """
        before = len(self.agent_log.splitlines())
        self.unit = f"vacate-node-{before}.service"
        log = f"append:{self.machine.shared / 'agent.log'}"
        self.machine.run(
            *("systemd-run", "--quiet", "--unit", self.unit, "--property=KillMode=process"),
            *(f"--property=StandardOutput={log}", f"--property=StandardError={log}"),
            *(f"--setenv={name}={value}" for name, value in environment().items() if name in _PASSED),
            *(sys.executable, "-m", "vacate", "node", "--name", NODE, "--no-taint", "--verbose"),
            *("--dir", str(self.folder), "--kubeconfig", str(self.identity)),
            *("--address", "127.0.0.1", "--config", str(self.config)),
        )

        def begun() -> bool:
            new = self.agent_log.splitlines()[before:]
            words = (
                "registered a shutdown inhibitor",
                "going on with",
                "the machine goes down",
                "before this agent started",
                "nothing here delays a shutdown",
                "logind delays no shutdown",
            )
            return any(word in one for one in new for word in words)

        until(begun, 110)

    def kill(self) -> None:
        """Kill the agent and nothing else."""
        self.machine.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", self.unit)
        until(lambda: self.machine.run("systemctl", "is-active", self.unit, check=False) != "active\n")

    def freeze(self) -> None:
        """Stop the agent and nothing else, until `thaw`."""
        self.machine.run("systemctl", "kill", "--kill-whom=main", "--signal=STOP", self.unit)

    def thaw(self) -> None:
        """Have it run on."""
        self.machine.run("systemctl", "kill", "--kill-whom=main", "--signal=CONT", self.unit)

    def close(self) -> None:
        """It ends with the machine."""
        self._log.close()

    @contextlib.contextmanager
    def api_server_back(self) -> Iterator[None]:
        """Where it was before it was killed, with all that it knew."""
        port = urlsplit(self.cluster.address).port or 0
        with running_cluster(self.cluster.folder, "--nodes", "0", port=port) as self.cluster:
            yield

    def run_pod(
        self,
        name: str,
        priority: int,
        takes: float | None = 0.2,
        grace: int = 30,
        interceptor: str = "",
        *,
        hook: bool = False,
        http_hook: Obj | None = None,
    ) -> None:
        """A pod that says when it was asked to end and when it does; one that takes long must be killed.

        One that takes None ends when `let_end` lets it: what is done meanwhile may take its time.
        """
        work = "until [ -e go ]; do sleep 0.05; done" if takes is None else f"sleep {takes} & wait $!"
        also = f"| tee -a {self._kept(name)}"
        on_term = (
            f'cat hooks; echo "term $(date +%s.%N)" {also}; {work}; echo "end $(date +%s.%N)" {also}; exit 0'
        )
        script = f"trap '{on_term}' TERM; echo \"on $(date +%s.%N)\"; while :; do sleep 0.05; done"
        spec = {"terminationGracePeriodSeconds": grace, "priorityClassName": self._priority_class(priority)}
        more: Obj = {"evictionInterceptors": [{"name": interceptor}]} if interceptor else {}
        if hook:
            command = 'echo "hook $(date +%s.%N)" >> hooks; sleep 2; echo "hooked $(date +%s.%N)" >> hooks'
            more["container"] = {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", command]}}}}
        elif http_hook is not None:
            more["container"] = {"lifecycle": {"preStop": {"httpGet": http_hook}}}
        made = self.create(name, script, **spec, **more)
        self.uids[name] = made["metadata"]["uid"]
        until(lambda: "on" in self.signals(name))

    def let_end(self, name: str) -> None:
        """Let a pod end that was started for it."""
        (self.folder / "pods" / self.uids[name] / "containers/main/go").touch()

    def hooks(self, name: str) -> str:
        """What the hook of the pod wrote."""
        file = self.folder / "pods" / self.uids[name] / "containers/main/hooks"
        return file.read_text() if file.exists() else ""

    def _priority_class(self, priority: int) -> str:
        name = f"value-{priority}"
        body = {"metadata": {"name": name}, "value": priority}
        reply = self.cluster.https().call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
        assert reply.code in (201, 409), reply.text
        return name

    def signals(self, name: str) -> dict[str, float]:
        """The words that the pod logged, and when."""
        return {word: float(at) for word, at in _SIGNAL.findall(self._log_of(name))}

    def terms(self, name: str) -> int:
        """How often the pod was asked to end."""
        return [word for word, _ in _SIGNAL.findall(self._log_of(name))].count("term")

    def _log_of(self, name: str) -> str:
        folder = self.folder / "pods" / self.uids[name] / "logs" / "main"
        if folder.is_dir():
            return "".join(one.read_text() for one in folder.glob("*.log"))
        return self._kept(name).read_text() if self._kept(name).exists() else ""

    def _kept(self, name: str) -> Path:
        """What it says when it ends is there, too, when it was evicted and its folder is gone."""
        return self.machine.shared / f"{name}.signals"

    def request_of(self, name: str) -> Obj | None:
        """The eviction request of a pod."""
        reply = self.cluster.https().call("GET", f"{REQUESTS}/{self.uids[name]}")
        return None if reply.code == 404 else reply.ok()

    def complete_turn(self, name: str) -> None:
        """As the interceptor: say that the pod is prepared."""
        done = {"status": {"activeInterceptorCompleted": True}}
        self.cluster.https().patch(f"{REQUESTS}/{self.uids[name]}/status", done)

    def status(self) -> str:
        """What `vacate status` prints."""
        command = (sys.executable, "-m", "vacate", "status", "--kubeconfig", str(self.cluster.kubeconfig))
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout + done.stderr

    def node_ready(self) -> tuple[str, str, str]:
        conditions = self.cluster.https().call("GET", f"/api/v1/nodes/{NODE}").ok()["status"]["conditions"]
        (ready,) = [one for one in conditions if one["type"] == "Ready"]
        return ready["status"], ready["reason"], ready["message"]

    @property
    def uids(self) -> dict[str, str]:
        found: dict[str, str] = self.__dict__.setdefault("_uids", {})
        return found


def _identity(cluster: ClusterProcess) -> Path:
    """A kubeconfig of the node, and the right to request evictions, which an administrator gives it."""
    layout = Layout(cluster.kubeconfig.parent)
    write_kubeconfigs(layout, urlsplit(cluster.address).port or 0, {NODE: identities.node(NODE)})
    group = "rbac.authorization.k8s.io"
    body = {
        "metadata": {"name": NODE},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": SHUTDOWN_REQUESTER},
        "subjects": [{"apiGroup": group, "kind": "User", "name": f"system:node:{NODE}"}],
    }
    cluster.https().call("POST", f"/apis/{group}/v1/clusterrolebindings", body).ok()
    return layout.kubeconfig(NODE)


@contextlib.contextmanager
def shutdown_node(folder: Path, buckets: dict[int, int]) -> Iterator[ShutdownNode]:
    """A running node, and nothing of it afterwards."""
    shared, scratch = folder / "shared", folder / "scratch"
    shared.mkdir()
    scratch.mkdir()
    (shared / "agent.log").touch()
    machine = LogindMachine(scratch, shared)
    try:
        machine.wait_up()
        port = reserve_port()  # nobody else gets it while the API server is away
        with running_cluster(shared / "cluster", "--nodes", "0", port=port) as cluster:
            node = ShutdownNode(machine, cluster, buckets)
            try:
                node.start()
                yield node
            finally:
                node.close()
    finally:
        machine.close()


def off_at(machine: LogindMachine) -> float:
    """When the machine has gone down."""
    try:
        machine.wait_off(150)
    except subprocess.TimeoutExpired:
        raise AssertionError(machine.console) from None
    return time.time()
