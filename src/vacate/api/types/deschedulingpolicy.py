"""DeschedulingPolicy: pods that stand where they should not are evicted, within limits.

As with NodeMaintenance, the structs are the one source of the kind's schema.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from vacate.api.integers import Int32, Int64
from vacate.api.types.evictionrequest import (
    DEFAULT_DEADLINE_SECONDS,
    MAX_DEADLINE_SECONDS,
    MIN_DEADLINE_SECONDS,
    described,
)
from vacate.api.types.labelselector import LabelSelectorSpec
from vacate.api.types.meta import ObjectMeta, Projection
from vacate.api.types.nodemaintenance import MAX_MESSAGE, MAX_REASON

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
    """What is looked for, where, and how much may happen at once."""

    mode: Annotated[
        str,
        described(
            "Report only shows in the status what would be evicted; Evict requests the evictions.",
            enum=[REPORT, EVICT],
            default=REPORT,
        ),
    ] = REPORT
    rules: Annotated[
        list[Annotated[str, described("", enum=list(RULES))]],
        described(
            "What a pod must not violate. NodeTaints: taints NoSchedule and NoExecute that it does not "
            "tolerate, apart from those of node.kubernetes.io. NodeAffinity: its node selector and required "
            "node affinity. TopologySpread: its constraints with DoNotSchedule.",
            required=True,
            minItems=1,
            maxItems=len(RULES),
            **{"x-kubernetes-list-type": "set"},
        ),
    ] = msgspec.field(default_factory=list)
    namespaces: Annotated[
        list[Annotated[str, described("", minLength=1, maxLength=63, pattern=_NAMESPACE)]],
        described(
            "Only pods of these namespaces. Without it those of all namespaces but kube-system.",
            maxItems=100,
            **{"x-kubernetes-list-type": "set"},
        ),
    ] = msgspec.field(default_factory=list)
    pod_selector: Annotated[LabelSelectorSpec | None, described("Only pods with these labels.")] = None
    node_selector: Annotated[LabelSelectorSpec | None, described("Only pods on nodes with these labels.")] = (
        None
    )
    local_data_pods: Annotated[
        str,
        described(
            "Pods with emptyDir volumes, whose data is lost: Ignore leaves them, Evict evicts them.",
            enum=[IGNORE, EVICT],
            default=IGNORE,
        ),
    ] = IGNORE
    max_per_node: Annotated[
        Int32,
        described(
            "How many pods of one node are evicted at once; requests of others and terminating pods count.",
            minimum=1,
            maximum=MAX_LIMIT,
            default=1,
        ),
    ] = 1
    max_per_namespace: Annotated[
        Int32,
        described(
            "How many pods of one namespace are evicted at once.",
            minimum=1,
            maximum=MAX_LIMIT,
            default=1,
        ),
    ] = 1
    max_total: Annotated[
        Int32,
        described(
            "How many pods of the cluster are evicted at once.",
            minimum=1,
            maximum=MAX_LIMIT,
            default=10,
        ),
    ] = 10
    interval_seconds: Annotated[
        Int32,
        described(
            "How often all pods are looked at. Changes of nodes are looked at at once.",
            minimum=MIN_INTERVAL,
            maximum=MAX_INTERVAL,
            default=DEFAULT_INTERVAL,
        ),
    ] = DEFAULT_INTERVAL
    reason: Annotated[
        str,
        described("Why, in a sentence; kept on every EvictionRequest that is created.", maxLength=MAX_REASON),
    ] = ""
    heartbeat_deadline_seconds: Annotated[
        Int32,
        described(
            "How long an interceptor may go without reporting; passed on to the EvictionRequests that are "
            "created.",
            minimum=MIN_DEADLINE_SECONDS,
            maximum=MAX_DEADLINE_SECONDS,
            default=DEFAULT_DEADLINE_SECONDS,
        ),
    ] = DEFAULT_DEADLINE_SECONDS


class MisplacedPod(Projection, frozen=True):
    """A pod that stands where it should not."""

    namespace: Annotated[str, described("The pod's namespace.", required=True, maxLength=63)] = ""
    pod: Annotated[str, described("The pod.", required=True, maxLength=253)] = ""
    node: Annotated[str, described("The node on which it runs.", required=True, maxLength=253)] = ""
    rule: Annotated[str, described("The rule that it violates.", required=True, enum=list(RULES))] = ""
    state: Annotated[
        str,
        described(
            "Requested: its eviction is requested. Waiting: a limit holds it back. NowhereToGo: no other "
            "node would take it. Reported: the mode is Report. Refused: the API server refused the request.",
            required=True,
            enum=list(STATES),
        ),
    ] = ""
    message: Annotated[str, described("What is wrong, in a sentence.", maxLength=MAX_MESSAGE)] = ""


class DeschedulingPolicyStatus(Projection, frozen=True):
    """What was found at the last look. Written by the controller."""

    observed_generation: Annotated[
        Int64, described("The generation of the spec that the status describes.")
    ] = 0
    message: Annotated[str, described("All of it in a sentence.", maxLength=MAX_MESSAGE)] = ""
    # Zeros are not written; with a default in the schema `kubectl get` shows 0 and no blank.
    violations: Annotated[Int32, described("Pods that violate a rule.", default=0)] = 0
    requested: Annotated[
        Int32, described("Of these, pods whose eviction is requested and not complete.", default=0)
    ] = 0
    waiting: Annotated[Int32, described("Of these, pods that a limit holds back.", default=0)] = 0
    nowhere_to_go: Annotated[Int32, described("Of these, pods that no other node would take.", default=0)] = 0
    pods: Annotated[
        list[MisplacedPod], described("The misplaced pods, the first few.", maxItems=MAX_SHOWN)
    ] = msgspec.field(default_factory=list)


class DeschedulingPolicy(Projection, frozen=True):
    """Evicts pods that stand where they should not, through their interceptors and within limits."""

    metadata: Annotated[ObjectMeta, described("At most 200 characters of name.")] = msgspec.field(
        default_factory=ObjectMeta
    )
    spec: Annotated[DeschedulingPolicySpec, described("What is wanted.", required=True)] = msgspec.field(
        default_factory=DeschedulingPolicySpec
    )
    status: Annotated[DeschedulingPolicyStatus, described("What was found.")] = msgspec.field(
        default_factory=DeschedulingPolicyStatus
    )
