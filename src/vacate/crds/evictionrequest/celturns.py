"""Whose turn it is, in CEL: down the list, one after the other, each for as long as it reports."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.crds.cel import FORBIDDEN, REQUIRED, any_of, complete, rule, value

_NAME, _COMPLETED, _HEARTBEAT = "activeInterceptorName", "activeInterceptorCompleted", "heartbeatTime"
_LIST = "self.spec.interceptors"
_HAS_LIST = f"has({_LIST}) && size({_LIST}) > 0"


class _Step:
    """A status and the one before, as a rule at the root or at the status itself sees them."""

    def __init__(self, status: str) -> None:
        before, after = f"oldSelf{status}", f"self{status}"
        self.before, self.after = value(before, _NAME, "''"), value(after, _NAME, "''")
        self.was_done, self.is_done = value(before, _COMPLETED, "false"), value(after, _COMPLETED, "false")
        self.beat_before, self.beat_after = f"has({before}.{_HEARTBEAT})", f"has({after}.{_HEARTBEAT})"
        self.silence = f"({after}.{_HEARTBEAT} - {before}.{_HEARTBEAT}).getSeconds()"
        self.same_turn = f"{self.after} == {self.before}"
        self.no_new_turn = any_of(self.same_turn, f"{self.after} == ''")


_WHOLE, _STATUS = _Step(".status"), _Step("")


def turn_rules() -> list[Obj]:
    """Rules about the active interceptor for which the spec counts, too."""
    return [*_order_rules(), *_within_rules()]


def turn_status_rules() -> list[Obj]:
    """Rules about the active interceptor that need nothing but the status."""
    return [*_end_rules(), *_beginning_rules()]


def _order_rules() -> list[Obj]:
    step = _WHOLE
    first = f"{step.before} == '' && {_LIST}[size({_LIST}) - 1].name == {step.after}"
    following = (
        f"{_LIST}.exists(i, one, one.name == {step.after} && i + 1 < size({_LIST})"
        f" && {_LIST}[i + 1].name == {step.before})"
    )
    silent = (
        f"{step.beat_before} && {step.beat_after} && has(self.spec.heartbeatDeadlineSeconds)"
        f" && {step.silence} >= self.spec.heartbeatDeadlineSeconds - 10"
    )
    return [
        rule(
            any_of(step.no_new_turn, f"{_HAS_LIST} && (({first}) || {following})"),
            "must be the interceptor whose turn is next: down the list, beginning with the last",
            path=f".status.{_NAME}",
        ),
        rule(
            any_of(step.no_new_turn, f"{step.before} == ''", step.was_done, silent),
            "the turn may not pass on: the active interceptor has neither completed nor missed its deadline",
            path=f".status.{_NAME}",
            reason=FORBIDDEN,
            told=f"'the turn may not pass on: \"' + {step.before} + '\" has neither completed nor missed its"
            " deadline'",
        ),
    ]


def _within_rules() -> list[Obj]:
    step = _WHOLE
    waiting = f"{step.before} == '' && {step.after} == '' && {_HAS_LIST}"
    return [
        rule(
            any_of(step.beat_before, f"!{step.beat_after}", f"!({waiting})"),
            "may not be set before an interceptor has its turn",
            path=f".status.{_HEARTBEAT}",
            reason=FORBIDDEN,
        ),
        rule(
            any_of(f"!{step.is_done}", f"!({waiting})"),
            "may not be true before an interceptor has its turn",
            path=f".status.{_COMPLETED}",
            reason=FORBIDDEN,
        ),
        rule(
            any_of(
                f"!{step.was_done}",
                step.is_done,
                f"!({step.same_turn})",
                waiting,
                complete("self.status"),
            ),
            "may not be taken back before the next turn",
            path=f".status.{_COMPLETED}",
        ),
    ]


def _end_rules() -> list[Obj]:
    step = _STATUS
    return [
        rule(
            any_of(f"{step.after} != ''", f"{step.before} == ''", complete("self")),
            "may not be unset before the request is complete",
            path=f".{_NAME}",
            reason=REQUIRED,
        ),
        rule(
            any_of(f"!{complete('self')}", f"{step.after} == ''", complete("oldSelf")),
            "must be unset when the request is complete",
            path=f".{_NAME}",
            reason=FORBIDDEN,
        ),
    ]


def _beginning_rules() -> list[Obj]:
    step = _STATUS
    return [
        rule(
            any_of(f"!{step.is_done}", step.no_new_turn),
            "must be false when a turn begins",
            path=f".{_COMPLETED}",
        ),
        rule(
            any_of(step.beat_after, step.no_new_turn),
            "must be set when a turn begins",
            path=f".{_HEARTBEAT}",
            reason=REQUIRED,
        ),
    ]
