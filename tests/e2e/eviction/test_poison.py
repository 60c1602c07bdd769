"""A status that cannot be decoded is refused, names its field, and stops nobody's eviction."""

from __future__ import annotations

import pytest

from support.evictions.namespace import EvictionNamespace, reason
from support.hostile.poison import BAD_TIMES
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.errors import Invalid


async def test_bad_times_are_refused_and_others_go_on(place: EvictionNamespace) -> None:
    target = await place.pod("poisoned", "silent.example.com")
    other = await place.pod("other")
    await place.ask(target)
    name = target["metadata"]["uid"]
    await place.until_request(target, lambda one: bool(one.status.active_interceptor_name), "a turn begins")
    condition = {"type": "Mine", "status": "True", "reason": "R", "message": ""}
    for time in BAD_TIMES:
        for path, status in {
            "status.expectedInterceptorFinishTime": {"expectedInterceptorFinishTime": time},
            "status.heartbeatTime": {"heartbeatTime": time},
            "lastTransitionTime": {"conditions": [{**condition, "lastTransitionTime": time}]},
        }.items():
            with pytest.raises(Invalid, match=path):
                await place.client.patch(
                    EVICTIONREQUESTS, name, {"status": status}, place.namespace, subresource="status"
                )
    await place.ask(other)
    assert reason(await place.until_complete(other), "Complete") in ("PodTerminated", "PodDeleted")
    await place.stays(target)
