"""Jobs as fence agents, with the Job controller, the scheduler and the API server of Kubernetes.

Nodes are simulated: annotations of the PodTemplate say how its pods end.
"""

from __future__ import annotations

import json
from typing import Any

from support.evictions.namespace import EvictionNamespace
from support.realcluster.evictions import RealCluster
from vacate.api.kinds import JOBS, NODES, PODS, PODTEMPLATES
from vacate.api.objects import Obj, terminating
from vacate.clock import SystemClock
from vacate.entropy import system_entropy
from vacate.fenceagents.jobagent import JobAgent
from vacate.fencing.agentprotocol import PowerState


async def agent(place: EvictionNamespace, node: Obj, step: str, said: str = "", **spec: Any) -> JobAgent:
    """The agent of a node, from a PodTemplate that the API server has checked; its pods say that."""
    ends = {"sim.vacate.dev/run-seconds": "0", "sim.vacate.dev/termination-message": said}
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


async def test_a_job_answers_for_its_node_once_and_never_from_that_node(
    real: RealCluster, place: EvictionNamespace
) -> None:
    node = (await place.client.list(NODES)).items[0]
    name, uid = node["metadata"]["name"], node["metadata"]["uid"]
    said = json.dumps({"node": name, "uid": uid, "state": "off"})

    for _ in range(2):  # the second time it finds its own Job
        answer = await (await agent(place, node, "step 1", said)).off()
        assert (answer.ok, answer.state) == (True, PowerState.OFF), answer
        assert len((await place.client.list(JOBS, place.namespace)).items) == 1
    pods = (await place.client.list(PODS, place.namespace)).items
    assert [one["spec"]["nodeName"] == name for one in pods] == [False]

    answer = await (await agent(place, node, "step 1", said.replace(name, "another"))).status()
    assert (answer.ok, answer.state) == (False, PowerState.UNKNOWN)
    assert "about node 'another'" in answer.said

    # A template that insists on the node itself finds no node, and the Job is deleted.
    pinned = {"nodeSelector": {"kubernetes.io/hostname": name}}
    answer = await (await agent(place, node, "step 2", said, **pinned)).off()
    assert (answer.ok, answer.state) == (False, PowerState.UNKNOWN)
    assert "its pod has no node" in answer.said

    async def ended() -> bool:
        jobs = (await place.client.list(JOBS, place.namespace)).items
        return sum(not terminating(one) for one in jobs) == 2

    await place.until(ended, "the Job that hangs is deleted")
