"""Whose turn it is, in CEL: down the list, one after the other, each for as long as it reports."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.install.cel import FORBIDDEN, REQUIRED, any_of, complete, rule, stated, status

_NAME, _COMPLETED, _HEARTBEAT = "activeInterceptorName", "activeInterceptorCompleted", "heartbeatTime"

_BEFORE, _AFTER = status("oldSelf", _NAME, "''"), status("self", _NAME, "''")
_WAS_DONE, _IS_DONE = status("oldSelf", _COMPLETED, "false"), status("self", _COMPLETED, "false")
_BEAT_BEFORE, _BEAT_AFTER = stated("oldSelf", _HEARTBEAT), stated("self", _HEARTBEAT)
_LIST = "self.spec.interceptors"
_HAS_LIST = f"has({_LIST}) && size({_LIST}) > 0"
_SAME_TURN = f"{_AFTER} == {_BEFORE}"
_NO_NEW_TURN = f"{_SAME_TURN} || {_AFTER} == ''"
_NO_TURN_YET = f"{_BEFORE} == '' && {_AFTER} == ''"


def turn_rules() -> list[Obj]:
    """Rules about the active interceptor."""
    return [*_order_rules(), *_end_rules(), *_beginning_rules(), *_within_rules()]


def _order_rules() -> list[Obj]:
    first = f"{_BEFORE} == '' && {_LIST}[size({_LIST}) - 1].name == {_AFTER}"
    following = (
        f"{_LIST}.exists(i, one, one.name == {_AFTER} && i + 1 < size({_LIST})"
        f" && {_LIST}[i + 1].name == {_BEFORE})"
    )
    silent = (
        f"{_BEAT_BEFORE} && {_BEAT_AFTER} && has(self.spec.heartbeatDeadlineSeconds)"
        f" && (self.status.{_HEARTBEAT} - oldSelf.status.{_HEARTBEAT}).getSeconds()"
        " >= self.spec.heartbeatDeadlineSeconds - 10"
    )
    return [
        rule(
            any_of(_NO_NEW_TURN, f"{_HAS_LIST} && (({first}) || {following})"),
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
            any_of(_NO_NEW_TURN, _BEAT_AFTER),
            "must be set when a turn begins",
            path=f".status.{_HEARTBEAT}",
            reason=REQUIRED,
        ),
    ]


def _within_rules() -> list[Obj]:
    waiting = f"{_NO_TURN_YET} && {_HAS_LIST}"
    return [
        rule(
            any_of(f"!({waiting})", _BEAT_BEFORE, f"!({_BEAT_AFTER})"),
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
