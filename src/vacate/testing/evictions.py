"""What came of an eviction in a simulated cluster."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vacate.api.objects import Obj, dig
from vacate.api.types.evictionrequest import EvictionRequest, RequestCondition
from vacate.errors import ConfigError
from vacate.sdk import PastTurn, TurnResult


@dataclass(frozen=True, slots=True)
class SimulatedEviction:
    """What came of an eviction."""

    history: tuple[PastTurn, ...]  # each interceptor's turn, in the order of their turns
    messages: tuple[str, ...]  # what the request's message was, one after the other, by whomever
    conditions: Mapping[str, RequestCondition]  # by their type, as they were at the end
    events: tuple[Obj, ...]  # about the request and the pod
    took: dt.timedelta  # from the request to its end
    pod_is_gone: bool
    request: EvictionRequest | None  # as it was last seen

    @property
    def result(self) -> TurnResult:
        """How the first interceptor's turn ended."""
        if not self.history:
            raise ConfigError("no interceptor had a turn")
        return self.history[0].result


def messages_of(states: Iterable[Obj], uid: str) -> tuple[str, ...]:
    """Every message that the request of this uid ever had, from all stored states of requests."""
    messages: list[str] = []
    for obj in states:
        message = str(dig(obj, "status", "message") or "")
        if obj["metadata"]["uid"] == uid and message and messages[-1:] != [message]:
            messages.append(message)
    return tuple(messages)
