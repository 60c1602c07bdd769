"""Upgrade, downgrade, upgrade: the feature gate is closed and opened again, and no request is lost.

The design's own steps for the path, whose versions are those of the gate here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.evictions.clusters import EMBEDDED, EvictionCluster
from support.evictions.namespace import EvictionNamespace, pod_body, reason
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS
from vacate.errors import ApiError, NotFound
from vacate.eviction.registration import PREFIXES

pytestmark = pytest.mark.both_dialects

MALFORMED = {f"{PREFIXES[0]}/priority_first.example.com": "high"}


@pytest.fixture
def gated(cluster: EvictionCluster) -> Iterator[EvictionCluster]:
    """The cluster, whose gate is open again afterwards whatever happened."""
    yield cluster
    cluster.set_gate(is_open=True)


@pytest.mark.thorough
async def test_upgrade_downgrade_upgrade(place: EvictionNamespace, gated: EvictionCluster) -> None:
    a = await place.pod("a")  # 3.
    await place.ask(a)
    assert reason(await place.until_complete(a), "Complete") in place.left
    b = await place.pod("b", labels={"app": "b"})  # 4.
    await place.budget("b", maxUnavailable=0)
    await place.ask(b)
    blocked = await place.until_stage(b, "Blocked")
    assert blocked.status.pod_eviction_status is not None
    assert blocked.status.pod_eviction_status.failed_api_eviction_counter >= 1
    gated.set_gate(is_open=False)  # 5.
    await place.client.delete(PODDISRUPTIONBUDGETS, "b", place.namespace)  # 6.
    await nobody_is_there(place)
    await place.stays(b)
    gated.set_gate(is_open=True)  # 7.
    over = await place.until_complete(b)  # 8.
    assert reason(over, "Complete") in place.left
    assert over.metadata.uid == blocked.metadata.uid
    await place.gone(b)


async def nobody_is_there(place: EvictionNamespace) -> None:
    """What is behind the gate is not offered, and what was stored before is not touched."""
    c = await place.pod("c")
    with pytest.raises(ApiError) as refusal:
        await place.ask(c)
    if place.cluster.sort == EMBEDDED:
        assert isinstance(refusal.value, NotFound)
    else:
        assert place.dialect.kind.gate in str(refusal.value)
        listed = await place.client.list(place.dialect.kind, place.namespace)
        assert len(listed.items) == 2
    await place.client.create(PODS, pod_body("unchecked", annotations=MALFORMED), place.namespace)


async def test_the_gate_adds_validation_to_pods(place: EvictionNamespace) -> None:
    """What is taken while the gate is closed, as the path above shows, is refused while it is open."""
    with pytest.raises(ApiError, match=r"priority_first\.example\.com"):
        await place.client.create(PODS, pod_body("checked", annotations=MALFORMED), place.namespace)
