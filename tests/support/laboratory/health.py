"""Whether all is well again in the laboratory: what must come true when the faults have stopped."""

from __future__ import annotations

from collections.abc import Iterator

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.workload import COPIES, DISK_USERS, MEMBERS, PLAIN, PLAIN_COPIES, POLICIES
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, FENCINGPOLICIES, NODEMAINTENANCES, NODES, PODS
from vacate.api.objects import Obj, dig
from vacate.sim.history import is_healthy


def is_well(lab: LaboratoryCluster) -> bool:
    """All workloads run, nothing terminates, and no node is fenced."""
    pods = lab.world.objects(PODS, "default")
    healthy = [pod for pod in pods if is_healthy(pod)]
    return (
        len([pod for pod in healthy if _app(pod) == "db"]) == MEMBERS
        and len([pod for pod in healthy if _app(pod) == "web"]) == COPIES
        and len([pod for pod in healthy if _app(pod) == PLAIN]) == PLAIN_COPIES
        and len([pod for pod in healthy if _app(pod) == DISK_USERS]) > 0
        and not any(pod["metadata"].get("deletionTimestamp") for pod in pods)
        and not lab.fences.out_of_service
        and not fence_rows(lab)
    )


def _app(pod: Obj) -> str:
    return str(dig(pod, "metadata", "labels", "app"))


def fence_rows(lab: LaboratoryCluster) -> list[Obj]:
    """What the policies say of nodes that are unreachable or fenced."""
    found = [lab.world.find(FENCINGPOLICIES, name) for name in POLICIES]
    return [row for one in found for row in dig(one, "status", "nodes") or ()]


def nodes_are_well(lab: LaboratoryCluster) -> bool:
    """Every node is ready and takes pods: no shutdown, cordon or taint is left."""
    found = lab.world.objects(NODES)
    return len(found) == len(lab.hosts.machines) and all(map(_takes_pods, found))


def _takes_pods(node: Obj) -> bool:
    conditions = dig(node, "status", "conditions") or ()
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and not dig(node, "spec", "unschedulable") and not dig(node, "spec", "taints")


def readiness_of(lab: LaboratoryCluster, node: str) -> str:
    """The status of the node's condition Ready; empty where it has none."""
    conditions = dig(lab.world.find(NODES, node), "status", "conditions") or ()
    return next((str(one["status"]) for one in conditions if one["type"] == "Ready"), "")


def open_requests(lab: LaboratoryCluster) -> list[Obj]:
    """Requests of both APIs that are not complete."""
    found = [*lab.world.objects(EVICTIONREQUESTS), *lab.world.objects(EVACUATIONS)]
    return [one for one in found if not _is_complete(one)]


def _is_complete(request: Obj) -> bool:
    conditions = dig(request, "status", "conditions") or ()
    return any(one["type"] == "Complete" and one["status"] == "True" for one in conditions)


def all_drained(lab: LaboratoryCluster) -> bool:
    """Whether every maintenance has emptied its nodes."""
    return all(dig(one, "status", "phase") == "Drained" for one in lab.world.objects(NODEMAINTENANCES))


def open_matters(lab: LaboratoryCluster) -> Iterator[str]:
    """What is not well, in words, for the timeline of a seed that does not come to its end."""
    for pod in lab.world.objects(PODS, "default"):
        if not is_healthy(pod):
            meta, node = pod["metadata"], dig(pod, "spec", "nodeName")
            state = "terminating" if meta.get("deletionTimestamp") else dig(pod, "status", "phase")
            yield f"pod {meta['name']} on {node} is {state}: {dig(pod, 'status', 'conditions')}"
    for request in open_requests(lab):
        yield f"{request['kind']} {request['metadata']['name']} is open: {request.get('status')}"
    for one in lab.world.objects(NODEMAINTENANCES):
        yield f"maintenance {one['metadata']['name']}: {one.get('status')}"
    for row in fence_rows(lab):
        yield f"fence: {row}"
    for name, machine in lab.hosts.machines.items():
        node = lab.world.find(NODES, name) or {}
        meta = node.get("metadata") or {}
        ready = [one["status"] for one in dig(node, "status", "conditions") or () if one["type"] == "Ready"]
        power = "on" if machine.on else "off"
        yield (
            f"{name}: {power}, ready {ready}, taints {dig(node, 'spec', 'taints')}, {meta.get('annotations')}"
        )
