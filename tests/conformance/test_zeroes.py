"""Fields that are there whether or not anybody said anything: zeroes, empty parts, null for times."""

from __future__ import annotations

import pytest

from support.arms import Obj
from support.arms_marks import CONFORMANCE
from support.arms_objects import budget, named, pod, role, workload
from support.arms_scene import Scene
from vacate.api.kinds import (
    CLUSTERROLES,
    DEPLOYMENTS,
    EVENTS,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    ROLES,
    STATEFULSETS,
    Kind,
)

pytestmark = CONFORMANCE

NODE_INFO = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
    "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip


@pytest.mark.parametrize("kind", [ROLES, CLUSTERROLES], ids=lambda kind: kind.plural)
async def test_a_role_without_rules(scene: Scene, kind: Kind) -> None:
    name = scene.unique("r")
    created = await scene.create(kind, role(name))
    assert created["rules"] is None
    assert (await scene.get(kind, name))["rules"] is None
    version = created["metadata"]["resourceVersion"]
    again = (await scene.put(kind, named(name, rules=[]))).ok()
    assert again["metadata"]["resourceVersion"] == version


async def test_a_new_node(scene: Scene) -> None:
    name = scene.unique("n")
    node = await scene.create(NODES, named(name))
    assert node["status"] == {
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": dict.fromkeys(NODE_INFO, ""),
    }


async def test_conditions_without_times(scene: Scene) -> None:
    await scene.given(PODS, pod("p"))
    condition = {"type": "Ready", "status": "True"}
    changed = (await scene.patch(PODS, "p", {"status": {"conditions": [condition]}}, sub="status")).ok()
    never = {"lastProbeTime": None, "lastTransitionTime": None}
    assert changed["status"]["conditions"] == [{**condition, **never}]


async def test_the_condition_of_a_gated_pod(scene: Scene) -> None:
    created = await scene.create(PODS, pod("p", schedulingGates=[{"name": "a.b/c"}]))
    (condition,) = created["status"]["conditions"]
    assert condition["lastTransitionTime"]
    assert condition["lastProbeTime"] is None


async def test_the_condition_of_an_evicted_pod(scene: Scene) -> None:
    await scene.given(PODS, pod("p", node="n"))
    await scene.given_status(PODS, "p", {"phase": "Running"})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    (await scene.ask("POST", PODS, "p", "eviction", body=eviction)).ok(201)
    found = await scene.get(PODS, "p")
    (condition,) = [one for one in found["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert condition["lastProbeTime"] is None


async def test_the_condition_of_a_bound_pod(scene: Scene) -> None:
    await scene.given(PODS, pod("p"))
    target = {"kind": "Node", "name": "n"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": target}
    (await scene.ask("POST", PODS, "p", "binding", body=binding)).ok(201)
    (condition,) = (await scene.get(PODS, "p"))["status"]["conditions"]
    assert condition["lastProbeTime"] is None


async def test_an_events_times(scene: Scene) -> None:
    involved = {"kind": "Pod", "name": "p", "namespace": scene.namespace}
    event = await scene.create(EVENTS, named("e", involvedObject=involved))
    times = ("firstTimestamp", "lastTimestamp", "eventTime")
    assert {key: event[key] for key in times} == dict.fromkeys(times)
    assert (event["source"], event["reportingComponent"], event["reportingInstance"]) == ({}, "", "")


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (DEPLOYMENTS, {}),
        (REPLICASETS, {"replicas": 0}),
        (STATEFULSETS, {"replicas": 0, "availableReplicas": 0}),
    ],
    ids=["deployments", "replicasets", "statefulsets"],
)
async def test_workloads(scene: Scene, kind: Kind, status: Obj) -> None:
    wanted = workload("w", replicas=0)
    created = await scene.create(kind, wanted, query={"dryRun": "All"})
    assert created["status"] == status
    (container,) = created["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {}


async def test_a_budget(scene: Scene) -> None:
    created = await scene.create(PODDISRUPTIONBUDGETS, budget("b"), query={"dryRun": "All"})
    counts = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    assert created["status"] == dict.fromkeys(counts, 0)


async def test_a_divisor(scene: Scene) -> None:
    source = {"resourceFieldRef": {"resource": "limits.cpu"}}
    container = {"name": "c", "image": "i", "env": [{"name": "CPU", "valueFrom": source}]}
    created = await scene.create(PODS, pod("p", containers=[container]))
    reference = created["spec"]["containers"][0]["env"][0]["valueFrom"]["resourceFieldRef"]
    assert reference == {"resource": "limits.cpu", "divisor": "0"}


@pytest.mark.parametrize("spec", [{"affinity": {}}, {"dnsConfig": {}}, {"affinity": {"nodeAffinity": {}}}])
async def test_an_empty_part_is_more_than_none(scene: Scene, spec: Obj) -> None:
    await scene.given(PODS, pod("p"))
    answer = await scene.patch(PODS, "p", {"spec": spec})
    answer.refused(422, "Invalid", starting='Pod "p" is invalid: spec: Forbidden: pod updates may not change')


@pytest.mark.parametrize("spec", [{"nodeSelector": {}}, {"volumes": []}, {"hostNetwork": False}])
async def test_an_empty_map_is_none(scene: Scene, spec: Obj) -> None:
    created = await scene.given(PODS, pod("p"))
    changed = (await scene.patch(PODS, "p", {"spec": spec})).ok()
    assert changed["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert changed["spec"] == created["spec"]


async def test_an_empty_part_of_a_template_is_a_new_generation(scene: Scene) -> None:
    await scene.given(REPLICASETS, workload("w", replicas=0))
    changed = (await scene.patch(REPLICASETS, "w", {"spec": {"template": {"spec": {"affinity": {}}}}})).ok()
    assert changed["metadata"]["generation"] == 2
    assert changed["spec"]["template"]["spec"]["affinity"] == {}


async def test_a_gated_pod_may_be_narrowed_to_nothing(scene: Scene) -> None:
    await scene.given(PODS, pod("p", schedulingGates=[{"name": "a.b/c"}]))
    (await scene.patch(PODS, "p", {"spec": {"affinity": {"nodeAffinity": {}}}})).ok()
    answer = await scene.patch(PODS, "p", {"spec": {"affinity": {"podAffinity": {}}}})
    answer.refused(422, "Invalid", starting='Pod "p" is invalid: spec: Forbidden: pod updates may not change')
