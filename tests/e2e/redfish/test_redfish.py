"""fence_redfish against a Redfish service whose power-off kills the node's processes.

The node's agent hangs while its pod runs on. The policy switches the machine off, and only then is the pod's
object removed: at no moment is the object gone while the process lives.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from hack.fencelab.session import LAB
from hack.kubelab.ports import reserve_port

from support.https import Https
from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.node import NODE, NodeProcess, node_process
from support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

SYSTEM = "27946b59-9e44-4fa7-8e91-f3527a1ef094"
POLICIES = "/apis/vacate.dev/v1alpha1/fencingpolicies"
CONFIG = """
SUSHY_EMULATOR_FAKE_DRIVER = True
SUSHY_EMULATOR_LISTEN_IP = "127.0.0.1"
SUSHY_EMULATOR_LISTEN_PORT = {port}
SUSHY_EMULATOR_SSL_CERT = "{folder}/tls.crt"
SUSHY_EMULATOR_SSL_KEY = "{folder}/tls.key"
SUSHY_EMULATOR_STATE_DIR = "{folder}"
EXTERNAL_NOTIFICATION_URL = "http://127.0.0.1:{notified}"
SUSHY_EMULATOR_FAKE_SYSTEMS = [
    {{"uuid": "{system}", "name": "{node}", "power_state": "On", "external_notifier": True, "nics": []}}
]
"""
HERE = ("--fencing-allow-address", "127.0.0.1")  # where the service is
MARKER = "the-pod-lives"


class Machine:
    """What the power switch acts upon: the node's agent and the processes of its pods."""

    def __init__(self, node: NodeProcess) -> None:
        self.node = node
        self.off: list[bool] = []  # at each power-off, whether the pod's object was still there

    def notify(self, power: str) -> None:
        if power != "Off":
            return
        self.off.append(self.node.get("db-0") is not None)
        for pid in self.node.running(MARKER):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.node.process is not None:
            self.node.kill()


@contextlib.contextmanager
def notified(machine: Machine) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            machine.notify(str(body.get("power_state")))
            self.send_response(200)
            self.end_headers()

        do_POST = do_PUT  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def redfish(folder: Path, notification_port: int) -> Iterator[int]:
    port = reserve_port()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-keyout", str(folder / "tls.key"), "-out", str(folder / "tls.crt")],
        check=True, capture_output=True,
    )  # fmt: skip
    config = folder / "emulator.conf"
    config.write_text(
        CONFIG.format(port=port, folder=folder, notified=notification_port, system=SYSTEM, node=NODE)
    )
    program = Path(os.environ[LAB]) / "venv/bin/sushy-emulator"
    with (folder / "emulator.log").open("wb") as log:
        emulator = subprocess.Popen(
            [str(program), "--fake", "--config", str(config)], stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield port
        finally:
            os.killpg(emulator.pid, signal.SIGKILL)
            emulator.wait(60)


def phases(https: Https) -> list[tuple[str, str]]:
    status = https.get(f"{POLICIES}/rack").ok()["status"]
    return [(row["name"], row["phase"]) for row in status["nodes"]]


def test_power_off_comes_before_the_release(tmp_path: Path) -> None:
    with (
        running_cluster(tmp_path / "dir", "--nodes", "2", *HERE, *FAST_PODS) as cluster,
        node_process(cluster, tmp_path / "node") as node,
    ):
        machine = Machine(node)
        with notified(machine) as notification_port, redfish(tmp_path, notification_port) as port:
            node.start()
            soon = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
            node.create(
                "db-0", f"while :; do sleep 1; done # {MARKER}",
                tolerations=[soon], terminationGracePeriodSeconds=5,
            )  # fmt: skip
            node.until("db-0", lambda one: one["status"].get("phase") == "Running")
            until(lambda: node.running(MARKER))
            https = cluster.https()
            options = {
                "ip": "127.0.0.1", "ipport": str(port), "login": "admin", "ssl_insecure": "1",
                "systems_uri": f"/redfish/v1/Systems/{SYSTEM}",
            }  # fmt: skip
            spec = {
                "unreachableSeconds": 10,
                "agent": {"command": {"program": "fence_redfish", "options": options}},
            }
            kind = {"apiVersion": "vacate.dev/v1alpha1", "kind": "FencingPolicy"}
            https.create(POLICIES, {**kind, "metadata": {"name": "rack"}, "spec": spec})
            assert node.process is not None
            node.process.send_signal(signal.SIGSTOP)  # the agent hangs, and its pod lives
            until(lambda: node.get("db-0") is None, 300)
            assert node.running(MARKER) == []
            assert machine.off == [True]
            until(lambda: phases(https) == [(NODE, "Fenced")])
