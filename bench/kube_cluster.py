"""A real control plane with simulated nodes, and Vacate installed beside it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import yaml
from bench.evictionrequest_processes import manager, started
from hack.kubelab.children import end_child
from hack.kubelab.control_plane import running
from hack.kubelab.obtain import obtain
from hack.kubelab.ports import reserve_port
from hack.kubelab.up import start_nodes

from vacate.api.installednames import DEFAULT_NAMESPACE, MUTATING, VALIDATING, WEBHOOK
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import ADMITTED_STAMP
from vacate.crds.definition import definition_for
from vacate.eviction.registration import resolve
from vacate.install.manifest import manifest

_QUICK_PODS = ("--pod-start", "0.05", "--pod-stop", "0.05")
_TIMEOUT = 120.0
_MANAGER_USER = "kubernetes-admin"  # of the kubeconfig


@dataclass(frozen=True)
class Kube:
    """Where the cluster is, and its kubectl."""

    kubeconfig: Path
    kubectl: Path
    audit_log: Path  # written where the cluster was asked to

    def run(self, *arguments: str) -> str:
        """One kubectl command that must succeed."""
        command = [str(self.kubectl), "--kubeconfig", str(self.kubeconfig), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def account(self, folder: Path, name: str, namespace: str = DEFAULT_NAMESPACE) -> Path:
        """A kubeconfig with a token of a service account."""
        token = self.run("create", "token", name, "-n", namespace).strip()
        config = yaml.safe_load(self.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        path = folder / f"{name}.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path


@contextmanager
def cluster(nodes: int, *, webhook: bool, audit: bool = False, bridge: bool = False) -> Iterator[Kube]:
    """The control plane, its nodes, and what an installation puts there; no manager yet.

    With the eviction bridge the webhook works as its own account: what it may do is part of the cost.
    """
    programs = obtain()
    with tempfile.TemporaryDirectory(prefix="vacate-bench-") as folder, ExitStack() as stack:
        plane = stack.enter_context(running(programs, Path(folder), audit=audit))
        stack.callback(end_child, start_nodes(plane, nodes, *_QUICK_PODS), 10.0)
        kube = Kube(plane.kubeconfig, programs / "kubectl", plane.layout.audit_log)
        if webhook:
            stack.enter_context(_admitting(kube, bridge=bridge))
        else:
            crd = Path(folder) / "evictionrequests.yaml"
            crd.write_text(manifest(definition_for(EVICTIONREQUESTS)))
            kube.run("apply", "-f", str(crd))
            kube.run("wait", "--for=condition=Established", "-f", str(crd))
        _wait(lambda: kube.run("get", "nodes", "--no-headers").count(" Ready ") == nodes, "nodes")
        yield kube


@contextmanager
def managed(kube: Kube) -> Iterator[None]:
    """A manager that is ready and leads."""
    with manager(kube.kubeconfig) as one:
        one.wait_ready()
        _wait(lambda: one.leads, "a leader")
        yield


@contextmanager
def _admitting(kube: Kube, *, bridge: bool) -> Iterator[None]:
    port = reserve_port()
    url = f"https://127.0.0.1:{port}"
    connection = ("--kubeconfig", str(kube.kubeconfig))
    # The manager of a run works as the administrator: the webhook must know that it is one.
    # For the bridge there is none: what managers evict passes.
    known = () if bridge else ("--manager-user", _MANAGER_USER)
    bridging = ("--eviction-bridge",) if bridge else ()
    outside = ("--webhook-url", url, "--no-manager", *bridging)
    install = [sys.executable, "-m", "vacate", "install", *connection, *outside, *known]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="vacate-bench-"))
        rotation = ("--cert-dir", folder, "--host", "127.0.0.1")
        stack.enter_context(started("-u", "-m", "vacate", "certificates", *connection, *rotation))
        _wait((Path(folder) / "tls.crt").exists, "certificate")
        listen = ("--address", "127.0.0.1", "--port", str(port), "--cert-dir", folder, "--metrics-port", "0")
        own = ("--kubeconfig", str(kube.account(Path(folder), WEBHOOK))) if bridge else connection
        one = stack.enter_context(started("-u", "-m", "vacate", "webhook", *own, *listen, *known, *bridging))
        while "taking reviews" not in one.line():
            pass
        _wait(lambda: _trusted(kube), "webhook configurations with an authority")
        yield


def _trusted(kube: Kube) -> bool:
    found = (
        orjson.loads(kube.run("get", f"{sort}webhookconfiguration", name, "-o", "json"))
        for sort, name in (("mutating", MUTATING), ("validating", VALIDATING))
    )
    return all("caBundle" in hook["clientConfig"] for one in found for hook in one["webhooks"])


def admitted(request: Obj, target: Obj) -> Obj:
    """What the webhook does to a request, done by the client where there is no webhook."""
    interceptors = [{"name": name} for name in resolve(target).interceptors]
    metadata = {**request["metadata"], "annotations": {ADMITTED_STAMP: "true"}}
    metadata["labels"] = target["metadata"].get("labels", {})
    return {**request, "metadata": metadata, "spec": {**request["spec"], "interceptors": interceptors}}


def _wait(ask: Callable[[], bool], what: str) -> None:
    ends = time.perf_counter() + _TIMEOUT
    while not ask():
        if time.perf_counter() > ends:
            raise SystemExit(f"no {what} within {_TIMEOUT:.0f} s")
        time.sleep(0.1)
