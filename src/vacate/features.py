"""Feature gates, spelled as Kubernetes spells them: `--feature-gates=EvictionRequestAPI=false`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vacate.errors import ConfigError

KNOWN_GATES: Mapping[str, bool] = {
    # Pod.spec.evictionInterceptors, and the EvictionRequest API that reads it.
    "EvictionRequestAPI": True,
    # The Evacuation API, an earlier form of the EvictionRequest API, and its controller.
    "EvacuationAPI": False,
    # Kubernetes' own API, lifecycle.k8s.io, its controller, and Pod.spec.evictionResponders. Its gate in
    # kube-apiserver is called EvictionRequestAPI, which is that of our own kind here.
    "LifecycleAPI": False,
    # The NodeMaintenance API and its controller, which drains nodes by EvictionRequests.
    "NodeMaintenance": True,
    # The FencingPolicy API and its controller, which switches unreachable nodes off; no policy, no fence.
    "Fencing": True,
    # Volumes that are marked exclusive are attached to one node at a time; no mark, no change.
    "ExclusiveVolumes": True,
    # Pods of nodes that do not report have the condition vacate.dev/NodeDown: a write for each of them.
    "NodeDownCondition": True,
    # Nodes that are not ready say whether anything on them must run once, for the guard of their deletion.
    "NodeDeletionMarks": False,
    # The DeschedulingPolicy API and its controller, which evicts misplaced pods by EvictionRequests.
    "Descheduling": True,
    # DeleteOptions.reason, Pod.metadata.reason and lifecycle.preStop.reasonDelivery.
    "PodTerminationReason": True,
    # Evictions by the manager write the reason as an annotation of the pod first, for API servers without the
    # fields above: one more write for each eviction.
    "TerminationReasonAnnotations": False,
    # Force deletion of pods whose processes may run must be confirmed; namespaces opt in or out by label.
    "PodForceDeleteGuard": True,
    # Pods of opted-in Deployments are replaced before they are evicted; then the ReplicaSet removes them.
    "DeploymentInterceptor": True,
    "ReplicaSetInterceptor": True,
    # Where an autoscaler scales the Deployment, its floor is raised instead of the count.
    "HorizontalPodAutoscalerInterceptor": True,
    # Members of opted-in StatefulSets are evicted in order, and only while all others are ready.
    "StatefulSetInterceptor": True,
    # Opted-in Deployments with topology spread constraints are scaled down in their fullest domains first.
    "TopologySpreadScaleDown": True,
    # Direct evictions of pods that have interceptors become EvictionRequests: answered with 429 meanwhile.
    "EvictionBridge": False,
    # `vacate node` ends its pods before the machine goes down; the second gate is for periods by priority.
    "GracefulNodeShutdown": True,
    "GracefulNodeShutdownBasedOnPodPriority": True,
}
"""Every gate and its default."""

REQUIRED_GATES: Mapping[str, str] = {
    # They request evictions by EvictionRequests, also where they are configured to use Evacuations.
    "NodeMaintenance": "EvictionRequestAPI",
    "Descheduling": "EvictionRequestAPI",
    "EvictionBridge": "EvictionRequestAPI",
    # What moves the pods of workloads is shared by all APIs, and reads the requests of all.
    "EvacuationAPI": "EvictionRequestAPI",
    "LifecycleAPI": "EvictionRequestAPI",
    "DeploymentInterceptor": "EvictionRequestAPI",
    "StatefulSetInterceptor": "EvictionRequestAPI",
    # They have their turns after that of the Deployment, and end what it has begun.
    "ReplicaSetInterceptor": "DeploymentInterceptor",
    "HorizontalPodAutoscalerInterceptor": "DeploymentInterceptor",
}
"""By gate: another one without which it is closed, whatever its default says."""


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """Which gates are open. Ask with `enabled`."""

    overrides: tuple[tuple[str, bool], ...] = ()

    def enabled(self, gate: str) -> bool:
        """Whether the gate is open, and those that it needs; an unknown name is a programming error."""
        needed = REQUIRED_GATES.get(gate, "")
        own = dict(self.overrides).get(gate, KNOWN_GATES[gate])
        return own and (not needed or self.enabled(needed))

    def with_default(self, gate: str, *, is_open: bool) -> FeatureGates:
        """The same with another default for one gate."""
        return FeatureGates(((gate, is_open), *self.overrides))

    def without(self, gate: str) -> FeatureGates:
        """The same with one gate closed."""
        return FeatureGates((*self.overrides, (gate, False)))


def parse_feature_gates(text: str) -> FeatureGates:
    """Read `Name=true,Other=false`; a ConfigError for an unknown name or value, and for a gate that is opened
    while one that it needs is closed."""
    overrides: dict[str, bool] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = item.partition("=")
        if name not in KNOWN_GATES:
            known = ", ".join(sorted(KNOWN_GATES))
            raise ConfigError(f"--feature-gates: unknown feature gate {name!r}; known gates: {known}")
        if not equals or value.lower() not in ("true", "false"):
            raise ConfigError(f"--feature-gates: {name} needs the value true or false, as in {name}=true")
        overrides[name] = value.lower() == "true"
    gates = FeatureGates(tuple(sorted(overrides.items())))
    for name, is_open in overrides.items():
        if is_open and not gates.enabled(name):
            needed = REQUIRED_GATES[name]
            raise ConfigError(
                f"--feature-gates: {name}=true needs {needed}, which is off: "
                f"set {needed}=true as well, or {name}=false"
            )
    return gates
