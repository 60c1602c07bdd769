"""A reconciler waits for its own writes, and not for ever."""

from __future__ import annotations

import datetime as dt

import pytest

from vacate.api.types import ObjectMeta, Pod
from vacate.cache.reader import Reader
from vacate.cache.store import ObjectTable
from vacate.runtime.expectations import Expectations
from vacate.runtime.reconcile import Key
from vacate.sim.run import Sim, run_sim

pytestmark = pytest.mark.sim

OWNER = Key("shop", "web")


def pod(name: str, version: str, uid: str = "u", deleting: dt.datetime | None = None) -> Pod:
    meta = ObjectMeta(
        name=name, namespace="shop", uid=uid, resource_version=version, deletion_timestamp=deleting
    )
    return Pod(metadata=meta)


def test_creations_are_waited_for_by_revision() -> None:
    async def main(sim: Sim) -> None:
        table: ObjectTable[Pod] = ObjectTable({})
        reader, expectations = Reader(table), Expectations(sim.clock)
        assert expectations.satisfied(OWNER, reader)
        expectations.created(OWNER, "12")
        expectations.created(OWNER, "9")
        assert not expectations.satisfied(OWNER, reader)
        for version, expected in (("8", False), ("11", False), ("12", True)):
            table.resource_version = version
            assert expectations.satisfied(OWNER, reader) is expected
        table.resource_version = "1"
        assert expectations.satisfied(OWNER, reader), "what was seen once is not waited for again"

    run_sim(main)


def test_deletions_are_waited_for_by_uid() -> None:
    async def main(sim: Sim) -> None:
        for after in (None, pod("a", "2", uid="other"), pod("a", "2", deleting=sim.clock.now())):
            table: ObjectTable[Pod] = ObjectTable({})
            reader, expectations = Reader(table), Expectations(sim.clock)
            table.apply(pod("a", "1"), deleted=False)
            expectations.deleted(OWNER, "a", "u")
            assert not expectations.satisfied(OWNER, reader)
            table.replace([after] if after else [], "2")
            assert expectations.satisfied(OWNER, reader)

    run_sim(main)


def test_what_never_shows_is_forgotten() -> None:
    async def main(sim: Sim) -> None:
        reader: Reader[Pod] = Reader(ObjectTable({}))
        expectations = Expectations(sim.clock, expiry=300.0)
        expectations.created(OWNER, "12")
        await sim.clock.sleep(100)
        assert expectations.expiry(OWNER) == sim.clock.now() + dt.timedelta(seconds=200)
        assert not expectations.satisfied(OWNER, reader)
        await sim.clock.sleep(200)
        assert expectations.satisfied(OWNER, reader)
        expectations.created(OWNER, "12")
        expectations.forget(OWNER)
        assert expectations.satisfied(OWNER, reader)
        assert expectations.expiry(OWNER) == sim.clock.now()

    run_sim(main)
