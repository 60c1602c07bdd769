"""Silent nodes, taints, and the pods that they drive out."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from support.workload_objects import NOW, ago, make_node, make_pod
from vacate.api.types import Condition, Node, Taint
from vacate.embedded.controllers.disruption.stale import stale_at
from vacate.embedded.controllers.nodelifecycle.health import next_taints, silent_at, unknown_conditions
from vacate.embedded.controllers.tainteviction.controller import evict_at

pytestmark = pytest.mark.unit

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


def node(ready: str = "", *, taints: Any = (), pressure: str = "", **spec: Any) -> Node:
    made = make_node("n1", taints=taints, **spec)
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    if pressure:
        conditions.append({"type": pressure, "status": "True"})
    return msgspec.structs.replace(
        made, status=msgspec.convert({"conditions": conditions}, type(made.status))
    )


@pytest.mark.parametrize(
    ("ready", "lease", "seconds"),
    [("True", 40, 50), ("True", 10, 50), ("True", 400, 410), ("", 40, 60), ("False", 40, 50)],
)
def test_a_node_may_be_silent_for_a_while(ready: str, lease: int, seconds: int) -> None:
    assert silent_at(node(ready), NOW, lease) == NOW + dt.timedelta(seconds=seconds)


def test_nobody_vouches_for_the_conditions_of_a_silent_node() -> None:
    changed = {one.type: one for one in unknown_conditions(node("True"), NOW)}
    assert list(changed) == ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]
    ready = changed["Ready"]
    assert (ready.status, ready.reason) == ("Unknown", "NodeStatusUnknown")
    assert ready.message == "Kubelet stopped posting node status."
    assert changed["DiskPressure"].reason == "NodeStatusNeverUpdated"
    assert "Ready" not in {one.type for one in unknown_conditions(node("Unknown"), NOW)}


TAINTS = [
    ("ready", node("True"), False, []),
    ("not ready", node("False"), False, [(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")]),
    ("silent", node("Unknown"), False, [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]),
    ("nothing heard yet", node(""), False, [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]),
    ("silent with everyone", node("Unknown"), True, [(UNREACHABLE, "NoSchedule")]),
    (
        "cordoned",
        node("True", unschedulable=True),
        False,
        [("node.kubernetes.io/unschedulable", "NoSchedule")],
    ),
    (
        "pressed",
        node("True", pressure="DiskPressure"),
        False,
        [("node.kubernetes.io/disk-pressure", "NoSchedule")],
    ),
    ("back", node("True", taints=[{"key": UNREACHABLE, "effect": "NoExecute"}]), False, []),
    (
        "uncordoned",
        node("True", taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]),
        False,
        [],
    ),
    (
        "foreign taints stay",
        node(
            "False",
            taints=[{"key": "mine", "effect": "NoSchedule"}, {"key": UNREACHABLE, "effect": "NoExecute"}],
        ),
        False,
        [("mine", "NoSchedule"), (NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")],
    ),
]


@pytest.mark.parametrize("row", TAINTS, ids=[row[0] for row in TAINTS])
def test_taints_follow_conditions(row: Any) -> None:
    _, subject, everyone, expected = row
    taints = next_taints(subject, everyone, NOW)
    assert [(one.key, one.effect) for one in taints] == expected
    settled = msgspec.structs.replace(subject, spec=msgspec.structs.replace(subject.spec, taints=taints))
    assert next_taints(settled, everyone, NOW + dt.timedelta(hours=1)) == taints


def tolerate(key: str = "k", seconds: int | None = None, **more: Any) -> dict[str, Any]:
    found = {"key": key, "operator": "Exists", **more}
    return found if seconds is None else found | {"tolerationSeconds": seconds}


EVICTIONS = [
    ("no taints", [], [], None),
    ("NoSchedule drives nobody out", [("k", "NoSchedule", 100)], [], None),
    ("not tolerated", [("k", "NoExecute", 100)], [], -100),
    ("tolerated for good", [("k", "NoExecute", 100)], [tolerate()], None),
    ("tolerated for a while", [("k", "NoExecute", 100)], [tolerate(seconds=300)], 200),
    ("time is up", [("k", "NoExecute", 100)], [tolerate(seconds=60)], -40),
    ("negative times mean at once", [("k", "NoExecute", 100)], [tolerate(seconds=-5)], -100),
    (
        "the shortest time counts",
        [("k", "NoExecute", 100)],
        [tolerate(seconds=300), tolerate(seconds=150)],
        50,
    ),
    ("a limit counts beside no limit", [("k", "NoExecute", 100)], [tolerate(), tolerate(seconds=150)], 50),
    (
        "the first of two taints",
        [("k", "NoExecute", 100), ("l", "NoExecute", 10)],
        [tolerate("k", 300), tolerate("l", 300)],
        200,
    ),
    (
        "one of two not tolerated",
        [("k", "NoExecute", 100), ("l", "NoExecute", 10)],
        [tolerate("k", 300)],
        -10,
    ),
    ("another effect is not tolerated", [("k", "NoExecute", 100)], [tolerate(effect="NoSchedule")], -100),
    ("time starts when the pod came", [("k", "NoExecute", 1000)], [tolerate(seconds=600)], 400),
]


@pytest.mark.parametrize("row", EVICTIONS, ids=[row[0] for row in EVICTIONS])
def test_when_a_pod_must_leave(row: Any) -> None:
    _, taints, tolerations, expected = row
    pod = make_pod("p", node="n1", creationTimestamp=ago(seconds=200), spec={"tolerations": tolerations})
    since = {key: NOW - dt.timedelta(seconds=age) for key, _, age in taints}
    found = evict_at(
        pod, [Taint(key=key, effect=effect) for key, effect, _ in taints], lambda one: since[one.key]
    )
    assert (found and (found - NOW).total_seconds()) == expected


def marked(status: str = "True", reason: str = "EvictionByEvictionAPI", **parts: Any) -> Any:
    pod = make_pod("p", **parts)
    mark = {
        "type": "DisruptionTarget",
        "status": status,
        "reason": reason,
        "lastTransitionTime": ago(seconds=30),
    }
    conditions = msgspec.convert([mark], list[Condition])
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, conditions=conditions))


@pytest.mark.parametrize(
    ("pod", "seconds"),
    [
        (make_pod(), None),
        (marked(), 90),
        (marked("False"), None),
        (marked(reason="TerminationByKubelet"), None),
        (marked(deletionTimestamp=ago()), None),
        (marked(phase="Failed"), None),
    ],
    ids=["no mark", "marked", "taken back", "by the kubelet", "terminating", "finished"],
)
def test_a_mark_of_disruption_turns_stale(pod: Any, seconds: int | None) -> None:
    at = stale_at(pod)
    assert (at and (at - NOW).total_seconds()) == seconds
