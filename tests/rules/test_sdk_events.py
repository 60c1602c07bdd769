"""Events of interceptors: about the request, and counted where they repeat."""

from __future__ import annotations

import pytest

from vacate.sdk import EvictionContext, Interceptor
from vacate.testing import SimulatedCluster, simulate

pytestmark = pytest.mark.sim

BACKUP = "backup.example.com"


def test_events_of_a_handler_are_about_the_request_and_counted() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        async def talks(context: EvictionContext) -> None:
            for _ in range(50):
                context.event("Copied", "One more part is copied.")

        await cluster.program(Interceptor(BACKUP, talks))
        await cluster.pod("web", BACKUP)
        requester = cluster.requester()
        request = await requester.request("web")
        await requester.wait(request)
        await cluster.clock.sleep(60)
        (event,) = cluster.events("Copied")
        about = event["involvedObject"]
        assert (about["kind"], about["name"]) == ("EvictionRequest", request.metadata.name)
        assert event["count"] > 1

    simulate(body)
