"""The Evacuation API in a simulated cluster: the same controller, handlers and requesters."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt

import pytest

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.client.codec import codec_for
from vacate.errors import Forbidden, Invalid, NotFound
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.sdk import (
    Cancellation,
    CancellationForbidden,
    CompletionReason,
    EvictionContext,
    Interceptor,
    Requester,
)
from vacate.testing import SimulatedCluster, simulate

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

OPEN = "EvacuationAPI=true"
BACKUP, MIGRATE = "backup.example.com", "migrate.example.com"
BOTH = ("evictionrequest", "evacuation")
PREFIX = "evacuation.coordination.k8s.io"
DRAIN = f"{PREFIX}/instigator_drain.example.com"


def registered(*classes: str) -> Obj:
    """Annotations that register these evacuators, the first with the highest priority."""
    values = {name: str(2000 - 10 * place) for place, name in enumerate(classes)}
    return {"annotations": {f"{PREFIX}/priority_{name}": value for name, value in values.items()}}


def instigator(cluster: SimulatedCluster, name: str = "drain.example.com") -> Requester:
    return cluster.requester(name, dialect=EVACUATION)


def evacuations(cluster: SimulatedCluster) -> list[Obj]:
    return cluster.world.objects(EVACUATIONS)


async def work(eviction: EvictionContext) -> None:
    await eviction.report("Working")


async def an_hour(eviction: EvictionContext) -> None:
    await eviction.clock.sleep(3600)


def test_a_pod_without_evacuators_is_evicted_and_the_evacuation_removed() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        pod = await cluster.pod("web")
        requester = instigator(cluster)
        request = await requester.request("web", reason="kernel update")
        assert request.metadata.name == f"{pod['metadata']['uid']}-web"
        assert request.metadata.finalizers == [DRAIN]
        assert request.metadata.labels["app"] == "web"
        result = await requester.wait(request)
        assert (result.pod_ended, result.reason) == (True, CompletionReason.POD_DELETED)
        await cluster.until(lambda: not evacuations(cluster))
        assert not cluster.find_pod("web")

    simulate(body, feature_gates=OPEN)


@pytest.mark.thorough
def test_the_same_handler_serves_both_apis() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        seen: list[str] = []

        async def handler(eviction: EvictionContext) -> None:
            seen.append(eviction.request.kind.kind)
            await eviction.report("Working")

        await cluster.program(Interceptor(BACKUP, handler, apis=BOTH))
        await cluster.pod("old", metadata=registered(BACKUP))
        await cluster.pod("new", metadata=registered(BACKUP))
        first, second = instigator(cluster), cluster.requester()
        results = await asyncio.gather(
            first.wait(await first.request("old")), second.wait(await second.request("new"))
        )
        assert [one.pod_ended for one in results] == [True, True]
        assert sorted(seen) == ["Evacuation", "EvictionRequest"]

    simulate(body, feature_gates=OPEN)


def test_turns_go_by_priority_and_are_written_in_the_names_of_the_api() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        both = [Interceptor(name, work, apis=("evacuation",)) for name in (BACKUP, MIGRATE)]
        await cluster.program(*both)
        await cluster.pod("web", metadata=registered(MIGRATE, BACKUP))
        requester = instigator(cluster)
        result = await requester.wait(await requester.request("web"))
        assert [turn.interceptor for turn in result.history] == [MIGRATE, BACKUP]
        states = cluster.states(EVACUATIONS)
        assert states[0]["spec"]["evacuators"] == [
            {"evacuatorClass": MIGRATE, "priority": 2000},
            {"evacuatorClass": BACKUP, "priority": 1990},
        ]
        assert states[0]["status"] == {
            "message": "", "evacuationCancellationPolicy": "Allow", "failedEvictionCounter": 0,
        }  # fmt: skip
        active = [one["status"].get("activeEvacuatorClass") for one in states]
        assert [name for name in dict.fromkeys(active) if name] == [MIGRATE, BACKUP]
        assert all("activeInterceptorName" not in one["status"] for one in states)

    simulate(body, feature_gates=OPEN)


@pytest.mark.thorough
def test_an_evacuator_that_does_not_report_is_passed_over_and_the_pod_evicted() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", metadata=registered(MIGRATE, BACKUP))
        requester = instigator(cluster)
        request = await requester.request("web", deadline_seconds=600)
        began = cluster.clock.now()
        result = await requester.wait(request)
        assert result.pod_ended
        assert [(turn.interceptor, turn.result.value) for turn in result.history] == [
            (MIGRATE, "never-responded"),
            (BACKUP, "never-responded"),
        ]
        assert 1200 <= (cluster.clock.now() - began).total_seconds() < 1300

    simulate(body, feature_gates=OPEN)


def test_the_last_instigator_that_goes_cancels() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.program(Interceptor(BACKUP, an_hour, apis=BOTH))
        await cluster.pod("web", metadata=registered(BACKUP))
        first, second = instigator(cluster), instigator(cluster, "sort.example.com")
        request = await first.request("web")
        await second.request("web")
        waiting = asyncio.create_task(first.wait(request))
        assert await first.withdraw("web")
        (found,) = evacuations(cluster)
        assert found["metadata"]["finalizers"] == [f"{PREFIX}/instigator_sort.example.com"]
        await cluster.clock.sleep(60)
        assert evacuations(cluster)
        assert await second.withdraw("web")
        assert (await waiting).reason is CompletionReason.CANCELLED
        await cluster.until(lambda: not evacuations(cluster))
        assert cluster.find_pod("web")

    simulate(body, feature_gates=OPEN)


def test_forbid_holds_the_evacuation_until_the_pod_is_removed() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        forbids = Interceptor(BACKUP, an_hour, apis=BOTH, cancellation=Cancellation.FORBID)
        await cluster.program(forbids)
        await cluster.pod("web", metadata=registered(BACKUP))
        request = await instigator(cluster).request("web")
        policy = "evacuationCancellationPolicy"
        await cluster.until(lambda: evacuations(cluster)[0]["status"][policy] == "Forbid")
        client, name = cluster.client, request.metadata.name
        with pytest.raises(Forbidden, match=r"evacuationCancellationPolicy is Forbid"):
            await client.delete(EVACUATIONS, name, "default")
        await client.patch(EVACUATIONS, name, {"metadata": {"finalizers": []}}, "default")
        await cluster.clock.sleep(120)
        assert evacuations(cluster)
        await client.delete(PODS, "web", "default")
        await cluster.until(lambda: not evacuations(cluster))

    simulate(body, feature_gates=OPEN)


def test_under_forbid_instigators_come_and_go_and_learn_that_the_pod_goes_anyway() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        allow = asyncio.Event()

        async def migrate(eviction: EvictionContext) -> None:
            await eviction.report("Migrating", cancellation="Forbid")
            await allow.wait()
            await eviction.report("Migrated", cancellation="Allow")
            await eviction.clock.sleep(3600)

        await cluster.program(Interceptor(BACKUP, migrate, apis=BOTH))
        await cluster.pod("web", metadata=registered(BACKUP))
        first, second = instigator(cluster), instigator(cluster, "sort.example.com")
        request = await first.request("web")
        await cluster.until(lambda: "Forbid" in str(evacuations(cluster)[0]["status"]))
        joined = await second.request("web")
        assert [one.name for one in joined.spec.requesters] == [first.name, second.name]
        with pytest.raises(CancellationForbidden, match="can no longer be cancelled"):
            await first.withdraw("web")
        with pytest.raises(CancellationForbidden):
            await second.withdraw("web")
        assert not await second.withdraw("web")  # it is no instigator any more
        await cluster.clock.sleep(120)
        assert not evacuations(cluster)[0]["metadata"].get("finalizers")
        async with first.keep_requested("web") as sustained:  # wants it again
            assert len(sustained.request.spec.requesters) == 1
            with pytest.raises(CancellationForbidden):
                await first.withdraw("web")
            await cluster.until(lambda: sustained.requested_again == 1)
        with contextlib.suppress(CancellationForbidden):
            await first.withdraw("web")
        allow.set()  # nobody wants it now, and it may be cancelled again
        assert (await first.wait(request)).reason is CompletionReason.CANCELLED
        assert cluster.find_pod("web")

    simulate(body, feature_gates=OPEN)


def test_an_instigator_that_asks_again_does_not_hold_what_was_deleted() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web", metadata=registered(BACKUP))
        requester = instigator(cluster)
        first = await requester.request("web")
        await cluster.client.delete(EVACUATIONS, first.metadata.name, "default")
        await cluster.until(lambda: "Cancelled" in str(evacuations(cluster)[0]["status"]))
        second = await requester.request("web")
        assert second.metadata.uid != first.metadata.uid
        assert not second.complete

    simulate(body, feature_gates=OPEN)


def test_finalizers_of_others_stay_when_the_pod_is_gone() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web")
        made = EVACUATION.new_request(
            codec_for(Pod).convert(cluster.find_pod("web")), "drain.example.com", "", None
        )
        made["metadata"]["finalizers"].append("example.com/bookkeeping")
        await cluster.client.create(EVACUATIONS, made, "default")
        await cluster.until(lambda: not cluster.find_pod("web"))
        kept = ["example.com/bookkeeping"]
        await cluster.until(lambda: evacuations(cluster)[0]["metadata"]["finalizers"] == kept)
        await cluster.until(lambda: "deletionTimestamp" in evacuations(cluster)[0]["metadata"])
        (found,) = evacuations(cluster)
        (over,) = [one for one in found["status"]["conditions"] if one["type"] == "Complete"]
        assert (over["status"], over["reason"]) == ("True", "PodDeleted")

    simulate(body, feature_gates=OPEN)


def test_a_pod_that_has_ended_is_still_to_be_removed() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        done = {"restartPolicy": "Never"}
        ends = {"annotations": {"sim.vacate.dev/exit-seconds": "5"}}
        await cluster.pod("job", spec=done, metadata=ends)
        await cluster.client.patch(
            PODS, "job", {"status": {"phase": "Succeeded"}}, "default", subresource="status"
        )
        requester = instigator(cluster)
        request = await requester.request("job")
        result = await requester.wait(request, timeout=dt.timedelta(minutes=10))
        assert result.reason is CompletionReason.POD_DELETED
        await cluster.until(lambda: not cluster.find_pod("job"))

    simulate(body, feature_gates=OPEN)


def test_a_blocked_eviction_is_counted_and_goes_on_when_the_budget_opens() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web")
        await cluster.budget("web")
        requester = instigator(cluster)
        request = await requester.request("web")
        await cluster.until(lambda: evacuations(cluster)[0]["status"]["failedEvictionCounter"] >= 2)
        lower = {"status": {"failedEvictionCounter": 0}}
        with pytest.raises(Invalid, match=r"status\.failedEvictionCounter"):
            await cluster.client.patch(
                EVACUATIONS, request.metadata.name, lower, "default", subresource="status"
            )
        await cluster.client.delete(PODDISRUPTIONBUDGETS, "web", "default")
        assert (await requester.wait(request)).pod_ended

    simulate(body, feature_gates=OPEN)


def test_the_second_api_for_a_pod_is_refused_with_the_name_of_the_first() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.program(Interceptor(BACKUP, an_hour, apis=BOTH))
        for name in ("a", "b"):
            await cluster.pod(name, metadata=registered(BACKUP))
        request = await instigator(cluster).request("a")
        with pytest.raises(Forbidden, match=f'Evacuation "{request.metadata.name}" already'):
            await cluster.requester().request("a")
        request = await cluster.requester().request("b")
        with pytest.raises(Forbidden, match=f'EvictionRequest "{request.metadata.name}" already'):
            await instigator(cluster).request("b")

    simulate(body, feature_gates=OPEN)


def test_without_the_gate_the_api_is_not_served() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.pod("web")
        with pytest.raises(NotFound):
            await instigator(cluster).request("web")
        await cluster.requester().request("web")
        assert cluster.world.objects(EVICTIONREQUESTS)

    simulate(body)


def test_names_that_are_not_the_pods_are_refused() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        pod = codec_for(Pod).convert(await cluster.pod("web"))
        client, made = cluster.client, EVACUATION.new_request(pod, "drain.example.com", "", None)
        for wrong in (pod.metadata.uid, f"{pod.metadata.uid}-we"):
            with pytest.raises(
                Invalid, match=r"metadata\.name: Invalid value: must be spec\.podRef\.uid, a hyphen"
            ):
                await client.create(
                    EVACUATIONS, {**made, "metadata": {**made["metadata"], "name": wrong}}, "default"
                )
        generated = {**made["metadata"], "generateName": "web-"}
        with pytest.raises(Invalid, match=r"metadata\.generateName: Forbidden"):
            await client.create(EVACUATIONS, {**made, "metadata": generated}, "default")
        for seconds in (599, 21601):
            spec = {**made["spec"], "progressDeadlineSeconds": seconds}
            with pytest.raises(Invalid, match=r"spec\.progressDeadlineSeconds"):
                await client.create(EVACUATIONS, {**made, "spec": spec}, "default")
        assert not evacuations(cluster)

    simulate(body, feature_gates=OPEN)


@pytest.mark.parametrize(
    ("pod_name", "expected"),
    [("web", "u-web"), ("x" * 150, f"u-{'x' * 150}"), ("x" * 200, f"u-{'x' * 150}"),
     (f"{'x' * 149}.y", f"u-{'x' * 149}")],
)  # fmt: skip
def test_long_names_are_cut(pod_name: str, expected: str) -> None:
    assert EVACUATION.request_name(pod_name, "u") == expected


def test_the_spec_never_changes() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.program(Interceptor(BACKUP, an_hour, apis=BOTH))
        await cluster.pod("web", metadata=registered(BACKUP))
        request = await instigator(cluster).request("web")
        changes = (
            {"podRef": {"name": "other"}},
            {"evacuators": [{"evacuatorClass": MIGRATE, "priority": 1}]},
            {"progressDeadlineSeconds": 900},
        )
        for change in changes:
            with pytest.raises(Invalid, match=r"field is immutable"):
                await cluster.client.patch(EVACUATIONS, request.metadata.name, {"spec": change}, "default")

    simulate(body, feature_gates=OPEN)


def test_evacuators_of_the_creator_are_merged_and_those_of_the_pod_win() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        pod = codec_for(Pod).convert(await cluster.pod("web", metadata=registered(BACKUP)))
        made = EVACUATION.new_request(pod, "drain.example.com", "", None)
        given = [{"evacuatorClass": BACKUP, "priority": 7}, {"evacuatorClass": MIGRATE, "priority": 5}]
        made["spec"]["evacuators"] = given
        stored = await cluster.client.create(EVACUATIONS, made, "default")
        assert stored["spec"]["evacuators"] == [{"evacuatorClass": BACKUP, "priority": 2000}, given[1]]
        assert stored["spec"]["progressDeadlineSeconds"] == 1800

    simulate(body, feature_gates=OPEN)
