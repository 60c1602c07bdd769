"""`vacate deschedule`: shown without effect, evicted one step at a time, as JSON, and refused."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import PODS, REQUESTS, Lab
from support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

GATES = ("--feature-gates", "EvacuationAPI=true")
REGISTERED = {"evacuation.coordination.k8s.io/priority_backup.example.com": "11000/knowledgeable"}
NUMBERS = itertools.count(1)
NODE = "/api/v1/nodes/node-1"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_cluster(
        tmp_path_factory.mktemp("tidy") / "dir", "--nodes", "2", *GATES, *FAST_PODS
    ) as running:
        yield Lab(running)


def deployed(lab: Lab) -> tuple[str, list[str]]:
    """A Deployment whose pods run on node-1, which does not take them any more."""
    name = f"web-{next(NUMBERS)}"
    lab.https.patch("/api/v1/nodes/node-2", {"spec": {"unschedulable": True}})
    labels = {"app": name}
    pod = {
        "containers": [{"name": "main", "image": "app:1"}],
        "evictionInterceptors": [{"name": "backup.example.com"}],
    }
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels, "annotations": REGISTERED}, "spec": pod},
    }
    body = {"metadata": {"name": name}, "spec": spec}
    lab.https.create("/apis/apps/v1/namespaces/default/deployments", body)
    names = until(lambda: _running(lab, name))
    lab.https.patch("/api/v1/nodes/node-2", {"spec": {"unschedulable": None}})
    return name, names


def _running(lab: Lab, name: str) -> list[str]:
    found = lab.https.get(f"{PODS}?labelSelector=app%3D{name}").ok()["items"]
    running = [one["metadata"]["name"] for one in found if one["status"].get("phase") == "Running"]
    return sorted(running) if len(running) == 2 else []


def taint(lab: Lab, *taints: dict[str, str]) -> None:
    lab.https.patch(NODE, {"spec": {"taints": list(taints) or None}})


@pytest.mark.thorough
def test_a_look_changes_nothing_and_a_step_stays_within_the_limits(lab: Lab) -> None:
    taint(lab)
    app, (first, second) = deployed(lab)
    chosen = ("deschedule", "-l", f"app={app}")
    assert lab.vacate(*chosen).out == "Every pod is where it should be.\n"
    taint(lab, {"key": "gpu", "effect": "NoSchedule"})
    before = len(lab.https.get(REQUESTS).ok()["items"])
    wide = ("--max-per-node", "1000", "--max-total", "1000", "--max-per-namespace", "1000")
    looked = lab.vacate(*chosen, *wide)
    assert (looked.code, looked.out.splitlines()) == (
        0,
        [
            f"pod/default/{one} on node-1 would be evicted: does not tolerate taint gpu:NoSchedule"
            for one in (first, second)
        ],
    )
    rows = json.loads(lab.vacate(*chosen, *wide, "-o", "json").out)["pods"]
    assert [(one["state"], one["requestedNow"]) for one in rows] == [("WouldRequest", False)] * 2
    # The bare command would not have these selectors and limits: it would evict other pods.
    assert looked.err == "Nothing was changed. To request 2 evictions, repeat the command with --evict.\n"
    assert len(lab.https.get(REQUESTS).ok()["items"]) == before
    limit = str(before + 1)  # those of earlier tests go on and count
    limits = ("--max-per-node", limit, "--max-total", limit, "--max-per-namespace", limit)
    done = lab.vacate(*chosen, "--evict", *limits)
    assert (done.code, done.err) == (0, "")
    why = "does not tolerate taint gpu:NoSchedule"
    held = f"the limit is reached: {limit} pod{'s' if before else ''} being evicted in all"
    assert done.out.splitlines() == [
        f"pod/default/{first} on node-1 is to be evicted: {why}",
        f"pod/default/{second} on node-1 waits: {why}; {held}",
        f"pod/default/{first} eviction requested",
    ]
    again = json.loads(lab.vacate(*chosen, *limits, "-o", "json").out)["pods"]
    assert [(one["pod"], one["state"], one["requestedNow"]) for one in again] == [
        (first, "Requested", False),
        (second, "Waiting", False),
    ]
    assert lab.vacate(*chosen, "--rule", "node-affinity").out == "Every pod is where it should be.\n"


def test_json_says_what_became_of_each_request(lab: Lab, tmp_path: Path) -> None:
    taint(lab)
    app, (first, second) = deployed(lab)
    taint(lab, {"key": "gpu", "effect": "NoSchedule"})
    # A requester reads the request that there may be, by the pod's UID: this user may for one of the two.
    uid = lab.https.get(f"{PODS}/{first}").ok()["metadata"]["uid"]
    group = "evictionrequest.coordination.k8s.io"
    requests = {"apiGroups": [group], "resources": ["evictionrequests"]}
    rules: list[dict[str, list[str]]] = [
        {"apiGroups": [""], "resources": ["pods", "nodes", "namespaces"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["pods", "pods/eviction"], "verbs": ["create", "delete"]},
        {**requests, "verbs": ["list", "create"]},
        {**requests, "verbs": ["get"], "resourceNames": [uid]},
    ]
    ann = lab.user(tmp_path, "ann", rules)
    wide = ("--max-per-node", "1000", "--max-total", "1000", "--max-per-namespace", "1000")
    done = lab.vacate("deschedule", "-l", f"app={app}", "--evict", *wide, "-o", "json", kubeconfig=ann)
    rows = json.loads(done.out)["pods"]
    assert [(one["pod"], one["state"], one["requestedNow"]) for one in rows] == [
        (first, "Requested", True),
        (second, "Refused", False),
    ]
    assert "the EvictionRequest failed: " in rows[1]["message"]
    assert (done.code, done.err.startswith(f"error: pod/default/{second}: ")) == (1, True), done.err
    assert lab.request(first)["spec"]["requesters"]


def test_pods_that_leave_by_an_evacuation_count(lab: Lab) -> None:
    taint(lab)
    app, (first, second) = deployed(lab)
    assert lab.vacate("evict", first, "--api", "evacuation").code == 0
    taint(lab, {"key": "gpu", "effect": "NoSchedule"})
    chosen = ("deschedule", "-l", f"app={app}", "--max-per-node", "1000", "--max-per-namespace", "1000")
    assert lab.vacate(*chosen, "--max-total", "1000").out.splitlines() == [
        f"pod/default/{first} on node-1 is being evicted: does not tolerate taint gpu:NoSchedule",
        f"pod/default/{second} on node-1 would be evicted: does not tolerate taint gpu:NoSchedule",
    ]


@pytest.mark.parametrize(
    "arguments", [("-n", "kube-public"), ("-l", "app=nobody"), ("--node-selector", "a=b")]
)
def test_where_no_pod_was_checked_none_is_called_well_placed(lab: Lab, arguments: tuple[str, str]) -> None:
    looked = lab.vacate("deschedule", *arguments)
    assert (looked.code, looked.out.startswith("No pods were checked: ")) == (0, True), looked.out


def test_a_namespace_that_is_not_there_is_an_error(lab: Lab) -> None:
    looked = lab.vacate("deschedule", "-n", "kube-pubilc")
    assert (looked.code, looked.out) == (1, "")
    assert "there is no namespace kube-pubilc" in looked.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rule", "weather"], "is not one of"),
        (["--max-per-node", "0"], "is not in the range"),
        (["--max-total", "-1"], "is not in the range"),
        (["--max-total", "1000000"], "is not in the range"),
        (["--node-selector", "a=b=c"], "--node-selector"),
        (["-l", ""], "it is empty"),
    ],
)
def test_bad_input_is_refused_before_anything_is_read(arguments: list[str], message: str, lab: Lab) -> None:
    done = lab.vacate("deschedule", *arguments)
    assert (done.code, done.out, message in done.err) == (2, "", True), done.err
