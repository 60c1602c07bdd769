"""Whether all is well again in the laboratory: what must come true when the faults have stopped."""

from __future__ import annotations

from support.laboratory.cluster import LaboratoryCluster
from support.laboratory.workload import COPIES, DISK_USERS, MEMBERS, POLICY
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, FENCINGPOLICIES, NODEMAINTENANCES, PODS
from vacate.api.objects import Obj, dig
from vacate.sim.history import is_healthy


def is_well(lab: LaboratoryCluster) -> bool:
    """All workloads run, nothing terminates, and no node is fenced."""
    pods = lab.world.objects(PODS, "default")
    healthy = [pod for pod in pods if is_healthy(pod)]
    return (
        len([pod for pod in healthy if _app(pod) == "db"]) == MEMBERS
        and len([pod for pod in healthy if _app(pod) == "web"]) == COPIES
        and len([pod for pod in healthy if _app(pod) == DISK_USERS]) > 0
        and not any(pod["metadata"].get("deletionTimestamp") for pod in pods)
        and not lab.fences.out_of_service
        and not (dig(lab.world.find(FENCINGPOLICIES, POLICY), "status", "nodes") or ())
    )


def _app(pod: Obj) -> str:
    return str(dig(pod, "metadata", "labels", "app"))


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
