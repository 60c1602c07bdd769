"""What lifecycle.k8s.io refuses: fields, and each step of a status that a controller or responder may not take."""

# ruff: noqa: E501 - the rows of a table are as long as what they change
from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from support.arms.arm import MERGE_PATCH, Answer, Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE, without
from support.arms.objects import pod
from vacate.api.kinds import LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, PODS, Kind
from vacate.api.times import format_time
from vacate.api.types.lifecycle import EVICTOR

pytestmark = [
    CONFORMANCE,
    without("kubectl", because="kubectl prints no causes"),
    pytest.mark.usefixtures("lifecycle"),
]

FIRST, SECOND = "first.example.com/prepare", "second.example.com/prepare"
TARGET: Obj = {"pod": {"name": "web", "uid": "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"}}
_LETTERS = {
    "I": "Inactive",
    "A": "Active",
    "X": "Interrupted",
    "C": "Canceled",
    "D": "Completed",
    "?": "Waiting",
}
_INVALID, _FORBIDDEN, _REQUIRED = "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"
Causes = list[tuple[str, str]]


def status(states: str, *records: Obj, **more: Any) -> Obj:
    """A whole status; the states of the three turns are given by a letter each.

    Numbers in place of times are seconds from now, and None is when the Eviction began.
    """
    named = ((FIRST, 20_000), (SECOND, 10_000), (EVICTOR, 100))
    turns = [
        {"name": name, "priority": priority, "state": _LETTERS[letter]}
        for (name, priority), letter in zip(named, states, strict=True)
    ]
    reports = [{"name": name, **one} for (name, _), one in zip(named, records, strict=True)]
    return {"observedGeneration": 1, "targetResponders": turns, "responders": reports, **more}


def begun(states: str = "AII", **changes: Any) -> Obj:
    """The first has begun, and reports."""
    return status(states, {"startTime": None, **changes}, {}, {})


def handed(states: str, **first: Any) -> Obj:
    """The second has begun as well."""
    return status(states, {"startTime": None, **first}, {"startTime": None}, {})


def condition(sort: str, reason: str) -> Obj:
    return {"type": sort, "status": "True", "reason": reason, "message": "", "lastTransitionTime": None}


def turn(number: int, *reasons: str) -> Causes:
    return [(one, f"status.targetResponders[{number}].state") for one in reasons or (_INVALID,)]


def record(key: str, reason: str = _INVALID) -> Causes:
    return [(reason, f"status.responders[0].{key}")]


_BOTH: Causes = [(_INVALID, "status.responders"), (_INVALID, "status.targetResponders")]
_RECORDS: Causes = [(_INVALID, "status.responders")]
_TURNS = begun()["targetResponders"]
_DONE = begun(completionTime=None)
_OVER = [begun(), _DONE, handed("DAI", completionTime=None)]
_EVICTED = begun("CII", conditions=[condition("TargetEvicted", "PodDeleted")])
_EVICTED["conditions"] = _EVICTED["responders"][0].pop("conditions")


def raised(name: str, priority: int) -> Obj:
    """The first status with another priority for one."""
    turns = [{**one, "priority": priority if one["name"] == name else one["priority"]} for one in _TURNS]
    return {**begun(), "targetResponders": turns}


STEPS: dict[str, tuple[list[Obj], Obj, Causes]] = {
    "first/nobody's turn": ([], status("III", {}, {}, {}), turn(0)),
    "first/the second's turn": ([], status("IAI", {}, {"startTime": None}, {}), turn(0) + turn(1)),
    "first/unknown states": ([], begun("?II"), turn(0, _INVALID, "FieldValueNotSupported")),
    "first/without records": ([], {"targetResponders": _TURNS}, [*_RECORDS, *((_INVALID, f"status.targetResponders[{n}]") for n in range(3))]),
    "first/without turns": ([], {"responders": begun()["responders"]}, _RECORDS),
    "first/long ago": ([], begun(startTime=-60), record("startTime")),
    "first/in the future": ([], begun(startTime=90), record("startTime")),
    "first/without start": ([], status("AII", {}, {}, {}), record("startTime", _REQUIRED)),
    "first/inactive with start": ([], handed("AII"), turn(1, _FORBIDDEN)),
    "first/priority of the evictor": ([], raised(EVICTOR, 101), [(_INVALID, "status.targetResponders[2].priority")]),
    "two turns at once": ([begun()], handed("AAI"), turn(1)),
    "no next turn": ([begun(), _DONE], begun("DII", completionTime=None), turn(1)),
    "interrupted too early": ([begun()], handed("XAI"), turn(0, _FORBIDDEN)),
    "canceled too early": ([begun()], handed("CAI"), turn(0, _FORBIDDEN)),
    "completed without completion": ([begun()], handed("DAI"), turn(0, _FORBIDDEN, _INVALID)),
    "completion in the hand-over": ([begun()], handed("DAI", completionTime=0), [(_INVALID, "status.responders[0]")]),
    "turn taken back": (_OVER, handed("AII", completionTime=None), turn(0) + turn(1) + turn(2)),
    "record of one that is over": (_OVER, handed("DAI", completionTime=None, message="x"), [(_INVALID, "status.responders[0]")]),
    "record of another": ([begun()], status("AII", {"startTime": None}, {"message": "me"}, {}), [(_INVALID, "status.responders[1]")]),
    "responder removed": ([begun()], {**begun(), "targetResponders": _TURNS[:2]}, _BOTH),
    "priority changed": ([begun()], raised(FIRST, 20_001), [(_INVALID, "status.targetResponders[0].priority")]),
    "active at the end": ([begun()], {**begun(), "conditions": [condition("Failed", "NoFurtherResponder")]}, turn(0)),
    "end taken back": ([begun(), _EVICTED], {**_EVICTED, "conditions": []}, [(_INVALID, "status.conditions")]),
    "reason of the end": ([begun(), _EVICTED], {**_EVICTED, "conditions": [condition("TargetEvicted", "PodTerminal")]}, [(_INVALID, "status.conditions")]),
    "turn after the end": ([begun(), _EVICTED], {**handed("CAI"), "conditions": _EVICTED["conditions"]}, turn(1)),
    "start changed": ([begun()], begun(startTime=10), record("startTime")),
    "start unset": ([begun()], status("AII", {}, {}, {}), record("startTime")),
    "heartbeat in the future": ([begun()], begun(heartbeatTime=90), record("heartbeatTime")),
    "heartbeat before the start": ([begun()], begun(heartbeatTime=-60), record("heartbeatTime")),
    "heartbeat unset": ([begun(), begun(heartbeatTime=None)], begun(), record("heartbeatTime", _REQUIRED)),
    "expected in the past": ([begun()], begun(expectedCompletionTime=-60), record("expectedCompletionTime")),
    "expected in eleven years": ([begun()], begun(expectedCompletionTime=11 * 365 * 86_400), record("expectedCompletionTime")),
    "completion in the future": ([begun()], begun(completionTime=90), record("completionTime")),
    "completion unset": ([begun(), _DONE], begun(), record("completionTime")),
    "message": ([begun()], begun(message="x" * 4001), record("message", "FieldValueTooLong")),
    "generation": ([begun()], {**begun(), "observedGeneration": 0}, [(_INVALID, "status.observedGeneration")] * 2),
    "requester without key": ([begun()], {**begun(), "requesters": [{"name": "drain", "intent": "Eviction"}]}, [(_INVALID, "status.requesters[0].name")]),
    "requester twice": ([begun()], {**begun(), "requesters": [{"name": "a.io/drain", "intent": "Eviction"}] * 2}, [("FieldValueDuplicate", "status.requesters[1]")]),
}  # fmt: skip


