"""The pages of one user of `vacate web --sign-in`: with the user's token, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

from vacate.api.identity import ANONYMOUS
from vacate.cli.common.connection import Cluster
from vacate.cli.common.program import program_name
from vacate.cli.web.reads import MAX_COMMANDS, reads_of, run_with_token
from vacate.client.client import Client
from vacate.client.config import ClusterConfig
from vacate.client.http import HttpTransport
from vacate.client.serverclock import DatedTransport, ServerClock
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.errors import Unauthorized
from vacate.web.feed import Feed
from vacate.web.signin import Connect
from vacate.web.site import Site


def pages_of(server: ClusterConfig, dashboard: str = "") -> Connect:
    """Opens the pages of a token at this API server, which link to that dashboard."""
    room = asyncio.Semaphore(MAX_COMMANDS)

    @contextlib.asynccontextmanager
    async def connect(token: str, leave: str) -> AsyncIterator[Site]:
        clock = ServerClock(SystemClock())
        transport = HttpTransport(replace(server, token=token), clock.machine)
        client = Client(DatedTransport(transport, clock), user_agent="vacate/web")
        try:
            reads = reads_of(Cluster(client, "default", clock), run_with_token(server, token, room))
            user = await reads.user()
            if user == ANONYMOUS:  # something on the way has taken the token out
                raise Unauthorized("the API server has not seen the token")
            feed = Feed(
                client, clock, system_entropy(),
                context="", program=program_name(), user=user, leave=leave, dashboard=dashboard,
            )  # fmt: skip
            async with feed.running():
                yield Site(feed, reads)
        finally:
            await client.aclose()

    return connect
