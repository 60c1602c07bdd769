"""Who has the default roles.

Kubernetes gives nodes their rights through an authoriser that follows which pods run where. There is none
here: the group of all nodes has the role, as in clusters that use RBAC alone.
"""

from __future__ import annotations

from vacate.api.identity import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, MASTERS, NODES
from vacate.api.objects import Obj
from vacate.embedded.bootstrap.componentroles import EXCLUSIVE_VOLUMES, LEADER_LOCK, LEASE_LOCK
from vacate.embedded.bootstrap.controllerroles import EVICTION_CONTROLLER
from vacate.embedded.bootstrap.rules import binding, cluster_binding, group, role, service_account, user
from vacate.wiring.fencing import FENCING_JOB_RULES

_SYSTEM = "kube-system"
_MANAGER_LOCK = "system::leader-locking-kube-controller-manager"
_SCHEDULER_LOCK = "system::leader-locking-kube-scheduler"
_EVICTION_LOCK = f"system::leader-locking-{EVICTION_CONTROLLER}"
_FENCING_JOBS = "vacate:fencing-jobs"


def cluster_bindings() -> list[Obj]:
    """The bindings that hold everywhere."""
    return [
        cluster_binding("cluster-admin", group(MASTERS)),
        cluster_binding("system:monitoring", group("system:monitoring")),
        cluster_binding("system:discovery", group(ALL_AUTHENTICATED)),
        cluster_binding("system:basic-user", group(ALL_AUTHENTICATED)),
        cluster_binding("system:public-info-viewer", group(ALL_AUTHENTICATED), group(ALL_UNAUTHENTICATED)),
        cluster_binding("system:kube-controller-manager", user("system:kube-controller-manager")),
        cluster_binding("system:kube-scheduler", user("system:kube-scheduler")),
        cluster_binding("system:node", group(NODES)),
        cluster_binding(EXCLUSIVE_VOLUMES, group(NODES)),
    ]


def system_roles() -> list[Obj]:
    """The roles in `kube-system` for electing leaders, and for Jobs as fence agents."""
    stock = [role(_SYSTEM, name, *LEADER_LOCK) for name in (_MANAGER_LOCK, _SCHEDULER_LOCK)]
    fencing = role(_SYSTEM, _FENCING_JOBS, *FENCING_JOB_RULES)
    return [*stock, role(_SYSTEM, _EVICTION_LOCK, LEASE_LOCK), fencing]


def system_bindings() -> list[Obj]:
    """Who has the roles in `kube-system`."""
    return [
        binding(
            _SYSTEM,
            _MANAGER_LOCK,
            user("system:kube-controller-manager"),
            service_account("kube-controller-manager"),
            service_account("leader-election-controller"),
        ),
        binding(_SYSTEM, _SCHEDULER_LOCK, user("system:kube-scheduler"), service_account("kube-scheduler")),
        binding(_SYSTEM, _EVICTION_LOCK, service_account(EVICTION_CONTROLLER)),
        binding(_SYSTEM, _FENCING_JOBS, service_account(EVICTION_CONTROLLER)),
    ]
