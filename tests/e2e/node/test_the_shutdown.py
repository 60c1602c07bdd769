"""The shutdown agent beside a real kubelet: a power-off, and containers that log their own end.

After the other tests of the node, since it ends every pod there.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hack.nodelab.settings import NODE

from support.nodes.cluster import NodeCluster
from support.nodes.machine import (
    AGENTS,
    GRACE,
    boot,
    condition,
    create_priority_classes,
    followed,
    is_off,
    live,
    lock_holders,
    logind,
    node_of,
    read_signals,
    write_buckets,
)
from support.waiting import until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(400)]

BUCKETS = {0: 20, 1000: 20, 100_000: 20}


def test_the_agent_may_touch_nothing_but_its_own_node(place: NodeCluster, tmp_path: Path) -> None:
    config = write_buckets(tmp_path / "kubelet.yaml", BUCKETS)
    boot()
    options = ("--shutdown-agent", "--shutdown-config", str(config), "--wait", "3m")
    place.vacate("install", "--reset", "--image", place.image, *options).ok()
    until(lambda: condition(place, "vacate.dev/GracefulShutdown").get("status") == "True")
    assert condition(place, "vacate.dev/GracefulShutdown")["reason"] == "Agent"
    assert lock_holders() == {"Vacate"}
    agents = place.system.within(AGENTS)
    (name,) = agents("get pods -o name").lines()
    # With a token of the agent's account that names no node, or another, nothing can be written.
    token = agents(f"create token {AGENTS}").ok().strip()
    nobody = _without_user(place, tmp_path)
    refused = agents(f"--token={token} --kubeconfig={nobody} delete {name}")
    assert "names no node" in refused.failed()
    within = agents(f"exec {name.removeprefix('pod/')} -- python -c '{_OTHER_NODE}'").ok()
    refusals = within.splitlines()
    assert len(refusals) == 2, within
    assert "vacate-shutdown-agent may change only taints in spec of nodes" in refusals[0], within
    assert "GracefulNodeShutdownInProgress in status.conditions of nodes/status" in refusals[1], within


def _without_user(place: NodeCluster, folder: Path) -> Path:
    """The cluster of the kubeconfig, and nobody's credentials."""
    found = yaml.safe_load(place.kubeconfig.read_text())
    found["users"] = [{"name": one["name"], "user": {}} for one in found["users"]]
    made = folder / "nobody.yaml"
    made.write_text(yaml.safe_dump(found))
    return made


# As the agent itself: cordon its own node, and write a condition that is the kubelet's.
_OTHER_NODE = """
import json, os, ssl, urllib.error, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
token, context = open(folder + "token").read(), ssl.create_default_context(cafile=folder + "ca.crt")
base = "https://" + os.environ["KUBERNETES_SERVICE_HOST"] + "/api/v1/nodes/" + os.environ["NODE_NAME"]
ready = {"type": "Ready", "status": "False"}
for path, body in ("", {"spec": {"unschedulable": True}}), ("/status", {"status": {"conditions": [ready]}}):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/strategic-merge-patch+json"}
    request = urllib.request.Request(base + path, json.dumps(body).encode(), headers, method="PATCH")
    try:
        print(urllib.request.urlopen(request, context=context).status)
    except urllib.error.HTTPError as error:
        print(error.code, json.loads(error.read())["message"])
"""


def test_a_power_off_ends_the_pods_in_order(place: NodeCluster) -> None:
    create_priority_classes(place, 500, 1000, 100_000)
    made = [live("low", 500, 2), live("high", 1000, 3600), live("top", 100_000, 1)]
    place.shop("create -f -", made).ok()
    place.ready("pod/low", "pod/high", "pod/top")
    with followed(place, "low", "high", "top") as following:
        until(lambda: all("on" in place.shop(f"logs {name}").ok() for name in following))
        logind("call", "PowerOff", "b", "false")
        until(lambda: condition(place, "GracefulNodeShutdownInProgress").get("status") == "True")
        assert "vacate.dev/shutdown" in [one["key"] for one in node_of(place)["spec"]["taints"]]
        assert f"node/{NODE} is shutting down" in place.vacate("status").err
        low, high, top = (read_signals(following[name]) for name in ("low", "high", "top"))
    assert low["term"] < low["end"] <= high["term"]
    assert "end" not in high  # its bucket overran, and the kubelet killed it
    assert high["term"] < top["term"] < top["end"]
    assert top["term"] - high["term"] < GRACE  # nobody waited for all of its own time
    until(is_off)
    # The bucket of the one that overran was over before the kubelet had removed it.
    until(lambda: place.shop("get pods -o name -l 'app in (low, high, top)'").lines() == [])
