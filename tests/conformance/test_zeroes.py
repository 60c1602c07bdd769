"""Fields that are there whether or not they were given: zeroes, empty parts, null for times."""

from __future__ import annotations

import pytest

from support.arms.arm import Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import budget, named, pod, role, workload
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
async def test_a_role_without_rules(api: CaseApi, kind: Kind) -> None:
    name = api.unique("r")
    created = await api.create(kind, role(name))
    assert created["rules"] is None
    assert (await api.get(kind, name))["rules"] is None
    version = created["metadata"]["resourceVersion"]
    again = (await api.put(kind, named(name, rules=[]))).ok()
    assert again["metadata"]["resourceVersion"] == version


async def test_a_new_node(api: CaseApi) -> None:
    name = api.unique("n")
    node = await api.create(NODES, named(name))
    assert node["status"] == {
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": dict.fromkeys(NODE_INFO, ""),
    }


async def test_conditions_without_times(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    condition = {"type": "Ready", "status": "True"}
    changed = (await api.patch(PODS, "p", {"status": {"conditions": [condition]}}, sub="status")).ok()
    never = {"lastProbeTime": None, "lastTransitionTime": None}
    assert changed["status"]["conditions"] == [{**condition, **never}]


async def test_the_condition_of_a_gated_pod(api: CaseApi) -> None:
    created = await api.create(PODS, pod("p", schedulingGates=[{"name": "a.b/c"}]))
    (condition,) = created["status"]["conditions"]
    assert condition["lastTransitionTime"]
    assert condition["lastProbeTime"] is None


async def test_the_condition_of_an_evicted_pod(api: CaseApi) -> None:
    await api.given(PODS, pod("p", node="n"))
    await api.given_status(PODS, "p", {"phase": "Running"})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    (await api.ask("POST", PODS, "p", "eviction", body=eviction)).ok(201)
    found = await api.get(PODS, "p")
    (condition,) = [one for one in found["status"]["conditions"] if one["type"] == "DisruptionTarget"]
    assert condition["lastProbeTime"] is None


async def test_the_condition_of_a_bound_pod(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    target = {"kind": "Node", "name": "n"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": target}
    (await api.ask("POST", PODS, "p", "binding", body=binding)).ok(201)
    (condition,) = (await api.get(PODS, "p"))["status"]["conditions"]
    assert condition["lastProbeTime"] is None


async def test_an_events_times(api: CaseApi) -> None:
    involved = {"kind": "Pod", "name": "p", "namespace": api.namespace}
    event = await api.create(EVENTS, named("e", involvedObject=involved))
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
async def test_workloads(api: CaseApi, kind: Kind, status: Obj) -> None:
    wanted = workload("w", replicas=0)
    created = await api.create(kind, wanted, query={"dryRun": "All"})
    assert created["status"] == status
    (container,) = created["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {}


async def test_a_budget(api: CaseApi) -> None:
    created = await api.create(PODDISRUPTIONBUDGETS, budget("b"), query={"dryRun": "All"})
    counts = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    assert created["status"] == dict.fromkeys(counts, 0)


async def test_a_divisor(api: CaseApi) -> None:
    source = {"resourceFieldRef": {"resource": "limits.cpu"}}
    container = {"name": "c", "image": "i", "env": [{"name": "CPU", "valueFrom": source}]}
    created = await api.create(PODS, pod("p", containers=[container]))
    reference = created["spec"]["containers"][0]["env"][0]["valueFrom"]["resourceFieldRef"]
    assert reference == {"resource": "limits.cpu", "divisor": "0"}


@pytest.mark.parametrize("spec", [{"affinity": {}}, {"dnsConfig": {}}, {"affinity": {"nodeAffinity": {}}}])
async def test_an_empty_part_is_more_than_none(api: CaseApi, spec: Obj) -> None:
    await api.given(PODS, pod("p"))
    answer = await api.patch(PODS, "p", {"spec": spec})
    answer.refused(422, "Invalid", starting='Pod "p" is invalid: spec: Forbidden: pod updates may not change')


@pytest.mark.parametrize("spec", [{"nodeSelector": {}}, {"volumes": []}, {"hostNetwork": False}])
async def test_an_empty_map_is_none(api: CaseApi, spec: Obj) -> None:
    created = await api.given(PODS, pod("p"))
    changed = (await api.patch(PODS, "p", {"spec": spec})).ok()
    assert changed["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert changed["spec"] == created["spec"]


async def test_an_empty_part_of_a_template_is_a_new_generation(api: CaseApi) -> None:
    await api.given(REPLICASETS, workload("w", replicas=0))
    changed = (await api.patch(REPLICASETS, "w", {"spec": {"template": {"spec": {"affinity": {}}}}})).ok()
    assert changed["metadata"]["generation"] == 2
    assert changed["spec"]["template"]["spec"]["affinity"] == {}


async def test_a_gated_pod_may_be_narrowed_to_nothing(api: CaseApi) -> None:
    await api.given(PODS, pod("p", schedulingGates=[{"name": "a.b/c"}]))
    (await api.patch(PODS, "p", {"spec": {"affinity": {"nodeAffinity": {}}}})).ok()
    answer = await api.patch(PODS, "p", {"spec": {"affinity": {"podAffinity": {}}}})
    answer.refused(422, "Invalid", starting='Pod "p" is invalid: spec: Forbidden: pod updates may not change')
