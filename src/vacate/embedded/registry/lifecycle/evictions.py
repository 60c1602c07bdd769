"""Evictions of lifecycle.k8s.io: each step of their status, as kube-apiserver lets it pass.

Anyone with the right may write the status of an Eviction, so the server holds the process itself: turns are
handed over in order, in one write, and not before they are over; only the responder whose turn it is writes
its record; times are those of the server's clock; what is over stays over.
"""

from __future__ import annotations

import datetime as dt

from vacate.admission.checks import IMMUTABLE, same, unsupported
from vacate.admission.context import Context
from vacate.api.fielderrors import (
    OMITTED,
    ErrorType,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
    too_many,
)
from vacate.api.objects import Obj
from vacate.api.times import parse_time
from vacate.api.types.lifecycle import (
    CLOCK_SKEW,
    ENDED,
    EVICTOR,
    EVICTOR_PRIORITY,
    FINAL_CONDITIONS,
    HEARTBEAT_DEADLINE,
    MAX_MESSAGE,
    MAX_REQUESTERS,
    MIN_PRIORITY,
    State,
    key_errors,
    priority_errors,
    turn_order,
)
from vacate.api.untyped import integer, mapping, maps, text
from vacate.embedded.registry.lifecycle.requests import LifecycleStrategy, intent_errors

MAX_RESPONDERS = 11
_MAX_EXPECTED = dt.timedelta(days=3650)
_TARGETS, _RECORDS = "status.targetResponders", "status.responders"


