"""Termination reasons on a real kubelet: wrapped hooks are given theirs, within the restricted profile.

The module installs Vacate for itself, after the tests of an installation with defaults; its last test ends
every pod of the node. What a hook has heard is the termination message of its container; a finalizer keeps
the pod until it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from hack.nodelab.settings import BUSYBOX, NODE

from support.kubectl import Kubectl
from support.nodes.cluster import HOME, NodeCluster
from support.nodes.machine import AGENTS, boot, condition, is_off, lock_holders, logind, write_buckets
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
LOWEST = -1000
"""The priority of a pod that ends before Vacate's own."""
NOT_READY = "node.kubernetes.io/not-ready"
"""Pods tolerate this taint for five minutes, unless they say otherwise."""
WHY, HOSTILE = "resolve issue 354961", "$(id)\r\nX-Evil: 1\n--x"
REASONS = {
    "plain": "",
    "given": WHY,
    "hostile": "$(id)  X-Evil: 1 --x",
    "evicted": "Eviction",
    "tainted": "IntolerableTaint",
    "scaled": "Decommissioned",
    "rolled": "Update",
    "shut-down": "Eviction",
}
"""What the hooks of each pod are given."""


@pytest.fixture(scope="module")
def stage(place: NodeCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A namespace whose hooks are wrapped, and Vacate as it must be installed for that."""
    config = write_buckets(tmp_path_factory.mktemp("buckets") / "kubelet.yaml", {LOWEST: 40, 0: 40})
    options = (
        "--termination-reasons",
        "--prestop-wrapper",
        "--shutdown-agent",
        "--shutdown-config",
        str(config),
    )
    place.vacate("install", "--reset", "--image", place.image, *options, "--wait", "3m").ok()
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
    for name in (HOME, AGENTS):
        place.gone(place.system, f"namespace {name}")


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


def deployed(name: str, image: str) -> dict[str, Any]:
    """The same pod as a Deployment has it, which ends one before it starts another."""
    made = app(name, image)
    labels = made["metadata"]["labels"]
    template = {"metadata": {key: value for key, value in made["metadata"].items() if key != "name"}}
    spec = {
        "selector": {"matchLabels": labels},
        "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
        "template": {**template, "spec": made["spec"]},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


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
        _evict(stage, name)
    else:
        place.vacate("delete", "pod", name, "-n", "stage", "--reason", "moved").ok()


def _evict(stage: Kubectl, name: str) -> None:
    meta = {"name": name, "namespace": "stage"}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
    stage(f"create --raw /api/v1/namespaces/stage/pods/{name}/eviction -f -", body).ok()


def test_every_cause_reaches_hooks_of_both_kinds(place: NodeCluster, stage: Kubectl) -> None:
    """The last test: the machine goes down in it."""
    place.system(f"create priorityclass lowest --value={LOWEST}").ok()
    pods = {name: app(name, place.image) for name in REASONS if name not in ("scaled", "rolled")}
    pods["shut-down"]["spec"]["priorityClassName"] = "lowest"
    leave = {"key": NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
    pods["tainted"]["spec"]["tolerations"] = [leave]
    # The API server takes pods of a class a moment after it has the class.
    until(lambda: stage("create --dry-run=server -f -", pods["shut-down"]).code == 0)
    owned = [deployed(name, place.image) for name in ("scaled", "rolled")]
    stage("create -f -", [*pods.values(), *owned]).ok()
    for name in REASONS:
        stage.until(f"wait --for=condition=Ready --timeout=20s pod --selector=app={name}")
    names = {name: _name(stage, name) for name in REASONS}

    stage("delete pod plain --wait=false").ok()
    place.vacate("delete", "pod", "given", "-n", "stage", "--reason", WHY).ok()
    evil = {"metadata": {"annotations": {"vacate.dev/termination-reason": HOSTILE}}}
    stage(f"patch pod hostile --type=merge -p '{json.dumps(evil)}'").ok()
    stage("delete pod hostile --wait=false").ok()
    _evict(stage, "evicted")
    stage("scale deployment scaled --replicas=0").ok()
    newer = {"spec": {"template": {"metadata": {"labels": {"version": "2"}, "finalizers": None}}}}
    stage(f"patch deployment rolled --type=merge -p '{json.dumps(newer)}'").ok()
    until(lambda: _leaves_for_taint(place, stage, "tainted"))
    received = {name: heard(stage, names[name]) for name in REASONS if name != "shut-down"}

    until(lambda: condition(place, "vacate.dev/GracefulShutdown").get("reason") == "Agent")
    assert lock_holders() == {"Vacate"}
    logind("call", "PowerOff", "b", "false")
    received["shut-down"] = heard(stage, "shut-down")
    until(is_off)
    boot()
    until(lambda: condition(place, "GracefulNodeShutdownInProgress")["status"] == "False")

    assert {name: one["main"].split("|")[:2] for name, one in received.items()} == {
        name: [reason, reason] for name, reason in REASONS.items()
    }
    assert {name: one["web"] for name, one in received.items()} == {
        name: f"/bye {reason or 'nothing'}" for name, reason in REASONS.items()
    }


def _name(stage: Kubectl, label: str) -> str:
    (name,) = stage(f"get pods -o name --selector=app={label}").lines()
    return name.removeprefix("pod/")


def _leaves_for_taint(place: NodeCluster, stage: Kubectl, name: str) -> str:
    """Taint the node again: a controller removes this taint from nodes that are ready."""
    place.system(f"taint node {NODE} {NOT_READY}:NoExecute --overwrite").ok()
    return stage(f"get pod {name} -o jsonpath={{.metadata.deletionTimestamp}}").ok()
