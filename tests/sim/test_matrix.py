"""Every way in which a drain can be held, in virtual time: it says so, and ends by itself when it is over."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from support.effort import seeds
from support.matrix.live import progress_within
from support.matrix.place import Refusal
from support.matrix.simulated import GATES, MANAGER, Refusals, SimulatedPlace, run_plain, run_seed
from support.matrix.table import BY_NAME, CASES, ENDS_WITHIN, EXEMPT, UNREPORTED, Case, run_case
from support.simulated.workloads import history
from vacate.api.kinds import EVENTS, EVICTIONREQUESTS, NODEMAINTENANCES, PODS
from vacate.clock import LoopClock
from vacate.embedded.apiserver.inprocess import Handler
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import DIALECTS, OWN_DIALECTS
from vacate.sim.cluster import World, WorldSettings
from vacate.sim.run import Sim, run_sim
from vacate.testing import pod
from vacate.wire.message import Request, Response

pytestmark = [pytest.mark.sim, pytest.mark.timeout(300), pytest.mark.thorough(beyond=6)]

SEEDS = seeds("VACATE_MATRIX_SEEDS", 30)
_PART = 10
OWN = EVICTION_REQUEST.request_kind
KEPT = [
    (783, "a surge without room", OWN),
    (20139, "an interceptor that declines", OWN),
    (61318, "a finalizer of the request for a DaemonSet pod, which stays", OWN),
]
"""Seeds that failed once, with the case and the kind of requests that they chose then."""


_EACH = pytest.mark.parametrize(
    ("case", "dialect"),
    [
        pytest.param(one, dialect, id=f"{one.name}-{dialect.request_kind}")
        for one in CASES
        if "simulated" in one.places
        for dialect in one.request_kinds
    ],
)


@pytest.mark.thorough(beyond=6)
@_EACH
def test_a_drain_says_what_holds_it_and_ends_by_itself(case: Case, dialect: Dialect) -> None:
    run_plain(case, dialect)


@pytest.mark.thorough(beyond=6)
@_EACH
def test_it_ends_as_soon_after_a_restart_of_all_controllers(case: Case, dialect: Dialect) -> None:
    run_plain(case, dialect, restarted=True)


@pytest.mark.thorough(beyond=6)
@_EACH
def test_it_ends_also_where_the_cause_goes_as_soon_as_it_is_reported(case: Case, dialect: Dialect) -> None:
    run_plain(case, dialect, held=0.0)


@pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
def test_a_drain_goes_on_at_once_when_the_finalizers_of_a_request_of_others_go(dialect: Dialect) -> None:
    """It does not wait until it would have gone past the request."""
    assert run_plain(BY_NAME["a finalizer of the request"], dialect, held=0.0) < 3.0


@pytest.mark.parametrize("part", range((SEEDS + _PART - 1) // _PART))
def test_it_ends_by_itself_also_after_faults_and_crashes(part: int) -> None:
    outcomes = [run_seed(seed) for seed in range(part * _PART, min((part + 1) * _PART, SEEDS))]
    assert [one.problem for one in outcomes if one.problem] == []


@pytest.mark.thorough
@pytest.mark.parametrize(("seed", "name", "kind"), KEPT)
def test_what_failed_once_ends_by_itself(seed: int, name: str, kind: str) -> None:
    assert run_seed(seed, name, kind).problem == ""


def test_every_case_checks_what_it_claims() -> None:
    silent = {one.name for one in CASES if not (one.reports or one.event or one.progress)}
    assert silent == UNREPORTED.keys()
    assert [one.name for one in CASES if one.names and not (one.reports or one.event)] == []


def test_a_running_cluster_would_show_a_drain_that_goes_on_only_after_a_minute_and_a_half() -> None:
    """As one did after an outage of the webhook: however slow the machine, that is too late."""
    assert progress_within(ENDS_WITHIN, 0.1) < 30.0
    assert progress_within(ENDS_WITHIN, 600.0) < 90.0


def test_what_a_case_is_exempt_from_names_cases_and_kinds() -> None:
    kinds = {one.request_kind for one in DIALECTS.values()}
    assert EXEMPT.keys() <= BY_NAME.keys()
    assert all(one and one.keys() < kinds for one in EXEMPT.values())


def test_a_long_refusal_ends_by_itself_where_time_passes_while_code_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In virtual time two readings of the clock in one step are equal; in real time they never are."""
    read, readings = LoopClock.now, [0.0, 0]

    def now(self: Any) -> dt.datetime:
        at = self.monotonic()
        readings[:] = [at, readings[1] + 1 if readings[0] == at else 1]
        return read(self) + dt.timedelta(microseconds=readings[1])

    monkeypatch.setattr(LoopClock, "now", now)

    async def main(sim: Sim) -> None:
        async with World(sim, WorldSettings(gates=GATES)) as world:
            place = SimulatedPlace(world)
            await place.pod("p")
            await place.refuse(Refusal(kind=EVICTIONREQUESTS, method="POST", by="away"))
            await place.drain()
            await sim.clock.sleep(120)
            await place.allow()

            def drained() -> bool:
                found = world.find(NODEMAINTENANCES, place.drain_name)
                return found is not None and found["status"]["phase"] == "Drained"

            await world.until(drained, 30.0)

    run_sim(main, limit=86400.0)


