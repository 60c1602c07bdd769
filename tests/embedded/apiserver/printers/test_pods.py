from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.embedded.apiserver.printers import table_of

pytestmark = pytest.mark.unit

NOW = dt.datetime(2024, 1, 1, 1, tzinfo=dt.UTC)
CREATED = "2024-01-01T00:00:00Z"


def pod(
    phase: str = "",
    containers: int = 1,
    init: int = 0,
    sidecars: int = 0,
    deleted: bool = False,
    **status: Any,
) -> Obj:
    metadata = {"name": "p", "creationTimestamp": CREATED}
    if deleted:
        metadata["deletionTimestamp"] = CREATED
    inits = [{"name": f"side{n}", "restartPolicy": "Always"} for n in range(sidecars)]
    inits += [{"name": f"init{n}"} for n in range(init)]
    spec = {"containers": [{"name": f"c{n}"} for n in range(containers)], "initContainers": inits}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase, **status}}


def container(name: str = "c0", restarts: int = 0, last: str = "", **fields: Any) -> Obj:
    state = {key: fields.pop(key) for key in ("waiting", "running", "terminated") if key in fields}
    one: Obj = {"name": name, "restartCount": restarts, "state": state, **fields}
    if last:
        one["lastState"] = {"terminated": {"finishedAt": last, "exitCode": 1}}
    return one


def waiting(reason: str, **more: Any) -> Obj:
    return container(waiting={"reason": reason}, **more)


def ended(code: int, reason: str = "", **more: Any) -> Obj:
    terminated: Obj = {"exitCode": code, **({"reason": reason} if reason else {})}
    terminated.update({key: more.pop(key) for key in ("signal",) if key in more})
    return container(terminated=terminated, **more)


def up(**more: Any) -> Obj:
    return container(running={}, ready=True, **more)


def condition(type_: str, status: str = "True", reason: str = "") -> Obj:
    return {"type": type_, "status": status, "reason": reason}


READY = [condition("Ready")]
GATED = [condition("PodScheduled", "False", "SchedulingGated")]

