"""Cases of lifecycle.k8s.io: the fields of both kinds, and every step that an Eviction's status may not take."""

# ruff: noqa: E501 - the rows of a table are as long as their messages
from __future__ import annotations

import datetime as dt
from typing import Any

from embedded.registry.case_types import Broken, BrokenStep, Cases, Done, DoneByStep
from embedded.registry.cases_evictionrequests import condition
from embedded.registry.given import NOW, context
from vacate.api.kinds import LIFECYCLE_EVICTIONS as EVICTION
from vacate.api.kinds import LIFECYCLE_REQUESTS as REQUEST
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types.lifecycle import EVICTOR
from vacate.features import FeatureGates

FIRST, SECOND = "first.example.com/prepare", "second.example.com/prepare"
OPEN = context()
OPEN = type(OPEN)(OPEN.user, OPEN.now, FeatureGates((("LifecycleAPI", True),)), OPEN.lookup, may=OPEN.may)


def at(seconds: int) -> str:
    """A time relative to the server's clock."""
    return format_time(NOW + dt.timedelta(seconds=seconds))


def turns(*states: str) -> list[Obj]:
    """The responders of an Eviction in these states, in the order of their turns."""
    named = ((FIRST, 20_000), (SECOND, 10_000), (EVICTOR, 100))
    return [
        {"name": name, "priority": priority, "state": state}
        for (name, priority), state in zip(named, states, strict=True)
    ]


def records(*given: Obj) -> list[Obj]:
    """What they have reported."""
    return [{"name": name, **one} for name, one in zip((FIRST, SECOND, EVICTOR), given, strict=True)]


def status(states: tuple[str, str, str], *given: Obj, **more: Any) -> Obj:
    """A whole status."""
    return {
        "observedGeneration": 1,
        "targetResponders": turns(*states),
        "responders": records(*given),
        **more,
    }


BEGUN: Obj = {"startTime": at(-600)}
IDLE = ("Inactive", "Inactive", "Inactive")
RUNNING = status(("Active", "Inactive", "Inactive"), BEGUN, {}, {})
HANDED_OVER = ("Completed", "Active", "Inactive")
DONE = {**BEGUN, "completionTime": at(-60)}


def step(rule: str, before: Obj | None, after: Obj, field_error: str) -> BrokenStep:
    """A refused write of the status."""
    return BrokenStep(f"Eviction/{rule}", EVICTION, {"status": after}, field_error,
                      {"status": before} if before else {}, "status")  # fmt: skip


def good(rule: str, before: Obj | None, after: Obj, path: str, value: Any) -> DoneByStep:
    """A write of the status that passes."""
    return DoneByStep(
        f"Eviction/{rule}",
        EVICTION,
        {"status": after},
        path,
        value,
        {"status": before} if before else {},
        "status",
    )


def _record(**changes: Any) -> Obj:
    return status(("Active", "Inactive", "Inactive"), {**BEGUN, **changes}, {}, {})


_STATE = "status.targetResponders[{}].state"
_STAYS = "Forbidden: must stay Active because the responder is in progress and it should report status.responders.heartbeatTime or status.responders.completionTime"
_SILENT = {"startTime": at(-1170)}
_EARLY = {"startTime": at(-1169)}
FAILED = [condition("Failed", reason="CanceledDueToNoRequesters")]
EVICTED = [condition("TargetEvicted", reason="PodDeleted")]