@pytest.mark.parametrize("seconds", [33, 41])
def test_an_outage_of_the_webhook_does_not_turn_the_order_of_priorities_around(seconds: int) -> None:
    async def main(sim: Sim) -> None:
        async with World(sim, WorldSettings(gates=GATES)) as world:
            place = SimulatedPlace(world)
            low = await place.pod("low")
            await place.refuse(Refusal(kind=EVICTIONREQUESTS, method="POST", by="away"))
            await place.drain()
            await sim.clock.sleep(20)  # by now others would go without it, if there were any
            labels = {"app": place.namespace}
            critical = {"nodeName": place.node, "priorityClassName": "system-cluster-critical"}
            high = pod("high", namespace="kube-system", labels=labels, spec=critical)
            await world.client.create(PODS, high, "kube-system")
            await sim.clock.sleep(seconds)
            await place.allow()
            await place.until(place.is_drained, "the drain ends", 60.0)
            first, *_ = [one for gone, one in history(world, EVICTIONREQUESTS) if not gone]
            assert first["metadata"]["name"] == low["metadata"]["uid"]
            ended = [one["metadata"]["name"] for gone, one in history(world, PODS) if gone]
            assert ended == ["low", "high"]

    run_sim(main, limit=86400.0)


def test_a_daemonset_pod_goes_past_a_request_that_the_server_has_and_that_is_on_record() -> None:
    case = BY_NAME["a finalizer of the request for a DaemonSet pod, which stays"]
    seen: list[tuple[str, str]] = []

    class Watching(Refusals):
        async def handle(self, link: str, server: Handler, request: Request) -> Response:
            if link == MANAGER and "watch" not in request.query:
                seen.append((request.method, request.path))
            return await super().handle(link, server, request)

    async def main(sim: Sim) -> None:
        async with World(sim, WorldSettings(gates=GATES, measured=True)) as world:
            place = SimulatedPlace(world)
            world.network.audit = Watching()
            await run_case(place, case)
            await world.until(lambda: bool(world.objects(EVENTS, "default")))
            reasons = {one["reason"] for one in world.objects(EVENTS, "default")}
            assert "EvictedPastRequest" in reasons
            labels = {"cause": "pinned-request"}
            assert world.server.metrics.registry.get_sample_value("vacate_bypasses_total", labels) == 1

    run_sim(main, limit=86400.0)
    deleted = next(at for at, (method, path) in enumerate(seen) if method == "DELETE" and "/pods/" in path)
    assert any(method == "GET" and "/evictionrequests/" in path for method, path in seen[:deleted])
