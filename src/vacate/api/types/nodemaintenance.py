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
from vacate.api.types.meta import ObjectMeta, Projection, check_times

CORDON, DRAIN = "Cordon", "Drain"
REFUSE, IGNORE, EVICT = "Refuse", "Ignore", "Evict"
PRIORITY, PARALLEL = "Priority", "Parallel"
ALL_FIRST, IN_TURN = "AllFirst", "InTurn"
REPORT, DELETE = "Report", "Delete"

PENDING, CORDONED, DRAINING, BLOCKED, DRAINED = "Pending", "Cordoned", "Draining", "Blocked", "Drained"
NOT_FOUND, REPLACED = "NotFound", "Replaced"
NODE_PHASES = (PENDING, CORDONED, DRAINING, BLOCKED, DRAINED, NOT_FOUND, REPLACED)
UNDOING = "Undoing"
PHASES = (PENDING, CORDONED, DRAINING, BLOCKED, DRAINED, UNDOING)

REQUEST_KINDS = (EVICTIONREQUESTS.kind, EVACUATIONS.kind)

MAX_NODES = 1000
MAX_BLOCKERS = 50
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
            "Only pods with these labels are evicted; the others stay, and the node counts as drained."
        ),
    ] = None
    daemon_set_pods: Annotated[
        str,
        described(
            "Pods of DaemonSets, which return to a cordoned node. Refuse holds the drain of a node that has "
            "such pods; Ignore leaves them; Evict keeps them off with a taint and removes them after all "
            "other pods. Those that tolerate the taint are left and reported.",
            enum=_POLICIES,
            default=REFUSE,
        ),
    ] = REFUSE
    unmanaged_pods: Annotated[
        str,
        described(
            "Pods without a controller, which nothing re-creates. Refuse holds the drain of a node that has "
            "such pods; Ignore leaves them; Evict removes them for good.",
            enum=_POLICIES,
            default=REFUSE,
        ),
    ] = REFUSE
    local_data_pods: Annotated[
        str,
        described(
            "Pods with emptyDir volumes, whose data is lost. Refuse holds the drain of a node that has such "
            "pods; Ignore leaves them; Evict removes them with their data.",
            enum=_POLICIES,
            default=REFUSE,
        ),
    ] = REFUSE


class NodeMaintenanceSpec(Projection, frozen=True):
    """Which nodes, what to do with them, and within which limits."""

    nodes: Annotated[
        list[Annotated[str, described("", minLength=1, maxLength=253, pattern=_SUBDOMAIN)]],
        described(
            "The nodes by name. Either this or nodeSelector is required.",
            maxItems=MAX_NODES,
            **{"x-kubernetes-list-type": "set"},
        ),
    ] = msgspec.field(default_factory=list)
    node_selector: Annotated[
        LabelSelectorSpec | None,
        described("The nodes by label, also those that appear later. Must not be empty."),
    ] = None
    stage: Annotated[
        str,
        described(
            "Cordon keeps new pods away; Drain also evicts the pods that are there. Going back from Drain "
            "to Cordon withdraws the requests that were made.",
            enum=[CORDON, DRAIN],
            default=DRAIN,
        ),
    ] = DRAIN
    reason: Annotated[
        str,
        described("Why, in a sentence; kept on every request that is created.", maxLength=MAX_REASON),
    ] = ""
    pods: Annotated[PodRules, described("Which pods are evicted.", default={})] = msgspec.field(
        default_factory=PodRules
    )
    order: Annotated[
        str,
        described(
            "Priority evicts pods of a higher priority only when those of lower priorities are evicted; "
            "Parallel evicts all at once. DaemonSet pods come last either way.",
            enum=[PRIORITY, PARALLEL],
            default=PRIORITY,
        ),
    ] = PRIORITY
    max_nodes: Annotated[
        Int32 | str,
        described(
            "How many nodes are drained side by side: a number, or a percentage of the nodes, rounded down "
            "but at least one.",
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
            "A node label, such as topology.kubernetes.io/zone: nodes are drained side by side only if they "
            "have the same value, so that two zones are never drained at once.",
            maxLength=317,
            pattern=f"^$|{_LABEL_KEY}",
        ),
    ] = ""
    cordon: Annotated[
        str,
        described(
            "AllFirst cordons all nodes before the first is drained, so that no pod moves to a node that "
            "follows; InTurn cordons each node when its turn comes, which keeps capacity.",
            enum=[ALL_FIRST, IN_TURN],
            default=ALL_FIRST,
        ),
    ] = ALL_FIRST
    deadline_seconds: Annotated[
        Int32 | None,
        described(
            "How long the drain of one node may take. Without it there is no limit.",
            minimum=1,
            maximum=MAX_DEADLINE,
        ),
    ] = None
    on_deadline: Annotated[
        str,
        described(
            "What happens to the pods that are left when a node's deadline has passed: Report says so; "
            "Delete deletes them past interceptors and disruption budgets. Pods that are refused are never "
            "deleted.",
            enum=[REPORT, DELETE],
            default=REPORT,
        ),
    ] = REPORT
    request_kind: Annotated[
        str,
        described(
            "The kind of the requests that are created: EvictionRequest, or Evacuation where the gate "
            "EvacuationAPI is open. A pod whose eviction is requested already keeps its request, of either "
            "kind, and the maintenance joins that.",
            enum=list(REQUEST_KINDS),
            default=EVICTIONREQUESTS.kind,
        ),
    ] = EVICTIONREQUESTS.kind
    heartbeat_deadline_seconds: Annotated[
        Int32,
        described(
            "How long an interceptor may go without reporting; passed on to the requests that are "
            "created. For Evacuations at most 21600.",
            minimum=MIN_DEADLINE_SECONDS,
            maximum=MAX_DEADLINE_SECONDS,
            default=DEFAULT_DEADLINE_SECONDS,
        ),
    ] = DEFAULT_DEADLINE_SECONDS


