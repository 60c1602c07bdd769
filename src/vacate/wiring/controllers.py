"""The controllers of Vacate: the one list from which manager, embedded cluster and installer take theirs.

A row says what a controller is called, how it is built, which feature gate it needs, which kinds of our own
must be served before it can start, and which rights it needs beyond those that every controller has.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.admission.pods.workloads import WORKLOADS
from vacate.api.kinds import (
    DESCHEDULINGPOLICIES,
    EVACUATIONS,
    EVICTIONREQUESTS,
    FENCINGPOLICIES,
    LIFECYCLE_EVICTIONS,
    LIFECYCLE_REQUESTS,
    NODEMAINTENANCES,
)
from vacate.api.policyrules import CORE, READ, Rule, rule
from vacate.controllers.descheduling.controller import build as descheduling
from vacate.controllers.eviction.controller import build as eviction_request
from vacate.controllers.eviction.controller import build_evacuation as evacuation
from vacate.controllers.eviction.controller import build_lifecycle as lifecycle_evictions
from vacate.controllers.evictionbridge.controller import build as eviction_bridge
from vacate.controllers.evictionbridge.controller import build_evacuation as eviction_bridge_evacuation
from vacate.controllers.evictionbridge.controller import build_lifecycle as eviction_bridge_lifecycle
from vacate.controllers.exclusivevolumes.controller import build as exclusive_volumes
from vacate.controllers.exclusivevolumes.gates import build as exclusive_volume_gates
from vacate.controllers.lifecycle.controller import build as lifecycle_requests
from vacate.controllers.nodedown.controller import build as node_down
from vacate.controllers.nodedown.deletionmarks import GATE as DELETION_MARKS
from vacate.controllers.nodedown.deletionmarks import build as deletion_marks
from vacate.controllers.nodemaintenance.controller import build as node_maintenance
from vacate.controllers.registration.controller import build as registration
from vacate.controllers.scaledown.controller import build as scale_down
from vacate.features import FeatureGates
from vacate.interceptors.autoscaler.controller import build as autoscaler_floor
from vacate.interceptors.statefulset.reconsidering import build as declined_members
from vacate.interceptors.surge.controller import build as surge
from vacate.interceptors.surge.reconsidering import build as declined_turns
from vacate.wiring.components import ControllerDescriptor
from vacate.wiring.fencing import build as fencing
from vacate.wiring.interceptors import INTERCEPTORS, READ_AUTOSCALERS, READ_EVICTIONS

EVENTS = rule("create patch", CORE, "events")
"""What every controller may do: say what happened."""

_HANDING_OVER = rule("patch", CORE, "pods/status")
"""Requesters of a request that is superseded stand in a condition of the pod until the new one has them."""

_WORKLOADS = {kind for one in WORKLOADS for kind in one.owners}
_READ_WORKLOADS = tuple(
    rule("list watch", group, " ".join(sorted(one.plural for one in _WORKLOADS if one.group == group)))
    for group in sorted({one.group for one in _WORKLOADS})
)
"""What owns pods that may be registered."""

_PODS_TO_EVICT = (
    # A client that changes requests needs the right to delete the pod. Patched where
    # TerminationReasonAnnotations is on: with the reason of the eviction.
    rule(f"{READ} patch delete", CORE, "pods"),
    rule("create", CORE, "pods/eviction"),
    rule("list watch", "policy", "poddisruptionbudgets"),
    # Whether the DaemonSet or Node that a pod names as its owner is there, and what owners allow.
    rule("get", "apps", "daemonsets"),
    rule(READ, "apps", "deployments replicasets statefulsets"),
    READ_AUTOSCALERS,
    rule("get", CORE, "nodes"),
)
"""What the controller of each API does with pods."""

_LIFECYCLE_REQUESTER = (
    READ_EVICTIONS,
    # Requesters have objects of their own there.
    rule("get create patch delete", LIFECYCLE_REQUESTS.group, LIFECYCLE_REQUESTS.plural),
)
"""What who requests evictions by lifecycle.k8s.io does there."""

_RECONSIDERING = (
    rule(READ, EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
    rule("patch", EVICTIONREQUESTS.group, f"{EVICTIONREQUESTS.plural}/status"),
    rule(READ, EVACUATIONS.group, EVACUATIONS.plural),
    rule("patch", EVACUATIONS.group, f"{EVACUATIONS.plural}/status"),
    READ_EVICTIONS,
    rule("patch", LIFECYCLE_EVICTIONS.group, f"{LIFECYCLE_EVICTIONS.plural}/status"),
    rule("list watch", CORE, "pods"),
)
"""Of controllers that take refusals of interceptors back."""

LIFECYCLE_CONTROLLERS = ("lifecycle-request-controller", "lifecycle-eviction-controller")
"""The two that give way to a controller of Kubernetes' own."""