# Ready, status and restarts of each pod.
CASES: list[tuple[Obj, str]] = [
    (pod("Pending"), "0/1 Pending 0"),
    (pod("Pending", conditions=GATED), "0/1 SchedulingGated 0"),
    (pod("Failed", reason="Evicted"), "0/1 Evicted 0"),
    (pod("Running", containerStatuses=[up()]), "1/1 Running 0"),
    (pod("Running", containers=2, containerStatuses=[up(), container(running={})]), "1/2 Running 0"),
    (pod("Running", containerStatuses=[waiting("CrashLoopBackOff", restarts=3)]), "0/1 CrashLoopBackOff 3"),
    (pod("Running", containerStatuses=[up(restarts=3, last="2024-01-01T00:55:00Z")]),
     "1/1 Running 3 (5m ago)"),
    (pod("Running", containers=2, containerStatuses=[
        up(restarts=1, last="2024-01-01T00:55:00Z"), up(restarts=2, last="2024-01-01T00:58:00Z")]),
     "2/2 Running 3 (2m ago)"),
    (pod("Running", containerStatuses=[up(restarts=0, last="2024-01-01T00:55:00Z")]), "1/1 Running 0"),
    (pod("Succeeded", containerStatuses=[ended(0, "Completed")]), "0/1 Completed 0"),
    (pod("Failed", containerStatuses=[ended(1, "Error")]), "0/1 Error 0"),
    (pod("Failed", containerStatuses=[ended(7)]), "0/1 ExitCode:7 0"),
    (pod("Failed", containerStatuses=[ended(137, signal=9)]), "0/1 Signal:9 0"),
    (pod("Running", containers=2, containerStatuses=[ended(0, "Completed"), up()], conditions=READY),
     "1/2 Running 0"),
    (pod("Running", containers=2, containerStatuses=[ended(0, "Completed"), up()]), "1/2 NotReady 0"),
    (pod("Running", containers=2, containerStatuses=[ended(0, "Completed"), ended(3, "Error")]),
     "0/2 Error 0"),
    (pod("Running", containers=2, containerStatuses=[waiting("A"), waiting("B")]), "0/2 A 0"),
    (pod("Pending", init=2, initContainerStatuses=[container("init0", running={})]), "0/1 Init:0/2 0"),
    (pod("Pending", init=2, initContainerStatuses=[
        ended(0, name="init0"), waiting("PodInitializing", name="init1")]), "0/1 Init:1/2 0"),
    (pod("Pending", init=1, initContainerStatuses=[waiting("CrashLoopBackOff", name="init0", restarts=2)]),
     "0/1 Init:CrashLoopBackOff 2"),
    (pod("Pending", init=1, initContainerStatuses=[ended(1, "Error", name="init0")]), "0/1 Init:Error 0"),
    (pod("Pending", init=1, initContainerStatuses=[ended(1, name="init0")]), "0/1 Init:ExitCode:1 0"),
    (pod("Pending", init=1, initContainerStatuses=[ended(1, name="init0", signal=15)]),
     "0/1 Init:Signal:15 0"),
    (pod("Running", init=1, initContainerStatuses=[ended(0, name="init0", restarts=5)],
         containerStatuses=[up(restarts=1)]), "1/1 Running 1"),
    (pod("Running", sidecars=1, initContainerStatuses=[up(name="side0", started=True, restarts=2)],
         containerStatuses=[up()]), "2/2 Running 2"),
    (pod("Pending", sidecars=1, initContainerStatuses=[container("side0", started=False, running={})]),
     "0/2 Init:0/1 0"),
    (pod("Running", init=1, initContainerStatuses=[ended(1, "Error", name="init0")],
         containerStatuses=[up()], conditions=[condition("Initialized")]), "1/1 Init:Error 0"),
    (pod("Running", deleted=True, containerStatuses=[up()]), "1/1 Terminating 0"),
    (pod("Succeeded", deleted=True, containerStatuses=[ended(0, "Completed")]), "0/1 Completed 0"),
    (pod("Running", deleted=True, reason="NodeLost", containerStatuses=[up()]), "1/1 Unknown 0"),
    (pod(""), "0/1  0"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "shown"), CASES)
def test_status_of_pods(one: Obj, shown: str) -> None:
    cells = table_of(PODS, [one], NOW)["rows"][0]["cells"]
    assert " ".join(cells[1:4]) == shown
    assert (cells[0], cells[4]) == ("p", "60m")
    assert len(cells) == 9


def test_wide_columns() -> None:
    plain = table_of(PODS, [pod("Pending")], NOW)["rows"][0]["cells"]
    assert plain[5:] == ["<none>", "<none>", "<none>", "<none>"]
    one = pod(
        "Running",
        podIPs=[{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
        nominatedNodeName="n2",
        conditions=[condition("a"), condition("b", "False")],
    )
    one["spec"] |= {"nodeName": "n1", "readinessGates": [{"conditionType": kind} for kind in "abc"]}
    assert table_of(PODS, [one], NOW)["rows"][0]["cells"][5:] == ["10.0.0.1", "n1", "n2", "1/3"]
    one["status"].pop("podIPs")
    one["status"]["podIP"] = "10.0.0.2"
    assert table_of(PODS, [one], NOW)["rows"][0]["cells"][5] == "10.0.0.2"


def test_rows_of_pods_that_are_done_say_so() -> None:
    rows = table_of(PODS, [pod("Succeeded"), pod("Failed"), pod("Running")], NOW)["rows"]
    assert [row.get("conditions") for row in rows] == [
        [{"type": "Completed", "status": "True", "reason": "Succeeded",
          "message": "The pod has completed successfully."}],
        [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}],
        None,
    ]  # fmt: skip
