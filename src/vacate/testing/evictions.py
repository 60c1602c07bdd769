"""What came of an eviction in a simulated cluster."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vacate.api.objects import Obj
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


def messages_of(states: Iterable[EvictionRequest]) -> tuple[str, ...]:
    """Every message that there was, one after the other, in all states of a request."""
    messages: list[str] = []
    for one in states:
        if one.status.message and messages[-1:] != [one.status.message]:
            messages.append(one.status.message)
    return tuple(messages)
