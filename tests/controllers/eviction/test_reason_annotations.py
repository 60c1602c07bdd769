"""Where the API server has no field for a reason, the controller annotates pods before it evicts them."""

from __future__ import annotations

from typing import Any

import pytest

from support.simulated.evictions import (
    completed,
    evictions_heard,
    failed,
    history,
    in_eviction_cluster,
    requested,
)
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import dig
from vacate.api.terminationreason import ANNOTATION, SOURCE_ANNOTATION
from vacate.features import parse_feature_gates
from vacate.sim.cluster import World
from vacate.testing import pdb

pytestmark = pytest.mark.sim

ON: dict[str, Any] = {"gates": parse_feature_gates("TerminationReasonAnnotations=true")}
GIVEN = {ANNOTATION: "resolve issue 354961"}


def reasons(world: World) -> list[str | None]:
    """The annotation in each version of the pod, without repetitions."""
    found: list[str | None] = []
    for _, one in history(world, PODS):
        value = dig(one, "metadata", "annotations", ANNOTATION)
        if not found or found[-1] != value:
            found.append(value)
    return found


@pytest.mark.parametrize(
    ("settings", "annotations", "seen"),
    [(ON, {}, [None, "Eviction"]), (ON, GIVEN, [*GIVEN.values()]), ({}, {}, [None])],
)
def test_the_reason_is_there_before_the_pod_is_evicted(
    settings: dict[str, Any], annotations: dict[str, str], seen: list[str | None]
) -> None:
    async def body(world: World) -> None:
        name = await requested(world, metadata={"annotations": annotations})
        await completed(world, name)
        assert reasons(world) == seen
        terminating = [one for _, one in history(world, PODS) if dig(one, "metadata", "deletionTimestamp")]
        assert {dig(one, "metadata", "annotations", ANNOTATION) for one in terminating} == {seen[-1]}

    in_eviction_cluster(body, **settings)


def test_a_refused_eviction_takes_its_reason_back() -> None:
    async def body(world: World) -> None:
        web = {"app": "web"}
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", selector=web, min_available=1), "default")
        name = await requested(world, labels=web)
        await world.until(lambda: failed(world, name) == 2)
        assert evictions_heard(world) == 2
        assert reasons(world) == [None, "Eviction", None, "Eviction", None]
        left = world.find(PODS, "p", "default")
        assert SOURCE_ANNOTATION not in (dig(left or {}, "metadata", "annotations") or {})

    in_eviction_cluster(body, **ON)
