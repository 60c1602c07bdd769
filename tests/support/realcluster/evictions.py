"""A real control plane with simulated nodes and Vacate beside it, installed by its own command.

Webhook and managers are processes; each speaks to the API server with the token of its service account, so
that it has the rights that an installation gives it, and no others.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from hack.kubelab.children import end_child
from hack.kubelab.control_plane import ControlPlane, running
from hack.kubelab.obtain import ASSETS
from hack.kubelab.ports import reserve_port
from hack.kubelab.up import start_nodes

from support.https import Https
from support.processes.cluster import FAST_PODS, vacate
from support.processes.program import Program
from support.realcluster.audit import confined
from support.waiting import until
from support.yaml_text import yaml_document
from vacate.api.installednames import CERTIFICATES, MANAGER, MUTATING, VALIDATING, WEBHOOK
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.install.settings import Settings

REAL = "real"
HOME = "vacate-system"
BRIDGE_SECONDS = 15  # after which a caller of the eviction API counts as gone
LEASE_PATH = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/vacate-manager"
DAEMON_SETS = Kind("apps", "v1", "DaemonSet", "daemonsets", "daemonset", namespaced=True)
REVIEW_SECONDS = 10
"""How long a review may take in tests: a busy machine must not pass by a webhook that fails open."""
ONE_NODE = ("--max-draining-nodes", "1")
_HOOKS = "/apis/admissionregistration.k8s.io/v1"
_CONFIGURATIONS = (
    f"{_HOOKS}/mutatingwebhookconfigurations/{MUTATING}",
    f"{_HOOKS}/validatingwebhookconfigurations/{VALIDATING}",
)


def gates(*, is_open: bool) -> tuple[str, str]:
    """The option that opens or closes the gates of both APIs."""
    state = str(is_open).lower()
    return "--feature-gates", f"EvictionRequestAPI={state},EvacuationAPI={state}"


class RealCluster:
    """What runs beside the control plane can be stopped, killed and started again, part by part."""

    sort = REAL

    def __init__(
        self,
        plane: ControlPlane,
        *,
        as_installed: bool = False,
        install: Sequence[str] = (),
        webhook: Sequence[str] = (),
        machines: subprocess.Popen[bytes] | None = None,
        manager: Sequence[str] = (),
    ) -> None:
        self.plane = plane
        self.machines = machines  # the nodes, where they are one process
        self._install_options = install
        self._as_installed = as_installed
        self.kubeconfig = plane.kubeconfig
        self.admin = Https.from_kubeconfig(plane.kubeconfig)
        self._port = reserve_port()
        self._tls = plane.layout.root / "webhook-tls"
        self._tls.mkdir()
        self.install()
        rotation = ("--cert-dir", str(self._tls), "--host", "127.0.0.1")
        self.certificates = self._program(CERTIFICATES, "certificates", *rotation)
        self.webhook = self._program(WEBHOOK, "webhook", *self._webhook_options(), *webhook)
        election = ("--lease-namespace", HOME, "--metrics-port", "0", *gates(is_open=True), *manager)
        self.managers = [self._program(MANAGER, f"manager-{i}", *election) for i in (1, 2)]

    @property
    def audit_log(self) -> Path:
        return self.plane.layout.audit_log

    @property
    def webhook_url(self) -> str:
        """Where the webhook takes reviews."""
        return f"https://127.0.0.1:{self._port}"

    def install(self, *options: str) -> str:
        """What the command printed."""
        # Some options make pods, which nothing here runs.
        image = ("--image", Settings().image)
        url = ("--webhook-url", self.webhook_url, "--no-manager", "--eviction-bridge", *image)
        chosen = (*url, *self._install_options, *options)
        done = vacate("install", "--reset", "--kubeconfig", str(self.kubeconfig), *chosen)
        assert done.returncode == 0, done.stderr
        if not self._as_installed:
            self._wait_for_reviews()
        return done.stdout

    def start(self, *options: str, lead: bool = True) -> None:
        """Webhook first: without it nobody is admitted."""
        self.start_webhook(*options)
        self.start_managers(*options)
        if lead:
            until(self.leader)

    def start_managers(self, *options: str) -> None:
        """Those that do not run; from then on they end in good order when they are stopped."""
        begun = [manager.start(*options) for manager in self.managers if not manager.running]
        for manager in begun:
            manager.wait_for("health and metrics on")

    def start_webhook(self, *options: str) -> None:
        """Start it and wait until it takes reviews and API servers trust it."""
        if not self.certificates.running:
            self.certificates.start()
        until((self._tls / "tls.crt").exists)
        self.webhook.start(*options)
        self.webhook.wait_for("taking reviews")
        until(self._trusted)

    def leader(self) -> Program | None:
        """The manager that holds the lease, if one does."""
        reply = self.admin.get(LEASE_PATH)
        holder = reply.obj["spec"].get("holderIdentity", "") if reply.code == 200 else ""
        line = f"leads as {holder}"
        return next((one for one in self.managers if holder and one.running and line in one.output), None)

    def set_gate(self, *, is_open: bool) -> None:
        """All of Vacate's own processes again, with the gate open or closed."""
        for one in (*self.managers, self.webhook):
            assert one.stop() == 0, one.output
        self.start(*gates(is_open=is_open), lead=is_open)

    def stop_part(self, part: str) -> None:
        """Take a part away: manager, server or node, which stands for all nodes.

        In place of unlimited managers come some that drain one node at a time.
        """
        if part.endswith("manager"):
            for one in self.managers:
                assert one.stop() == 0, one.output
            if part != "manager":
                self.start_managers(*ONE_NODE)
                until(self.leader, 60.0)
        elif part == "server":
            self.plane.kill_api_server()
        else:
            self._nodes().send_signal(signal.SIGSTOP)

    def start_part(self, part: str) -> None:
        """Bring it back; it works when this returns."""
        if part.endswith("manager"):
            for one in self.managers:
                assert not one.running or one.stop() == 0, one.output
            self.start_managers()
            until(self.leader, 60.0)
        elif part == "server":
            self.plane.begin_api_server()
            until(lambda: not self.plane.api_server_failure(), 120.0)
            self.start_managers()  # one that lost its lease meanwhile has ended; a Deployment starts it again
        else:
            self._nodes().send_signal(signal.SIGCONT)

    def _nodes(self) -> subprocess.Popen[bytes]:
        assert self.machines is not None, "this cluster was started without nodes"
        return self.machines

    def as_user(self, name: str, user: Mapping[str, Any]) -> Path:
        """A kubeconfig of someone else at the same server."""
        config = yaml_document(self.kubeconfig.read_text())
        config["users"][0]["user"] = dict(user)
        path = self.plane.layout.root / f"{name}.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path

    def account(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a token of a service account."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        token = self.admin.create(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        return self.as_user(f"{namespace}-{name}", {"token": token})

    def close(self) -> None:
        for one in (*self.managers, self.webhook, self.certificates):
            one.kill()

    def _webhook_options(self) -> tuple[str, ...]:
        listen = ("--cert-dir", str(self._tls), "--address", "127.0.0.1", "--port", str(self._port))
        bridge = ("--eviction-bridge", "--bridge-wait", f"{BRIDGE_SECONDS}s")
        return (*listen, *bridge, "--metrics-port", "0", *gates(is_open=True))

    def _program(self, account: str, name: str, *options: str) -> Program:
        log = self.plane.layout.logs / f"{name}.log"
        kubeconfig = self.account(HOME, account)
        command = account.removeprefix("vacate-")
        return Program(log, command, "--kubeconfig", str(kubeconfig), "-v", *options)

    def _wait_for_reviews(self) -> None:
        """Merged by the names of the webhooks: their authorities, which the rotator writes, stay."""
        for path in _CONFIGURATIONS:
            hooks = [{"name": one["name"], "timeoutSeconds": REVIEW_SECONDS}
                     for one in self.admin.get(path).ok()["webhooks"]]  # fmt: skip
            kind = "application/strategic-merge-patch+json"
            self.admin.call("PATCH", path, {"webhooks": hooks}, content_type=kind).ok()

    def _trusted(self) -> bool:
        """Whether both configurations carry an authority."""
        found = [self.admin.get(path).ok()["webhooks"] for path in _CONFIGURATIONS]
        return all("caBundle" in hook["clientConfig"] for hooks in found for hook in hooks)


@contextlib.contextmanager
def real_cluster(
    folder: Path,
    nodes: int,
    *,
    install: Sequence[str] = (),
    webhook: Sequence[str] = (),
    manager: Sequence[str] = (),
    pods: Sequence[str] = FAST_PODS,
    lifecycle: bool = False,
) -> Iterator[RealCluster]:
    """The control plane, its nodes, and Vacate installed and running, with more options for each.

    `pods`: how long they take. With `lifecycle` it serves lifecycle.k8s.io. Whatever was done in between, no
    policy has refused what Vacate's own accounts had to write.
    """
    with running(Path(os.environ[ASSETS]), folder, audit=True, lifecycle=lifecycle) as plane:
        machines = start_nodes(plane, nodes, *pods)
        try:
            cluster = RealCluster(plane, install=install, webhook=webhook, manager=manager, machines=machines)
            try:
                cluster.start()
                yield cluster
            finally:
                cluster.close()
            assert confined(cluster.audit_log) == set()
        finally:
            machines.send_signal(signal.SIGCONT)  # one that stands still does not end
            end_child(machines, 10.0)


def daemon_set(name: str) -> Obj:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "app:1"}]},
    }
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
