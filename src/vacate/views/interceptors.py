"""Who intercepts evictions: for how many pods, in how many open turns, and whether they answer. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from vacate.api.durations import human_duration
from vacate.api.identity import split_service_account
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.turn_conditions import past_turns
from vacate.eviction.records.history import TurnResult
from vacate.eviction.records.reader import has_responded
from vacate.eviction.registration import resolve
from vacate.eviction.requesternames import dotted
from vacate.views.phrases import NOTHING

HEADER = (
    "INTERCEPTOR",
    "PODS",
    "ACTIVE",
    "TURNS",
    "UNANSWERED",
    "TIMED OUT",
    "LAST ANSWER",
    "STATE",
    "BOUND TO",
)
UNKNOWN = "unknown"
Bindings = Mapping[str, Sequence[str]]
"""User names by interceptor, for those that are bound to accounts."""


@dataclass(slots=True)
class InterceptorSummary:
    """What pods and requests say about one interceptor."""

    name: str
    pods: int = 0  # that register it
    active: int = 0  # open requests in which it has the turn
    turns: int = 0  # that have ended
    unanswered: int = 0  # of those: it never responded
    timed_out: int = 0  # of those: it responded, and then missed its heartbeat deadline
    waiting: int = 0  # open turns in which it has not responded yet
    last_answer: dt.datetime | None = field(default=None)  # as far as it is recorded
    last_silence: dt.datetime | None = None  # when a turn of it last ended by a deadline
    accounts: tuple[str, ...] | None = None  # that alone may report for it; None where that is not known

    @property
    def bound_to(self) -> str:
        """The accounts that it is bound to, as NAMESPACE/SERVICEACCOUNT."""
        if self.accounts is None:
            return UNKNOWN
        return ", ".join(map(_short, self.accounts)) or NOTHING

    @property
    def silent(self) -> bool:
        """Whether the last that is known of it is that it did not answer."""
        return self.state in _SILENT

    @property
    def state(self) -> str:
        """Whether anyone answers to the name."""
        since, until = self.last_answer, self.last_silence
        if since is not None and (until is None or since >= until):
            return "Answers"
        if since is not None or self.timed_out:
            return "FellSilent"
        if self.unanswered:
            return "NeverAnswered"
        if self.waiting:
            return "Waiting"
        return "Unknown" if self.turns else "NoTurnYet"


def interceptor_summaries(
    pods: Iterable[Obj], requests: Iterable[EvictionRequest], bindings: Bindings | None = None
) -> list[InterceptorSummary]:
    """One for each name that a pod registers or a request lists, those that do not answer first."""
    found: dict[str, InterceptorSummary] = {}

    def of(name: str) -> InterceptorSummary:
        return found.setdefault(name, InterceptorSummary(name))

    for pod in pods:
        for name in (*resolve(pod).interceptors, *LIFECYCLE.registration(pod).interceptors):
            of(name).pods += 1
    for request in requests:
        for one in request.spec.interceptors:
            of(one.name)
        for turn in past_turns(request):
            summary = of(turn.interceptor)
            summary.turns += 1
            if turn.result in _SILENCES:
                # What it said before is in no record any more.
                summary.unanswered += turn.result is TurnResult.NEVER_RESPONDED
                summary.timed_out += turn.result is TurnResult.TIMED_OUT
                summary.last_silence = max(summary.last_silence or turn.ended, turn.ended)
            elif turn.result in _ANSWERS:
                _answered(summary, turn.ended)
        active = request.status.active_interceptor_name
        if active and not request.complete and not request.status.active_interceptor_completed:
            summary = of(active)
            summary.active += 1
            if has_responded(request):
                _answered(summary, request.status.heartbeat_time)
            else:
                summary.waiting += 1
    for summary in found.values():
        summary.accounts = None if bindings is None else tuple(bindings.get(dotted(summary.name), ()))
    return sorted(found.values(), key=lambda one: (not one.silent, one.name))


def unbound_notice(summaries: Iterable[InterceptorSummary]) -> str:
    """Which of them any account with the role may report for, and what to do; empty where all are bound."""
    names = [one.name for one in summaries if one.accounts == ()]
    if not names:
        return ""
    them = "interceptor is" if len(names) == 1 else "interceptors are"
    return (
        f"{len(names)} {them} not bound to an account, so that every account that may write the status of "
        f"requests can report for them: {', '.join(names)}. Bind each of them with "
        "vacate install --interceptor NAME=NAMESPACE/SERVICEACCOUNT, beside the options of the installation."
    )


def _short(user: str) -> str:
    account = split_service_account(user)
    return "/".join(account) if account else user


_ANSWERS = (TurnResult.COMPLETED, TurnResult.DECLINED, TurnResult.FAILED)
_SILENCES = (TurnResult.NEVER_RESPONDED, TurnResult.TIMED_OUT)
_SILENT = ("NeverAnswered", "FellSilent")


def _answered(summary: InterceptorSummary, at: dt.datetime | None) -> None:
    if at is not None and (summary.last_answer is None or at > summary.last_answer):
        summary.last_answer = at


def row(summary: InterceptorSummary, now: dt.datetime) -> tuple[str, ...]:
    """The summary as a row of the table."""
    last = summary.last_answer
    answered = f"{human_duration(max(now - last, dt.timedelta()))} ago" if last is not None else NOTHING
    counts = (summary.pods, summary.active, summary.turns, summary.unanswered, summary.timed_out)
    return summary.name, *map(str, counts), answered, summary.state, summary.bound_to


def as_object(summary: InterceptorSummary) -> Obj:
    """The summary for programs."""
    return {
        "name": summary.name,
        "pods": summary.pods,
        "active": summary.active,
        "turns": summary.turns,
        "unanswered": summary.unanswered,
        "timedOut": summary.timed_out,
        "lastAnswer": summary.last_answer.isoformat() if summary.last_answer else None,
        "state": summary.state,
        "boundTo": None if summary.accounts is None else list(summary.accounts),
    }