class EvictionStrategy(LifecycleStrategy):
    """Answers for Evictions."""

    def status_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The step of the process."""
        status, before = mapping(new.get("status")), mapping(old.get("status"))
        found = super().status_errors(new, old, step, ctx)
        final, reverted = _is_final(status), _reverted(status, before)
        for sort in reverted:
            detail = f"{sort} condition status cannot be reverted"
            found.append(invalid("status.conditions", OMITTED, detail))
        final = final or bool(reverted)
        found += _list_errors(status, "requesters", MAX_REQUESTERS)
        for index, one in enumerate(maps(status.get("requesters"))):
            path = f"status.requesters[{index}]"
            found += key_errors(f"{path}.name", text(one.get("name"))) + intent_errors(one, path)
        found += _turn_errors(status, before, final, ctx.now) + _record_errors(status, before, ctx.now)
        return found


def _is_final(status: Obj) -> bool:
    return any(
        one.get("type") in FINAL_CONDITIONS and one.get("status") == "True"
        for one in maps(status.get("conditions"))
    )


def _reverted(status: Obj, before: Obj) -> list[str]:
    """The final conditions that were True and are so no longer, or for another reason."""
    now = {one.get("type"): one for one in maps(status.get("conditions"))}
    return [
        text(old.get("type"))
        for old in maps(before.get("conditions"))
        if old.get("type") in FINAL_CONDITIONS
        and old.get("status") == "True"
        and (
            (new := now.get(old.get("type"))) is None
            or new.get("status") == "False"
            or new.get("reason") != old.get("reason")
        )
    ]


def _list_errors(status: Obj, key: str, limit: int) -> list[FieldError]:
    listed, path = maps(status.get(key)), f"status.{key}"
    if len(listed) > limit:
        return [too_many(path, len(listed), limit)]
    names = [text(one.get("name")) for one in listed]
    return [
        duplicate(f"{path}[{index}]", {"name": name})
        for index, name in enumerate(names)
        if name in names[:index]
    ]


def _turn_errors(status: Obj, before: Obj, final: bool, now: dt.datetime) -> list[FieldError]:
    """`targetResponders`: whose turn it is."""
    listed, old = maps(status.get("targetResponders")), maps(before.get("targetResponders"))
    if old and len(listed) != len(old):
        return [invalid(_TARGETS, OMITTED, "must preserve the same length and the same keys")]
    if old and {one.get("name") for one in listed} != {one.get("name") for one in old}:
        return [invalid(_TARGETS, OMITTED, "must preserve the same keys")]
    if wrong := _list_errors(status, "targetResponders", MAX_RESPONDERS):
        return wrong
    found: list[FieldError] = []
    known = {one.get("name"): one for one in old}
    records = {one.get("name"): one for one in maps(status.get("responders"))}
    allowed = _allowed_states(_in_order(listed), _in_order(old), final)
    for index, one in enumerate(listed):
        path, name = f"{_TARGETS}[{index}]", text(one.get("name"))
        found += key_errors(f"{path}.name", name)
        found += _priority_errors(one, known.get(name), f"{path}.priority")
        record = records.get(name)
        if record is None:
            detail = f'"{name}" has to be tracked in status.responders first'
            found.append(invalid(path, OMITTED, detail))
            continue
        found += _state_errors(one, record, allowed[name], path, final, now)
    return found


def _in_order(listed: list[Obj]) -> list[Obj]:
    return sorted(listed, key=lambda one: turn_order(text(one.get("name")), integer(one.get("priority"), -1)))


def _allowed_states(new: list[Obj], old: list[Obj], final: bool) -> dict[str, tuple[tuple[State, ...], str]]:
    """By responder, in which states it may be now, and why."""
    states = [text(one.get("state")) for one in old]
    last = states.index(State.ACTIVE) if State.ACTIVE in states else -1
    ends = last >= 0 and new[last].get("state") != State.ACTIVE
    over = final or (bool(states) and states[-1] in ENDED)
    found: dict[str, tuple[tuple[State, ...], str]] = {}
    chosen: tuple[tuple[State, ...], str]
    for index, one in enumerate(new):
        if index < last or (old and last < 0 and over):
            chosen = (State(states[index]),), "final state is immutable"
        elif index == last and ends:
            chosen = ENDED, "this responder must reach a final state"
        elif index == last:
            chosen = (
                (ENDED if final else (State.ACTIVE,)),
                (
                    "the eviction request has finished processing"
                    if final
                    else "the eviction request stays active"
                ),
            )
        elif (index == 0 and not old) or (index == last + 1 and ends):
            chosen = (
                ((State.INACTIVE,) if final else (State.ACTIVE,)),
                (
                    "the eviction request has finished processing"
                    if final
                    else "this responder is next in line"
                ),
            )
        else:
            chosen = (State.INACTIVE,), "the previously active has not finished processing"
        found[text(one.get("name"))] = chosen
    return found


def _priority_errors(one: Obj, before: Obj | None, path: str) -> list[FieldError]:
    priority, name = one.get("priority"), one.get("name")
    if before is not None and priority != before.get("priority"):
        return [invalid(path, None, "field cannot be modified once set")]
    if found := priority_errors(path, priority):
        return found
    if name == EVICTOR and priority != EVICTOR_PRIORITY:
        return [
            invalid(path, priority, f"core k8s responder is expected to have priority: {EVICTOR_PRIORITY}")
        ]
    if name != EVICTOR and integer(priority) < MIN_PRIORITY:
        detail = f"priorities 0-{MIN_PRIORITY - 1} are reserved for responders with *.k8s.io suffix"
        return [invalid(path, priority, detail)]
    return []


def _state_errors(
    one: Obj, record: Obj, allowed: tuple[tuple[State, ...], str], path: str, final: bool, now: dt.datetime
) -> list[FieldError]:
    state, (states, why) = text(one.get("state")), allowed
    path = f"{path}.state"
    if not state:
        return [required(path)]
    if state not in states:
        unknown = [] if state in list(State) else [unsupported(path, state, sorted(State))]
        detail = f"must be one of: {', '.join(sorted(states))}, because {why}"
        return [invalid(path, state, detail), *unknown]
    began, ended = _time(record, "startTime"), _time(record, "completionTime")
    found: list[FieldError] = []
    if state != State.ACTIVE and began is not None and ended is None and not final:
        last = _time(record, "heartbeatTime") or began
        if now < last + HEARTBEAT_DEADLINE - CLOCK_SKEW:
            detail = (
                "must stay Active because the responder is in progress and it should report "
                "status.responders.heartbeatTime or status.responders.completionTime"
            )
            found.append(forbidden(path, detail))
    if state == State.COMPLETED and ended is None:
        detail = (
            "cannot become Completed because the responder didn't report status.responders.completionTime"
        )
        found.append(invalid(path, state, detail))
    return found


def _record_errors(status: Obj, before: Obj, now: dt.datetime) -> list[FieldError]:
    """`responders`: what each has reported."""
    listed, targets = maps(status.get("responders")), maps(status.get("targetResponders"))
    states = {text(one.get("name")): one.get("state") for one in targets}
    if len(listed) != len(targets):
        detail = "must be the same length as status.targetResponders and contain the same keys"
        return [invalid(_RECORDS, OMITTED, detail)]
    if {one.get("name") for one in listed} != states.keys():
        return [invalid(_RECORDS, OMITTED, "must contain the same keys as status.targetResponders")]
    if wrong := _list_errors(status, "responders", MAX_RESPONDERS):
        return wrong
    known = {one.get("name"): one for one in maps(before.get("responders"))}
    found: list[FieldError] = []
    for index, one in enumerate(listed):
        name, path = text(one.get("name")), f"{_RECORDS}[{index}]"
        old = known.get(name)
        if old is not None and not same(one, old) and states[name] != State.ACTIVE:
            found.append(invalid(path, OMITTED, IMMUTABLE))
            continue
        found += key_errors(f"{path}.name", name)
        found += _time_errors(one, old or {}, path, states[name] == State.ACTIVE, now)
        if len(text(one.get("message"))) > MAX_MESSAGE:
            detail = f"may not be more than {MAX_MESSAGE} characters"
            found.append(FieldError(f"{path}.message", ErrorType.TOO_LONG, detail))
    return found


def _time_errors(one: Obj, old: Obj, path: str, active: bool, now: dt.datetime) -> list[FieldError]:
    began, start = _time(one, "startTime"), f"{path}.startTime"
    found: list[FieldError] = []
    for key in ("startTime", "completionTime"):
        if old.get(key) is not None and one.get(key) != old.get(key):
            how = "cleared" if one.get(key) is None else "modified"
            found.append(invalid(f"{path}.{key}", None, f"field cannot be {how} once set"))
    if began is None and active and old.get("startTime") is None:
        found.append(required(start, "is required for an active responder"))
    elif began is not None and old.get("startTime") is None and not _is_near(began, now):
        found.append(invalid(start, one["startTime"], "must be set to the present time"))
    if old.get("heartbeatTime") is not None and one.get("heartbeatTime") is None:
        found.append(required(f"{path}.heartbeatTime", "is required once set"))
    for key in ("heartbeatTime", "expectedCompletionTime", "completionTime"):
        fixed = key == "completionTime" and old.get(key) is not None
        if one.get(key) and one.get(key) != old.get(key) and not fixed:
            detail = _wrong_time(key, parse_time(one[key]), _time(old, key), began, start, now)
            found += [invalid(f"{path}.{key}", one[key], detail)] if detail else []
    return found


def _wrong_time(
    key: str,
    moment: dt.datetime,
    before: dt.datetime | None,
    began: dt.datetime | None,
    start: str,
    now: dt.datetime,
) -> str:
    """What is wrong with a time that is new."""
    if began is None:
        return f"cannot be set before {start} is set"
    if key == "heartbeatTime" and before is not None and moment < before:
        return "cannot be decreased"
    if moment < began:
        return f"must occur after {start}"
    if key != "expectedCompletionTime":
        return "" if _is_near(moment, now) else "must be set to the present time"
    if moment < now - CLOCK_SKEW:
        return "cannot be set to the past time"
    return "must complete within 10 years" if moment > now + _MAX_EXPECTED else ""


def _time(record: Obj, key: str) -> dt.datetime | None:
    return parse_time(record[key]) if record.get(key) else None


def _is_near(moment: dt.datetime, now: dt.datetime) -> bool:
    return now - CLOCK_SKEW < moment < now + CLOCK_SKEW
