"""Jobs as fence agents on either cluster, with its Job controller, scheduler and garbage collectors.

Nodes are simulated: annotations of the PodTemplate say how its pods end. The test plays the node that is
lost: it reports once, and never again.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.evictions.namespace import EvictionNamespace, is_ready
from support.realcluster.evictions import HOME, RealCluster
from support.waiting import until
from vacate.api.kinds import FENCINGPOLICIES, JOBS, NODES, PODS, PODTEMPLATES, STATEFULSETS, Kind
from vacate.api.objects import Obj, terminating
from vacate.api.options import ListOptions
from vacate.api.times import format_time
from vacate.clock import SystemClock
from vacate.embedded.cluster.local import FENCING_JOB_NAMESPACE
from vacate.entropy import system_entropy
from vacate.errors import NotFound
from vacate.fenceagents.jobagent import JobAgent
from vacate.fencing.agentprotocol import PowerState
from vacate.fencing.jobs import NODE_LABEL, node_label
from vacate.kube.nodes import OUT_OF_SERVICE


async def agent(place: EvictionNamespace, node: Obj, step: str, message: str = "", **spec: Any) -> JobAgent:
    """The agent of a node, from a PodTemplate that the API server has checked, and its pods' message."""
    ends = {"sim.vacate.dev/run-seconds": "0", "sim.vacate.dev/termination-message": message}
    containers = [{"name": "fence", "image": "fence:1"}]
    body = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"generateName": "fencing-"},
        "template": {"metadata": {"annotations": ends}, "spec": {"containers": containers, **spec}},
    }
    template = await place.client.create(PODTEMPLATES, body, place.namespace)
    meta, timeout = node["metadata"], 5 if spec else 60
    return JobAgent(
        place.client,
        SystemClock(),
        system_entropy(),
        place.namespace,
        template,
        meta["name"],
        meta["uid"],
        step,
        timeout,
    )


async def test_a_job_answers_for_its_node_once_and_never_from_that_node(place: EvictionNamespace) -> None:
    node = (await place.client.list(NODES)).items[0]
    name, uid = node["metadata"]["name"], node["metadata"]["uid"]
    report = json.dumps({"node": name, "uid": uid, "state": "off"})

    for _ in range(2):  # the second time it finds its own Job
        answer = await (await agent(place, node, "step 1", report)).off()
        assert (answer.ok, answer.state) == (True, PowerState.OFF), answer
        assert len((await place.client.list(JOBS, place.namespace)).items) == 1
    pods = (await place.client.list(PODS, place.namespace)).items
    assert [one["spec"]["nodeName"] == name for one in pods] == [False]

    answer = await (await agent(place, node, "step 1", report.replace(name, "another"))).status()
    assert (answer.ok, answer.state) == (False, PowerState.UNKNOWN)
    assert "about another node" in answer.message

    # A template that insists on the node itself finds no node, and the Job is deleted.
    pinned = {"nodeSelector": {"kubernetes.io/hostname": name}}
    answer = await (await agent(place, node, "step 2", report, **pinned)).off()
    assert (answer.ok, answer.state) == (False, PowerState.UNKNOWN)
    assert "its pod has no node" in answer.message

    async def ended() -> bool:
        jobs = (await place.client.list(JOBS, place.namespace)).items
        return sum(not terminating(one) and not is_failed(one) for one in jobs) == 2

    await place.until(ended, "the Job that hangs is deleted")


def is_failed(job: Obj) -> bool:
    return any(one["type"] == "Failed" for one in job.get("status", {}).get("conditions", ()))


@contextlib.asynccontextmanager
async def home_of_jobs(place: EvictionNamespace) -> AsyncIterator[str]:
    """The namespace where fence agents run, beside a manager that may run them there."""
    if not isinstance(place.cluster, RealCluster):
        yield FENCING_JOB_NAMESPACE
        return
    real = place.cluster
    real.install("--fencing-jobs")
    # Not in another thread: processes end with the thread that has started them.
    restart_managers(real, "--fencing-job-namespace", HOME)
    try:
        yield HOME
    finally:
        restart_managers(real)
        real.install()


def restart_managers(real: RealCluster, *options: str) -> None:
    for one in real.managers:
        assert one.stop() == 0, one.output
    real.start_managers(*options)
    until(real.leader)


async def lost_node(place: EvictionNamespace, name: str) -> Obj:
    """A node that nothing stands for; it is ready until the test says otherwise."""
    meta = {"name": name, "labels": {"kubernetes.io/hostname": name, "rack": name}}
    made = await place.client.create(NODES, {"metadata": meta})
    await report(place, name, "True", allocatable={"cpu": "4", "memory": "4Gi", "pods": "10"})

    async def usable() -> bool:
        return not (await place.client.get(NODES, name))["spec"].get("taints")

    await place.until(usable, "the node takes pods")
    return made


