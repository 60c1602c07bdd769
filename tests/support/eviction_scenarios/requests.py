"""Programs made with the SDK that want a pod gone; what does not get through they try again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from support.eviction_scenarios.scenario import PodPlan
from support.eviction_scenarios.users import NAMESPACE
from vacate.errors import ApiError, NotFound, TransportError
from vacate.sdk.errors import HeldByFinalizers
from vacate.sdk.requesters.requester import Requester

PAUSE = 5.0


class PodRequest:
    """One such program."""

    def __init__(self, requester: Requester, plan: PodPlan) -> None:
        self._requester = requester
        self._plan = plan

    async def ask(self) -> None:
        """Ask once, until the server has taken it."""
        await self._until_done(self._ask)

    async def keep_requested(self) -> None:
        """Ask, and again, until the pod is gone."""
        await self._until_done(self._keep_requested)

    async def _until_done(self, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await act()
                return
            except NotFound:
                return  # the pod is gone
            except (ApiError, TransportError, HeldByFinalizers):
                await self._requester.clock.sleep(PAUSE)

    async def _ask(self) -> None:
        await self._requester.request(self._plan.name, NAMESPACE, deadline_seconds=self._plan.deadline)

    async def _keep_requested(self) -> None:
        deadline = self._plan.deadline
        async with self._requester.keep_requested(
            self._plan.name, NAMESPACE, deadline_seconds=deadline
        ) as context:
            result = await context.wait()
            assert result.pod_ended
