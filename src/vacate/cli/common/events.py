"""Events that commands leave behind, for those who look later."""

from __future__ import annotations

import asyncio

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cli.common.connection import Cluster
from vacate.entropy import system_entropy
from vacate.runtime.recorder import EventRecorder

REQUESTED, OVERRIDDEN = "EvictionRequested", "CancellationOverridden"
_SECONDS = 5.0
_LONGEST = 1024  # longer messages of events are refused by API servers


async def note(
    cluster: Cluster, request: EvictionRequest, reason: str, message: str, *, warning: bool = False
) -> bool:
    """Write an Event about the request; False where that was not possible, which undoes nothing."""
    recorder = EventRecorder(cluster.client, cluster.clock, system_entropy(), component="vacate-cli")
    about = regarding(EVICTIONREQUESTS, request)
    recorder.record(EventNote(about, WARNING if warning else NORMAL, reason, message[:_LONGEST]))
    try:
        async with asyncio.timeout(_SECONDS):
            await recorder.flush()
    except TimeoutError:
        return False
    return not recorder.dropped