class NodeProgress(Projection, frozen=True):
    """How far one node has come."""

    name: Annotated[str, described("The node.", required=True, maxLength=253)] = ""
    uid: Annotated[
        str,
        described(
            "The node's UID when its turn came: a new node of the name is another node.", maxLength=253
        ),
    ] = ""
    phase: Annotated[str, described("What happens to the node.", required=True, enum=list(NODE_PHASES))] = ""
    pods_total: Annotated[Int32, described("Pods to evict, including those already evicted.")] = 0
    pods_evicted: Annotated[Int32, described("Pods that are evicted.")] = 0
    pods_ignored: Annotated[Int32, described("Pods that stay: static, finished, or ignored.")] = 0
    percent: Annotated[Int32, described("How much is done, 0 to 100.")] = 0
    start_time: Annotated[dt.datetime | None, described("When the node's turn came.")] = None
    deadline_time: Annotated[
        dt.datetime | None, described("When the node should be drained at the latest.")
    ] = None
    estimated_finish_time: Annotated[
        dt.datetime | None,
        described(
            "When the node is likely to be drained, from the interceptors' estimates and the rate so far."
        ),
    ] = None
    drained_time: Annotated[dt.datetime | None, described("Since when the node is drained.")] = None
    message: Annotated[str, described("What the node waits for, in a sentence.", maxLength=MAX_MESSAGE)] = ""

    def __post_init__(self) -> None:
        check_times(self.start_time, self.deadline_time, self.estimated_finish_time, self.drained_time)


class Blocker(Projection, frozen=True):
    """One thing that holds the drain, and what would help."""

    node: Annotated[str, described("The node that is held.", required=True, maxLength=253)] = ""
    namespace: Annotated[str, described("The namespace of the pod that cannot go.", maxLength=253)] = ""
    pod: Annotated[
        str, described("The pod that cannot go; empty where the node itself is meant.", maxLength=253)
    ] = ""
    kind: Annotated[str, described("What blocks, in one CamelCase word.", required=True, maxLength=63)] = ""
    name: Annotated[
        str, described("The name of what blocks: a disruption budget or an interceptor.", maxLength=317)
    ] = ""
    message: Annotated[str, described("What blocks the pod, in a sentence.", maxLength=MAX_MESSAGE)] = ""
    remedy: Annotated[str, described("What would help, in a sentence.", maxLength=MAX_MESSAGE)] = ""


class NodeMaintenanceStatus(Projection, frozen=True):
    """How far the maintenance has come. Written by the controller."""

    observed_generation: Annotated[
        Int64, described("The generation of the spec that the status describes.")
    ] = 0
    phase: Annotated[str, described("All nodes in one word.", enum=list(PHASES))] = ""
    message: Annotated[str, described("The progress in a sentence.", maxLength=MAX_MESSAGE)] = ""
    # Zeros are not written; with a default in the schema `kubectl get` shows 0 and no blank.
    nodes_total: Annotated[Int32, described("Nodes that are meant.", default=0)] = 0
    nodes_drained: Annotated[Int32, described("Nodes that are drained.", default=0)] = 0
    pods_total: Annotated[Int32, described("Pods to evict on nodes whose turn has come.", default=0)] = 0
    pods_evicted: Annotated[Int32, described("Pods that are evicted.", default=0)] = 0
    percent: Annotated[Int32, described("How much is done, 0 to 100.", default=0)] = 0
    estimated_finish_time: Annotated[
        dt.datetime | None, described("When the nodes whose turn has come are likely to be drained.")
    ] = None
    nodes: Annotated[
        list[NodeProgress],
        described(
            "Each node.",
            maxItems=MAX_NODES,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        ),
    ] = msgspec.field(default_factory=list)
    blockers: Annotated[
        list[Blocker], described("What holds the drain, the first few.", maxItems=MAX_BLOCKERS)
    ] = msgspec.field(default_factory=list)
    blockers_total: Annotated[Int32, described("How many blockers there are in all.", default=0)] = 0
    conditions: Annotated[
        list[RequestCondition],
        described(
            "Draining, Drained and Blocked.",
            maxItems=MAX_CONDITIONS,
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = msgspec.field(default_factory=list)

    def __post_init__(self) -> None:
        check_times(self.estimated_finish_time)


class NodeMaintenance(Projection, frozen=True):
    """Cordons or drains nodes, says how far that is, and undoes it when it is deleted."""

    metadata: Annotated[ObjectMeta, described("At most 200 characters of name.")] = msgspec.field(
        default_factory=ObjectMeta
    )
    spec: Annotated[NodeMaintenanceSpec, described("What is wanted.", required=True)] = msgspec.field(
        default_factory=NodeMaintenanceSpec
    )
    status: Annotated[NodeMaintenanceStatus, described("The progress of the eviction.")] = msgspec.field(
        default_factory=NodeMaintenanceStatus
    )
