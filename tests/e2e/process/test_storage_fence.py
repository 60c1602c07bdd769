"""A FencingPolicy that cuts a lost node off from its storage, with a program as agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import PODS, Lab
from support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]

NODES = "/api/v1/nodes"
POLICIES = "/apis/vacate.dev/v1alpha1/fencingpolicies"
OUT = "node.kubernetes.io/out-of-service"
AGENT = """#!/bin/sh
while IFS= read -r line; do case $line in action=*) action=${line#action=};; esac; done
case $action in
  off) echo cut > "$(dirname "$0")/storage";;
  on) echo reached > "$(dirname "$0")/storage";;
  status) [ "$(cat "$(dirname "$0")/storage")" = reached ] || exit 2;;
esac
"""
LIMIT = 240.0


def report(lab: Lab, ready: str, boot: str) -> None:
    """What the node reports about itself, or what is reported about it."""
    conditions = [{"type": "Ready", "status": ready}]
    lab.https.patch(
        f"{NODES}/lost/status", {"status": {"conditions": conditions, "nodeInfo": {"bootID": boot}}}
    )


def tainted(lab: Lab) -> bool:
    spec = lab.https.get(f"{NODES}/lost").ok()["spec"]
    return any(one["key"] == OUT for one in spec.get("taints") or [])


def message(lab: Lab) -> str:
    return str(lab.https.get(f"{POLICIES}/array").ok().get("status", {}).get("message", ""))


@pytest.mark.thorough
def test_a_node_gets_its_storage_back_only_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    agent, storage = programs / "fence_array", programs / "storage"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    storage.write_text("reached\n")
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    with running_cluster(tmp_path / "dir", "--nodes", "2", *FAST_PODS) as running:
        lab = Lab(running)
        # No process stands for this node: it has reported its boot, and was cut off then.
        lab.https.create(NODES, {"metadata": {"name": "lost", "labels": {"array": "one"}}})
        report(lab, "Unknown", "boot-1")
        lab.https.create(PODS, {"metadata": {"name": "db-0"}, "spec": {
            "nodeName": "lost", "terminationGracePeriodSeconds": 1, "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "c", "image": "i"}],
        }})  # fmt: skip
        lab.https.delete(f"{PODS}/db-0")
        spec = {
            "nodeSelector": {"matchLabels": {"array": "one"}},
            "unreachableSeconds": 10,
            "powerOn": "Automatic",
            "agent": {"command": {"program": "fence_array"}, "mechanism": "Storage"},
        }
        kind = {"apiVersion": "vacate.dev/v1alpha1", "kind": "FencingPolicy"}
        lab.https.create(POLICIES, {**kind, "metadata": {"name": "array"}, "spec": spec})
        until(lambda: lab.https.get(f"{PODS}/db-0").code == 404, LIMIT)
        assert (storage.read_text(), tainted(lab)) == ("cut\n", True)
        until(lambda: "Restart the machine" in message(lab), LIMIT)

        report(lab, "True", "boot-1")  # the network has healed; the machine ran on
        undo = lab.vacate("fence", "lost", "--agent", str(agent), "--options", "/dev/null", "--undo")
        assert (undo.code, "has not been restarted since" in undo.err) == (1, True)
        assert (storage.read_text(), tainted(lab)) == ("cut\n", True)

        def is_back() -> bool:
            # Nobody renews its Lease, so that it may be marked as silent meanwhile; it reports again then.
            conditions = lab.https.get(f"{NODES}/lost").ok()["status"]["conditions"]
            if not any((one["type"], one["status"]) == ("Ready", "True") for one in conditions):
                report(lab, "True", "boot-2")
            return not tainted(lab)

        report(lab, "True", "boot-2")

        until(is_back, LIMIT)
        assert storage.read_text() == "reached\n"
        assert "vacate.dev/fencing-boot-id" not in lab.https.get(f"{NODES}/lost").ok()["metadata"].get(
            "annotations", {}
        )
