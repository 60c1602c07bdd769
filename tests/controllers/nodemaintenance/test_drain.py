"""Drains in a simulated cluster: cordon, eviction, progress, order, limits, undo."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import A, as_interceptor, running_pod
from support.simulated.maintenances import (
    EASY,
    claims,
    drain,
    gone,
    is_cordoned,
    is_tainted,
    node,
    on_node,
    open_requests,
    phase,
    row,
    shown,
    status,
    web,
)
from support.simulated.workloads import created, events_of, history
from vacate.api.kinds import DAEMONSETS, EVICTIONREQUESTS, NODEMAINTENANCES, NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.client.transport import Transport
from vacate.controllers.projections import PROJECTIONS
from vacate.embedded.cluster.controlplane import EVICTION_CONTROLLER
from vacate.sim.cluster import World
from vacate.testing import daemonset, pdb, pod
from vacate.wire.message import Request, Response
from vacate.wiring.components import ComponentContext, component_manager
from vacate.wiring.controllers import enabled

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=4)]

DELETED = ("vacate_bypasses_total", {"cause": "deadline"})


def test_a_drain_evicts_and_undoing_it_uncordons() -> None:
    async def body(world: World) -> None:
        await web(world)
        before = len(on_node(world, "node-1"))
        await drain(world, "node-1", reason="kernel update")
        await world.until(lambda: phase(world) == "Drained")
        assert on_node(world, "node-1") == []
        assert is_cordoned(world, "node-1")
        shown_row = row(world, "node-1")
        assert (shown_row["podsTotal"], shown_row["podsEvicted"], shown_row["percent"]) == (
            before,
            before,
            100,
        )
        await world.until(lambda: len(world.healthy_pods()) == 6)
        drained = {"Draining": "False", "Drained": "True", "Blocked": "False"}
        await world.until(lambda: shown(world, "node-1") == drained)
        await world.until(lambda: events_of(world, "kernel", "Drained") == ["All nodes are drained."])
        await gone(world)
        assert not is_cordoned(world, "node-1")
        assert claims(world, "node-1") is None
        assert shown(world, "node-1") == {}

    in_world(body)


def test_a_cordon_of_others_stays() -> None:
    async def body(world: World) -> None:
        await web(world)
        await world.client.patch(NODES, "node-1", {"spec": {"unschedulable": True}})
        await drain(world, "node-1", "node-2", stage="Cordon")
        await world.until(lambda: phase(world) == "Cordoned")
        assert len(on_node(world, "node-1")) > 0
        await gone(world)
        assert (is_cordoned(world, "node-1"), is_cordoned(world, "node-2")) == (True, False)

    in_world(body)


def test_two_maintenances_share_a_node_and_the_last_uncordons() -> None:
    async def body(world: World) -> None:
        await drain(world, "node-1", name="first")
        await drain(world, "node-1", name="second")
        await world.until(lambda: phase(world, "first") == phase(world, "second") == "Drained")
        await gone(world, "first")
        await world.until(lambda: shown(world, "node-1")["Drained"] == "True")
        assert is_cordoned(world, "node-1")
        await gone(world, "second")
        assert not is_cordoned(world, "node-1")

    in_world(body)


def test_refused_pods_hold_the_node_and_nothing_is_evicted() -> None:
    async def body(world: World) -> None:
        await web(world, 3)
        bare = await running_pod(world, "bare")
        where = bare["spec"]["nodeName"]
        there = on_node(world, where)
        rules = {**EASY, "unmanagedPods": "Refuse"}
        await drain(world, where, pods=rules)
        await world.until(lambda: phase(world) == "Blocked")
        await world.settle()
        assert on_node(world, where) == there
        assert open_requests(world) == []
        (held,) = status(world)["blockers"]
        assert (held["pod"], held["kind"]) == ("bare", "UnmanagedPod")
        assert "--force" in held["remedy"]
        assert shown(world, where)["Blocked"] == "True"
        await world.client.patch(NODEMAINTENANCES, "kernel", {"spec": {"pods": {"unmanagedPods": "Evict"}}})
        await world.until(lambda: phase(world) == "Drained")

    in_world(body)


def test_a_budget_that_never_allows_is_named_with_its_remedy() -> None:
    async def body(world: World) -> None:
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=1), "default")
        await web(world, 1)
        (only,) = world.healthy_pods()
        await drain(world, only["spec"]["nodeName"])
        await world.until(lambda: status(world).get("blockers"))
        (held,) = status(world)["blockers"]
        assert (held["kind"], held["name"], held["pod"]) == (
            "DisruptionBudget", "web", only["metadata"]["name"],
        )  # fmt: skip
        assert "add replicas" in held["remedy"]

    in_world(body)


def test_pods_leave_by_priority() -> None:
    async def body(world: World) -> None:
        low = await running_pod(world, "low", interceptors=[A], spec={"nodeName": "node-1"})
        critical = {"nodeName": "node-1", "priorityClassName": "system-cluster-critical"}
        await world.client.create(PODS, pod("high", namespace="kube-system", spec=critical), "kube-system")
        await drain(world, "node-1", order="StrictPriority")
        await world.until(
            lambda: "1 waits for pods of lower priority" in row(world, "node-1").get("message", "")
        )
        await world.settle()
        assert [one["metadata"]["name"] for one in world.objects(EVICTIONREQUESTS)] == [
            low["metadata"]["uid"]
        ]
        await as_interceptor(world, low["metadata"]["uid"], activeInterceptorCompleted=True)
        await world.until(lambda: phase(world) == "Drained")

    in_world(body)


def test_a_blocked_pod_holds_others_of_its_node_only_for_seconds() -> None:
    """A pod of low priority behind a budget that never opens, and others of higher priority."""

    async def body(world: World) -> None:
        budget = pdb("web", min_available=1)
        await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        await web(world, 1, template={"spec": {"nodeSelector": {"kubernetes.io/hostname": "node-1"}}})
        critical = {"nodeName": "node-1", "priorityClassName": "system-cluster-critical"}
        for number in range(3):
            made = pod(f"high-{number}", namespace="kube-system", spec=critical)
            await world.client.create(PODS, made, "kube-system")
        await world.until(lambda: len(on_node(world, "node-1")) == 4)
        await drain(world, "node-1")
        await world.until(lambda: status(world).get("podsEvicted") == 3, 30.0)
        (held,) = status(world)["blockers"]
        assert (held["kind"], held["name"], bool(held["since"])) == ("DisruptionBudget", "web", True)

    in_world(body)


def test_nodes_take_turns_and_zones_are_not_mixed() -> None:
    async def body(world: World) -> None:
        await web(world, 12)
        most, zones = 0, set()

        def look() -> bool:
            nonlocal most
            active = [
                one for one in status(world).get("nodes", []) if one["phase"] in ("Draining", "Blocked")
            ]
            most = max(most, len(active))
            labels = [node(world, one["name"])["metadata"]["labels"] for one in active]
            zones.add(len({one["topology.kubernetes.io/zone"] for one in labels}))
            return phase(world) == "Drained"

        names = [f"node-{number}" for number in range(1, 5)]
        await drain(world, *names, maxNodes="100%", topologyKey="topology.kubernetes.io/zone")
        await world.until(look, 3600.0)
        assert (most, zones <= {0, 1}) == (2, True)
        assert status(world)["nodesDrained"] == 4

    in_world(body, nodes=6, zones=2)


def test_interceptors_prepare_first_and_their_estimate_is_shown() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=[A])
        where, name = target["spec"]["nodeName"], target["metadata"]["uid"]
        await drain(world, where, reason="kernel")
        await world.until(lambda: world.find(EVICTIONREQUESTS, name, "default") is not None)
        request = created(world, EVICTIONREQUESTS, name)
        assert request["spec"]["requesters"] == [{"name": "kernel.nodemaintenance.vacate.dev"}]
        assert request["metadata"]["annotations"]["vacate.dev/reason"] == "kernel"
        await world.until(
            lambda: created(world, EVICTIONREQUESTS, name)["status"].get("activeInterceptorName")
        )
        later = "2030-01-01T00:00:00Z"
        await as_interceptor(world, name, expectedInterceptorFinishTime=later)
        await world.until(lambda: row(world, where).get("estimatedFinishTime") == later)
        assert status(world)["estimatedFinishTime"] == later
        await world.until(lambda: phase(world) == "Blocked")  # it never reported
        (held,) = status(world)["blockers"]
        assert (held["kind"], held["name"]) == ("Interceptor", A)
        await as_interceptor(world, name, activeInterceptorCompleted=True)
        await world.until(lambda: phase(world) == "Drained")

    in_world(body)


def test_undoing_in_the_middle_withdraws_what_was_requested() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=[A])
        where, name = target["spec"]["nodeName"], target["metadata"]["uid"]
        await drain(world, where)
        await world.until(lambda: world.find(EVICTIONREQUESTS, name, "default") is not None)
        other = {"spec": {"requesters": [{"name": "kernel.nodemaintenance.vacate.dev"}, {"name": "other.b"}]}}
        await world.client.patch(EVICTIONREQUESTS, name, other, "default")
        await gone(world)
        request = created(world, EVICTIONREQUESTS, name)
        assert request["spec"]["requesters"] == [{"name": "other.b"}]
        assert not is_cordoned(world, where)

    in_world(body)


def test_a_name_that_is_removed_comes_back() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=[A])
        name = target["metadata"]["uid"]
        await drain(world, target["spec"]["nodeName"])

        def asked() -> bool:
            found = world.find(EVICTIONREQUESTS, name, "default")
            return found is not None and bool(found["spec"].get("requesters")) and not _complete(found)

        await world.until(asked)
        await world.client.patch(EVICTIONREQUESTS, name, {"spec": {"requesters": []}}, "default")
        await world.until(lambda: not asked())
        await world.until(asked)

    in_world(body)


def test_a_node_that_is_taken_out_is_released() -> None:
    async def body(world: World) -> None:
        await drain(world, "node-1", "node-2")
        await world.until(lambda: phase(world) == "Drained")
        await world.client.patch(NODEMAINTENANCES, "kernel", {"spec": {"nodes": ["node-2"]}})
        await world.until(lambda: not is_cordoned(world, "node-1"))
        assert is_cordoned(world, "node-2")
        await world.until(lambda: [one["name"] for one in status(world)["nodes"]] == ["node-2"])

    in_world(body)


def test_daemonset_pods_are_kept_off_by_a_taint_and_deleted_last() -> None:
    async def body(world: World) -> None:
        stubborn = daemonset("cni")
        stubborn["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
        for one in (daemonset("agent"), stubborn):
            await world.client.create(DAEMONSETS, one, "default")
        await world.until(lambda: len(on_node(world, "node-1")) == 2)
        await drain(world, "node-1", pods={**EASY, "daemonSetPods": "Evict"})
        await world.until(lambda: phase(world) == "Drained")
        assert [name.rpartition("-")[0] for name in on_node(world, "node-1")] == ["cni"]
        assert is_tainted(world, "node-1")
        assert "1 DaemonSet pod tolerates" in row(world, "node-1")["message"]
        await gone(world)
        assert not is_tainted(world, "node-1")

    in_world(body)


def test_pods_left_at_the_deadline_are_deleted_where_that_is_wanted() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=[A])
        await drain(world, target["spec"]["nodeName"], deadlineSeconds=120, onDeadline="Delete")
        await world.until(lambda: phase(world) == "Drained", 200.0)
        assert world.find(PODS, "p", "default") is None
        await world.until(lambda: events_of(world, target["metadata"]["name"], "DeletedAtDeadline"))
        assert (status(world)["podsForced"], status(world)["nodes"][0]["podsForced"]) == (1, 1)
        assert status(world)["nodes"][0]["forcedPods"] == ["default/p"]
        assert world.server.metrics.registry.get_sample_value(*DELETED) == 1

    in_world(body, measured=True)


def test_a_replaced_node_is_left_alone() -> None:
    async def body(world: World) -> None:
        await web(world)
        await drain(world, "node-1")
        await world.until(lambda: phase(world) == "Drained")
        world.pool.crash("node-1")
        await world.client.delete(NODES, "node-1")
        await world.until(lambda: row(world, "node-1")["phase"] == "NotFound")
        world.pool.start("node-1")
        await world.until(lambda: row(world, "node-1")["phase"] == "Replaced")
        assert not is_cordoned(world, "node-1")
        assert phase(world) == "Drained"

    in_world(body)


def test_an_unknown_node_is_a_blocker() -> None:
    async def body(world: World) -> None:
        await drain(world, "nowhere")
        await world.until(lambda: phase(world) == "Blocked")
        (held,) = status(world)["blockers"]
        assert (held["kind"], held["node"]) == ("NodeNotFound", "nowhere")

    in_world(body)


def _complete(request: Any) -> bool:
    conditions = request.get("status", {}).get("conditions", [])
    return any(one["type"] == "Complete" and one["status"] == "True" for one in conditions)


def test_a_drain_costs_few_calls() -> None:
    """One request for each pod; reports do not grow with the number of pods."""

    async def body(world: World) -> None:
        for number in range(30):
            await world.client.create(PODS, pod(f"p-{number}", spec={"nodeName": "node-1"}), "default")
        await world.until(lambda: len(world.healthy_pods()) == 30)
        await drain(world, "node-1")
        await world.until(lambda: phase(world) == "Drained")
        written = [one for _, one in history(world, NODEMAINTENANCES)]
        assert len(written) <= 10
        assert len({one["metadata"]["name"] for one in world.objects(EVICTIONREQUESTS)}) <= 30

    in_world(body)


def test_a_pod_costs_two_writes() -> None:
    """Create and evict: the request is collected with its pod, so that nobody could read how it ended."""
    written: Counter[str] = Counter()

    def build(link: Transport, around: ComponentContext) -> Any:
        counted = Counted(link, written)
        return component_manager(counted, "vacate-manager", enabled(around.gates), around, PROJECTIONS)

    async def body(world: World) -> None:
        await world.start("manager", build, EVICTION_CONTROLLER)
        for number in range(30):
            await world.client.create(PODS, pod(f"p-{number}", spec={"nodeName": "node-1"}), "default")
        await world.until(lambda: len(world.healthy_pods()) == 30)
        await drain(world, "node-1")
        await world.until(lambda: phase(world) == "Drained")

    in_world(body, evictions=())
    assert written == {"evictionrequests": 30, "eviction": 30}


def test_a_request_that_outlives_its_pod_says_how_it_ended() -> None:
    """One with a finalizer of others is not collected, nor is one that others request as well."""

    async def body(world: World) -> None:
        for name in ("held", "shared"):
            made = pod(name, spec={"nodeName": "node-1"}, metadata={"finalizers": ["example.com/hold"]})
            await world.client.create(PODS, made, "default")
        await world.until(lambda: len(world.healthy_pods()) == 2)
        await drain(world, "node-1")
        await world.until(lambda: len(world.objects(EVICTIONREQUESTS)) == 2)
        for one in world.objects(EVICTIONREQUESTS):
            meta = one["metadata"]
            requesters = [*one["spec"]["requesters"], {"name": "drain.example.com"}]
            patch: Obj = {"metadata": {"finalizers": ["example.com/keep"]}}
            if one["spec"]["target"]["podRef"]["name"] == "shared":
                patch = {"metadata": {"ownerReferences": None}, "spec": {"requesters": requesters}}
            await world.client.patch(EVICTIONREQUESTS, meta["name"], patch, meta["namespace"])
        for name in ("held", "shared"):
            await world.client.patch(PODS, name, {"metadata": {"finalizers": None}}, "default")
        await world.until(lambda: phase(world) == "Drained")
        await world.until(lambda: open_requests(world) == [])
        assert len(world.objects(EVICTIONREQUESTS)) == 2

    in_world(body)


class Counted:
    """A transport that counts the writes about requests and pods, by the last word of their paths."""

    def __init__(self, transport: Transport, written: Counter[str]) -> None:
        self._transport = transport
        self._written = written

    async def send(self, request: Request) -> Response:
        if request.method != "GET" and ("/evictionrequests" in request.path or "/pods/" in request.path):
            self._written[request.path.rpartition("/")[2]] += 1
        return await self._transport.send(request)

    async def aclose(self) -> None:
        await self._transport.aclose()


def test_two_budgets_over_one_pod_are_both_named() -> None:
    async def body(world: World) -> None:
        for name in ("one", "two"):
            budget = pdb(name, max_unavailable=1, selector={"app": "web"})
            await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")
        await web(world, 1)
        (only,) = world.healthy_pods()
        await drain(world, only["spec"]["nodeName"])
        await world.until(lambda: status(world).get("blockers"))
        (held,) = status(world)["blockers"]
        assert (held["kind"], held["name"]) == ("DisruptionBudget", "one,two")
        assert "only one of them selects the pod" in held["remedy"]

    in_world(body)


def test_a_budget_without_bounds_is_explained() -> None:
    """It never allows an eviction, however many pods there are."""

    async def body(world: World) -> None:
        await world.client.create(PODDISRUPTIONBUDGETS, pdb("web"), "default")
        await web(world, 2)
        where = world.healthy_pods()[0]["spec"]["nodeName"]
        await drain(world, where)
        await world.until(lambda: status(world).get("blockers"))
        assert {one["name"] for one in status(world)["blockers"]} == {"web"}
        assert status(world)["blockers"][0]["remedy"] == (
            "disruption budget web says neither minAvailable nor maxUnavailable, and so never allows an "
            "eviction: set one of them"
        )

    in_world(body)


def test_a_node_that_is_lost_in_the_middle_is_a_blocker() -> None:
    async def body(world: World) -> None:
        target = await running_pod(world, interceptors=[A])
        where = target["spec"]["nodeName"]
        await drain(world, where)
        await world.until(lambda: open_requests(world))
        world.pool.crash(where)
        await world.until(
            lambda: "NodeNotReady" in {one["kind"] for one in status(world).get("blockers", [])}
        )
        await gone(world)
        assert not is_cordoned(world, where)

    in_world(body)