STEPS: Cases = (
    good("status/first write", None, status(("Active", "Inactive", "Inactive"), {"startTime": at(0)}, {}, {}), _STATE.format(0), "Active"),
    good("status/hand over", status(("Active", "Inactive", "Inactive"), DONE, {}, {}), status(HANDED_OVER, DONE, {"startTime": at(0)}, {}), _STATE.format(1), "Active"),
    good("status/hand over after silence", status(("Active", "Inactive", "Inactive"), _SILENT, {}, {}), status(("Interrupted", "Active", "Inactive"), _SILENT, {"startTime": at(0)}, {}), _STATE.format(0), "Interrupted"),
    good("status/end", RUNNING, status(("Canceled", "Inactive", "Inactive"), BEGUN, {}, {}, conditions=FAILED), _STATE.format(0), "Canceled"),
    step("status/first write without a turn", None, status(IDLE, {}, {}, {}), f'{_STATE.format(0)}: Invalid value: "Inactive": must be one of: Active, because this responder is next in line'),
    step("status/first write without records", None, {"targetResponders": turns("Active", "Inactive", "Inactive")}, "status.responders: Invalid value: must be the same length as status.targetResponders and contain the same keys"),
    step("status/start far from now", None, status(("Active", "Inactive", "Inactive"), {"startTime": at(-30)}, {}, {}), f'status.responders[0].startTime: Invalid value: "{at(-30)}": must be set to the present time'),
    step("status/active without start", None, status(("Active", "Inactive", "Inactive"), {}, {}, {}), "status.responders[0].startTime: Required value: is required for an active responder"),
    step("status/two turns at once", RUNNING, status(("Active", "Active", "Inactive"), BEGUN, {"startTime": at(0)}, {}), f'{_STATE.format(1)}: Invalid value: "Active": must be one of: Inactive, because the previously active has not finished processing'),
    step("status/no next turn", RUNNING, status(("Completed", "Inactive", "Inactive"), BEGUN, {}, {}), f'{_STATE.format(1)}: Invalid value: "Inactive": must be one of: Active, because this responder is next in line'),
    step("status/too early", status(("Active", "Inactive", "Inactive"), _EARLY, {}, {}), status(("Interrupted", "Active", "Inactive"), _EARLY, {"startTime": at(0)}, {}), f"{_STATE.format(0)}: {_STAYS}"),
    step("status/completed without completion", RUNNING, status(HANDED_OVER, BEGUN, {"startTime": at(0)}, {}), f'{_STATE.format(0)}: Invalid value: "Completed": cannot become Completed because the responder didn\'t report status.responders.completionTime'),
    step("status/turn taken back", status(HANDED_OVER, DONE, BEGUN, {}), status(("Active", "Inactive", "Inactive"), DONE, BEGUN, {}), f'{_STATE.format(0)}: Invalid value: "Active": must be one of: Completed, because final state is immutable'),
    step("status/record of another", RUNNING, status(("Active", "Inactive", "Inactive"), BEGUN, {"message": "me"}, {}), "status.responders[1]: Invalid value: field is immutable"),
    step("status/completion in the write of the hand-over", RUNNING, status(HANDED_OVER, {**BEGUN, "completionTime": at(0)}, {"startTime": at(0)}, {}), "status.responders[0]: Invalid value: field is immutable"),
    step("status/responders changed", RUNNING, {**RUNNING, "targetResponders": turns("Active", "Inactive", "Inactive")[:2]}, "status.targetResponders: Invalid value: must preserve the same length and the same keys"),
    step("status/priority changed", RUNNING, {**RUNNING, "targetResponders": [{**one, "priority": 30_000 if one["name"] == FIRST else one["priority"]} for one in RUNNING["targetResponders"]]}, "status.targetResponders[0].priority: Invalid value: null: field cannot be modified once set"),
    step("status/priority of the evictor", None, {**RUNNING, "targetResponders": [{**one, "priority": max(one["priority"], 101)} for one in RUNNING["targetResponders"]]}, "status.targetResponders[2].priority: Invalid value: 101: core k8s responder is expected to have priority: 100"),
    step("status/active at the end", RUNNING, {**RUNNING, "conditions": FAILED}, f'{_STATE.format(0)}: Invalid value: "Active": must be one of: Canceled, Completed, Interrupted, because the eviction request has finished processing'),
    step("status/end taken back", status(("Canceled", "Inactive", "Inactive"), BEGUN, {}, {}, conditions=EVICTED), status(("Canceled", "Inactive", "Inactive"), BEGUN, {}, {}), "status.conditions: Invalid value: TargetEvicted condition status cannot be reverted"),
    step("status/start changed", RUNNING, _record(startTime=at(0)), "status.responders[0].startTime: Invalid value: null: field cannot be modified once set"),
    step("status/heartbeat from the future", RUNNING, _record(heartbeatTime=at(30)), f'status.responders[0].heartbeatTime: Invalid value: "{at(30)}": must be set to the present time'),
    step("status/heartbeat falls back", _record(heartbeatTime=at(10)), _record(heartbeatTime=at(0)), f'status.responders[0].heartbeatTime: Invalid value: "{at(0)}": cannot be decreased'),
    step("status/heartbeat unset", _record(heartbeatTime=at(-300)), _record(), "status.responders[0].heartbeatTime: Required value: is required once set"),
    step("status/expected finish in the past", RUNNING, _record(expectedCompletionTime=at(-31)), f'status.responders[0].expectedCompletionTime: Invalid value: "{at(-31)}": cannot be set to the past time'),
    step("status/expected finish in eleven years", RUNNING, _record(expectedCompletionTime=at(11 * 365 * 86_400)), f'status.responders[0].expectedCompletionTime: Invalid value: "{at(11 * 365 * 86_400)}": must complete within 10 years'),
    step("status/completion unset", _record(completionTime=at(-1)), _record(), "status.responders[0].completionTime: Invalid value: null: field cannot be cleared once set"),
    step("status/message", RUNNING, _record(message="x" * 4001), "status.responders[0].message: Too long: may not be more than 4000 characters"),
    step("status/generation", RUNNING, {**RUNNING, "observedGeneration": 0}, "status.observedGeneration: Invalid value: 0: must be greater than or equal to 1"),
    step("status/requester", RUNNING, {**RUNNING, "requesters": [{"name": "drain", "intent": "Eviction"}]}, "status.requesters[0].name: Invalid value: \"drain\": must include a prefix (e.g. 'example.com/key')"),
    DoneByStep("Eviction/status/labels kept", EVICTION, {"metadata.labels": {"a": "b"}}, "metadata.labels", None, {}, "status"),
)  # fmt: skip

