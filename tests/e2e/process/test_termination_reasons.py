"""The test list of the proposal for termination reasons, item by item, with real processes.

Hooks report to a monitor by HTTP, which is one of the proposal's uses.
"""

from __future__ import annotations

import contextlib
import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from support.nodes.containers import processes_of
from support.processes.cluster import running_cluster
from support.processes.commands import PODS, Lab
from support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=2)]

NODES = "/api/v1/nodes"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
EXAMPLE = Path(__file__).parents[3] / "examples/termination-reason/web.yaml"
HEADER = "KUBE-POD-TERM-REASON"
REPORT = (
    "import os, sys, urllib.parse, urllib.request as r; "
    "given = [*sys.argv[2:], os.environ.get('KUBE_POD_TERM_REASON', '')][0]; "
    "r.urlopen(sys.argv[1] + '?why=' + urllib.parse.quote(given)).read()"
)


class Monitor(http.server.ThreadingHTTPServer):
    """Remembers the reason that each path was asked with, by header or by query."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.heard: dict[str, list[str]] = {}

    def httpget(self, path: str, **delivery: str) -> dict[str, Any]:
        """A hook that asks this monitor itself."""
        hook: dict[str, Any] = {
            "httpGet": {"host": "127.0.0.1", "port": self.server_port, "path": f"/{path}"}
        }
        return hook | ({"reasonDelivery": delivery} if delivery else {})

    def command(self, path: str, *more: str) -> dict[str, Any]:
        """A hook that runs a program, which asks this monitor."""
        url = f"http://127.0.0.1:{self.server_port}/{path}"
        return {"exec": {"command": [sys.executable, "-c", REPORT, url, *more]}}

    def until_heard(self, path: str, count: int = 1) -> list[str]:
        until(lambda: len(self.heard.get(path, ())) >= count)
        return self.heard[path]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Monitor

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        given = self.headers.get(HEADER) or self.headers.get("X-Why") or ""
        why = parse_qs(asked.query).get("why", [given])[0]
        self.server.heard.setdefault(asked.path.strip("/"), []).append(why)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def monitor() -> Iterator[Monitor]:
    with Monitor() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("reasons") / "dir"
    with running_cluster(folder, "--nodes", "1", "--runtime", "process") as running:
        yield Lab(running)
        assert running.stop() == 0, (
            running.output
        )  # and its pods with it: killed, it would leave them running
        until(lambda: not processes_of(folder))


def containers(hook: dict[str, Any], image: str = "none") -> list[dict[str, Any]]:
    command = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done"]
    return [{"name": "main", "image": image, "command": command, "lifecycle": {"preStop": hook}}]


def delete(lab: Lab, name: str, reason: str) -> None:
    done = lab.vacate("delete", "pod", name, f"--reason={reason}", "--wait")
    assert (done.code, done.err) == (0, "")


def test_to_a_command_by_a_variable(lab: Lab, monitor: Monitor) -> None:
    lab.pod("variable", containers=containers(monitor.command("variable")))
    delete(lab, "variable", "resolve issue 354961")
    assert monitor.heard["variable"] == ["resolve issue 354961"]


def test_to_a_command_by_a_flag(lab: Lab, monitor: Monitor) -> None:
    hook = monitor.command("flag", "--why=$(BYE)") | {"reasonDelivery": {"env": "BYE"}}
    lab.pod("flag", containers=containers(hook))
    delete(lab, "flag", "resolve issue 354961")
    assert monitor.heard["flag"] == ["--why=resolve issue 354961"]


def test_to_an_http_hook_by_a_header(lab: Lab, monitor: Monitor) -> None:
    lab.pod("header", containers=containers(monitor.httpget("header")))
    lab.pod("own-header", containers=containers(monitor.httpget("own-header", header="X-Why")))
    delete(lab, "header", "resolve issue 354961")
    delete(lab, "own-header", "another")
    assert (monitor.heard["header"], monitor.heard["own-header"]) == (["resolve issue 354961"], ["another"])


@pytest.mark.thorough
def test_during_eviction(lab: Lab, monitor: Monitor) -> None:
    lab.pod("evicted", containers=containers(monitor.httpget("evicted")))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "evicted"}}
    lab.https.create(f"{PODS}/evicted/eviction", body)
    assert monitor.until_heard("evicted") == ["Eviction"]


def test_by_an_eviction_request_whose_own_text_stays_with_it(lab: Lab, monitor: Monitor) -> None:
    lab.pod("requested", containers=containers(monitor.command("requested")))
    done = lab.vacate("evict", "requested", "--reason", "kernel update", "--timeout", "200s")
    assert done.code == 0, done.err
    assert monitor.heard["requested"] == ["Eviction"]


def test_when_evicted_for_a_taint(lab: Lab, monitor: Monitor) -> None:
    patient = [{"key": "go", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}]
    lab.pod("tainted", containers=containers(monitor.command("tainted")))
    lab.pod("patient", containers=containers(monitor.httpget("patient")), tolerations=patient)
    lab.https.patch(f"{NODES}/node-1", {"spec": {"taints": [{"key": "go", "effect": "NoExecute"}]}})
    try:
        assert monitor.until_heard("tainted") == ["IntolerableTaint"]
        assert monitor.until_heard("patient") == ["IntolerableTaint"]
    finally:
        lab.https.patch(f"{NODES}/node-1", {"spec": {"taints": None}})


def test_of_a_rollout_and_of_scaling_down(lab: Lab, monitor: Monitor) -> None:
    labels = {"app": "rolled"}
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": containers(monitor.httpget("web"))},
        },
    }
    lab.https.create(DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
    until(lambda: _ready(lab) == 2)
    change = {"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}}
    lab.https.patch(f"{DEPLOYMENTS}/web", change)
    assert monitor.until_heard("web", 2) == ["Update", "Update"]
    until(lambda: _ready(lab) == 2)
    lab.https.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 1}})
    assert monitor.until_heard("web", 3)[2:] == ["Decommissioned"]


def _ready(lab: Lab) -> int:
    status = lab.https.get(f"{DEPLOYMENTS}/web").ok()["status"]
    generation = lab.https.get(f"{DEPLOYMENTS}/web").ok()["metadata"]["generation"]
    if status.get("observedGeneration") != generation:
        return 0
    return int(min(status.get("readyReplicas", 0), status.get("updatedReplicas", 0)))


def test_without_a_reason_there_is_none(lab: Lab, monitor: Monitor) -> None:
    lab.pod("plain", containers=containers(monitor.httpget("plain")))
    assert lab.vacate("delete", "pod", "plain", "--wait").code == 0
    assert monitor.heard["plain"] == [""]


def test_the_example_logs_when_and_why_it_was_ended(lab: Lab) -> None:
    lab.https.create(DEPLOYMENTS, yaml.safe_load(EXAMPLE.read_text()) | {"metadata": {"name": "service"}})
    name = until(lambda: _replica(lab, "service"))
    until(lambda: lab.ready(name))
    with contextlib.closing(lab.https.connect()) as connection:
        connection.request("GET", f"{PODS}/{name}/log?follow=true")
        log = connection.getresponse()
        text = log.readline()  # it is followed before the pod goes, and its log with it
        delete(lab, name, "resolve issue 354961")
        text += log.read()
    lines = [line.split(" ", 1)[1] for line in text.decode().splitlines()]
    assert lines == ["serving", "asked to stop: resolve issue 354961", "stopped"]


def _replica(lab: Lab, deployment: str) -> str:
    names = [one["metadata"]["name"] for one in lab.https.get(PODS).ok()["items"]]
    return next((name for name in names if name.startswith(f"{deployment}-")), "")