CONTROLLERS: Sequence[ControllerDescriptor] = (
    ControllerDescriptor(
        "evictionrequest-controller",
        eviction_request,
        gate="EvictionRequestAPI",
        kinds=(EVICTIONREQUESTS,),
        rules=(
            # It replaces requests that are superseded, for which a client needs the right to delete the pod.
            rule(f"{READ} create patch delete", EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
            rule("patch", EVICTIONREQUESTS.group, f"{EVICTIONREQUESTS.plural}/status"),
            # A pod is evicted once, whichever APIs request that.
            rule(READ, EVACUATIONS.group, EVACUATIONS.plural),
            READ_EVICTIONS,
            _HANDING_OVER,
            *_PODS_TO_EVICT,
        ),
    ),
    ControllerDescriptor(
        # Without the bridge too: what it left in requests must end when it is switched off.
        "evictionbridge-controller",
        eviction_bridge,
        gate="EvictionRequestAPI",
        kinds=(EVICTIONREQUESTS,),
        rules=(
            rule(f"{READ} patch", EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
            # A client that changes requesters needs the right to delete the pod.
            rule("delete", CORE, "pods"),
        ),
    ),
    ControllerDescriptor(
        "evictionbridge-evacuation-controller",
        eviction_bridge_evacuation,
        gate="EvacuationAPI",
        kinds=(EVACUATIONS,),
        rules=(
            rule(f"{READ} patch", EVACUATIONS.group, EVACUATIONS.plural),
            # A client that changes instigators needs the right to delete the pod.
            rule("delete", CORE, "pods"),
        ),
    ),
    ControllerDescriptor(
        # Whoever is the controller of lifecycle.k8s.io.
        "evictionbridge-lifecycle-controller",
        eviction_bridge_lifecycle,
        gate="LifecycleAPI",
        rules=(rule(f"{READ} patch", LIFECYCLE_REQUESTS.group, LIFECYCLE_REQUESTS.plural),),
    ),
    ControllerDescriptor(
        "evacuation-controller",
        evacuation,
        gate="EvacuationAPI",
        kinds=(EVACUATIONS,),
        rules=(
            # It removes the finalizers of instigators, and the object, when the evacuation is over.
            rule(f"{READ} create patch delete", EVACUATIONS.group, EVACUATIONS.plural),
            rule("patch", EVACUATIONS.group, f"{EVACUATIONS.plural}/status"),
            rule(READ, EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
            READ_EVICTIONS,
            _HANDING_OVER,
            *_PODS_TO_EVICT,
        ),
    ),
    ControllerDescriptor(
        # What EvictionRequests of lifecycle.k8s.io come to: one Eviction for each pod.
        LIFECYCLE_CONTROLLERS[0],
        lifecycle_requests,
        gate="LifecycleAPI",
        rules=(
            rule("list watch", LIFECYCLE_REQUESTS.group, LIFECYCLE_REQUESTS.plural),
            rule("patch", LIFECYCLE_REQUESTS.group, f"{LIFECYCLE_REQUESTS.plural}/status"),
            rule("list watch create patch", LIFECYCLE_EVICTIONS.group, LIFECYCLE_EVICTIONS.plural),
            rule("patch", LIFECYCLE_EVICTIONS.group, f"{LIFECYCLE_EVICTIONS.plural}/status"),
            # Turns of one API follow those of another.
            rule("list watch", EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
            rule("list watch", EVACUATIONS.group, EVACUATIONS.plural),
            # Whether the pod is there is asked of the server itself.
            rule("get", CORE, "pods"),
        ),
    ),
    ControllerDescriptor(
        LIFECYCLE_CONTROLLERS[1],
        lifecycle_evictions,
        gate="LifecycleAPI",
        rules=(
            rule(READ, LIFECYCLE_EVICTIONS.group, LIFECYCLE_EVICTIONS.plural),
            rule("patch", LIFECYCLE_EVICTIONS.group, f"{LIFECYCLE_EVICTIONS.plural}/status"),
            rule(READ, EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
            rule(READ, EVACUATIONS.group, EVACUATIONS.plural),
            *_PODS_TO_EVICT,
        ),
    ),
    ControllerDescriptor(
        "nodemaintenance-controller",
        node_maintenance,
        gate="NodeMaintenance",
        kinds=(NODEMAINTENANCES, EVICTIONREQUESTS),
        rules=(
            rule(f"{READ} patch", NODEMAINTENANCES.group, NODEMAINTENANCES.plural),
            rule("patch", NODEMAINTENANCES.group, f"{NODEMAINTENANCES.plural}/status"),
            rule("list watch patch", CORE, "nodes"),
            rule("patch", CORE, "nodes/status"),
            rule(f"{READ} create patch delete", EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
            rule(f"{READ} create patch delete", EVACUATIONS.group, EVACUATIONS.plural),
            *_LIFECYCLE_REQUESTER,
            # A client that requests an eviction needs the right to delete the pod.
            rule(f"{READ} delete", CORE, "pods"),
            rule("list watch", "policy", "poddisruptionbudgets"),
            # What can be done about a pod that its budget holds.
            rule("list watch", "apps", "deployments"),
            READ_AUTOSCALERS,
        ),
    ),
    ControllerDescriptor(
        "fencing-controller",
        fencing,
        gate="Fencing",
        kinds=(FENCINGPOLICIES,),
        rules=(
            rule(READ, FENCINGPOLICIES.group, FENCINGPOLICIES.plural),
            rule("patch", FENCINGPOLICIES.group, f"{FENCINGPOLICIES.plural}/status"),
            rule(f"{READ} patch", CORE, "nodes"),
            # Which nodes report. Secrets of agents are read where the administrator has allowed it.
            rule("list", "coordination.k8s.io", "leases"),
            rule("list watch", CORE, "pods"),
            rule("list watch", "policy", "poddisruptionbudgets"),
            # Which pods wait for a volume of a lost node.
            rule("list watch", CORE, "persistentvolumes persistentvolumeclaims"),
            rule("list watch", "storage.k8s.io", "storageclasses"),
        ),
    ),
    ControllerDescriptor(
        "nodedown-controller",
        node_down,
        gate="NodeDownCondition",
        rules=(
            rule("get list watch", CORE, "nodes"),
            rule("list watch", CORE, "pods"),
            # One condition of pods, as confinement checks.
            rule("patch", CORE, "pods/status"),
        ),
    ),
    ControllerDescriptor(
        "nodedeletion-controller",
        deletion_marks,
        gate=DELETION_MARKS,
        rules=(
            # One annotation of nodes, as confinement checks.
            rule("list watch patch", CORE, "nodes"),
            rule("list watch", CORE, "pods persistentvolumes persistentvolumeclaims"),
            rule("list watch", "storage.k8s.io", "storageclasses"),
        ),
    ),
    ControllerDescriptor(
        "exclusivevolume-controller",
        exclusive_volumes,
        gate="ExclusiveVolumes",
        rules=(
            # The record of where a volume is attached is an annotation of the volume.
            rule("list watch patch", CORE, "persistentvolumes"),
            rule("list watch", CORE, "persistentvolumeclaims"),
            rule("list watch", "storage.k8s.io", "storageclasses"),
            # That a pod has ended is read from the server, not from a cache.
            rule(READ, CORE, "pods nodes"),
        ),
    ),
    ControllerDescriptor(
        "exclusivevolumegate-controller",
        exclusive_volume_gates,
        gate="ExclusiveVolumes",
        rules=(
            # The record says that a gate is open before it is opened.
            rule("list watch patch", CORE, "persistentvolumes"),
            rule("list watch", CORE, "persistentvolumeclaims nodes"),
            rule("list watch", "storage.k8s.io", "storageclasses"),
            # It takes its scheduling gate away.
            rule(f"{READ} patch", CORE, "pods"),
        ),
    ),
    ControllerDescriptor(
        "descheduling-controller",
        descheduling,
        gate="Descheduling",
        kinds=(DESCHEDULINGPOLICIES, EVICTIONREQUESTS),
        rules=(
            rule("list watch", DESCHEDULINGPOLICIES.group, DESCHEDULINGPOLICIES.plural),
            rule("patch", DESCHEDULINGPOLICIES.group, f"{DESCHEDULINGPOLICIES.plural}/status"),
            rule("list watch", CORE, "nodes"),
            rule(f"{READ} create patch delete", EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
            rule(f"{READ} create patch delete", EVACUATIONS.group, EVACUATIONS.plural),
            *_LIFECYCLE_REQUESTER,
            # A client that requests an eviction needs the right to delete the pod.
            rule(f"{READ} delete", CORE, "pods"),
        ),
    ),
    ControllerDescriptor(
        # Without the interceptors too: pods that they were registered on are to be released from them.
        "workload-registration-controller",
        registration,
        gate="EvictionRequestAPI",
        kinds=(EVICTIONREQUESTS,),
        rules=(
            rule("list watch", CORE, "namespaces"),
            *_READ_WORKLOADS,
            READ_AUTOSCALERS,
            rule("list watch patch", CORE, "pods"),
        ),
    ),
    ControllerDescriptor(
        "scaledown-controller",
        scale_down,
        gate="TopologySpreadScaleDown",
        rules=(
            rule("list watch", CORE, "namespaces nodes"),
            rule("list watch", "apps", "deployments replicasets"),
            rule("list watch patch", CORE, "pods"),
        ),
    ),
    ControllerDescriptor(
        "surge-controller",
        surge,
        gate="DeploymentInterceptor",
        kinds=(EVICTIONREQUESTS,),
        rules=(
            rule(READ, EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
            rule(READ, EVACUATIONS.group, EVACUATIONS.plural),
            READ_EVICTIONS,
            rule(f"{READ} patch", "apps", "deployments"),
            rule("list watch patch", "apps", "replicasets"),
            rule("list watch patch", CORE, "pods"),
            READ_AUTOSCALERS,
        ),
    ),
    ControllerDescriptor(
        "declined-turns-controller",
        declined_turns,
        gate="DeploymentInterceptor",
        kinds=(EVICTIONREQUESTS,),
        rules=(
            *_RECONSIDERING,
            rule("list watch", "apps", "deployments replicasets"),
            READ_AUTOSCALERS,
        ),
    ),
    ControllerDescriptor(
        "declined-members-controller",
        declined_members,
        gate="StatefulSetInterceptor",
        kinds=(EVICTIONREQUESTS,),
        rules=(*_RECONSIDERING, rule("list watch", "apps", "statefulsets")),
    ),
    ControllerDescriptor(
        # Without the interceptor too: a floor that it has raised must be lowered when it is switched off.
        "autoscaler-floor-controller",
        autoscaler_floor,
        gate="DeploymentInterceptor",
        kinds=(EVICTIONREQUESTS,),
        rules=(
            rule(READ, EVICTIONREQUESTS.group, EVICTIONREQUESTS.plural),
            rule(READ, EVACUATIONS.group, EVACUATIONS.plural),
            READ_EVICTIONS,
            rule(f"{READ} patch", "autoscaling", "horizontalpodautoscalers"),
            rule(f"{READ} patch", "apps", "deployments"),
            rule("list watch", "apps", "replicasets"),
            rule("list watch patch", CORE, "pods"),
        ),
    ),
    *INTERCEPTORS,
)
"""Every controller of the product. Each folder of `vacate.controllers` has at least one row."""


def enabled(gates: FeatureGates) -> tuple[ControllerDescriptor, ...]:
    """The controllers whose gates are open, and those of the kinds that they need."""
    return tuple(one for one in CONTROLLERS if one.is_enabled(gates))


def rules(controllers: Sequence[ControllerDescriptor] = CONTROLLERS) -> tuple[Rule, ...]:
    """All rights that these controllers need together, each once, in the order of the list."""
    return tuple(dict.fromkeys([*(one for row in controllers for one in row.rules), EVENTS]))
