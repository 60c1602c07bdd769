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

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.evictionrequest.history import PastTurn, TurnResult
from vacate.eviction.model import Ending
from vacate.sdk.errors import (
    CancellationForbidden,
    ContractError,
    EvictionRefused,
    HeldByFinalizers,
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

__all__ = [
    "EVACUATION",
    "EVICTION_REQUEST",
    "NO_ESTIMATE",
    "Cancellation",
    "CancellationForbidden",
    "Condition",
    "ContractError",
    "Declined",
    "Ending",
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
