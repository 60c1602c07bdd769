"""`vacate fence` on a running cluster: a pod of a lost node stays until the machine is known to be off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import PODS, Lab
from support.processes.screens import run
from support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

NODES = "/api/v1/nodes"
MARK = "vacate.dev/fencing-begun"
AGENT = """#!/bin/sh
while IFS= read -r line; do case $line in action=*) action=${line#action=};; esac; done
case $action in
  off) [ -e "$(dirname "$0")/broken" ] || echo off > "$(dirname "$0")/power";;
  on) echo on > "$(dirname "$0")/power";;
  status) [ "$(cat "$(dirname "$0")/power")" = on ] || exit 2;;
esac
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_cluster(tmp_path_factory.mktemp("fence") / "dir", "--nodes", "2", *FAST_PODS) as running:
        yield Lab(running)


def lose(lab: Lab, node: str, pod: str) -> None:
    """A node that no process stands for: it has never reported, as one that was cut off for ever."""
    lab.https.create(NODES, {"metadata": {"name": node}})
    unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    lab.https.patch(f"{NODES}/{node}/status", unknown)
    lab.https.create(PODS, {"metadata": {"name": pod}, "spec": {
        "nodeName": node, "terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": "i"}],
        "tolerations": [{"operator": "Exists"}],
    }})  # fmt: skip
    lab.https.delete(f"{PODS}/{pod}")


def test_the_pods_of_a_lost_node_are_released_by_hand_and_the_node_is_declared_gone(lab: Lab) -> None:
    lose(lab, "gone", "db-1")
    shown = lab.vacate("status", "--nodes").out.splitlines()
    assert shown[0].split() == ["NODE", "STATE", "SINCE", "FENCING", "PODS", "WAITING", "MESSAGE"]
    assert shown[1].split()[:2] == ["gone", "NodeDown"]
    assert "its pods stay until it reports, is fenced, or is gone for good" in shown[1]
    assert [line.split()[1] for line in shown[2:]] == ["Ready", "Ready"]
    narrow = run(
        "status", "--nodes", variables={"KUBECONFIG": str(lab.cluster.kubeconfig)}, terminal=(60, 24)
    ).plain.splitlines()
    assert max(map(len, narrow)) <= 60, narrow

    assert lab.vacate("delete", "pod", "--on-node", "node-1", "--force", "--confirm").code == 1  # it reports
    unconfirmed = lab.vacate("delete", "pod", "--on-node", "gone", "--force")
    assert (unconfirmed.code, "Nothing was deleted" in unconfirmed.err) == (1, True)
    assert lab.https.get(f"{PODS}/db-1").code == 200
    refused = lab.vacate("delete", "node", "gone")
    assert (refused.code, refused.err.startswith("error: node/gone: ")) == (1, True)
    assert "is gone for good (it does not report): its 1 pod would be removed" in refused.err
    assert lab.https.get(f"{NODES}/gone").code == 200

    released = lab.vacate("delete", "pod", "--on-node", "gone", "--force", "--confirm")
    assert (released.code, "force deleted" in released.out) == (0, True)
    assert lab.https.get(f"{PODS}/db-1").code == 404
    assert lab.vacate("delete", "node", "gone", "--dry-run").code == 0
    assert lab.vacate("delete", "node", "gone", "--confirm").code == 0
    assert lab.https.get(f"{NODES}/gone").code == 404
    assert lab.vacate("delete", "node", "--confirm").code == 2
    assert lab.vacate("status", "--nodes", "-w").code == 2


