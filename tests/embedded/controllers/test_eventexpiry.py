"""Events go an hour after they were last seen."""

from __future__ import annotations

import datetime as dt

import pytest

from support.simulated.workloads import in_world
from vacate.api.kinds import DEPLOYMENTS, EVENTS
from vacate.api.times import LATEST
from vacate.api.types import Event, ObjectMeta
from vacate.embedded.controllers.eventexpiry.controller import expires_at
from vacate.sim.cluster import World
from vacate.testing import deployment

pytestmark = pytest.mark.sim

NOON = dt.datetime(2030, 1, 1, 12, tzinfo=dt.UTC)
ONE = dt.timedelta(hours=1)


@pytest.mark.parametrize(
    ("event", "end"),
    [
        (Event(), None),
        (Event(metadata=ObjectMeta(creation_timestamp=NOON)), NOON + ONE),
        (Event(metadata=ObjectMeta(creation_timestamp=NOON), last_timestamp=NOON + ONE), NOON + 2 * ONE),
        (Event(metadata=ObjectMeta(creation_timestamp=NOON), event_time=NOON - ONE), NOON + ONE),
        (Event(metadata=ObjectMeta(creation_timestamp=NOON), event_time=LATEST), NOON + ONE),
        (Event(event_time=LATEST), LATEST),
    ],
)
def test_the_hour_counts_from_the_last_time_it_was_seen(event: Event, end: dt.datetime | None) -> None:
    assert expires_at(event, NOON + 3 * ONE) == end


@pytest.mark.thorough
def test_events_of_a_rollout_are_there_for_an_hour_and_then_gone() -> None:
    async def body(world: World) -> None:
        await world.client.create(DEPLOYMENTS, deployment("web"), "default")
        await world.until(lambda: len(world.healthy_pods()) == 3)
        await world.until(lambda: len(world.objects(EVENTS, "default")) >= 10)
        await world.sim.clock.sleep(3500)
        assert len(world.objects(EVENTS, "default")) >= 10
        await world.until(lambda: not world.objects(EVENTS, "default"), timeout=300)

    in_world(body)
