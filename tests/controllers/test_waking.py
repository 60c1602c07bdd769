"""What waits goes on soon after the change that lets it: by what waits, what heals it, and how that is seen.

A controller may look by itself only after an hour, or never: then the change has to wake it. It is seen by a
watch, by the listing after an outage in which the history was lost, or by a manager that starts after it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from support.simulated.clusters import in_world
from support.simulated.evictions import A
from support.simulated.fencing import LOST, Fenced, fenced
from support.simulated.maintenances import on_node, open_requests
from support.simulated.volumes import claim, holders, label_nodes, user, volume
from support.simulated.workloads import created, running
from vacate.api.kinds import (
    DEPLOYMENTS,
    DESCHEDULINGPOLICIES,
    EVICTIONREQUESTS,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    STORAGECLASSES,
    Kind,
)
from vacate.api.objects import Obj, dig
from vacate.api.types import Pod
from vacate.api.workloads import OPT_IN
from vacate.client.codec import codec_for
from vacate.descheduling.names import requester_of
from vacate.embedded.cluster.controlplane import CONTROLLERS
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.features import FeatureGates
from vacate.kube.exclusivevolumes import ATTACHMENT, EXCLUSIVE
from vacate.kube.nodes import NODE_DOWN, SAFE_TO_DELETE
from vacate.kube.spreadcosts import SPREAD_COST
from vacate.runtime.reconcile import MAX_RETRY_SECONDS
from vacate.sim.cluster import World
from vacate.sim.process import Process
from vacate.testing import deployment, pdb, pod, replicaset, statefulset

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=8)]

Step = Callable[[World], Awaitable[object]]
MANAGER, NODE, ZONE = "evictions", "node-1", "topology.kubernetes.io/zone"
WAITED = 900.0
"""Seconds for which it waits: by then every row of tries has long pauses."""
SOON = MAX_RETRY_SECONDS + 10.0
RECONNECTED = 60.0
"""Seconds after an outage until watches are open again, beside those above."""
FOR_EVER = [{"operator": "Exists"}]
OPTED_IN: Obj = {"annotations": {OPT_IN: "true"}}
STATEFUL: Obj = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}
# Nobody adopts, collects or evicts but the test.
PLAIN: Any = {"controllers": ()}
KEPT: Any = {
    "controllers": [
        one
        for one in CONTROLLERS
        if one.component not in ("statefulset-controller", "garbage-collector-controller")
    ]
}
MARKS: Any = {"gates": FeatureGates((("NodeDeletionMarks", True), ("Fencing", False))), **KEPT}


@dataclass(frozen=True, slots=True)
class Case:
    """What waits, and the change after which it has to act."""

    name: str  # the controller, and what heals
    given: Step
    heal: Step
    acts: Callable[[World], object]
    settings: dict[str, Any] = field(default_factory=lambda: PLAIN)


async def seen(world: World, process: Process, link: str, moment: str, heal: Step) -> None:
    """Heal, so that the manager sees it in one of the ways."""
    if moment == "after a restart":
        await process.crash()
        await heal(world)
        await process.start()
    elif moment == "after an outage":
        world.network.cut(link)
        await heal(world)
        await world.server.store.compact(world.server.store.revision)
        world.network.mend(link)
    else:
        await heal(world)


# Owners


async def _create(world: World, kind: Kind, body: Obj, *owners: Obj) -> Obj:
    body["metadata"]["ownerReferences"] = [_reference(one) for one in owners]
    return await world.client.create(kind, body, "default")


def _reference(owner: Obj) -> Obj:
    meta = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True,
            "name": meta["name"], "uid": meta["uid"]}  # fmt: skip


def adopts(kind: Kind, name: str, by: Kind, owner: str) -> Step:
    """What an owner of that name does with what was left behind by one before."""

    async def adopt(world: World) -> None:
        found = {"apiVersion": by.api_version, "kind": by.kind, **created(world, by, owner)}
        change = {"metadata": {"ownerReferences": [_reference(found)]}}
        await world.client.patch(kind, name, change, "default")

    return adopt


def _pod(name: str = "p", **spec: Any) -> Obj:
    return pod(name, spec={"nodeName": NODE, "tolerations": FOR_EVER, **spec})


async def orphaned_pod(world: World) -> None:
    owner = await _create(world, DEPLOYMENTS, deployment("web", replicas=0, metadata=OPTED_IN))
    await _create(world, REPLICASETS, replicaset("web-1", replicas=0), owner)
    await _create(world, PODS, _pod())


async def orphaned_replicaset(world: World) -> None:
    await _create(world, DEPLOYMENTS, deployment("web", replicas=0, metadata=OPTED_IN))
    owner = await _create(world, REPLICASETS, replicaset("web-1", replicas=0))
    await _create(world, PODS, _pod(), owner)


async def orphaned_member(world: World) -> None:
    await _create(world, STATEFULSETS, statefulset("db", replicas=0, metadata=OPTED_IN))
    await _create(world, PODS, _pod())


async def not_opted_in(world: World) -> None:
    first = await _create(world, DEPLOYMENTS, deployment("web", replicas=0))
    owner = await _create(world, REPLICASETS, replicaset("web-1", replicas=0), first)
    await _create(world, PODS, _pod(), owner)


async def opt_in(world: World) -> None:
    await world.client.patch(DEPLOYMENTS, "web", {"metadata": OPTED_IN}, "default")


def registered(world: World, name: str = "p") -> object:
    return EVICTION_REQUEST.registration(created(world, PODS, name)).interceptors


# Spread


def _spread(name: str) -> Obj:
    return _pod(name, topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    ])  # fmt: skip


def two_pods(*, deployed: bool = True, owned: bool = True, zone: bool = True) -> Step:
    async def given(world: World) -> None:
        if not zone:
            await world.client.patch(NODES, NODE, {"metadata": {"labels": {ZONE: None}}})
        first = await _create(world, DEPLOYMENTS, deployment("web", replicas=0, metadata=OPTED_IN))
        body = replicaset("web-1", replicas=0)
        owner = await _create(world, REPLICASETS, body, *([first] if deployed else []))
        await _create(world, PODS, _spread("p"), owner)
        await _create(world, PODS, _spread("q"), *([owner] if owned else []))

    return given


async def label_zone(world: World) -> None:
    await world.client.patch(NODES, NODE, {"metadata": {"labels": {ZONE: "zone-1"}}})


def one_costs(world: World) -> bool:
    found = [dig(one, "metadata", "annotations", SPREAD_COST) for one in world.objects(PODS)]
    return sorted(map(str, found)) == ["-1", "None"]


# Nodes


async def _lost(world: World) -> None:
    world.pool.isolate(NODE)
    await world.until(lambda: _ready(world)["status"] == "Unknown", 300.0, "the node is lost")


def _ready(world: World) -> Obj:
    conditions = created(world, NODES, NODE, "")["status"]["conditions"]
    return next(one for one in conditions if one["type"] == "Ready")


async def running_pod(world: World) -> None:
    await _create(world, PODS, _pod())
    await world.until(lambda: bool(world.healthy_pods()), 300.0, "it runs")


async def lost_with_pod(world: World) -> None:
    await running_pod(world)
    await _lost(world)


async def lost_with_unbound_claim(world: World) -> None:
    await world.client.create(PERSISTENTVOLUMECLAIMS, claim(), "default")
    waiting = user("p", tolerations=FOR_EVER, nodeName=NODE)
    await world.client.create(PODS, waiting, "default")
    await _lost(world)


async def bind(world: World) -> None:
    made = volume()
    del made["metadata"]["annotations"]
    await world.client.create(PERSISTENTVOLUMES, made)
    await world.until(lambda: _bound(world), 60.0, "bound")


def _bound(world: World) -> bool:
    return bool(dig(created(world, PERSISTENTVOLUMECLAIMS, "data"), "spec", "volumeName"))


async def adopt_by_set(world: World) -> None:
    change = {"metadata": {"ownerReferences": [{**STATEFUL, "uid": "db", "controller": True}]}}
    await world.client.patch(PODS, "p", change, "default")


def may_go(world: World) -> bool:
    return dig(created(world, NODES, NODE, ""), "metadata", "annotations", SAFE_TO_DELETE) is not None


def pod_says_so(world: World) -> bool:
    found = created(world, PODS, "p")["status"]["conditions"]
    return any(one["type"] == NODE_DOWN and one["status"] == "True" for one in found)


# Exclusive volumes


def _class(**annotations: str) -> Obj:
    meta = {"name": "cloud", "annotations": annotations}
    return {"metadata": meta, "provisioner": "cloud.example.com", "volumeBindingMode": "Immediate"}


async def waits_for_class(world: World) -> None:
    await world.client.create(PERSISTENTVOLUMECLAIMS, claim(storageClassName="cloud"), "default")
    await world.client.create(PODS, user("p", gated=True), "default")


async def create_class(world: World) -> None:
    await world.client.create(STORAGECLASSES, {**_class(), "volumeBindingMode": "WaitForFirstConsumer"})


async def waits_for_volume_of_class(world: World) -> None:
    """Another pod has the volume, which is exclusive by its class."""
    await label_nodes(world, NODE, "node-2")
    await world.client.create(STORAGECLASSES, _class(**{EXCLUSIVE: "true"}))
    made = volume(storageClassName="cloud")
    del made["metadata"]["annotations"]
    await world.client.create(PERSISTENTVOLUMES, made)
    await world.client.create(PERSISTENTVOLUMECLAIMS, claim(storageClassName="cloud"), "default")
    await world.client.create(PODS, user("first", node=NODE), "default")
    await world.until(lambda: len(world.healthy_pods()) == 1, 300.0, "the first runs")
    await world.client.create(PODS, user("p", node="node-2", gated=True), "default")


async def unmark_class(world: World) -> None:
    await world.client.patch(STORAGECLASSES, "cloud", {"metadata": {"annotations": {EXCLUSIVE: None}}})


async def ungated_claimless(world: World) -> None:
    """Nothing waits yet."""


async def gated_without_claims(world: World) -> None:
    gate = [{"name": "vacate.dev/exclusive-volumes"}]
    await world.client.create(PODS, pod("p", spec={"schedulingGates": gate}), "default")


def let_through(world: World) -> bool:
    return not created(world, PODS, "p")["spec"].get("schedulingGates")


async def waits_for_lower_volume(world: World) -> None:
    """Volumes are taken in the order of their names, and the record of the first cannot be read."""
    await label_nodes(world, NODE)
    await world.client.create(STORAGECLASSES, _class(**{EXCLUSIVE: "true"}))
    lower = volume("a-disk", storageClassName="cloud")
    lower["metadata"]["annotations"] = {ATTACHMENT: "?"}
    await world.client.create(PERSISTENTVOLUMES, lower)
    await world.client.create(PERSISTENTVOLUMES, volume("b-disk"))
    first = claim("first", volumeName="a-disk", storageClassName="cloud")
    await world.client.create(PERSISTENTVOLUMECLAIMS, first, "default")
    await world.client.create(PERSISTENTVOLUMECLAIMS, claim("second", volumeName="b-disk"), "default")
    await world.client.create(PODS, user("p", "first", "second", node=NODE), "default")


# Descheduling


def misplaced(*others: str, terminating: str = "") -> Step:
    """Two pods of which one may go at a time; others request those that are named, or delete one."""

    async def given(world: World) -> None:
        for name in ("p", "q"):
            made = _pod(name, evictionInterceptors=[{"name": A}], tolerations=[])
            made["metadata"]["annotations"] = {"sim.vacate.dev/stop-seconds": "1200"}
            made["spec"]["terminationGracePeriodSeconds"] = 3600
            await _create(world, PODS, made, {**STATEFUL, "metadata": {"name": "db", "uid": "db"}})
        await world.until(lambda: len(world.healthy_pods()) == 2, 300.0, "they run")
        for name in others:
            found = codec_for(Pod).convert(created(world, PODS, name))
            body = EVICTION_REQUEST.new_request(found, "other.example.com", "", None)
            await world.client.create(EVICTIONREQUESTS, body, "default")
        if terminating:
            await world.client.delete(PODS, terminating, "default")
        spec = {"rules": ["NodeTaints"], "mode": "Evict", "intervalSeconds": 3600}
        policy = {"metadata": {"name": "tidy"}, "spec": spec}
        await world.client.create(DESCHEDULINGPOLICIES, policy)
        taint = {"key": "gpu", "effect": "NoSchedule"}
        await world.client.patch(NODES, NODE, {"spec": {"taints": [taint]}})

    return given


async def delete_requests(world: World) -> None:
    for one in open_requests(world):
        await world.client.delete(EVICTIONREQUESTS, one["metadata"]["name"], "default")


async def pod_ends(world: World) -> None:
    await world.until(lambda: on_node(world, NODE) == ["q"], 600.0, "the pod is gone")


def requested(world: World) -> bool:
    own = requester_of("tidy", EVICTION_REQUEST)
    names = [one["name"] for each in open_requests(world) for one in each["spec"]["requesters"]]
    return names == [own]


# Workloads that move


async def declined(world: World) -> None:
    """It can start no replacement, its budget holds the pod, and then the Deployment itself is gone."""
    parts: Any = {"metadata": OPTED_IN, "spec": {"strategy": {"type": "Recreate"}}}
    await running(world, "web", 1, **parts)
    await world.until(lambda: registered(world, _only(world)), 60.0, "registered")
    await world.client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=1), "default")
    found = codec_for(Pod).convert(created(world, PODS, _only(world)))
    body = EVICTION_REQUEST.new_request(found, "other.example.com", "", None)
    await world.client.create(EVICTIONREQUESTS, body, "default")
    await world.sim.clock.sleep(60.0)
    await world.client.delete(DEPLOYMENTS, "web", "default")


def _only(world: World) -> str:
    return str(world.objects(PODS, "default")[0]["metadata"]["name"])


async def create_again(world: World) -> None:
    await world.client.create(DEPLOYMENTS, deployment("web", replicas=1, metadata=OPTED_IN), "default")


def replacement_starts(world: World) -> bool:
    return len(world.objects(PODS, "default")) > 1


CASES = [
    Case("registration: the workload opts in", not_opted_in, opt_in, registered),
    Case("registration: a ReplicaSet adopts the pod", orphaned_pod,
         adopts(PODS, "p", REPLICASETS, "web-1"), registered),
    Case("registration: a Deployment adopts the ReplicaSet", orphaned_replicaset,
         adopts(REPLICASETS, "web-1", DEPLOYMENTS, "web"), registered),
    Case("registration: a StatefulSet adopts the pod", orphaned_member,
         adopts(PODS, "p", STATEFULSETS, "db"), registered),
    Case("scaledown: a ReplicaSet adopts a pod", two_pods(owned=False),
         adopts(PODS, "q", REPLICASETS, "web-1"), one_costs),
    Case("scaledown: a Deployment adopts the ReplicaSet", two_pods(deployed=False),
         adopts(REPLICASETS, "web-1", DEPLOYMENTS, "web"), one_costs),
    Case("scaledown: the node gets its zone", two_pods(zone=False), label_zone, one_costs),
    Case("declined-turns: a Deployment adopts the ReplicaSet", declined, create_again,
         replacement_starts, KEPT),
    Case("nodedown: the node is lost", running_pod, _lost, pod_says_so, KEPT),
    Case("nodedeletion: the node is lost", running_pod, _lost, may_go, MARKS),
    Case("nodedeletion: the claim is bound", lost_with_unbound_claim, bind, may_go, MARKS),
    Case("nodedeletion: a StatefulSet adopts the pod", lost_with_pod, adopt_by_set,
         lambda world: not may_go(world), MARKS),
    Case("gates: the class is created", waits_for_class, create_class, let_through, KEPT),
    Case("gates: the class is not exclusive any more", waits_for_volume_of_class, unmark_class,
         let_through, KEPT),
    Case("gates: a pod without claims", ungated_claimless, gated_without_claims, let_through, KEPT),
    Case("exclusivevolumes: the class of a volume before it is not exclusive any more",
         waits_for_lower_volume, unmark_class, lambda world: holders(world, "b-disk") == (NODE, ["p"]), KEPT),
    Case("descheduling: the request of another for another pod is gone", misplaced("p"),
         delete_requests, requested, KEPT),
    Case("descheduling: the request of another for the pods is gone", misplaced("p", "q"),
         delete_requests, requested, KEPT),
    Case("descheduling: a pod that was terminating is gone", misplaced(terminating="p"),
         pod_ends, requested, KEPT),
]  # fmt: skip
MOMENTS = ("at once", "after an outage", "after a restart")


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
def test_what_waits_goes_on_soon_after_the_change(case: Case, moment: str) -> None:
    async def body(world: World) -> None:
        await case.given(world)
        await world.sim.clock.sleep(WAITED)
        if case.given is not ungated_claimless:
            assert not case.acts(world), "it does not wait"
        await seen(world, world.evictions, MANAGER, moment, case.heal)
        limit = SOON if moment == "at once" else SOON + RECONNECTED
        await world.until(lambda: case.acts(world), limit, case.name)

    in_world(body, **case.settings)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_budget_that_is_spent_meanwhile_shortens_the_wait_for_a_fence(moment: str) -> None:
    async def body(made: Fenced) -> None:
        world = made.world
        await made.policy(unreachableSeconds=36000, budgetSpentSeconds=30)
        await made.pods("db-0")
        await world.client.patch(PODS, "db-0", {"metadata": {"labels": {"name": "db-0"}}}, "default")
        made.pool.isolate(LOST)
        await world.until(lambda: made.phase() == "Unreachable", 300.0)
        await world.sim.clock.sleep(WAITED)

        async def spend(world: World) -> None:
            budget = pdb("db", selector={"name": "db-0"}, min_available=1)
            await world.client.create(PODDISRUPTIONBUDGETS, budget, "default")

        (manager,) = made.managers
        await seen(world, manager, "fencing-0", moment, spend)
        await world.until(made.released, 180.0)  # it is looked who reports, and the agent has its time

    fenced(body)
