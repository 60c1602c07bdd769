"""Two managers: the leader is stopped and goes on later, or is killed; nothing happens twice or never."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.https import Https, Obj
from support.manifests import pod
from support.processes.cluster import FAST_PODS, ClusterProcess, running_cluster
from support.processes.manager import ManagerProcess, managing
from support.waiting import until
from vacate.api.installednames import MANAGER
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.eviction.records.history import read_history

pytestmark = pytest.mark.process

PODS = "/api/v1/namespaces/default/pods"
REQUESTS = EVICTIONREQUESTS.collection_path("default")
FIRST, SECOND = "first.example.com", "second.example.com"
TIMINGS = ("--lease-timings", "15,12,0.5")  # a busy machine must not end a leader
LEADS = f'leader_election_master_status{{name="{MANAGER}"}} 1.0'
SEVERAL = 12


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path / "dir", "--no-evictions", "--nodes", "1", *FAST_PODS) as running:
        yield running


@pytest.fixture
def managers(cluster: ClusterProcess) -> Iterator[tuple[ManagerProcess, ManagerProcess]]:
    """The one that leads, and one that is ready to."""
    with managing(cluster.kubeconfig, *TIMINGS) as leader:
        until(lambda: leads(leader))
        with managing(cluster.kubeconfig, *TIMINGS) as other:
            until(lambda: other.get("/readyz") == (200, "ok"))
            yield leader, other


def leads(manager: ManagerProcess) -> bool:
    return LEADS in manager.get("/metrics")[1]


def asked(admin: Https, name: str, *interceptors: str) -> str:
    """A request for a new pod; the interceptors are asked in this order."""
    listed = [{"name": one} for one in reversed(interceptors)]
    target = admin.create(PODS, pod(name, evictionInterceptors=listed))
    uid = str(target["metadata"]["uid"])
    admin.create(
        REQUESTS,
        {
            "apiVersion": EVICTIONREQUESTS.api_version,
            "kind": EVICTIONREQUESTS.kind,
            "metadata": {"name": uid},
            "spec": {
                "target": {"podRef": {"name": name, "uid": uid}},
                "requesters": [{"name": "drain.example.com"}],
            },
        },
    )
    return uid


def found(admin: Https, name: str) -> Obj:
    return admin.get(f"{REQUESTS}/{name}").ok()


def active(admin: Https, name: str) -> Any:
    return found(admin, name)["status"].get("activeInterceptorName")


def condition(request: Obj, kind: str) -> Obj:
    return next((one for one in request["status"].get("conditions", ()) if one["type"] == kind), {})


def complete(admin: Https, name: str) -> bool:
    return bool(condition(found(admin, name), "Complete"))


def finish(admin: Https, name: str) -> None:
    """Say for the active interceptor that it is done."""
    admin.patch(f"{REQUESTS}/{name}/status", {"status": {"activeInterceptorCompleted": True}})


def turns(admin: Https, name: str) -> list[str]:
    history = condition(found(admin, name), "InterceptorAssigned").get("message", "")
    return [f"{one.interceptor} {one.result.value}" for one in read_history(history)]


def answers(admin: Https, path: str) -> dict[str, int]:
    """How often the server answered writes of a resource and subresource, by code."""
    resource, subresource = path.split("/")
    wanted = re.compile(
        rf'apiserver_request_total{{code="(\d+)",.*resource="{resource}",subresource="{subresource}",'
        r'verb="(?:create|patch)".*} (.+)'
    )
    counted: dict[str, int] = {}
    for code, number in wanted.findall(admin.get("/metrics").text):
        counted[code] = counted.get(code, 0) + int(float(number))
    return counted


@pytest.mark.thorough
def test_a_leader_that_was_stopped_and_goes_on_writes_nothing_and_ends(
    cluster: ClusterProcess, managers: tuple[ManagerProcess, ManagerProcess]
) -> None:
    admin = cluster.https()
    leader, other = managers
    slow = asked(admin, "slow", FIRST, SECOND)
    until(lambda: active(admin, slow) == FIRST)

    leader.process.send_signal(signal.SIGSTOP)
    finish(admin, slow)  # it will read of all this when it goes on, and know what would be next
    plain = asked(admin, "plain")
    until(lambda: leads(other))
    until(lambda: active(admin, slow) == SECOND and complete(admin, plain))
    before = found(admin, slow)

    leader.process.send_signal(signal.SIGCONT)
    assert leader.process.wait(60) == 1
    until(lambda: leader.output.count("\n") >= 2)
    assert "error: vacate-manager: " in leader.output.splitlines()[-1]
    assert found(admin, slow) == before
    assert leads(other)

    finish(admin, slow)
    until(lambda: complete(admin, slow))
    assert turns(admin, slow) == [f"{FIRST} completed", f"{SECOND} completed"]
    assert answers(admin, "pods/eviction") == {"201": 2}
    assert "409" not in answers(admin, "evictionrequests/status"), "a late write was sent, even if in vain"


@pytest.mark.thorough
def test_a_leader_that_is_killed_in_the_middle_is_replaced(
    cluster: ClusterProcess, managers: tuple[ManagerProcess, ManagerProcess]
) -> None:
    admin = cluster.https()
    leader, other = managers
    names = [asked(admin, f"p{number}", FIRST, SECOND) for number in range(SEVERAL)]
    until(lambda: all(active(admin, name) for name in names))
    for number, name in enumerate(names):
        finish(admin, name)
        if number == SEVERAL // 2:
            leader.process.kill()
    until(lambda: leads(other))
    until(lambda: all(active(admin, name) == SECOND for name in names))
    for name in names:
        finish(admin, name)
    until(lambda: all(complete(admin, name) for name in names))
    expected = [f"{FIRST} completed", f"{SECOND} completed"]
    assert [turns(admin, name) for name in names] == [expected] * SEVERAL
    assert answers(admin, "pods/eviction") == {"201": SEVERAL}
