"""The SDK for requesters, which ask for the eviction of pods, and interceptors, which prepare for it.

    from vacate.sdk import interceptor, run_interceptors

    @interceptor("backup.example.com", label_selector="app=db")
    async def back_up(context):
        await context.report("Backing up", expected_finish=timedelta(minutes=5))
        await make_backup(context.pod.metadata.name)

    run_interceptors(back_up)

`vacate.sdk.sync` has the same for plain functions and scripts.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vacate.api.types.core import Pod
    from vacate.api.types.evictionrequest import EvictionRequest
    from vacate.eviction.dialects.evacuation.dialect import EVACUATION
    from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
    from vacate.eviction.model import CompletionReason
    from vacate.eviction.records.history import PastTurn, TurnResult
    from vacate.sdk.errors import (
        CancellationForbidden,
        ContractError,
        EvictionRefused,
        HeldByFinalizers,
        PreparationFailed,
        TurnLost,
    )
    from vacate.sdk.interceptors.context import EvictionContext
    from vacate.sdk.interceptors.controller import interceptor_controllers
    from vacate.sdk.interceptors.interceptor import Handler, Interceptor, interceptor
    from vacate.sdk.interceptors.program import run_interceptors, serve_interceptors
    from vacate.sdk.requesters.requester import Requester, open_requester
    from vacate.sdk.requesters.sustained import SustainedRequest
    from vacate.sdk.results import Result
    from vacate.sdk.values import (
        NO_ESTIMATE,
        Cancellation,
        Condition,
        Declined,
        Finished,
        OnFailure,
        Outcome,
        TurnEndReason,
    )

# Where each name is found. It is imported when it is used first: a requester needs neither controllers nor
# metrics, and a command that waits for one object should not wait for all of them to load.
_MODULES = {
    "EVACUATION": "vacate.eviction.dialects.evacuation.dialect",
    "EVICTION_REQUEST": "vacate.eviction.dialects.evictionrequest.dialect",
    "NO_ESTIMATE": "vacate.sdk.values",
    "Cancellation": "vacate.sdk.values",
    "CancellationForbidden": "vacate.sdk.errors",
    "Condition": "vacate.sdk.values",
    "ContractError": "vacate.sdk.errors",
    "Declined": "vacate.sdk.values",
    "CompletionReason": "vacate.eviction.model",
    "EvictionContext": "vacate.sdk.interceptors.context",
    "EvictionRefused": "vacate.sdk.errors",
    "EvictionRequest": "vacate.api.types.evictionrequest",
    "Finished": "vacate.sdk.values",
    "Handler": "vacate.sdk.interceptors.interceptor",
    "HeldByFinalizers": "vacate.sdk.errors",
    "Interceptor": "vacate.sdk.interceptors.interceptor",
    "OnFailure": "vacate.sdk.values",
    "Outcome": "vacate.sdk.values",
    "PastTurn": "vacate.eviction.records.history",
    "Pod": "vacate.api.types.core",
    "PreparationFailed": "vacate.sdk.errors",
    "Requester": "vacate.sdk.requesters.requester",
    "Result": "vacate.sdk.results",
    "SustainedRequest": "vacate.sdk.requesters.sustained",
    "TurnEndReason": "vacate.sdk.values",
    "TurnLost": "vacate.sdk.errors",
    "TurnResult": "vacate.eviction.records.history",
    "interceptor": "vacate.sdk.interceptors.interceptor",
    "interceptor_controllers": "vacate.sdk.interceptors.controller",
    "open_requester": "vacate.sdk.requesters.requester",
    "run_interceptors": "vacate.sdk.interceptors.program",
    "serve_interceptors": "vacate.sdk.interceptors.program",
}

__all__ = [
    "EVACUATION",
    "EVICTION_REQUEST",
    "NO_ESTIMATE",
    "Cancellation",
    "CancellationForbidden",
    "CompletionReason",
    "Condition",
    "ContractError",
    "Declined",
    "EvictionContext",
    "EvictionRefused",
    "EvictionRequest",
    "Finished",
    "Handler",
    "HeldByFinalizers",
    "Interceptor",
    "OnFailure",
    "Outcome",
    "PastTurn",
    "Pod",
    "PreparationFailed",
    "Requester",
    "Result",
    "SustainedRequest",
    "TurnEndReason",
    "TurnLost",
    "TurnResult",
    "interceptor",
    "interceptor_controllers",
    "open_requester",
    "run_interceptors",
    "serve_interceptors",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