async def report(place: EvictionNamespace, name: str, ready: str, **status: Any) -> None:
    now = format_time(SystemClock().now())
    condition = {"type": "Ready", "status": ready, "reason": "Played", "message": "by a test"}
    moments = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    body = {"status": {"conditions": [{**condition, **moments}], **status}}
    await place.client.patch(NODES, name, body, subresource="status")


def member_of(node: str) -> Obj:
    """A StatefulSet whose pod prefers that node, and gives it up soon when it is unreachable."""
    prefers = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    term = {"weight": 100, "preference": {"matchExpressions": [prefers]}}
    soon = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
    spec = {
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "db", "image": "db:1"}],
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}},
        "tolerations": [{**soon, "key": f"node.kubernetes.io/{key}"} for key in ("unreachable", "not-ready")],
    }
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "metadata": {"name": "db"},
        "spec": {"serviceName": "db", "selector": {"matchLabels": labels}, "template": template},
    }


def pod_template(name: str, node: Obj) -> Obj:
    """An agent whose pods say that the machine is off, whatever they are asked to do."""
    meta = node["metadata"]
    message = json.dumps({"node": meta["name"], "uid": meta["uid"], "state": "off"})
    ends = {"sim.vacate.dev/run-seconds": "0", "sim.vacate.dev/termination-message": message}
    container = {
        "name": "fence",
        "image": "fence:1",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    spec = {
        "securityContext": {
            "runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }  # fmt: skip
    return {"metadata": {"name": name}, "template": {"metadata": {"annotations": ends}, "spec": spec}}


@pytest.mark.thorough  # most of a minute
async def test_a_policy_fences_a_lost_node_by_jobs_and_its_statefulset_pod_runs_elsewhere(
    place: EvictionNamespace,
) -> None:
    name = f"lost-{place.namespace}"[:50]
    client = place.client
    async with home_of_jobs(place) as home, contextlib.AsyncExitStack() as undo:
        node = await lost_node(place, name)
        undo.push_async_callback(remove, place, NODES, name)
        await client.create(STATEFULSETS, member_of(name), place.namespace)

        async def placed() -> Obj | None:
            found = await place.find_pod("db-0")
            return found if found and found["spec"].get("nodeName") else None

        old = await place.until(placed, "db-0 has a node")
        assert old["spec"]["nodeName"] == name
        ready = {"type": "Ready", "status": "True"}
        await client.patch(
            PODS, "db-0", {"status": {"phase": "Running", "conditions": [ready]}}, place.namespace,
            subresource="status",
        )  # fmt: skip
        await client.create(PODTEMPLATES, pod_template(name, node), home)
        undo.push_async_callback(remove, place, PODTEMPLATES, name, home)
        spec = {
            "nodeSelector": {"matchLabels": {"rack": name}},
            "unreachableSeconds": 10,
            "agent": {"job": {"podTemplate": name}},
        }
        await client.create(FENCINGPOLICIES, {"metadata": {"name": name}, "spec": spec})
        undo.push_async_callback(remove, place, FENCINGPOLICIES, name)
        await report(place, name, "Unknown")

        async def replaced() -> Obj | None:
            found = await place.find_pod("db-0")
            if not found or found["metadata"]["uid"] == old["metadata"]["uid"]:
                return None
            return found if is_ready(found) else None

        # 10 s unreachable, up to 20 s until it is known who reports, three Jobs, 12 s until all others have
        # reported after them, and kube-controller-manager looks every 20 s for pods of nodes out of service.
        new = await place.until(replaced, "the member runs again", 180.0)
        assert new["spec"]["nodeName"] != name
        taints = (await client.get(NODES, name))["spec"]["taints"]
        assert OUT_OF_SERVICE in [one["key"] for one in taints]
        jobs = await client.list(
            JOBS, home, ListOptions(label_selector=f"{NODE_LABEL}={node_label(node['metadata']['uid'])}")
        )
        asked = sorted(one["metadata"]["name"].split("-")[1] for one in jobs.items)
        # Off was requested once, read back by a Job of its own, and read again before the pods were released.
        assert asked == ["off", "status", "status"]
        policy = await client.get(FENCINGPOLICIES, name)
        assert [(one["name"], one["phase"]) for one in policy["status"]["nodes"]] == [(name, "Fenced")]


async def remove(place: EvictionNamespace, kind: Kind, name: str, namespace: str = "") -> None:
    with contextlib.suppress(NotFound):
        await place.client.delete(kind, name, namespace)
