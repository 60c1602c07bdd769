"""Events that commands record."""

from __future__ import annotations

import asyncio

from vacate.api.events import NORMAL, WARNING, EventNote, Regarding, regarding
from vacate.api.kinds import NODES, PERSISTENTVOLUMES, PODS
from vacate.api.types import Node, PersistentVolume, Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cli.common.connection import Cluster
from vacate.entropy import system_entropy
from vacate.runtime.recorder import EventRecorder

REQUESTED, OVERRIDDEN = "EvictionRequested", "CancellationOverridden"
RETRIED, SKIPPED = "RetryRequested", "SkipRequested"
FORCE_CONFIRMED = "ForceDeletionConfirmed"
_SECONDS = 5.0
_MAX_MESSAGE = 1024  # longer messages of events are refused by API servers


async def note(
    cluster: Cluster, request: EvictionRequest, reason: str, message: str, *, warning: bool = False
) -> bool:
    """Write an Event about the request; False where that was not possible, which undoes nothing."""
    return await _write(cluster, regarding(request.kind, request), reason, message, warning=warning)


async def note_pod(cluster: Cluster, pod: Pod, reason: str, message: str) -> bool:
    """Write a warning Event about the pod; False where that was not possible, which undoes nothing."""
    return await _write(cluster, regarding(PODS, pod), reason, message, warning=True)


async def note_node(cluster: Cluster, node: Node, reason: str, message: str, *, warning: bool) -> bool:
    """Write an Event about the node; False where that was not possible, which undoes nothing."""
    return await _write(cluster, regarding(NODES, node), reason, message, warning=warning)


async def note_volume(cluster: Cluster, volume: PersistentVolume, reason: str, message: str) -> bool:
    """Write a warning Event about the volume; False where that was not possible, which undoes nothing."""
    return await _write(cluster, regarding(PERSISTENTVOLUMES, volume), reason, message, warning=True)


async def _write(cluster: Cluster, about: Regarding, reason: str, message: str, *, warning: bool) -> bool:
    recorder = EventRecorder(cluster.client, cluster.clock, system_entropy(), component="vacate-cli")
    recorder.record(EventNote(about, WARNING if warning else NORMAL, reason, message[:_MAX_MESSAGE]))
    try:
        async with asyncio.timeout(_SECONDS):
            await recorder.flush()
    except TimeoutError:
        return False
    return not recorder.dropped
