"""No manager works: commands that show or await an eviction say so, and stop when one works again."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.processes.cluster import FAST_PODS, ClusterProcess, running_cluster
from support.processes.commands import REQUESTS, Lab
from support.processes.manager import managing
from support.waiting import until
from vacate.cli.common.managerwatch import WORKS_AGAIN

pytestmark = pytest.mark.process

HOOK = "backup.example.com"
ABSENT, STOPPED, HELP = "there is no Lease vacate-manager", "No manager works since ", "vacate manager"


class Running:
    """A command in a process of its own, and all that it has written so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.text = process, ""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as written:
            for line in written:
                self.text += line


def wait_for(one: Running, condition: Callable[[Running], bool]) -> bool:
    return until(lambda: condition(one))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path / "dir", "--no-evictions", "--nodes", "2", *FAST_PODS) as running:
        yield running


@pytest.mark.thorough
def test_without_a_manager_each_command_says_so_and_a_manager_ends_the_drain(cluster: ClusterProcess) -> None:
    lab = Lab(cluster)
    for name in ("p", "q"):
        lab.pod(name, nodeName="node-1")
    ended = lab.vacate("drain", "node-1", "--force", "--timeout", "3s")
    assert ended.code == 4
    assert ABSENT in ended.err
    assert HELP in ended.err
    assert "Not drained after 3s; the drain goes on when a manager works." in ended.err
    assert ABSENT in lab.vacate("drain", "node-2", "--force", "--detach").err
    ended = lab.vacate("evict", "q", "--timeout", "3s")
    assert ended.code == 4
    assert ABSENT in ended.err
    for shown in (lab.vacate("status").err, lab.vacate("explain", "q").out, lab.vacate("explain", "p").out):
        assert ABSENT in shown
        assert HELP in shown
    assert ABSENT in lab.vacate("drain", "--cancel", "drain-node-2").err
    follows = Running(lab.start("drain", "--follow", "drain-node-1"))
    until(lambda: ABSENT in follows.text)
    with managing(cluster.kubeconfig):
        until(lambda: follows.process.poll() == 0)
        assert "node/node-1 drained" in follows.text
        assert "manager" not in lab.vacate("status").err
    until(lambda: "No manager works" in lab.vacate("status").err)
    freed = lab.vacate("uncordon", "node-1")
    assert "node/node-1 is uncordoned by the controller" in freed.out
    going = lab.vacate("drain", "--follow", "drain-node-1")
    # The request of `vacate evict` may end q before the drain counts its pods.
    deleted = "is being deleted: the manager withdraws its requests and uncordons its nodes; "
    assert deleted + "1 pod " in going.out or deleted + "2 pods " in going.out
    for one in (freed, lab.vacate("drain", "--cancel", "drain-node-1"), going):
        assert "No manager works" in one.err, one


@pytest.mark.thorough
def test_a_manager_killed_in_the_middle_is_missed_everywhere_until_another_works(
    cluster: ClusterProcess,
) -> None:
    lab = Lab(cluster)
    lab.pod("held", HOOK, nodeName="node-1")
    with managing(cluster.kubeconfig) as manager:
        until(lambda: "manager" not in lab.vacate("status").err)
        commands = {
            "drain": Running(lab.start("drain", "node-1", "--force")),
            "events": Running(lab.start("drain", "node-1", "--force", "-o", "json")),
            "evict": Running(lab.start("evict", "held", "--wait")),
            "objects": Running(
                lab.start("evict", "held", "--wait", "-o", "json", "--requester", "a.example.com")
            ),
            "status": Running(lab.start("status", "held", "-w")),
        }
        until(lambda: "Draining" in commands["drain"].text and HOOK in commands["evict"].text)
        until(lambda: HOOK in commands["status"].text)
        assert STOPPED not in "".join(one.text for one in commands.values())
        manager.process.kill()
        for name, one in commands.items():
            assert wait_for(one, lambda one: STOPPED in one.text), (name, one.text)
        assert STOPPED in lab.vacate("status").err
        assert STOPPED in lab.vacate("explain", "held").out
    with managing(cluster.kubeconfig):
        for name, one in commands.items():
            assert wait_for(one, lambda one: WORKS_AGAIN in one.text), (name, one.text)
        (request,) = lab.https.get(REQUESTS).ok()["items"]
        path = f"{REQUESTS}/{request['metadata']['name']}/status"
        lab.https.patch(path, {"status": {"activeInterceptorCompleted": True}})
        for name, one in commands.items():
            assert wait_for(one, lambda one: one.process.poll() is not None), (name, one.text)
            assert one.process.returncode == 0, (name, one.text)
            assert one.text.count(STOPPED) == 1, (name, one.text)
    events = [json.loads(line) for line in commands["events"].text.splitlines() if line.startswith("{")]
    states = [one["state"] for one in events if one["type"] == "manager"]
    assert states == ["Stopped", "Works"]
