"""NodeMaintenance: nodes that are to be cordoned or drained, and how far that has come.

The structs are the one source of the kind's schema: descriptions and limits stand beside the fields, and the
CRD, the OpenAPI document and the reference page are made from them.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated

import msgspec

from vacate.api.integers import Int32, Int64
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS
from vacate.api.types.evictionrequest import (
    DEFAULT_DEADLINE_SECONDS,
    MAX_DEADLINE_SECONDS,
    MIN_DEADLINE_SECONDS,
    RequestCondition,
    described,
)
from vacate.api.types.labelselector import _LABEL_KEY, LabelSelectorSpec
from vacate.api.types.lifecycle import REQUEST_KIND as LIFECYCLE
from vacate.api.types.meta import ObjectMeta, Projection, check_times

CORDON, DRAIN = "Cordon", "Drain"
REFUSE, IGNORE, EVICT = "Refuse", "Ignore", "Evict"
PRIORITY, STRICT_PRIORITY, PARALLEL = "Priority", "StrictPriority", "Parallel"
ALL_FIRST, IN_TURN = "AllFirst", "InTurn"
REPORT, DELETE = "Report", "Delete"

PENDING, CORDONED, DRAINING, BLOCKED, DRAINED = "Pending", "Cordoned", "Draining", "Blocked", "Drained"
NOT_FOUND, REPLACED = "NotFound", "Replaced"
NODE_PHASES = (PENDING, CORDONED, DRAINING, BLOCKED, DRAINED, NOT_FOUND, REPLACED)
UNDOING = "Undoing"
PHASES = (PENDING, CORDONED, DRAINING, BLOCKED, DRAINED, UNDOING)

MANUAL, AUTOMATIC = "Manual", "Automatic"

REQUEST_KINDS = (EVICTIONREQUESTS.kind, EVACUATIONS.kind, LIFECYCLE)

MAX_NODES = 1000
MAX_BLOCKERS = 50
MAX_REMEDIES = 4
MAX_FORCED = 1000
MAX_CONDITIONS = 20
MAX_NAME = 200
MAX_REASON = 1024
MAX_MESSAGE = 1024
MAX_DEADLINE = 30 * 86_400

_SUBDOMAIN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_POLICIES = [REFUSE, IGNORE, EVICT]


class PodRules(Projection, frozen=True):
    """Which pods of a node are evicted."""

    selector: Annotated[
        LabelSelectorSpec | None,
        described(
            "Only pods with these labels are evicted. The others stay, and the node still counts as drained. "
            "If it is not set, all pods are evicted."
        ),
    ] = None
    daemon_set_pods: Annotated[
        str,
        described(
            "Pods of DaemonSets, which return to a cordoned node. Refuse does not drain nodes with such "
            "pods; Ignore leaves the pods; Evict keeps them off the node with a taint and removes them after "
            "all other pods. Pods that tolerate the taint stay and are reported.",
            enum=_POLICIES,
            default=REFUSE,
        ),
    ] = REFUSE
    unmanaged_pods: Annotated[
        str,
        described(
            "Pods without a controller, which nothing re-creates. Refuse does not drain nodes with such "
            "pods; Ignore leaves the pods; Evict evicts them.",
            enum=_POLICIES,
            default=REFUSE,
        ),
    ] = REFUSE
    local_data_pods: Annotated[
        str,
        described(
            "Pods with emptyDir volumes, whose data is lost. Refuse does not drain nodes with such pods; "
            "Ignore leaves the pods; Evict evicts them, and their data is lost.",
            enum=_POLICIES,
            default=REFUSE,
        ),
    ] = REFUSE


class NodeMaintenanceSpec(Projection, frozen=True):
    """Which nodes are drained or cordoned, how, and within which limits."""

    nodes: Annotated[
        list[Annotated[str, described("", minLength=1, maxLength=253, pattern=_SUBDOMAIN)]],
        described(
            "Names of the nodes. Exactly one of nodes and nodeSelector is required.",
            maxItems=MAX_NODES,
            **{"x-kubernetes-list-type": "set"},
        ),
    ] = msgspec.field(default_factory=list)
    node_selector: Annotated[
        LabelSelectorSpec | None,
        described("Labels of the nodes, including nodes that are created later. Must not be empty."),
    ] = None
    stage: Annotated[
        str,
        described(
            "Cordon makes the nodes unschedulable. Drain also evicts their pods. A change from Drain to "
            "Cordon withdraws the eviction requests of this maintenance.",
            enum=[CORDON, DRAIN],
            default=DRAIN,
        ),
    ] = DRAIN
    reason: Annotated[
        str,
        described(
            "Why, in one sentence. Recorded on every eviction request that is created.", maxLength=MAX_REASON
        ),
    ] = ""
    pods: Annotated[PodRules, described("Which pods are evicted, and which prevent a drain.", default={})] = (
        msgspec.field(default_factory=PodRules)
    )
    order: Annotated[
        str,
        described(
            "Priority evicts pods of lower priority first, and those of the next priority when these are "
            "gone or have been blocked for ten seconds. StrictPriority waits until they are gone. Parallel "
            "evicts all at once. DaemonSet pods come after all others in every case.",
            enum=[PRIORITY, STRICT_PRIORITY, PARALLEL],
            default=PRIORITY,
        ),
    ] = PRIORITY
    max_nodes: Annotated[
        Int32 | str,
        described(
            "How many nodes are drained at the same time: a number, or a percentage of the nodes such as "
            "10%, rounded down, but at least one node.",
            minimum=1,
            maximum=MAX_NODES,
            maxLength=4,
            pattern="^([1-9][0-9]?|100)%$",
            default=1,
        ),
    ] = 1
    topology_key: Annotated[
        str,
        described(
            "A node label, such as topology.kubernetes.io/zone. Nodes are drained at the same time only if "
            "they have the same value, so that two zones are never drained at once. Nodes of all "
            "NodeMaintenances count.",
            maxLength=317,
            pattern=f"^$|{_LABEL_KEY}",
        ),
    ] = ""
    cordon: Annotated[
        str,
        described(
            "AllFirst cordons all nodes before the first is drained, so that no pod moves to a node that is "
            "drained later. InTurn cordons each node when its turn comes, which keeps more capacity.",
            enum=[ALL_FIRST, IN_TURN],
            default=ALL_FIRST,
        ),
    ] = ALL_FIRST
    deadline_seconds: Annotated[
        Int32 | None,
        described(
            "How long the drain of one node may take, in seconds. If it is not set, there is no limit.",
            minimum=1,
            maximum=MAX_DEADLINE,
        ),
    ] = None
    on_deadline: Annotated[
        str,
        described(
            "What happens to the remaining pods when the deadline of a node has passed. Report only reports "
            "it. Delete deletes them without regard to interceptors and disruption budgets, except pods for "
            "which the policy is Refuse.",
            enum=[REPORT, DELETE],
            default=REPORT,
        ),
    ] = REPORT
    request_kind: Annotated[
        str,
        described(
            "The kind of the requests that are created. Evacuation needs the feature gate EvacuationAPI. "
            "Lifecycle stands for EvictionRequests of lifecycle.k8s.io and needs the feature gate "
            "LifecycleAPI. If the eviction of a pod is already requested, with whichever kind, the "
            "maintenance joins that request.",
            enum=list(REQUEST_KINDS),
            default=EVICTIONREQUESTS.kind,
        ),
    ] = EVICTIONREQUESTS.kind
    heartbeat_deadline_seconds: Annotated[
        Int32,
        described(
            "How long the active interceptor may go without a heartbeat, in seconds. Copied into the "
            "requests that are created. At most 21600 for Evacuations. For Lifecycle leave it out: that "
            "API has 1200 for all.",
            minimum=MIN_DEADLINE_SECONDS,
            maximum=MAX_DEADLINE_SECONDS,
            default=DEFAULT_DEADLINE_SECONDS,
        ),
    ] = DEFAULT_DEADLINE_SECONDS


class NodeProgress(Projection, frozen=True):
    """The progress of one node."""

    name: Annotated[str, described("Name of the node.", required=True, maxLength=253)] = ""
    uid: Annotated[
        str,
        described(
            "UID of the node when its turn came. Another node of the same name does not count.", maxLength=253
        ),
    ] = ""
    phase: Annotated[str, described("State of the node.", required=True, enum=list(NODE_PHASES))] = ""
    pods_total: Annotated[Int32, described("Number of pods to evict, including those already evicted.")] = 0
    pods_evicted: Annotated[Int32, described("Number of pods that are evicted.")] = 0
    pods_ignored: Annotated[
        Int32, described("Number of pods that stay: static, terminated and ignored pods.")
    ] = 0
    pods_forced: Annotated[
        Int32,
        described(
            "Number of pods that were removed past a disruption budget or an interceptor: deleted at the "
            "deadline or as its owner allows, or evicted at an administrator's limit or without a request "
            "that a finalizer holds."
        ),
    ] = 0
    forced_pods: Annotated[
        list[Annotated[str, described("", maxLength=507)]],
        described(
            "Those pods, as NAMESPACE/NAME: the first 1000 of a maintenance.",
            maxItems=MAX_FORCED,
        ),
    ] = msgspec.field(default_factory=list)
    percent: Annotated[Int32, described("Progress in percent, 0 to 100.")] = 0
    start_time: Annotated[dt.datetime | None, described("When the node's turn came.")] = None
    deadline_time: Annotated[dt.datetime | None, described("When the deadline of the node expires.")] = None
    estimated_finish_time: Annotated[
        dt.datetime | None,
        described(
            "Estimated time at which the node is drained, from the interceptors' estimates and the rate so "
            "far."
        ),
    ] = None
    drained_time: Annotated[dt.datetime | None, described("When the node was drained.")] = None
    message: Annotated[
        str, described("What the drain waits for, in one sentence.", maxLength=MAX_MESSAGE)
    ] = ""

    def __post_init__(self) -> None:
        check_times(self.start_time, self.deadline_time, self.estimated_finish_time, self.drained_time)


class BlockerRemedy(Projection, frozen=True):
    """One thing that would help."""

    text: Annotated[str, described("What to do, or what it achieves.", maxLength=MAX_MESSAGE)] = ""
    command: Annotated[
        str, described("The command that does it, or that shows more.", maxLength=MAX_MESSAGE)
    ] = ""


class Blocker(Projection, frozen=True):
    """One reason why a drain does not proceed, and its remedy."""

    node: Annotated[
        str, described("Name of the node whose drain is blocked.", required=True, maxLength=253)
    ] = ""
    namespace: Annotated[str, described("Namespace of the pod that is not evicted.", maxLength=253)] = ""
    pod: Annotated[
        str,
        described("Name of the pod that is not evicted. Empty if the node itself is blocked.", maxLength=253),
    ] = ""
    kind: Annotated[
        str, described("Kind of blocker, as one CamelCase word.", required=True, maxLength=63)
    ] = ""
    name: Annotated[
        str,
        described(
            "Name of what blocks: a disruption budget, an interceptor, a webhook, a policy, a quota.",
            maxLength=317,
        ),
    ] = ""
    message: Annotated[str, described("What blocks, in one sentence.", maxLength=MAX_MESSAGE)] = ""
    remedy: Annotated[str, described("What to do about it, in one sentence.", maxLength=MAX_MESSAGE)] = ""
    remedies: Annotated[
        list[BlockerRemedy],
        described("The same, one by one: the one that costs least first.", maxItems=MAX_REMEDIES),
    ] = msgspec.field(default_factory=list)
    resolution: Annotated[
        str,
        described(
            "Whether a person is needed. Manual: until a person acts it stays, or ends with a loss. "
            "Automatic: it is expected to end by itself.",
            enum=[MANUAL, AUTOMATIC],
        ),
    ] = ""
    since: Annotated[
        dt.datetime | None,
        described("Since when it blocks, as far as that is known; else when it was first reported."),
    ] = None
    end_time: Annotated[
        dt.datetime | None,
        described("When it ends at the latest without anyone, such as by the time-out of an interceptor."),
    ] = None
    consequence: Annotated[str, described("What happens then, in one sentence.", maxLength=MAX_MESSAGE)] = ""

    def __post_init__(self) -> None:
        check_times(self.since, self.end_time)


class NodeMaintenanceStatus(Projection, frozen=True):
    """The progress of the maintenance. Written by the controller."""

    observed_generation: Annotated[Int64, described("Generation of the spec that the status describes.")] = 0
    phase: Annotated[str, described("State of all nodes together.", enum=list(PHASES))] = ""
    message: Annotated[str, described("Progress for people, in one sentence.", maxLength=MAX_MESSAGE)] = ""
    # Zeros are not written; with a default in the schema `kubectl get` shows 0 and no blank.
    nodes_total: Annotated[Int32, described("Number of nodes of the maintenance.", default=0)] = 0
    nodes_drained: Annotated[Int32, described("Number of nodes that are drained.", default=0)] = 0
    pods_total: Annotated[
        Int32, described("Number of pods to evict on nodes whose turn has come.", default=0)
    ] = 0
    pods_evicted: Annotated[Int32, described("Number of pods that are evicted.", default=0)] = 0
    pods_forced: Annotated[
        Int32,
        described("Number of pods that were removed past a disruption budget or an interceptor."),
    ] = 0
    percent: Annotated[Int32, described("Progress in percent, 0 to 100.", default=0)] = 0
    estimated_finish_time: Annotated[
        dt.datetime | None, described("Estimated time at which the nodes whose turn has come are drained.")
    ] = None
    nodes: Annotated[
        list[NodeProgress],
        described(
            "Progress of each node.",
            maxItems=MAX_NODES,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
    ] = msgspec.field(default_factory=list)
    blockers: Annotated[
        list[Blocker], described("The first blockers of the drain.", maxItems=MAX_BLOCKERS)
    ] = msgspec.field(default_factory=list)
    blockers_total: Annotated[Int32, described("Number of all blockers.", default=0)] = 0
    conditions: Annotated[
        list[RequestCondition],
        described(
            "Conditions of the maintenance: Draining, Drained and Blocked.",
            maxItems=MAX_CONDITIONS,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        check_times(self.estimated_finish_time)


class NodeMaintenance(Projection, frozen=True):
    """Cordons or drains nodes, reports the progress, and undoes it when it is deleted."""

    metadata: Annotated[ObjectMeta, described("The name has at most 200 characters.")] = msgspec.field(
        default_factory=ObjectMeta
    )
    spec: Annotated[
        NodeMaintenanceSpec, described("Which nodes are drained or cordoned, and how.", required=True)
    ] = msgspec.field(default_factory=NodeMaintenanceSpec)
    status: Annotated[NodeMaintenanceStatus, described("Progress. Written by the controller.")] = (
        msgspec.field(default_factory=NodeMaintenanceStatus)
    )
