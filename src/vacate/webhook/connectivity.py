"""Whether the cluster can be asked: looked at now and then, so that others know whether to send reviews.

An open watch would not tell: it shows that its own connection lives, and that late, not that a new question
is answered; and a webhook whose certificate comes from files has the right to watch nothing. `/version` is
open to every account, and costs a server no more than a probe of its health does. Ten seconds are the period
of the readiness probe that reads the answer: looking more often would tell nobody more.
"""

from __future__ import annotations

import asyncio

from vacate.api.kinds import LIFECYCLE_EVICTIONS
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import ApiError, TransportError
from vacate.wire.message import Request

POLL_SECONDS = 10.0
_TIMEOUT_SECONDS = 5.0


class Connectivity:
    """The last answer of the API server."""

    def __init__(self, client: Client, clock: Clock, *, asks_for_lifecycle: bool = False) -> None:
        self._client = client
        self._clock = clock
        self._asks_for_lifecycle = asks_for_lifecycle
        self.trouble = "the API server has not answered yet"
        self.serves_lifecycle = False
        """Whether it has Kubernetes' own API for evictions, and so the field of pods, as was last seen."""

    async def run(self) -> None:
        """Ask again and again, until cancelled."""
        while True:
            await self.look()
            await self._clock.sleep(POLL_SECONDS if not self.trouble else 1.0)

    async def look(self) -> None:
        """Ask once."""
        self.trouble = await self._asked()

    async def _asked(self) -> str:
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await self._client.send(Request("GET", "/version"))
                if self._asks_for_lifecycle:
                    self.serves_lifecycle = await self._client.serves(LIFECYCLE_EVICTIONS)
        except TimeoutError:
            return f"the API server has not answered within {_TIMEOUT_SECONDS:.0f} s"
        except (ApiError, TransportError) as error:
            return f"the API server cannot be asked: {error}"
        return ""