@pytest.mark.parametrize("case", STEPS)
async def test_step(api: CaseApi, case: str) -> None:
    before, refused, causes = STEPS[case]
    await api.given(LIFECYCLE_EVICTIONS, made(LIFECYCLE_EVICTIONS, {"target": TARGET}))
    start = dt.datetime.now(dt.UTC)
    for step in before:
        (await _write(api, step, start)).ok()
    _check(await _write(api, refused, start), causes)


FIELDS: dict[str, tuple[Obj, Causes]] = {
    "target": ({"target": {}}, [(_INVALID, "spec.target")]),
    "uid": ({"target": {"pod": {"name": "web", "uid": "7F3D"}}}, [(_INVALID, "spec.target.pod.uid")]),
    "requester without key": ({"requester": "drain"}, [(_INVALID, "spec.requester")]),
    "requester of Kubernetes": ({"requester": "drain.k8s.io/x"}, [(_INVALID, "spec.requester")]),
    "no requester": ({"requester": ""}, [(_REQUIRED, "spec.requester")]),
    "intent": ({"intent": "Perhaps"}, [("FieldValueNotSupported", "spec.intent")]),
    "no intent": ({"intent": ""}, [(_REQUIRED, "spec.intent")]),
}


@pytest.mark.parametrize("case", FIELDS)
async def test_request(api: CaseApi, case: str) -> None:
    changes, causes = FIELDS[case]
    spec = {"target": TARGET, "requester": "acme.io/drain", "intent": "Eviction", **changes}
    _check(await api.post(LIFECYCLE_REQUESTS, made(LIFECYCLE_REQUESTS, spec)), causes)


PODS_RESPONDERS: dict[str, tuple[list[Obj], Causes]] = {
    "reserved priority": ([{"name": FIRST, "priority": 999}], [(_INVALID, "[0].priority")]),
    "high priority": ([{"name": FIRST, "priority": 100_001}], [(_INVALID, "[0].priority")]),
    "name of Kubernetes": ([{"name": "a.k8s.io/b", "priority": 1000}], [(_INVALID, "[0].name")]),
    "twice": ([{"name": FIRST, "priority": 1000}] * 2, [("FieldValueDuplicate", "[1]")]),
    "eleven": ([{"name": f"a.io/{n}", "priority": 1000} for n in range(11)], [("FieldValueTooMany", "")]),
}


@pytest.mark.parametrize("case", PODS_RESPONDERS)
async def test_responders_of_a_pod(api: CaseApi, case: str) -> None:
    listed, causes = PODS_RESPONDERS[case]
    wanted = pod("web")
    wanted["spec"]["evictionResponders"] = listed
    answer = await api.post(PODS, wanted)
    _check(answer, [(reason, f"spec.evictionResponders{path}") for reason, path in causes])


def made(kind: Kind, spec: Obj) -> Obj:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "one"}, "spec": spec}


async def _write(api: CaseApi, step: Obj, start: dt.datetime) -> Answer:
    patch = {"status": _filled(step, start)}
    return await api.patch(LIFECYCLE_EVICTIONS, "one", patch, MERGE_PATCH, "status")


def _filled(value: Any, start: dt.datetime) -> Any:
    """With times in place of their numbers."""
    if isinstance(value, list):
        return [_filled(one, start) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: format_time(start + dt.timedelta(seconds=one or 0))
        if key.endswith("Time")
        else _filled(one, start)
        for key, one in value.items()
    }


def _check(answer: Answer, causes: Causes) -> None:
    answer.refused(422, "Invalid")
    assert answer.details is not None
    found = [(one["reason"], one["field"]) for one in answer.details["causes"]]
    assert sorted(found) == sorted(causes)
