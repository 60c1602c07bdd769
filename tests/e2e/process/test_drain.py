"""`vacate drain` as people and scripts use it: on a terminal, in a pipe, as JSON, detached and cancelled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from support.processes.cluster import FAST_PODS, environment, running_cluster
from support.processes.commands import BUDGETS, PODS, REQUESTS, Lab
from support.processes.screens import run
from support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=2)]

BACKUP = "backup.example.com"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_cluster(tmp_path_factory.mktemp("drain") / "dir", "--nodes", "6", *FAST_PODS) as running:
        yield Lab(running)


def test_refused_pods_change_nothing_and_the_dry_run_shows_the_order(lab: Lab) -> None:
    lab.pod("bare", nodeName="node-1")
    lab.pod("held", BACKUP, nodeName="node-1")
    refused = lab.vacate("drain", "node-1")
    assert refused.code == 1
    assert "node/node-1 has 2 pods that may not be evicted" in refused.err
    assert "(--force)" in refused.err
    assert refused.err.endswith("Nothing was changed.\n")
    tried = lab.vacate("drain", "node-1", "--force", "--dry-run")
    assert tried.code == 0, tried.err
    assert tried.out.splitlines() == [
        "Dry run: 1 node to drain, 2 pods to evict, 1 of them after interceptors.",
        "Verdict: nothing is foreseen that would block it.",
        "node/node-1 would be cordoned and drained (dry run):",
        "  1. pod default/bare: evicted",
        f"  2. pod default/held: evicted, after {BACKUP}",
    ]
    assert lab.vacate("drain", "--follow", "drain-node-1").code == 1  # there is none


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("columns", [40, 80])
def test_ctrl_c_detaches_and_the_drain_can_be_followed_and_called_off(lab: Lab, columns: int) -> None:
    pod = f"waits-{columns}"
    lab.pod(pod, BACKUP, nodeName="node-2")
    until(lambda: lab.vacate("drain", "--follow", "drain-node-2", "--timeout", "1s").code == 1)  # gone
    config = {"KUBECONFIG": str(lab.cluster.kubeconfig)}
    shown = run(
        "drain", "node-2", "--force", variables=config, terminal=(columns, 24),
        stop_when=lambda text: f"pod default/{pod}" in text,
    )  # fmt: skip
    assert shown.code == 130, shown.text
    assert "Detached: the drain goes on." in shown.plain
    assert "drain --follow drain-node-2" in shown.plain
    late = lab.vacate("drain", "--follow", "drain-node-2", "--timeout", "2s")
    assert (late.code, "Not drained after 2s" in late.err) == (4, True)
    assert lab.vacate("drain", "--cancel", "drain-node-2").code == 0
    again = lab.vacate("drain", "--follow", "drain-node-2", "--timeout", "200s")
    assert again.code in (1, 3)  # gone, or on its way
    assert lab.ready(pod)


def test_commands_on_a_terminal_have_a_line_of_their_own(lab: Lab) -> None:
    """However long: what the terminal breaks itself is whole when it is copied."""
    lab.pod("only", labels={"app": "only"}, nodeName="node-6")
    budget = {
        "metadata": {"name": "only"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "only"}}},
    }
    lab.https.create(BUDGETS, budget)
    patch = '{"spec":{"minAvailable":null,"maxUnavailable":1}}'
    command = f"kubectl patch pdb only -n default --type merge -p '{patch}'"
    config = {"KUBECONFIG": str(lab.cluster.kubeconfig)}
    shown = run(
        "drain", "node-6", "--force", variables=config, terminal=(80, 24),
        stop_when=lambda text: "Blocked   0/1 pods" in text and patch in text,
    )  # fmt: skip
    assert shown.code == 130, shown.text
    assert f"      {command}" in shown.plain.splitlines()
    assert shown.plain.count(command) == 1  # and not each time that the bars are drawn
    assert lab.vacate("drain", "--cancel", "drain-node-6").code == 0
    lab.https.delete(f"{BUDGETS}/only")  # other tests drain this node
    lab.https.delete(f"{PODS}/only")


def test_a_drain_in_a_pipe_ends_with_a_summary(lab: Lab) -> None:
    lab.pod("simple", nodeName="node-3")
    done = lab.vacate("drain", "node/node-3", "--force", "--reason", "kernel update")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "nodemaintenance/drain-node-3 created: 1 node to drain, 1 pod to evict."
    assert "pod/default/simple evicted" in lines
    assert lines[-1].startswith("node/node-3 drained in ")
    assert "1 pod evicted" in lines[-1]
    released = lab.vacate("uncordon", "node-3")
    assert (released.code, released.out.splitlines()[0]) == (0, "nodemaintenance/drain-node-3 deleted")


@pytest.mark.thorough
def test_events_for_programs(lab: Lab) -> None:
    done = lab.vacate("drain", "node-4", "--force", "-o", "json")
    assert done.code == 0, done.err
    events = [json.loads(line) for line in done.out.splitlines()]
    assert {one["type"] for one in events[:-1]} == {"progress"}
    assert (events[-1]["type"], events[-1]["result"]) == ("end", "drained")
    assert events[-2]["phase"] == "Drained"


def test_a_pod_that_is_deleted_at_the_deadline_is_not_called_evicted(lab: Lab) -> None:
    lab.pod("forced", BACKUP, nodeName="node-5")
    body = {
        "apiVersion": "vacate.dev/v1alpha1",
        "kind": "NodeMaintenance",
        "metadata": {"name": "firm"},
        "spec": {
            "nodes": ["node-5"],
            "deadlineSeconds": 1,
            "onDeadline": "Delete",
            "pods": {"unmanagedPods": "Evict"},
        },
    }
    lab.https.create("/apis/vacate.dev/v1alpha1/nodemaintenances", body)
    done = lab.vacate("drain", "--follow", "firm", "--timeout", "100s", "-o", "json")
    assert done.code == 0, done.err
    end = json.loads(done.out.splitlines()[-1])
    removed = "removed past its disruption budgets or interceptors"
    assert end["pods"] == [{"pod": "default/forced", "outcome": removed}]
    again = lab.vacate("drain", "--follow", "firm")
    assert f"pod/default/forced {removed}" in again.out.splitlines()
    assert lab.vacate("drain", "--cancel", "firm").code == 0


def test_json_output_names_the_drain_that_was_begun_or_cancelled(lab: Lab) -> None:
    begun = lab.vacate("drain", "node-4", "--force", "--detach", "-o", "json")
    ended = lab.vacate("drain", "--cancel", "drain-node-4", "-o", "json")
    assert (begun.code, ended.code) == (0, 0), begun.err + ended.err
    events = [json.loads(one.out) for one in (begun, ended)]
    assert [(one["type"], one["maintenance"]) for one in events] == [
        ("detached", "drain-node-4"),
        ("cancelled", "drain-node-4"),
    ]
    until(lambda: lab.vacate("drain", "--follow", "drain-node-4", "--timeout", "1s").code == 1)  # gone


def test_without_a_reader_stderr_says_that_the_drain_goes_on(lab: Lab) -> None:
    """As behind `| head`: here the reader is gone before the first line."""
    lab.pod("unread", BACKUP, nodeName="node-4")
    reader, writer = os.pipe()
    os.close(reader)
    variables = {**environment(), "KUBECONFIG": str(lab.cluster.kubeconfig)}
    command = [sys.executable, "-m", "vacate", "drain", "node-4", "--force"]
    done = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, text=True, env=variables, timeout=60, check=False
    )
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr.startswith("The output was closed; the drain continues without it. Follow it again:")
    assert done.stderr.count("\n") == 1
    assert lab.vacate("drain", "--cancel", "drain-node-4").code == 0
    until(lambda: lab.vacate("drain", "--follow", "drain-node-4", "--timeout", "1s").code == 1)  # gone
    lab.https.delete(f"{PODS}/unread")
    until(lambda: "unread" not in {one["metadata"]["name"] for one in lab.https.get(PODS).ok()["items"]})


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere"], 1, "there is no node nowhere"),
        (["-l", "pool=none"], 1, "no node matches 'pool=none'"),
        (["-l", ""], 2, "it is empty"),
        ([], 2, "name nodes"),
        (["node-5", "-l", "a=b"], 2, "not several of these"),
        (["node-5", "--max-nodes", "0"], 2, "neither a number"),
        (["node-5", "--max-nodes", "-3"], 2, "neither a number"),
        (["node-5", "--timeout", "soon"], 2, "is not a span of time"),
        (["node-5", "--ignore-daemonsets", "--evict-daemonsets"], 2, "not both"),
        (["node-5", "--timeout", "99999999999h"], 2, "is not between 1s and 720h"),
        (["node-5", "--topology-key", "a b"], 2, "'a b' is not the key of a label"),
        (["node-5", "--pod-selector", "a>1"], 2, "'a>1' compares numbers"),
        (["node-5", "--pod-selector", "a b"], 2, "--pod-selector"),
        (["node-5", "--pod-selector", ""], 2, "it is empty"),
        (
            ["--follow", "nothing", "--force"],
            2,
            "--force is for a new drain; it has no meaning with --follow",
        ),
        (["--cancel", "nothing", "--timeout", "5s"], 2, "--timeout is for a new drain"),
        (["--cancel", "nothing"], 1, "there is no NodeMaintenance nothing"),
        (["--follow", "nothing", "--dry-run"], 2, "no meaning with --follow"),
        (["--cancel"], 2, "error: which drain? Name it"),
        (["node-77", "--cancel"], 1, "no drain has node node-77; see: vacate drains"),
        (["node-5", "--on-deadline", "Delete"], 2, "there is no deadline; give --deadline"),
    ],
)
def test_bad_input_gets_one_clear_error(lab: Lab, arguments: list[str], code: int, message: str) -> None:
    done = lab.vacate("drain", *arguments)
    assert (done.code, message in done.err) == (code, True), done.err
    assert done.out == ""


def test_the_same_nodes_are_one_drain_and_others_are_another(lab: Lab) -> None:
    first = lab.vacate("drain", "node-4", "node-5", "--force", "--detach")
    again = lab.vacate("drain", "node-5", "node-4", "--force", "--detach")
    assert (first.code, again.code) == (0, 0), again.err
    name = first.out.split()[0]
    assert name.startswith("nodemaintenance/drain-node-4-and-1-more-")
    assert again.out.startswith(f"{name} drains these nodes already")
    softer = lab.vacate("drain", "node-4", "node-5", "--detach")
    assert (softer.code, 'pods.unmanagedPods is "Evict", not "Refuse"' in softer.err) == (1, True), softer.err
    other = lab.vacate("drain", "node-4", "node-3", "--force", "--detach")
    assert (other.code, other.out.split()[0] == name) == (0, False)
    bare = name.partition("/")[2]
    assert lab.vacate("drain", bare, "--cancel", "--dry-run=client").code == 0  # the name first
    for one in (name, other.out.split()[0]):
        by_node = lab.vacate("drain", "node-4", "--cancel")
        assert (by_node.code, one.partition("/")[2] in by_node.err) == (1, True)  # both have more nodes
        cancelled = lab.vacate("drain", "--cancel", one)  # as it is printed
        assert cancelled.code == 0, cancelled.err


def test_a_request_of_a_drain_is_cancelled_with_the_drain_and_not_before(lab: Lab) -> None:
    lab.pod("drained", BACKUP, labels={"app": "drained"}, nodeName="node-5")
    assert lab.vacate("drain", "node-5", "--force", "--detach").code == 0
    until(lambda: lab.https.get(f"{REQUESTS}?labelSelector=app%3Ddrained").ok()["items"])
    before = lab.until_active("drained")["spec"]["requesters"]
    own = "drain-node-5.nodemaintenance.vacate.dev"
    assert [one["name"] for one in before] == [own]
    others = (["drained", "--requester", own], ["drained", "--override"], ["-l", "app=drained", "--override"])
    for arguments in (["drained"], *others):
        refused = lab.vacate("cancel", *arguments)
        assert (refused.code, refused.out) == (1, ""), arguments
        assert "is requested by nodemaintenance/drain-node-5, which would request it again" in refused.err
        assert "vacate drain --cancel drain-node-5" in refused.err
    assert lab.request("drained")["spec"]["requesters"] == before
    assert lab.vacate("evict", "drained", "--requester", "jane.example.com").code == 0
    joined = lab.vacate("cancel", "drained", "--requester", "jane.example.com")
    assert (joined.code, f"but still by {own}" in joined.out) == (0, True), joined.err
    assert lab.vacate("drain", "--cancel", "drain-node-5").code == 0
    until(lambda: not lab.request("drained")["spec"].get("requesters"))
    assert lab.ready("drained")
    lab.https.delete(f"{PODS}/drained")
    until(lambda: lab.vacate("drain", "--follow", "drain-node-5", "--timeout", "1s").code == 1)  # gone


@pytest.mark.parametrize("dry_run", ["--dry-run", "--dry-run=server"])
def test_a_dry_run_cancels_nothing(lab: Lab, dry_run: str) -> None:
    begun = lab.vacate("drain", "node-5", "--force", "--detach")
    assert begun.code == 0, begun.err
    shown = lab.vacate("drain", "--cancel", "drain-node-5", dry_run)
    assert (shown.code, shown.out.splitlines()[0].endswith("(dry run)")) == (0, True), shown.err
    absent = lab.vacate("drain", "--cancel", "drain-node-6", dry_run)
    assert (absent.code, "there is no NodeMaintenance drain-node-6" in absent.err) == (1, True), absent.err
    taken = lab.vacate("uncordon", "node-5", "--dry-run")
    assert (taken.code, "nodemaintenance/drain-node-5 deleted (dry run)" in taken.out) == (0, True), taken.err
    there = lab.https.get("/apis/vacate.dev/v1alpha1/nodemaintenances/drain-node-5").ok()
    assert "deletionTimestamp" not in there["metadata"]
    shown = lab.vacate("drains")
    assert shown.out.splitlines()[0].split() == ["DRAIN", "PHASE", "NODES", "PODS", "BLOCKED", "AGE"]
    assert "drain-node-5" in shown.out
    assert lab.vacate("drains", "-o", "name").out.splitlines() == ["nodemaintenance/drain-node-5"]
    assert "nodemaintenance/drain-node-5" in lab.vacate("explain", "node/node-5").out
    assert lab.vacate("explain", "nodemaintenance/drain-node-5").code == 0
    assert lab.vacate("drain", "node-5", "--cancel").code == 0
    until(lambda: lab.vacate("drain", "--follow", "drain-node-5", "--timeout", "1s").code == 1)  # gone


def test_the_dry_run_names_the_pods_that_would_find_no_node(lab: Lab) -> None:
    lab.vacate("uncordon", "node-4")  # which an earlier drain may have left so
    nodes = "/api/v1/nodes"
    until(lambda: not any(one["spec"].get("unschedulable") for one in lab.https.get(nodes).ok()["items"]))
    labels = {"app": "picky"}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": "node-3"},
            "containers": [{"name": "main", "image": "app:1"}],
        },
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    lab.https.create(
        "/apis/apps/v1/namespaces/default/deployments", {"metadata": {"name": "picky"}, "spec": spec}
    )
    until(
        lambda: any(
            "spec" in one and one["spec"].get("nodeName") == "node-3" for one in _pods_of(lab, "picky")
        )
    )
    tried = lab.vacate("drain", "node-3", "--force", "--dry-run")
    assert tried.code == 6, tried.err
    output = " ".join(tried.out.split())
    assert "No other node would take its replacement: 0/5 nodes are available: 5 node(s) didn't" in output
    assert "or the replacement stays Pending" in output


def _drains(lab: Lab) -> set[str]:
    found = lab.https.get("/apis/vacate.dev/v1alpha1/nodemaintenances").ok()["items"]
    return {one["metadata"]["uid"] for one in found}


def _pods_of(lab: Lab, app: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lab.https.get(f"{PODS}?labelSelector=app%3D{app}").ok()["items"]
    return found


def test_a_plan_is_shown_first_and_what_would_block_does_not_begin_unasked(lab: Lab) -> None:
    lab.pod("planned", nodeName="node-6")
    blocked = lab.vacate("drain", "node-6", "--plan")
    assert blocked.code == 1
    assert "plan: WOULD BLOCK after 0s: 0 of 1 node drained, not node-6" in blocked.err
    assert "Nothing was changed: pass --yes" in blocked.err
    assert lab.vacate("drain", "--follow", "drain-node-6").code == 1  # there is none
    drained = lab.vacate("drain", "node-6", "--plan", "--force")
    assert drained.code == 0, drained.err
    assert "plan: WOULD FINISH in " in drained.err
    assert "node/node-6 drained" in drained.out
    shown = " ".join(lab.vacate("drains", "drain-node-6").out.split())
    assert "nodemaintenance/drain-node-6 by its plan: WOULD FINISH in " in shown
    assert ", planned at 20" in shown
    lab.vacate("uncordon", "node-6")


@pytest.mark.parametrize("how", ["--dry-run", "--detach"])
def test_a_drain_by_an_api_that_is_not_served_is_refused_before_it_begins(lab: Lab, how: str) -> None:
    before = _drains(lab)  # of other tests, which may go meanwhile
    done = lab.vacate("drain", "node-6", "--api", "lifecycle", how)
    assert (done.code, done.out) == (1, ""), done
    assert "does not serve lifecycle.k8s.io" in done.err
    assert _drains(lab) <= before
