"""Eviction requests for pods with interceptors: made when their bucket begins, withdrawn on cancellation."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Coroutine

from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.shutdowndeadline import SHUTDOWN_DEADLINE
from vacate.api.times import format_time
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import VacateError
from vacate.nodeagent.shutdown.buckets import ShutdownPod
from vacate.sdk.requesters.requester import Requester

log = logging.getLogger(__name__)

REQUEST_SECONDS = 5.0
"""How long the API server may take. Without a request no interceptor acts: the pod is ended at once then."""


class ShutdownRequests:
    """The node as a requester."""

    def __init__(self, client: Client, clock: Clock, node: str) -> None:
        self._client = client
        self._clock = clock
        self._node = node
        self._requester = Requester(client, f"{node}.shutdown.vacate.dev", clock=clock)
        self._made: dict[str, ShutdownPod] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def request(
        self,
        pod: ShutdownPod,
        seconds: float,
        failed: Callable[[], None],
        prepared: Callable[[], None] | None = None,
    ) -> None:
        """Request the pod's eviction in the background, with the time by which it is ended anyway.

        `prepared` is called when every interceptor has had its turn.
        """
        if pod.uid not in self._made:
            self._made[pod.uid] = pod
            end = self._clock.now() + dt.timedelta(seconds=seconds)
            self._spawn(self._request(pod, end, failed, prepared))

    def withdraw_all(self) -> None:
        """The shutdown was cancelled: take back what was requested, in the background."""
        for pod in self._made.values():
            self._spawn(self._withdraw(pod))
        self._made.clear()

    async def aclose(self) -> None:
        """Stop what is under way."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    async def _request(
        self,
        pod: ShutdownPod,
        end: dt.datetime,
        failed: Callable[[], None],
        prepared: Callable[[], None] | None,
    ) -> None:
        at = format_time(end)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                made = await self._requester.request(
                    pod.name,
                    pod.namespace,
                    reason=f"node {self._node} is shutting down; the pod ends at {at}",
                )
                meta = made.metadata
                deadline = {"metadata": {"uid": meta.uid, "annotations": {SHUTDOWN_DEADLINE: at}}}
                await self._client.patch(EVICTIONREQUESTS, meta.name, deadline, meta.namespace)
            log.info("pod %s has interceptors: its eviction is requested, and it ends at %s", pod.key, at)
            if prepared is not None:
                async for one in self._requester.follow(made):
                    if _is_prepared(one):
                        break
                log.info("pod %s is prepared by its interceptors", pod.key)
                prepared()
        except (VacateError, OSError) as error:
            log.warning(
                "pod %s ends without its interceptors: %s", pod.key, str(error) or type(error).__name__
            )
            self._made.pop(pod.uid, None)
            failed()

    async def _withdraw(self, pod: ShutdownPod) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await self._requester.withdraw(pod.name, pod.namespace)
        except (VacateError, OSError) as error:
            log.warning(
                "the eviction request of pod %s stays: %s", pod.key, str(error) or type(error).__name__
            )

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _is_prepared(request: EvictionRequest) -> bool:
    """Whether interceptors have nothing left to do: the last has completed, or eviction is under way."""
    status, listed = request.status, request.spec.interceptors
    if request.complete or not listed or status.pod_eviction_status is not None:
        return True
    return status.active_interceptor_completed and status.active_interceptor_name == listed[0].name
