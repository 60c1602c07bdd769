"""Every way in which a drain can be held, on an embedded and on a real cluster: it ends by itself."""

from __future__ import annotations

import pytest

from support.evictions.clusters import EvictionCluster
from support.matrix.live import run_all


@pytest.mark.thorough
@pytest.mark.timeout(1200)
async def test_drains_say_what_holds_them_and_end_by_themselves(cluster: EvictionCluster) -> None:
    assert await run_all(cluster) == {}
