"""The shutdown agent beside a real kubelet: a power-off, and containers that log their own end.

Last of the tests of the node, since it ends every pod there.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hack.logindlab.elogind import OFF, SOCKET
from hack.nodelab.inside import BUS
from hack.nodelab.settings import BUSYBOX, NODE

from support.node_objects import pod
from support.node_place import NodePlace
from support.waiting import until

pytestmark = [pytest.mark.kube, pytest.mark.timeout(400)]

AGENTS = "vacate-shutdown-agent"
BUCKETS = {0: 20, 1000: 20, 100_000: 20}
# /proc/uptime is one clock for all containers.
_LIVE = """said() { read up rest < /proc/uptime; echo "$1 $up"; }
trap 'said term; sleep %s & wait $!; said end; exit 0' TERM
said on; while :; do sleep 1 & wait $!; done"""
_SAID = re.compile(r"^(\w+) ([0-9.]+)$", re.MULTILINE)


def logind(*words: str) -> str:
    place = ("org.freedesktop.login1", "/org/freedesktop/login1")
    address = f"--address=unix:path={os.environ[BUS]}/{SOCKET}"
    done = subprocess.run(
        ["busctl", address, words[0], *place, "org.freedesktop.login1.Manager", *words[1:]],
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    return done.stdout


def node_of(place: NodePlace) -> dict[str, Any]:
    found: dict[str, Any] = place.system(f"get node {NODE} -o json").json()
    return found


def condition(place: NodePlace, type_: str) -> dict[str, Any]:
    conditions = node_of(place)["status"]["conditions"]
    return next((one for one in conditions if one["type"] == type_), {})


@contextlib.contextmanager
def followed(place: NodePlace, *names: str) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Their logs to the end: they are gone with the pods."""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(place.shop.start(f"logs --follow {name}")) for name in names}


def said(following: subprocess.Popen[str]) -> dict[str, float]:
    text = following.communicate(timeout=120)[0]
    return {word: float(at) for word, at in _SAID.findall(text)}


def live(name: str, priority: int, takes: float) -> dict[str, Any]:
    made = pod(name, BUSYBOX, ["sh", "-c", _LIVE % takes], priorityClassName=f"value-{priority}")
    made["spec"]["terminationGracePeriodSeconds"] = 60
    return made


def priority_class(value: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": f"value-{value}"},
        "value": value,
    }


def test_the_agent_may_touch_nothing_but_its_own_node(place: NodePlace, tmp_path: Path) -> None:
    config = tmp_path / "kubelet.yaml"
    entries = [
        {"priority": priority, "shutdownGracePeriodSeconds": seconds} for priority, seconds in BUCKETS.items()
    ]
    document = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    config.write_text(yaml.safe_dump({**document, "shutdownGracePeriodByPodPriority": entries}))
    options = ("--shutdown-agent", "--shutdown-config", str(config), "--wait", "3m")
    place.vacate("install", "--image", place.image, *options).ok()
    until(lambda: condition(place, "vacate.dev/GracefulShutdown").get("status") == "True", 60)
    assert condition(place, "vacate.dev/GracefulShutdown")["reason"] == "Agent"
    assert '"Vacate"' in logind("call", "ListInhibitors")
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
    assert "changes nothing of a node but its taint" in refusals[0], within
    assert "writes its own conditions of a node only" in refusals[1], within


def _without_user(place: NodePlace, folder: Path) -> Path:
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


def test_a_power_off_ends_the_pods_in_order(place: NodePlace) -> None:
    place.system("create -f -", [priority_class(value) for value in (500, 1000, 100_000)]).ok()
    made = [live("low", 500, 2), live("high", 1000, 3600), live("top", 100_000, 1)]
    place.shop("create -f -", made).ok()
    place.ready("pod/low", "pod/high", "pod/top")
    with followed(place, "low", "high", "top") as following:
        until(lambda: all("on" in place.shop(f"logs {name}").ok() for name in following), 60)
        logind("call", "PowerOff", "b", "false")
        until(lambda: condition(place, "GracefulNodeShutdownInProgress").get("status") == "True", 30)
        assert "vacate.dev/shutdown" in [one["key"] for one in node_of(place)["spec"]["taints"]]
        assert f"node/{NODE} is shutting down" in place.vacate("status").err
        low, high, top = (said(following[name]) for name in ("low", "high", "top"))
    assert low["term"] < low["end"] <= high["term"]
    assert "end" not in high  # its bucket overran, and the kubelet killed it
    assert high["term"] < top["term"] < top["end"]
    assert top["term"] - high["term"] <= BUCKETS[1000] + 5.0
    bus = Path(os.environ[BUS])
    until((bus / OFF).exists, 60)
    assert place.shop("get pods -o name -l 'app in (low, high, top)'").lines() == []
