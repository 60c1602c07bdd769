"""DeschedulingPolicy: pods that stand where they should not are evicted, within limits.

As with NodeMaintenance, the structs are the one source of the kind's schema.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from vacate.api.integers import Int32, Int64
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.types.evictionrequest import (
    DEFAULT_DEADLINE_SECONDS,
    MAX_DEADLINE_SECONDS,
    MIN_DEADLINE_SECONDS,
    described,
)
from vacate.api.types.labelselector import LabelSelectorSpec
from vacate.api.types.meta import ObjectMeta, Projection
from vacate.api.types.nodemaintenance import MAX_MESSAGE, MAX_REASON, REQUEST_KINDS

REPORT, EVICT, IGNORE = "Report", "Evict", "Ignore"
NODE_TAINTS, NODE_AFFINITY, TOPOLOGY_SPREAD = "NodeTaints", "NodeAffinity", "TopologySpread"
RULES = (NODE_TAINTS, NODE_AFFINITY, TOPOLOGY_SPREAD)
REQUESTED, WAITING, NOWHERE_TO_GO, REPORTED, REFUSED = (
    "Requested", "Waiting", "NowhereToGo", "Reported", "Refused",
)  # fmt: skip
STATES = (REQUESTED, WAITING, NOWHERE_TO_GO, REPORTED, REFUSED)

MAX_LIMIT = 1000
MAX_SHOWN = 50
MIN_INTERVAL, DEFAULT_INTERVAL, MAX_INTERVAL = 10, 60, 86_400

_NAMESPACE = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"


class DeschedulingPolicySpec(Projection, frozen=True):
    """Which pods are evicted, and how many at the same time."""

    mode: Annotated[
        str,
        described(
            "Report only shows the violations in the status. Evict also requests the evictions.",
            enum=[REPORT, EVICT],
            default=REPORT,
        ),
    ] = REPORT
    rules: Annotated[
        list[Annotated[str, described("", enum=list(RULES))]],
        described(
            "The rules that pods must not violate. NodeTaints: taints NoSchedule and NoExecute of the node "
            "that the pod does not tolerate, except those of node.kubernetes.io. NodeAffinity: the node "
            "selector and the required node affinity of the pod. TopologySpread: its topology spread "
            "constraints with DoNotSchedule.",
            required=True,
            minItems=1,
            maxItems=len(RULES),
            **{"x-kubernetes-list-type": "set"},
        ),
    ] = msgspec.field(default_factory=list)
    namespaces: Annotated[
        list[Annotated[str, described("", minLength=1, maxLength=63, pattern=_NAMESPACE)]],
        described(
            "Only pods in these namespaces. If it is not set, pods in all namespaces except kube-system.",
            maxItems=100,
            **{"x-kubernetes-list-type": "set"},
        ),
    ] = msgspec.field(default_factory=list)
    pod_selector: Annotated[
        LabelSelectorSpec | None, described("Only pods with these labels. If it is not set, all pods.")
    ] = None
    node_selector: Annotated[
        LabelSelectorSpec | None,
        described("Only pods on nodes with these labels. If it is not set, pods on all nodes."),
    ] = None
    local_data_pods: Annotated[
        str,
        described(
            "Pods with emptyDir volumes, whose data is lost by an eviction. Ignore leaves them; Evict evicts "
            "them.",
            enum=[IGNORE, EVICT],
            default=IGNORE,
        ),
    ] = IGNORE
    max_per_node: Annotated[
        Int32,
        described(
            "How many pods of one node may be evicted at the same time. Pods with requests of others, by "
            "whichever API, and terminating pods count.",
            minimum=1,
            maximum=MAX_LIMIT,
            default=1,
        ),
    ] = 1
    max_per_namespace: Annotated[
        Int32,
        described(
            "How many pods of one namespace may be evicted at the same time.",
            minimum=1,
            maximum=MAX_LIMIT,
            default=1,
        ),
    ] = 1
    max_total: Annotated[
        Int32,
        described(
            "How many pods of the cluster may be evicted at the same time.",
            minimum=1,
            maximum=MAX_LIMIT,
            default=10,
        ),
    ] = 10
    interval_seconds: Annotated[
        Int32,
        described(
            "Interval at which all pods are checked, in seconds. They are also checked when a node changes.",
            minimum=MIN_INTERVAL,
            maximum=MAX_INTERVAL,
            default=DEFAULT_INTERVAL,
        ),
    ] = DEFAULT_INTERVAL
    reason: Annotated[
        str,
        described(
            "Why, in one sentence. Recorded on every request that is created. If it is not set, the "
            "violation is recorded.",
            maxLength=MAX_REASON,
        ),
    ] = ""
    request_kind: Annotated[
        str,
        described(
            "The kind of the requests that are created. Evacuation needs the feature gate EvacuationAPI. "
            "Lifecycle stands for EvictionRequests of lifecycle.k8s.io and needs the feature gate "
            "LifecycleAPI.",
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


class MisplacedPod(Projection, frozen=True):
    """A pod that violates a rule."""

    namespace: Annotated[str, described("Namespace of the pod.", required=True, maxLength=63)] = ""
    pod: Annotated[str, described("Name of the pod.", required=True, maxLength=253)] = ""
    node: Annotated[str, described("Name of the node on which it runs.", required=True, maxLength=253)] = ""
    rule: Annotated[str, described("The rule that it violates.", required=True, enum=list(RULES))] = ""
    state: Annotated[
        str,
        described(
            "Requested: its eviction is requested. Waiting: a limit of the policy is reached. NowhereToGo: "
            "it fits on no other node. Reported: the mode is Report. Refused: the API server rejected the "
            "request.",
            required=True,
            enum=list(STATES),
        ),
    ] = ""
    message: Annotated[str, described("The violation, in one sentence.", maxLength=MAX_MESSAGE)] = ""


class DeschedulingPolicyStatus(Projection, frozen=True):
    """The results of the last check. Written by the controller."""

    observed_generation: Annotated[Int64, described("Generation of the spec that the status describes.")] = 0
    message: Annotated[str, described("Summary for people, in one sentence.", maxLength=MAX_MESSAGE)] = ""
    # Zeros are not written; with a default in the schema `kubectl get` shows 0 and no blank.
    violations: Annotated[Int32, described("Number of pods that violate a rule.", default=0)] = 0
    requested: Annotated[
        Int32, described("Of these, pods whose eviction is requested and not yet complete.", default=0)
    ] = 0
    waiting: Annotated[Int32, described("Of these, pods that wait because of a limit.", default=0)] = 0
    nowhere_to_go: Annotated[Int32, described("Of these, pods that fit on no other node.", default=0)] = 0
    pods: Annotated[
        list[MisplacedPod], described("The first of the pods that violate a rule.", maxItems=MAX_SHOWN)
    ] = msgspec.field(default_factory=list)


class DeschedulingPolicy(Projection, frozen=True):
    """Evicts pods that violate scheduling rules, through their interceptors and within limits."""

    metadata: Annotated[ObjectMeta, described("The name has at most 200 characters.")] = msgspec.field(
        default_factory=ObjectMeta
    )
    spec: Annotated[
        DeschedulingPolicySpec, described("Which pods are evicted, and within which limits.", required=True)
    ] = msgspec.field(default_factory=DeschedulingPolicySpec)
    status: Annotated[
        DeschedulingPolicyStatus, described("Results of the last check. Written by the controller.")
    ] = msgspec.field(default_factory=DeschedulingPolicyStatus)
