"""The shutdown agent beside a kubelet that shuts down by itself: it holds that back, or does nothing at all.

After the other tests of the node, since it ends every pod there.
"""

from __future__ import annotations

import json

import pytest

from support.nodes.cluster import NodeCluster
from support.nodes.machine import (
    boot,
    condition,
    configure_kubelet,
    create_priority_classes,
    followed,
    is_off,
    live,
    lock_holders,
    logind,
    read_signals,
    uptime,
)
from support.waiting import until
from vacate.nodeagent.shutdownagent.kubelet import LOWEST_PRIORITY

pytestmark = [pytest.mark.kube, pytest.mark.timeout(400)]

HELD = "hold.example.com"
GRACEFUL = "vacate.dev/GracefulShutdown"


def message(place: NodeCluster, reason: str) -> str:
    """What the Node says of the agent, once it gives this reason."""
    found = until(lambda: (one := condition(place, GRACEFUL)).get("reason") == reason and one["message"])
    assert isinstance(found, str)
    return found


def test_a_combination_that_would_race_is_refused(place: NodeCluster) -> None:
    boot()
    configure_kubelet({0: 20, 2_000_000_000: 10})
    place.vacate("install", "--reset", "--image", place.image, "--shutdown-agent", "--wait", "3m").ok()
    assert "in the buckets 0: 20s, 2000000000: 10s, and none is below" in message(place, "WouldRace")
    assert lock_holders() == {"kubelet"}
    configure_kubelet({LOWEST_PRIORITY: 60, 0: 15, 1000: 15})
    until(lambda: "is not in the kubelet's lowest bucket" in message(place, "WouldRace"))
    assert lock_holders() == {"kubelet"}


def test_interceptors_are_done_before_the_kubelet_ends_a_pod(place: NodeCluster) -> None:
    boot()
    configure_kubelet({LOWEST_PRIORITY: 60, 0: 15, 1000: 15})
    options = ("--shutdown-agent=beside-kubelet", "--wait", "3m")
    place.vacate("install", "--reset", "--image", place.image, *options).ok()
    assert "after interceptors had their turns" in message(place, "BesideKubelet")
    assert lock_holders() == {"kubelet", "Vacate"}
    create_priority_classes(place, 500, 1000)
    db = live("db", 500, 1)
    db["metadata"]["annotations"] = {f"interceptor.evictionrequest.coordination.k8s.io/priority_{HELD}": "9"}
    place.shop("create -f -", [db, live("low", 500, 1), live("high", 1000, 1)]).ok()
    place.ready("pod/db", "pod/low", "pod/high")
    with followed(place, "db", "low", "high") as following:
        until(lambda: all("on" in place.shop(f"logs {name}").ok() for name in following))
        logind("call", "PowerOff", "b", "false")
        # The kubelet has heard of it, and waits for the agent, which waits for the interceptor.
        until(lambda: "shutting down" in condition(place, "Ready").get("message", ""))
        uid = place.shop("get pod db -o jsonpath={.metadata.uid}").ok()
        whose_turn = f"get evictionrequest {uid} -o jsonpath={{.status.activeInterceptorName}}"
        place.shop.until(whose_turn, lambda ran: ran.out == HELD)
        shown = place.vacate("explain", "pod/db", "--namespace", "shop").ok()
        assert "shutting down" in shown, shown
        completed = uptime()
        done = json.dumps({"status": {"activeInterceptorCompleted": True}})
        place.shop(f"patch evictionrequest {uid} --type=merge --subresource=status -p '{done}'").ok()
        ends = {name: read_signals(one) for name, one in following.items()}
    assert all(completed <= one["term"] for one in ends.values()), (completed, ends)
    assert ends["low"]["end"] <= ends["high"]["term"], ends  # in the kubelet's own order
    until(is_off)
