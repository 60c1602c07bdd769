"""What is still to come until an installation works, and what is in the way."""

from __future__ import annotations

from typing import Any

import pytest

from vacate.api.objects import Obj
from vacate.install.apply.readiness import authority_left, reason_of, rollout_left

pytestmark = pytest.mark.unit

MARKS = {"app": "x"}


def deployment(generation: int = 1, seen: int = 1, **status: Any) -> Obj:
    return {
        "metadata": {"name": "d", "generation": generation},
        "spec": {"replicas": 2, "selector": {"matchLabels": MARKS}},
        "status": {"observedGeneration": seen, **status},
    }


def counts(total: int, updated: int, available: int) -> dict[str, int]:
    return {"replicas": total, "updatedReplicas": updated, "availableReplicas": available}


LEFT = {
    "nobody": (None, "is not there"),
    "without a status": ({"metadata": {"generation": 1}, "spec": {"replicas": 2}}, "has not been seen"),
    "an old status": (deployment(2, 1, **counts(2, 2, 2)), "has not been seen"),
    "nothing yet": (deployment(), "0 of 2 copies are of the newest form"),
    "half of it": (deployment(**counts(3, 1, 2)), "1 of 2 copies are of the newest form"),
    "old ones": (deployment(**counts(3, 2, 2)), "1 old copies are still there"),
    "not available": (deployment(**counts(2, 2, 1)), "1 of 2 copies are available"),
    "done": (deployment(**counts(2, 2, 2)), ""),
}


@pytest.mark.parametrize(("found", "message"), LEFT.values(), ids=LEFT)
def test_what_is_left_of_a_rollout(found: Obj | None, message: str) -> None:
    left = rollout_left(found)
    assert message in left
    assert bool(message) == bool(left)


def test_every_webhook_needs_an_authority() -> None:
    with_it, without = {"clientConfig": {"caBundle": "eA=="}}, {"clientConfig": {"url": "https://x"}}
    assert authority_left({"webhooks": [with_it, with_it]}) == ""
    assert authority_left({"webhooks": [with_it, without]}) == "1 of 2 webhooks have no authority yet"
    assert authority_left({"webhooks": [{"clientConfig": {"caBundle": ""}}]})
    assert authority_left(None) == "is not there"


def pod(name: str = "d-1", *, ready: bool = False, **status: Any) -> Obj:
    conditions = [*status.pop("conditions", []), {"type": "Ready", "status": str(ready)}]
    return {"metadata": {"name": name, "labels": MARKS}, "status": {"conditions": conditions, **status}}


def warning(about: str, message: str, time: str) -> Obj:
    return {
        "metadata": {},
        "type": "Warning",
        "reason": "Failed",
        "message": message,
        "lastTimestamp": time,
        "involvedObject": {"name": about},
    }


def waiting(reason: str, message: str = "", code: int | None = None) -> Obj:
    last = {"terminated": {"exitCode": code}} if code is not None else {}
    state = {"waiting": {"reason": reason, "message": message}}
    return {"containerStatuses": [{"name": "manager", "state": state, "lastState": last}]}


UNSCHEDULED: dict[str, Any] = {
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "no nodes",
        }
    ]
}
FAILED = [{"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}]
REASONS: dict[str, tuple[Obj, list[Obj], list[Obj], str]] = {
    "an image that is not there": (
        deployment(),
        [pod(ready=True), pod("d-2", **waiting("ErrImagePull", "not found"))],
        [],
        "pod d-2: ErrImagePull: not found",
    ),
    "a crash": (
        deployment(),
        [pod(**waiting("CrashLoopBackOff", "back-off", 2))],
        [],
        "pod d-1: CrashLoopBackOff: back-off, after exit code 2",
    ),
    "no room": (deployment(), [pod(**UNSCHEDULED)], [], "pod d-1: Unschedulable: no nodes"),
    "a probe that fails": (
        deployment(),
        [pod(phase="Running")],
        [warning("d-1", "new", "2026-01-02T00:00:00Z"), warning("d-1", "old", "2026-01-01T00:00:00Z")],
        "pod d-1: Failed: new",
    ),
    "no reason is known": (deployment(), [pod(phase="Pending")], [], "pod d-1: Pending"),
    "no pod may be made": (deployment(conditions=FAILED), [], [], "exceeded quota"),
    "no pod was made": (
        deployment(),
        [],
        [warning("d-5c4", "forbidden by policy", "2026-01-01T00:00:00Z")],
        "Failed: forbidden by policy",
    ),
    "nobody makes any": (deployment(), [], [], "it has no pods"),
    "all is well": (deployment(), [pod(ready=True)], [], ""),
}


@pytest.mark.parametrize(("of", "pods", "events", "reason"), REASONS.values(), ids=REASONS)
def test_the_reason_is_named(of: Obj, pods: list[Obj], events: list[Obj], reason: str) -> None:
    assert reason_of(of, pods, events) == reason


def test_pods_of_others_and_those_that_go_are_no_reason() -> None:
    other = {**pod(**UNSCHEDULED), "metadata": {"name": "o", "labels": {"app": "y"}}}
    going = pod("g", **UNSCHEDULED)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert reason_of(deployment(), [other, going, pod(ready=True)], []) == ""


def test_a_long_text_is_cut() -> None:
    assert len(reason_of(deployment(), [pod(**waiting("Bad", "x" * 5000))], [])) == 300


def test_what_others_wrote_is_shown_in_one_line_without_signs_for_the_terminal() -> None:
    reason = reason_of(deployment(), [pod(**waiting("Bad", "a\nb\x1b[2Jc\u202ed"))], [])
    assert reason == "pod d-1: Bad: a b [2Jc d"
