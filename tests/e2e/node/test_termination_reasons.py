"""Termination reasons on a real kubelet: wrapped hooks are given theirs, within the restricted profile.

The module installs Vacate for itself, after the tests of an installation with defaults. What a hook has heard
is the termination message of its container; a finalizer keeps the pod until it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from hack.nodelab.settings import BUSYBOX

from support.kubectl import Kubectl
from support.nodes.cluster import HOME, NodeCluster
from support.nodes.objects import namespace, pod
from support.waiting import until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(400)]

HOLD = "vacate.dev/test"
FILE = "/var/run/vacate/reason/reason"
_LIVE = "trap 'cp /marks/hook /dev/termination-log; exit 0' TERM; while :; do sleep 0.1; done"
_HOOK = f'printf "%s|%s|%s" "$WHY" "$1" "$(cat {FILE} 2>/dev/null)" > /marks/hook'
_WEB = """
import http.server, signal, sys, threading
class Service(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        evil = "with X-Evil" if self.headers.get("X-Evil") else ""
        heard = self.headers.get("X-Why", "nothing").encode("latin-1").decode()
        open("/dev/termination-log", "w").write(f"{self.path} {heard}{evil}")
        self.send_response(204)
        self.end_headers()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
import os
http.server.ThreadingHTTPServer((os.environ["VACATE_POD_IP"], 8080), Service).serve_forever()
"""
MANY = int(os.environ.get("VACATE_REASON_PODS", "20"))


@pytest.fixture(scope="module")
def stage(place: NodeCluster) -> Iterator[Kubectl]:
    """A namespace whose hooks are wrapped, and Vacate as it must be installed for that."""
    place.vacate(
        "install",
        "--reset",
        "--image",
        place.image,
        "--termination-reasons",
        "--prestop-wrapper",
        "--wait",
        "3m",
    ).ok()
    made = namespace("stage")
    made["metadata"]["labels"]["vacate.dev/wrap-prestop-hooks"] = "true"
    place.system("create -f -", made).ok()
    kubectl = place.system.within("stage")
    wait_wrapped(kubectl)
    yield kubectl
    for name in kubectl("get pods -o name").out.split():
        kubectl(f"patch {name} --type=merge -p '{json.dumps({'metadata': {'finalizers': None}})}'")
    place.system("delete namespace stage --wait=false").ok()
    place.gone(place.system, "namespace stage")
    place.vacate("uninstall", "--crds").ok()
    place.gone(place.system, f"namespace {HOME}")


def app(name: str, image: str = "") -> dict[str, Any]:
    """With a hook that is a command; and one that is a request, where there is Python for a service."""
    # $1 is the reason by a flag, without a shell that could run it.
    command = ["sh", "-c", _HOOK, "hook", "$(WHY)"]
    container = {
        "lifecycle": {"preStop": {"exec": {"command": command}}},
        "volumeMounts": [{"name": "marks", "mountPath": "/marks"}],
    }
    made = pod(
        name, BUSYBOX, ["sh", "-c", _LIVE], container=container, volumes=[{"name": "marks", "emptyDir": {}}]
    )
    made["metadata"] |= {
        "finalizers": [HOLD],
        "annotations": {
            "vacate.dev/reason-delivery.main": "env=WHY",
            "vacate.dev/reason-delivery.web": "header=X-Why",
        },
    }
    made["spec"]["automountServiceAccountToken"] = False
    if image:
        hook = {"httpGet": {"port": "http", "path": "/bye"}}
        web = pod("web", image, ["python", "-c", _WEB], container={"lifecycle": {"preStop": hook}})
        (other,) = web["spec"]["containers"]
        ports = [{"name": "http", "containerPort": 8080}]
        probe = {"tcpSocket": {"port": "http"}, "periodSeconds": 1}
        made["spec"]["containers"].append({**other, "name": "web", "ports": ports, "readinessProbe": probe})
    return made


def wait_wrapped(stage: Kubectl) -> None:
    """The webhook fails open: it must be reached before there are pods, and pods are ready before that."""
    until(lambda: "vacate-prestop" in stage("create --dry-run=server -o json -f -", app("probe")).out)


def create(stage: Kubectl, *pods: dict[str, Any]) -> None:
    stage("create -f -", list(pods)).ok()
    for one in pods:
        name = one["metadata"]["name"]
        stage.until(f"wait --for=condition=Ready --timeout=20s pod/{name}")


def heard(stage: Kubectl, name: str) -> dict[str, str]:
    """What each container's hook has received; the pod's finalizer is removed."""
    found: dict[str, str] = {}

    def ended() -> bool:
        statuses = stage(f"get pod {name} -o json").json()["status"].get("containerStatuses", [])
        over = {one["name"]: one["state"].get("terminated") for one in statuses}
        found.update({key: value.get("message", "") for key, value in over.items() if value})
        return bool(over) and all(over.values())

    until(ended)
    stage(f"patch pod {name} --type=merge -p '{json.dumps({'metadata': {'finalizers': None}})}'").ok()
    return found


def test_commands_and_requests_are_given_the_reason(place: NodeCluster, stage: Kubectl) -> None:
    create(stage, app("given", place.image), app("plain", place.image), app("hostile", place.image))
    place.vacate("delete", "pod", "given", "-n", "stage", "--reason", "resolve issue 354961").ok()
    stage("delete pod plain --wait=false").ok()
    evil = {"metadata": {"annotations": {"vacate.dev/termination-reason": "$(id)\r\nX-Evil: 1\n--x"}}}
    stage(f"patch pod hostile --type=merge -p '{json.dumps(evil)}'").ok()
    stage("delete pod hostile --wait=false").ok()

    why = "resolve issue 354961"
    given = heard(stage, "given")
    assert (given["main"].split("|")[:2], given["web"]) == ([why, why], f"/bye {why}")
    plain = heard(stage, "plain")
    assert (plain["main"], plain["web"]) == ("||", "/bye nothing")
    hostile = heard(stage, "hostile")
    clean = "$(id)  X-Evil: 1 --x"
    assert (hostile["main"].split("|")[:2], hostile["web"]) == ([clean, clean], f"/bye {clean}")


def test_the_hook_runs_while_nobody_answers(place: NodeCluster, stage: Kubectl) -> None:
    create(stage, app("alone"))
    reason = {"metadata": {"annotations": {"vacate.dev/termination-reason": "by hand"}}}
    stage(f"patch pod alone --type=merge -p '{json.dumps(reason)}'").ok()
    stage.until(f"exec alone -- cat {FILE}", lambda ran: ran.out == "by hand")
    place.system("scale deployment vacate-webhook --replicas=0").ok()
    try:
        until(lambda: not place.pods("app.kubernetes.io/component=webhook"))
        stage("delete pod alone --wait=false").ok()
        assert heard(stage, "alone")["main"] == "by hand|by hand|by hand"
    finally:
        place.system("scale deployment vacate-webhook --replicas=2").ok()
        place.system.until("rollout status deployment/vacate-webhook --timeout=20s")
        wait_wrapped(stage)


def test_every_wrapped_hook_is_given_it_and_the_file_is_counted(
    place: NodeCluster, stage: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file alone is best effort: how often it was too late is measured and printed."""
    missed = {"vacate delete --reason": 0, "eviction": 0}
    for how in missed:
        for batch in range(0, MANY, 10):
            names = [f"{how.split()[0]}-{batch + one}" for one in range(10)]
            create(stage, *map(app, names))
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(partial(_end, place, stage, how), names))
            for name in names:
                why, by_flag, file = heard(stage, name)["main"].split("|")
                assert why == by_flag == ("Eviction" if how == "eviction" else "moved")
                missed[how] += file != why
    with capsys.disabled():
        for how, count in missed.items():
            print(
                f"\nreasons by {how}: the wrapper missed 0 of {MANY}, the downward API file {count} of {MANY}"
            )


def _end(place: NodeCluster, stage: Kubectl, how: str, name: str) -> None:
    if how == "eviction":
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": "stage"},
        }
        stage(f"create --raw /api/v1/namespaces/stage/pods/{name}/eviction -f -", body).ok()
    else:
        place.vacate("delete", "pod", name, "-n", "stage", "--reason", "moved").ok()