@pytest.mark.thorough
def test_a_lost_node_is_fenced_and_its_pods_are_released(lab: Lab, tmp_path: Path) -> None:
    agent = tmp_path / "fence_lab"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    (tmp_path / "power").write_text("on\n")
    (tmp_path / "broken").touch()
    options = tmp_path / "bmc.conf"
    options.write_text("ip=10.0.0.1\npasswd=s3cret\n")
    lose(lab, "lost", "db-0")
    nobody = lab.vacate("fence", "lost", "--approve")  # a mark that no policy reads would look like a fence
    assert (nobody.code, "no FencingPolicy selects node lost" in nobody.err) == (1, True)
    fence = ("fence", "lost", "--agent", str(agent), "--options", str(options))
    until(lambda: "has not confirmed" in lab.vacate("explain", "db-0").out)
    explained = json.loads(lab.vacate("explain", "db-0", "-o", "json").out)
    assert "vacate fence node/lost" in json.dumps(explained)

    tried = lab.vacate(*fence, "--dry-run")
    assert (tried.code, tried.out) == (
        0, "node/lost may be fenced; the agent says that its machine is on (dry run)\n",
    )  # fmt: skip
    shown = lab.vacate(*fence, "--dry-run", "-o", "json")
    assert json.loads(shown.out) == {"target": "lost", "done": True, "message": tried.out.strip()}
    refused = lab.vacate("fence", "lost", "--approve", "-o", "json")
    assert (refused.code, json.loads(refused.out)["done"]) == (1, False)
    assert "no FencingPolicy selects node lost" in json.loads(refused.out)["message"]
    failed = lab.vacate(*fence)
    assert failed.code == 1
    assert "is not known to be off" in failed.err
    assert "s3cret" not in failed.err
    assert lab.https.get(f"{PODS}/db-0").code == 200

    assert MARK not in lab.https.get(f"{NODES}/lost").ok()["metadata"].get("annotations", {})

    (tmp_path / "broken").unlink()
    assert lab.vacate("fence", "lost", "--undo").code == 1  # nothing is begun any more
    done = lab.vacate(*fence)
    assert (done.code, done.out) == (0, "node/lost is off and out of service: its pods are released\n")
    assert done.err.splitlines() == [
        "node/lost: watching for 15 s which nodes report",
        "node/lost: is off, says the agent; all other nodes must report before it is believed",
    ]
    until(lambda: lab.https.get(f"{PODS}/db-0").code == 404)

    undone = lab.vacate(*fence, "--undo")
    assert (undone.code, undone.out) == (0, "node/lost is on again and takes pods once it is Ready\n")
    assert lab.https.get(f"{NODES}/lost").ok()["metadata"].get("annotations", {}).keys() == set()
    assert (
        lab.vacate("fence", "node-1", "--agent", str(agent), "--options", str(options)).code == 1
    )  # reports
    assert lab.vacate("fence", "lost", "--agent", str(agent)).code == 2
    lab.https.patch(f"{NODES}/node-1", {"metadata": {"annotations": {MARK: "bob at 2026-01-01T00:00:00Z"}}})
    ended = lab.vacate("fence", "node-1", "--undo")  # which reports: that needs no agent
    assert (ended.code, ended.out) == (0, "node/node-1 is not being fenced any more and takes pods\n")
    assert lab.vacate("delete", "node", "lost", "--confirm").code == 0


def test_a_request_by_somebody_who_may_not_list_policies_says_what_was_not_checked(
    lab: Lab, tmp_path: Path
) -> None:
    rules = [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]}]
    ann = lab.user(tmp_path, "ann", rules)
    lose(lab, "silent", "db-1")
    done = lab.vacate("fence", "silent", "--request", "the rack has no power", kubeconfig=ann)
    assert done.code == 0, done
    assert "not checked whether a FencingPolicy selects the node" in done.err
    lab.https.delete(f"{NODES}/silent")  # whoever fences another node counts those that report


def test_a_secret_that_is_missing_is_named(lab: Lab, tmp_path: Path) -> None:
    agent = tmp_path / "fence_lab"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    refused = lab.vacate("fence", "node-1", "--agent", str(agent), "--secret", "default/bmc", "--dry-run")
    assert (refused.code, refused.err) == (1, 'error: secrets "bmc" not found\n')


def test_a_lost_node_is_cut_off_from_its_storage_by_hand(lab: Lab, tmp_path: Path) -> None:
    agent = tmp_path / "fence_array"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    (tmp_path / "power").write_text("on\n")
    options = tmp_path / "array.conf"
    options.write_text("ip=10.0.0.2\n")
    lose(lab, "shut-out", "db-2")
    command = ("fence", "shut-out", "--agent", str(agent), "--options", str(options))
    unknown = lab.vacate(*command, "--mechanism", "Storage", "--dry-run")
    assert (unknown.code, "has never reported its boot ID" in unknown.err) == (1, True)
    booted = {"status": {"nodeInfo": {"bootID": "boot-1"}}}
    lab.https.patch(f"{NODES}/shut-out/status", booted)
    tried = lab.vacate(*command, "--mechanism", "storage", "--dry-run")
    assert (tried.code, "the agent says that its storage is on" in tried.out) == (0, True)
    done = lab.vacate(*command, "--mechanism", "Storage")
    assert (done.code, done.out) == (
        0, "node/shut-out is cut off from its storage and out of service: its pods are released\n",
    )  # fmt: skip
    until(lambda: lab.https.get(f"{PODS}/db-2").code == 404)

    assert lab.vacate(*command, "--undo", "--mechanism", "Storage").code == 2
    assert lab.vacate("fence", "shut-out", "--approve", "--mechanism", "Storage").code == 2
    early = lab.vacate(*command, "--undo")
    assert (early.code, "has not been restarted since" in early.err) == (1, True)
    booted = {"status": {"nodeInfo": {"bootID": "boot-2"}}}
    lab.https.patch(f"{NODES}/shut-out/status", booted)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    lab.https.patch(f"{NODES}/shut-out/status", ready)
    undone = lab.vacate(*command, "--undo")
    assert (undone.code, undone.out) == (0, "node/shut-out has its storage again and takes pods\n")
