"""What a hook is sent, and what its answers mean. Pure.

A call is a POST. The same call is sent again until the answer is final, so it asks for work and for progress
alike; `idempotencyKey` stays the same for the whole turn, also after a restart of this process.

    200, 204                 done; the body is empty or {"message": "…"}
    202                      not yet: {"message", "percent", "expectedFinishTime", "retryAfterSeconds"}
    408, 425, 429, 5xx       to be sent again later
    other statuses           refused: the preparation has failed

All fields are optional. A body that is no such JSON is an error of the service, also with 200: the page of a
proxy says nothing about a pod.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import msgspec

from vacate.api.text import plain
from vacate.api.times import format_time, is_time, parse_time
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.httpclient.service import Answer
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR
from vacate.wire.json import decode_json

PREPARE, CANCEL = "Prepare", "Cancel"
MIN_RETRY, MAX_RETRY, DEFAULT_RETRY = 1.0, 300.0, 10.0
"""Seconds until a call is sent again after 202."""
_MESSAGE, _SHOWN = 500, 200
_REQUESTERS = 20
_LATER = frozenset({408, 425, 429})


class _Body(msgspec.Struct, rename="camel", frozen=True):
    message: str = ""
    percent: float | None = None
    expected_finish_time: str = ""
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The hook has done its work."""

    message: str


@dataclass(frozen=True, slots=True)
class InProgress:
    """The hook works on it."""

    message: str
    expected_finish: dt.datetime | None
    retry_after: float


@dataclass(frozen=True, slots=True)
class Unavailable:
    """No usable answer this time."""

    why: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The hook will not do it."""

    why: str


Meaning = Done | InProgress | Unavailable | Refused


def idempotency_key(request: EvictionRequest) -> str:
    """The same for all calls of one turn. A request has one turn of this interceptor."""
    return f"{request.metadata.uid}.{HOOKS_INTERCEPTOR}"


def call_body(
    action: str, pod: Pod, request: EvictionRequest, *, reason: str, deadline: dt.datetime, attempt: int
) -> dict[str, Any]:
    """What is sent. It has nothing secret in it, and nothing of a pod that its hook does not need."""
    names = [one.name for one in request.spec.requesters]
    return {
        "action": action,
        "idempotencyKey": idempotency_key(request),
        "attempt": attempt,
        "pod": {"namespace": pod.metadata.namespace, "name": pod.metadata.name, "uid": pod.metadata.uid},
        "node": pod.spec.node_name,
        "request": {
            "kind": request.kind.kind,
            "name": request.metadata.name,
            "uid": request.metadata.uid,
            "requesters": names[:_REQUESTERS],
        },
        "reason": reason,
        "deadline": format_time(deadline),
    }


def meaning_of(answer: Answer) -> Meaning:
    """What an answer says."""
    status = answer.status
    if status in _LATER or status >= 500:
        return Unavailable(_with_text(answer), _header_seconds(answer.retry_after))
    if 300 <= status < 400:
        return Refused(f"HTTP status {status}: redirects are not followed")
    if status not in (200, 202, 204):
        return Refused(_with_text(answer))
    try:
        body = decode_json(answer.body, _Body) if answer.body.strip() else _Body()
    except ValueError as error:
        return Unavailable(plain(f"HTTP status {status}, but not the answer of a hook: {error}", _SHOWN))
    message = plain(body.message, _MESSAGE)
    if status != 202:
        return Done(message)
    percent = body.percent
    if percent is not None and 0 <= percent <= 100:
        message = f"{message or 'In progress'} ({percent:.0f} %)"
    return InProgress(message, _moment(body.expected_finish_time), _retry(body.retry_after_seconds))


def _moment(text: str) -> dt.datetime | None:
    """A time that no one can hold is no estimate."""
    return parse_time(text) if is_time(text) else None


def _retry(seconds: float | None) -> float:
    if seconds is None:
        return DEFAULT_RETRY
    return min(max(seconds, MIN_RETRY), MAX_RETRY)


def _header_seconds(text: str) -> float | None:
    return _retry(float(text)) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _with_text(answer: Answer) -> str:
    text = plain(answer.body[: 4 * _SHOWN].decode(errors="replace"), _SHOWN)
    return f"HTTP status {answer.status}: {text}" if text else f"HTTP status {answer.status}"
