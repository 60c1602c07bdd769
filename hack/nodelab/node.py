"""A node that runs containers: containerd, a kubelet and a kube-proxy beside a control plane."""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from hack.kubelab.certificates import write_kubeconfigs
from hack.kubelab.children import start_child
from hack.kubelab.control_plane import ControlPlane
from hack.kubelab.health import Probe
from hack.kubelab.release import KubeError
from hack.nodelab import settings
from hack.nodelab.chroot import Chroot, mount
from hack.nodelab.network import NodeNetwork
from hack.nodelab.power import end_all
from hack.nodelab.settings import NODE_ADDRESS, Identity

from vacate.embedded.bootstrap import identities
from vacate.wire.message import Peer

_START_SECONDS = 300.0
_POLL_SECONDS = 0.1
_LOG_LINES = 40
# As a service manager does: one that was asked to end is started again, with what its file says then.
_RESTARTED = 'while "$@"; do :; done'
# They want a file system that an overlay can write to.
_IN_MEMORY = ("var/lib/containerd", "var/lib/kubelet", "var/log", "run", "tmp")


class Node:
    """The programs run in the chroot; they are children of the process that starts them."""

    def __init__(
        self,
        identity: Identity,
        chroot: Chroot,
        programs: Path,
        plane: ControlPlane,
        *,
        bus: Path | None = None,
        network: NodeNetwork | None = None,
    ) -> None:
        self.identity = identity
        self._chroot = chroot
        self._programs = programs
        self._plane = plane
        self._bus = bus
        self._network = network
        self._credentials = self._own_credentials()
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, images: Sequence[Path]) -> None:
        """Start its programs; KubeError with the end of a log where one does not run."""
        self._prepare()
        self._run(images)

    def switch_off(self) -> None:
        """As a power cut: of a further node nothing goes on, containers included. Its disk stays."""
        assert self._network is not None
        end_all(self._network.identity, self._network.keeper)
        for child in self._children.values():
            child.wait(_START_SECONDS)
        self._children.clear()

    def switch_on(self) -> None:
        """Start its programs again, after a boot."""
        self._boot()
        self._run([])

    def _run(self, images: Sequence[Path]) -> None:
        self._begin("containerd", ["containerd"])
        self._wait("containerd", self._containerd_failure)
        for image in images:
            self._control_containers("images", "import", str(image))
        plane, node, credentials = self._plane, self.identity, self._credentials
        parts = {
            self._of_node("kubelet"): identities.node(node.name),
            self._of_node("kube-proxy"): Peer("system:kube-proxy"),
        }
        write_kubeconfigs(plane.layout, plane.ports.api, parts, NODE_ADDRESS)
        config = self._write("kubelet.json", json.dumps(settings.kubelet(credentials, node)))
        command = settings.kubelet_command(self._programs / "kubelet", config, credentials, node)
        self._begin("kubelet", ["sh", "-c", _RESTARTED, "sh", *command])
        config = self._write("proxy.json", json.dumps(settings.proxy(credentials, node)))
        self._begin("kube-proxy", [str(self._programs / "kube-proxy"), f"--config={config}"])

    def wait_ready(self) -> None:
        """Return when the node is ready for pods; KubeError with the end of a log where it will not be."""
        health = Probe(f"http://{self.identity.address}:{settings.PROXY_HEALTH_PORT}/healthz")
        self._wait("kube-proxy", health.failure)
        name = self.identity.name
        self._wait("kubelet", lambda: "" if name in self._plane.ready_nodes() else f"{name} is not ready")

    def ended(self) -> str:
        """The name of a program that has ended by itself, or nothing."""
        return next((name for name, child in self._children.items() if child.poll() is not None), "")

    def log_tail(self, name: str) -> str:
        """The end of a program's log."""
        lines = self._log(name).read_text(errors="replace").splitlines()
        return "\n".join([f"--- {self._of_node(name)}", *lines[-_LOG_LINES:]])

    def _prepare(self) -> None:
        chroot = self._chroot
        for name in _IN_MEMORY:
            source = chroot.place / "memory" / name
            source.mkdir(parents=True)
            (chroot.root / name).mkdir(parents=True, exist_ok=True)
            mount("--bind", source, chroot.root / name)
        if self._bus is not None:
            (chroot.root / "run/dbus").mkdir()
            mount("--bind", self._bus, chroot.root / "run/dbus")
        chroot.share(self._programs)
        chroot.share(self._plane.layout.root, writable=True)
        self._write("etc/containerd/config.toml", settings.CONTAINERD)
        self._write(f"etc/containerd/certs.d/{settings.REGISTRY}/hosts.toml", settings.REGISTRY_HOSTS)
        network = json.dumps(settings.container_network(self.identity))
        self._write("etc/cni/net.d/10-pods.conflist", network)
        self._write("etc/resolv.conf", "")
        self._write("etc/hosts", "127.0.0.1 localhost\n")
        for name, value in settings.KERNEL_SETTINGS.items():
            setting = self._write(f"kernel-settings/{name}", f"{value}\n")
            mount("--bind", chroot.inside(setting), chroot.root / "proc/sys" / name)
        mount("--bind", self._boot(), chroot.root / "proc/sys/kernel/random/boot_id")
        chroot.close()

    def _boot(self) -> Path:
        """Each machine has boots of its own."""
        return self._chroot.inside(self._write("kernel-settings/boot_id", f"{uuid.uuid4()}\n"))

    def _write(self, name: str, text: str) -> Path:
        path = Path("/") / name
        here = self._chroot.inside(path)
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_text(text)
        return path

    def _begin(self, name: str, words: Sequence[str]) -> None:
        with self._log(name).open("ab") as log:
            child = start_child(self._chroot.command(words), stdout=log, env=_ENVIRONMENT)
        self._children[name] = child

    def _wait(self, name: str, failure: Callable[[], str]) -> None:
        end = time.monotonic() + _START_SECONDS
        while reason := failure():
            if broken := self.ended():
                raise KubeError(f"{self._of_node(broken)} has ended:\n{self.log_tail(broken)}")
            if time.monotonic() > end:
                raise KubeError(f"{name} is not ready in time: {reason}\n{self.log_tail(name)}")
            time.sleep(_POLL_SECONDS)

    def _containerd_failure(self) -> str:
        try:
            self._control_containers("version")
        except KubeError as error:
            return str(error)
        return ""

    def _control_containers(self, *arguments: str) -> None:
        words = self._chroot.command(["ctr", "--namespace=k8s.io", *arguments])
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_START_SECONDS, check=False, env=_ENVIRONMENT
        )
        if done.returncode:
            raise KubeError(f"ctr {' '.join(arguments)}: {done.stderr.strip()}")

    def _log(self, name: str) -> Path:
        return self._plane.layout.logs / f"{self._of_node(name)}.log"

    def _of_node(self, program: str) -> str:
        return f"{self.identity.name}-{program}"

    def _own_credentials(self) -> settings.NodeCredentials:
        layout = self._plane.layout
        kubelet, proxy = (layout.kubeconfig(self._of_node(name)) for name in ("kubelet", "kube-proxy"))
        return settings.NodeCredentials(layout.authority, layout.server, kubelet, proxy)


_ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin",
    "HOME": "/root",
    "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/run/dbus/system_bus_socket",
}