CASES: Cases = (
    *STEPS,
    Broken("EvictionRequest/spec.target", REQUEST, {"spec.target": {}}, 'spec.target: Invalid value: "": must specify one of: `pod`'),
    Broken("EvictionRequest/spec.target.pod.uid", REQUEST, {"spec.target.pod.uid": "7F3D9C52-8F6E-4B0F-9D35-0C1F0F6F2A11"}, 'spec.target.pod.uid: Invalid value: "7F3D9C52-8F6E-4B0F-9D35-0C1F0F6F2A11": must be a lowercase UUID in 8-4-4-4-12 format'),
    Broken("EvictionRequest/spec.requester/prefix", REQUEST, {"spec.requester": "drain"}, "spec.requester: Invalid value: \"drain\": must include a prefix (e.g. 'example.com/key')"),
    Broken("EvictionRequest/spec.requester/reserved", REQUEST, {"spec.requester": "drain.k8s.io/x"}, 'spec.requester: Invalid value: "drain.k8s.io/x": domain names *.k8s.io, *.kubernetes.io are reserved'),
    Broken("EvictionRequest/spec.intent", REQUEST, {"spec.intent": "Perhaps"}, 'spec.intent: Unsupported value: "Perhaps": supported values: "Eviction", "Withdrawn"'),
    Done("EvictionRequest/status", REQUEST, {"status": {"observedGeneration": 5}}, "status", {}),
    BrokenStep("EvictionRequest/spec.target/immutable", REQUEST, {"spec.target.pod.name": "other"}, "spec.target: Invalid value: null: field is immutable"),
    BrokenStep("EvictionRequest/spec.requester/immutable", REQUEST, {"spec.requester": "acme.io/b"}, "spec.requester: Invalid value: null: field is immutable"),
    DoneByStep("EvictionRequest/metadata.generation", REQUEST, {"spec.intent": "Withdrawn"}, "metadata.generation", 2),
    Done("Pod/spec.evictionResponders/dropped", PODS, {"spec.evictionResponders": [{"name": FIRST, "priority": 10_000}]}, "spec.evictionResponders", None),
    Done("Pod/spec.evictionResponders/kept", PODS, {"spec.evictionResponders": [{"name": FIRST, "priority": 10_000}]}, "spec.evictionResponders", [{"name": FIRST, "priority": 10_000}], OPEN),
)  # fmt: skip

POD_ERRORS: tuple[tuple[list[Obj], str], ...] = (
    ([{"name": FIRST, "priority": 999}], "[0].priority: Invalid value: 999: priorities 0-999 are reserved for responders with *.k8s.io suffix"),
    ([{"name": FIRST, "priority": 100_001}], "[0].priority: Invalid value: 100001: must be less than or equal to 100000"),
    ([{"name": "a.k8s.io/b", "priority": 1000}], '[0].name: Invalid value: "a.k8s.io/b": domain names *.k8s.io, *.kubernetes.io are reserved'),
    ([{"name": FIRST, "priority": 1000}] * 2, f'[1]: Duplicate value: "{FIRST}"'),
    ([{"name": f"a.io/{n}", "priority": 1000} for n in range(11)], ": Too many: 11: must have at most 10 items"),
)  # fmt: skip
