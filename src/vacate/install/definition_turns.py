"""Whose turn it is, in CEL: down the list, one after the other, each for as long as it reports."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.install.cel import FORBIDDEN, REQUIRED, any_of, complete, names, rule, status

_NAME, _COMPLETED, _HEARTBEAT = "activeInterceptorName", "activeInterceptorCompleted", "heartbeatTime"

_BEFORE, _AFTER = status("oldSelf", _NAME, "''"), status("self", _NAME, "''")
_WAS_DONE, _IS_DONE = status("oldSelf", _COMPLETED, "false"), status("self", _COMPLETED, "false")
_BEAT_BEFORE, _BEAT_AFTER = f"oldSelf.?status.?{_HEARTBEAT}", f"self.?status.?{_HEARTBEAT}"
_LIST = names("self", "interceptors")
_NO_LIST = "size(self.spec.?interceptors.orValue([])) == 0"
_SAME_TURN = f"{_AFTER} == {_BEFORE}"
_NO_NEW_TURN = f"{_SAME_TURN} || {_AFTER} == ''"
_NO_TURN_YET = f"{_BEFORE} == '' && {_AFTER} == ''"


def turn_rules() -> list[Obj]:
    """Rules about the active interceptor."""
    return [*_order_rules(), *_end_rules(), *_beginning_rules(), *_within_rules()]


def _order_rules() -> list[Obj]:
    # Whoever had no turn before the first one stands behind the last of the list.
    at = f"({_BEFORE} == '' ? size({_LIST}) : {_LIST}.indexOf({_BEFORE}))"
    deadline = "duration(string(self.spec.?heartbeatDeadlineSeconds.orValue(1800) - 10) + 's')"
    silent = (
        f"{_BEAT_BEFORE}.hasValue() && {_BEAT_AFTER}.hasValue()"
        f" && {_BEAT_AFTER}.value() - {_BEAT_BEFORE}.value() >= {deadline}"
    )
    return [
        rule(
            any_of(_NO_NEW_TURN, f"{at} > 0 && {_LIST}[{at} - 1] == {_AFTER}"),
            "must be the interceptor whose turn is next: down the list, beginning with the last",
            path=f".status.{_NAME}",
        ),
        rule(
            any_of(_NO_NEW_TURN, f"{_BEFORE} == ''", _WAS_DONE, silent),
            "the turn may not pass on: the active interceptor has neither completed nor missed its deadline",
            path=f".status.{_NAME}",
            reason=FORBIDDEN,
            told=f"'the turn may not pass on: \"' + {_BEFORE} + '\" has neither completed nor missed its"
            " deadline'",
        ),
    ]


def _end_rules() -> list[Obj]:
    return [
        rule(
            any_of(f"{_BEFORE} == ''", f"{_AFTER} != ''", complete("self")),
            "may not be unset before the request is complete",
            path=f".status.{_NAME}",
            reason=REQUIRED,
        ),
        rule(
            any_of(f"{_AFTER} == ''", f"!{complete('self')}", complete("oldSelf")),
            "must be unset when the request is complete",
            path=f".status.{_NAME}",
            reason=FORBIDDEN,
        ),
    ]


def _beginning_rules() -> list[Obj]:
    return [
        rule(
            any_of(_NO_NEW_TURN, f"!{_IS_DONE}"),
            "must be false when a turn begins",
            path=f".status.{_COMPLETED}",
        ),
        rule(
            any_of(_NO_NEW_TURN, f"{_BEAT_AFTER}.hasValue()"),
            "must be set when a turn begins",
            path=f".status.{_HEARTBEAT}",
            reason=REQUIRED,
        ),
    ]


def _within_rules() -> list[Obj]:
    waiting = f"{_NO_TURN_YET} && !({_NO_LIST})"
    return [
        rule(
            any_of(f"!({waiting})", f"{_BEAT_BEFORE}.hasValue()", f"!{_BEAT_AFTER}.hasValue()"),
            "may not be set before an interceptor has its turn",
            path=f".status.{_HEARTBEAT}",
            reason=FORBIDDEN,
        ),
        rule(
            any_of(f"!({waiting})", f"!{_IS_DONE}"),
            "may not be true before an interceptor has its turn",
            path=f".status.{_COMPLETED}",
            reason=FORBIDDEN,
        ),
        rule(
            any_of(f"!({_SAME_TURN})", waiting, f"!{_WAS_DONE}", _IS_DONE, complete("self")),
            "may not be taken back before the next turn",
            path=f".status.{_COMPLETED}",
        ),
    ]
