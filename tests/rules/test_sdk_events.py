"""Events of interceptors: about the request, and counted where they repeat."""

from __future__ import annotations

import pytest

from support.simulated.sdk import SdkCluster, in_sdk_cluster
from vacate.sdk import EvictionContext, Interceptor

pytestmark = pytest.mark.sim

BACKUP = "backup.example.com"


def test_events_of_a_handler_are_about_the_request_and_counted() -> None:
    async def body(stage: SdkCluster) -> None:
        async def talks(context: EvictionContext) -> None:
            for _ in range(50):
                context.event("Copied", "One more part is copied.")

        await stage.program(Interceptor(BACKUP, talks))
        await stage.pod("web", BACKUP)
        requester = stage.requester()
        request = await requester.request("web")
        await requester.wait(request)
        await stage.clock.sleep(60)
        (event,) = stage.events("Copied")
        about = event["involvedObject"]
        assert (about["kind"], about["name"]) == ("EvictionRequest", request.metadata.name)
        assert event["count"] > 1

    in_sdk_cluster(body)
