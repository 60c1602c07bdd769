"""systemd's own logind and real processes: order and times as the processes themselves logged them."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

from support.nodes.shutdown_node import ShutdownNode, off_at, shutdown_node
from support.waiting import until
from vacate.api.objects import Obj

pytestmark = [pytest.mark.dbus, pytest.mark.timeout(400)]


def condition(pod: Obj, type_: str) -> Obj:
    return next((one for one in pod["status"]["conditions"] if one["type"] == type_), {})


def ended(node: ShutdownNode, name: str) -> Obj:
    return node.until(name, lambda one: one["status"]["phase"] in ("Succeeded", "Failed"))


def test_pods_end_by_priority_and_then_the_machine_goes_down(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 100, 1000: 8, 100000: 30}) as node:
        assert node.machine.property("InhibitDelayMaxUSec") == "139000000"
        assert node.machine.inhibitors() == ["Vacate"]
        node.run_pod("low", 0, takes=1.0)
        node.run_pod("stubborn", 1000, takes=3600, grace=3600)
        node.run_pod("top", 200_000, takes=0.5)
        asked = time.time()
        node.machine.power_off()
        until(lambda: node.node_ready() == ("False", "KubeletNotReady", "node is shutting down"))
        node.create("late", "exec sleep 1000")
        late = ended(node, "late")
        down = off_at(node.machine)
        low, stubborn, top = node.signals("low"), node.signals("stubborn"), node.signals("top")
        assert asked <= low["term"] < low["end"] <= stubborn["term"]
        assert "end" not in stubborn
        # Its bucket overran: the next one began when the bucket's time was over, and not the pod's grace.
        # An agent that a busy machine keeps from listening shortens every bucket in proportion.
        assert top["term"] - low["end"] >= 7.0
        assert stubborn["term"] - low["term"] < 100.0  # the first bucket did not wait for its whole time
        assert top["end"] <= down < asked + 139.0  # the lock was released, and did not only time out
        assert (late["status"]["phase"], late["status"]["reason"]) == ("Failed", "NodeShutdown")
        assert "containerStatuses" not in late["status"]
        low_pod, stubborn_pod = ended(node, "low"), ended(node, "stubborn")
        assert low_pod["status"]["phase"] == "Succeeded"
        assert "reason" not in low_pod["status"]
        assert (stubborn_pod["status"]["phase"], stubborn_pod["status"]["reason"]) == ("Failed", "Terminated")
        for one in (low_pod, stubborn_pod, ended(node, "top")):
            assert condition(one, "DisruptionTarget")["reason"] == "TerminationByKubelet"
            assert "deletionTimestamp" not in one["metadata"]
        assert node.record["outcome"] == "finished"
        allotted = re.search(r"default/stubborn of priority 1000 in bucket 1000: ([78]\S*)s", node.agent_log)
        assert allotted, node.agent_log


@pytest.mark.thorough
def test_a_restart_of_logind_forgets_the_shutdown_and_nothing_more_is_ended(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 120, 1000: 30}) as node:
        node.run_pod("low", 0, takes=None, grace=120)  # so long the shutdown is in its first bucket
        node.run_pod("high", 1000)
        node.machine.power_off()
        until(lambda: "term" in node.signals("low"))
        until(lambda: node.node_ready()[0] == "False")
        assert "node/laptop is shutting down: its pods terminate by priority" in node.status()
        node.machine.run("systemctl", "restart", "systemd-logind")
        until(lambda: "the shutdown was cancelled" in node.agent_log)
        until(lambda: node.node_ready()[0] == "True")
        until(lambda: node.agent_log.count("registered a shutdown inhibitor") == 2)
        node.let_end("low")
        until(lambda: "end" in node.signals("low"))
        assert ended(node, "low")["status"]["phase"] == "Succeeded"
        assert "term" not in node.signals("high")
        assert node.machine.up
        assert node.machine.inhibitors() == ["Vacate"]
        node.machine.power_off()  # and the next one works
        off_at(node.machine)
        assert "end" in node.signals("high")


@pytest.mark.thorough
def test_a_restart_of_logind_before_a_shutdown_and_in_its_last_bucket(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 60, 1000: 120}) as node:
        node.run_pod("low", 0)
        node.run_pod("high", 1000, takes=None, grace=120)
        node.machine.run("systemctl", "restart", "systemd-logind")
        until(lambda: node.machine.inhibitors() == ["Vacate"])
        node.machine.power_off()
        until(lambda: "term" in node.signals("high"))
        assert node.signals("low")["end"] <= node.signals("high")["term"]
        node.machine.run("systemctl", "restart", "systemd-logind")
        until(lambda: "the shutdown was cancelled" in node.agent_log)
        until(lambda: node.node_ready()[0] == "True")
        assert node.machine.up
        node.let_end("high")
        node.run_pod("next", 0)
        until(lambda: node.machine.inhibitors() == ["Vacate"])
        node.machine.power_off()
        off_at(node.machine)
        assert "end" in node.signals("next")


@pytest.mark.thorough
@pytest.mark.parametrize("stage", ["first bucket", "last bucket"])
def test_the_bus_restarts_during_a_shutdown(tmp_path: Path, stage: str) -> None:
    """logind ends with its bus and forgets the shutdown, or finds it again: no pod is skipped either way."""
    with shutdown_node(tmp_path, {0: 60, 1000: 60}) as node:
        node.run_pod("low", 0, takes=5.0)
        node.run_pod("high", 1000, takes=5.0)
        node.machine.power_off()
        until(lambda: "term" in node.signals("low" if stage == "first bucket" else "high"))
        node.machine.run("systemctl", "restart", "dbus", check=False)
        until(lambda: "the connection to the system bus ended" in node.agent_log)
        until(lambda: not node.machine.up or node.node_ready()[0] == "True")
        if node.machine.up:
            node.machine.wait_up()
            until(lambda: node.machine.inhibitors() == ["Vacate"])
            node.machine.power_off()
        off_at(node.machine)
        assert node.signals("low")["end"] <= node.signals("high")["term"] < node.signals("high")["end"]


@pytest.mark.thorough
def test_a_shutdown_that_systemd_calls_off_after_all_pods_ended(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 120}) as node:
        node.run_pod("web", 0, takes=None, grace=120)
        node.machine.power_off()
        until(lambda: "term" in node.signals("web"))
        node.machine.run("systemctl", "mask", "--runtime", "poweroff.target")
        node.let_end("web")
        until(lambda: "every bucket had its turn" in node.agent_log)
        until(lambda: "the shutdown was cancelled" in node.agent_log)
        until(lambda: node.node_ready()[0] == "True")
        until(lambda: node.machine.inhibitors() == ["Vacate"])
        node.run_pod("next", 0)
        assert node.machine.up


@pytest.mark.thorough
def test_the_bus_may_restart_and_strangers_may_lie(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 60}) as node:
        node.run_pod("web", 0)
        node.machine.run(
            "busctl", "emit", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
            "PrepareForShutdown", "b", "true", check=False,
        )  # fmt: skip
        node.machine.run("systemctl", "restart", "dbus", check=False)
        until(lambda: "the connection to the system bus ended" in node.agent_log)
        node.machine.wait_up()
        assert "term" not in node.signals("web")
        until(lambda: node.machine.inhibitors() == ["Vacate"])
        assert node.node_ready()[0] == "True"
        node.machine.power_off()
        off_at(node.machine)
        assert "end" in node.signals("web")


@pytest.mark.thorough
def test_without_an_api_server_pods_end_in_order_all_the_same(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 40, 1000: 40}) as node:  # the lock waits for an agent that starts
        node.run_pod("low", 0, takes=1.0)
        node.run_pod("high", 1000)
        node.cluster.kill()
        node.machine.power_off()
        until(lambda: "term" in node.signals("low"))
        node.kill()
        node.start()
        off_at(node.machine)
        assert node.signals("low")["end"] <= node.signals("high")["term"]
        assert "end" in node.signals("high")


@pytest.mark.thorough
def test_a_longer_delay_is_taken_back_when_the_feature_is_off(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 40}) as node:
        assert node.machine.property("InhibitDelayMaxUSec") == "41000000"
        node.kill()
        node.config.write_text(node.config.read_text().replace(": 40", ": 0"))
        node.start()
        until(lambda: node.machine.property("InhibitDelayMaxUSec") == "5000000")
        node.machine.run("test", "!", "-e", "/etc/systemd/logind.conf.d/99-vacate.conf")


@pytest.mark.thorough
def test_with_less_delay_than_wanted_it_says_so_and_every_bucket_has_its_share(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 40, 1000: 20}) as node:
        node.run_pod("low", 0, takes=3600)
        node.run_pod("high", 1000)
        node.kill()
        node.machine.run(
            "sh", "-c",
            "printf '[Login]\\nInhibitDelayMaxSec=20\\n' > /etc/systemd/logind.conf.d/99-zz.conf; "
            "systemctl kill -s HUP systemd-logind",
        )  # fmt: skip
        until(lambda: node.machine.property("InhibitDelayMaxUSec") == "20000000")
        node.start()
        assert "logind delays a shutdown by 20s at most, and pods have 1m" in node.agent_log
        asked = time.time()
        node.machine.power_off()
        down = off_at(node.machine)
        high = node.signals("high")
        assert high["term"] - asked >= 12.0  # of low's two thirds of 20 s; a part of the whole is kept back
        assert "end" in high
        assert down - asked < 60.0


@pytest.mark.thorough
def test_without_any_delay_no_pod_is_terminated_in_an_order_that_there_is_no_time_for(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 40, 1000: 20}) as node:
        node.run_pod("low", 0, takes=None)
        node.run_pod("high", 1000, takes=None)
        node.kill()
        node.machine.run(
            "sh", "-c",
            "printf '[Login]\\nInhibitDelayMaxSec=0\\n' > /etc/systemd/logind.conf.d/99-zz.conf; "
            "systemctl kill -s HUP systemd-logind",
        )  # fmt: skip
        until(lambda: node.machine.property("InhibitDelayMaxUSec") == "0")
        before = len(node.agent_log)
        node.start()
        assert "logind delays no shutdown (InhibitDelayMaxSec is 0)" in node.agent_log[before:]
        node.machine.power_off()
        off_at(node.machine)
        assert "shutting down pod" not in node.agent_log  # systemd ends them, all at once


@pytest.mark.thorough
def test_interceptors_prepare_their_pods_from_the_start_of_the_bucket(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 40, 1000: 180}) as node:
        node.run_pod("plain", 0)
        node.run_pod("unprepared", 0, grace=2, interceptor="silent.example.com")
        node.run_pod("prepared", 1000, grace=2, interceptor="backup.example.com")
        began = time.time()
        node.machine.power_off()
        until(lambda: "end" in node.signals("plain"))
        request = until(lambda: node.request_of("unprepared"))
        assert request is not None
        assert [one["name"] for one in request["spec"]["requesters"]] == ["laptop.shutdown.vacate.dev"]
        until(lambda: "vacate.dev/shutdown-deadline" in request_annotations(node, "unprepared"))
        assert node.request_of("prepared") is None
        until(lambda: "term" in node.signals("unprepared"))
        # Ended when its own time began. An agent that cannot listen has less, as above.
        assert node.signals("unprepared")["term"] - began >= 35.0
        until(lambda: (node.request_of("prepared") or {}).get("status", {}).get("activeInterceptorName"))
        begun = time.time()
        node.complete_turn("prepared")
        until(lambda: "term" in node.signals("prepared"))
        assert node.signals("prepared")["term"] - begun < 80.0  # long before the bucket's end
        off_at(node.machine)


def request_annotations(node: ShutdownNode, name: str) -> Obj:
    found: Obj = (node.request_of(name) or {}).get("metadata", {}).get("annotations", {})
    return found


@pytest.mark.thorough
def test_a_planned_reboot_drains_first(tmp_path: Path) -> None:
    with shutdown_node(tmp_path, {0: 10}) as node:
        node.run_pod("web", 0)
        command = (sys.executable, "-m", "vacate", "node", "reboot", "laptop")
        access = ("--kubeconfig", str(node.cluster.kubeconfig))
        refused = node.machine.run(*command, "--timeout", "2s", *access, check=False)
        assert "rebooting" not in refused, refused  # nothing re-creates the pod, and --force was not given
        assert node.machine.up
        assert "term" not in node.signals("web")
        output = node.machine.run(*command, "--force", *access, check=False)
        assert "node/laptop is drained; rebooting." in output
        off_at(node.machine)
        assert node.get("web") is None  # evicted, not merely ended
