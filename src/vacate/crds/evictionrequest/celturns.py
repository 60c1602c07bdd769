"""Whose turn it is, in CEL: down the list, one after the other, each for as long as it reports."""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.crds.cel import FORBIDDEN, REQUIRED, any_of, complete, rule, value
from vacate.crds.celfields import CelFields


class _Step:
    """A status and the one before, as a rule at the root or at the status itself sees them."""

    def __init__(self, status: str, fields: CelFields) -> None:
        before, after, beat = f"oldSelf{status}", f"self{status}", fields.heartbeat
        self.fields = fields
        self.before, self.after = value(before, fields.active, "''"), value(after, fields.active, "''")
        self.was_done = value(before, fields.completed, "false")
        self.is_done = value(after, fields.completed, "false")
        self.beat_before, self.beat_after = f"has({before}.{beat})", f"has({after}.{beat})"
        self.beat_gap = f"(timestamp({after}.{beat}) - timestamp({before}.{beat})).getSeconds()"
        self.same_turn = f"{self.after} == {self.before}"
        self.no_new_turn = any_of(self.same_turn, f"{self.after} == ''")
        self.list = f"self.spec.{fields.interceptors}"
        self.has_list = f"has({self.list}) && size({self.list}) > 0"


def turn_rules(fields: CelFields) -> list[Obj]:
    """Rules about the active interceptor for which the spec counts, too."""
    step = _Step(".status", fields)
    return [*_order_rules(step), *_within_rules(step)]


def turn_status_rules(fields: CelFields) -> list[Obj]:
    """Rules about the active interceptor that need nothing but the status."""
    step = _Step("", fields)
    return [*_end_rules(step), *_beginning_rules(step)]


def _order_rules(step: _Step) -> list[Obj]:
    fields, entries = step.fields, step.list
    name, deadline = fields.name, f"self.spec.{fields.deadline}"
    begin, near = (f"size({entries}) - 1", "i + 1") if fields.last_first else ("0", "i - 1")
    within = f"i + 1 < size({entries})" if fields.last_first else "i > 0"
    first = f"{step.before} == '' && {entries}[{begin}].{name} == {step.after}"
    following = (
        f"{entries}.exists(i, one, one.{name} == {step.after} && {within}"
        f" && {entries}[{near}].{name} == {step.before})"
    )
    silent = (
        f"{step.beat_before} && {step.beat_after} && has({deadline}) && {step.beat_gap} >= {deadline} - 10"
    )
    order = "beginning with the last" if fields.last_first else "beginning with the first"
    unfinished = f"the active {fields.interceptor} has neither completed nor missed its deadline"
    return [
        rule(
            any_of(step.no_new_turn, f"{step.has_list} && (({first}) || {following})"),
            f"must be the {fields.interceptor} whose turn is next: down the list, {order}",
            path=f".status.{fields.active}",
        ),
        rule(
            any_of(step.no_new_turn, f"{step.before} == ''", step.was_done, silent),
            f"the turn may not pass on: {unfinished}",
            path=f".status.{fields.active}",
            reason=FORBIDDEN,
            message_expression=f"'the turn may not pass on: \"' + {step.before}"
            " + '\" has neither completed nor missed its deadline'",
        ),
    ]


def _within_rules(step: _Step) -> list[Obj]:
    fields = step.fields
    waiting = f"{step.before} == '' && {step.after} == '' && {step.has_list}"
    early = f"before an {fields.interceptor} has its turn"
    return [
        rule(
            any_of(step.beat_before, f"!{step.beat_after}", f"!({waiting})"),
            f"may not be set {early}",
            path=f".status.{fields.heartbeat}",
            reason=FORBIDDEN,
        ),
        rule(
            any_of(f"!{step.is_done}", f"!({waiting})"),
            f"may not be true {early}",
            path=f".status.{fields.completed}",
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
            path=f".status.{fields.completed}",
        ),
    ]


def _end_rules(step: _Step) -> list[Obj]:
    active, request = step.fields.active, step.fields.request
    return [
        rule(
            any_of(f"{step.after} != ''", f"{step.before} == ''", complete("self")),
            f"may not be unset before the {request} is complete",
            path=f".{active}",
            reason=REQUIRED,
        ),
        rule(
            any_of(f"!{complete('self')}", f"{step.after} == ''", complete("oldSelf")),
            f"must be unset when the {request} is complete",
            path=f".{active}",
            reason=FORBIDDEN,
        ),
    ]


def _beginning_rules(step: _Step) -> list[Obj]:
    fields = step.fields
    return [
        rule(
            any_of(f"!{step.is_done}", step.no_new_turn),
            "must be false when a turn begins",
            path=f".{fields.completed}",
        ),
        rule(
            any_of(step.beat_after, step.no_new_turn),
            "must be set when a turn begins",
            path=f".{fields.heartbeat}",
            reason=REQUIRED,
        ),
    ]
