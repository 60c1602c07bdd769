"""Which pods Vacate's own interceptors of Kubernetes workloads are registered on, and by which annotations.

    kubectl label namespace shop vacate.dev/move-before-eviction=true
    kubectl annotate deployment web vacate.dev/move-before-eviction=true
    kubectl annotate statefulset db vacate.dev/move-before-eviction=true

The annotation of the workload outranks the label of its namespace, so `false` opts one workload out. Pods of
a Deployment with a HorizontalPodAutoscaler have its interceptor too, after that of the Deployment, or where

    kubectl annotate hpa web vacate.dev/eviction-priority=10050

puts it: the higher, the earlier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vacate.api.kinds import DEPLOYMENTS, REPLICASETS, STATEFULSETS, Kind
from vacate.api.types import Deployment, ReplicaSet, StatefulSet
from vacate.api.workloads import (
    AUTOSCALER_INTERCEPTOR,
    DEPLOYMENT_INTERCEPTOR,
    OPT_IN,
    OWN_RESPONDERS,
    REPLICASET_INTERCEPTOR,
    STATEFULSET_INTERCEPTOR,
)
from vacate.eviction.registration import CONTROLLER, CONTROLLER_PRIORITY, PREFIXES, registering
from vacate.features import FeatureGates

REGISTERED = "vacate.dev/registered"
"""Marks pods that the registration controller has registered, so that it can take that back."""

EVICTION_PRIORITY = "vacate.dev/eviction-priority"
"""The annotation of an autoscaler with the priority of its interceptor."""
AUTOSCALER_GATE = "HorizontalPodAutoscalerInterceptor"
_AUTOSCALER_PRIORITY = 9_950  # after the Deployment's, which leaves it to this one, before the ReplicaSet's
_HIGHEST_PRIORITY = 10_100  # of those that a controller has for what works closely with it
_REPLICASET_PRIORITY = 9_900  # after the Deployment's, before those that authors put below controllers

_OF_CONTROLLER = f"{CONTROLLER_PRIORITY}/{CONTROLLER}"


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """A kind of workload that may opt in: what owns its pods, and which interceptors its pods register.

    What registers pods, early and late, what reaches the webhook and what `vacate evict KIND/NAME` accepts
    follow from the row. The interceptors themselves, with their rights, are in `wiring/interceptors.py`.
    """

    owners: Mapping[Kind, type[Any]]
    """From the kind that creates the pods up to the workload, each with the class that it is read into."""
    interceptors: Mapping[str, tuple[str, str]]
    """By feature gate: the name, and the priority and role with which it is registered."""
    scaled: bool = False
    """Whether the interceptor of autoscalers is registered where one scales the workload."""

    @property
    def kind(self) -> Kind:
        """The kind that is opted in."""
        return [*self.owners][-1]

    def registration(
        self, gates: FeatureGates, autoscaler: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """The annotations of a pod of the workload, for the interceptors that run.

        `autoscaler` are the annotations of the HorizontalPodAutoscaler that scales it, where there is one.
        """
        found = {
            _key(name): value for gate, (name, value) in self.interceptors.items() if gates.enabled(gate)
        }
        if self.scaled and autoscaler is not None and gates.enabled(AUTOSCALER_GATE):
            found[_key(AUTOSCALER_INTERCEPTOR)] = str(autoscaler_priority(autoscaler)[0])
        return found


WORKLOADS = (
    WorkloadKind(
        {REPLICASETS: ReplicaSet, DEPLOYMENTS: Deployment},
        {
            "DeploymentInterceptor": (DEPLOYMENT_INTERCEPTOR, _OF_CONTROLLER),
            "ReplicaSetInterceptor": (REPLICASET_INTERCEPTOR, str(_REPLICASET_PRIORITY)),
        },
        scaled=True,
    ),
    WorkloadKind(
        {STATEFULSETS: StatefulSet}, {"StatefulSetInterceptor": (STATEFULSET_INTERCEPTOR, _OF_CONTROLLER)}
    ),
)
"""Every kind of workload whose pods are moved before they are evicted."""


def is_opted_in(namespace_labels: Mapping[str, str], workload_annotations: Mapping[str, str]) -> bool:
    """Whether the pods of a workload are to be moved before they are evicted."""
    choice = workload_annotations.get(OPT_IN) or namespace_labels.get(OPT_IN, "")
    return choice.lower() == "true"


def opt_in_error(annotations: Mapping[str, str]) -> str:
    """Why the opt-in of a workload has no effect; empty where it says what it means."""
    choice = annotations.get(OPT_IN, "")
    if choice.lower() in ("", "true", "false"):
        return ""
    return f"{OPT_IN}: {choice[:20]!r} is neither true nor false: pods are not moved before they are evicted"


def autoscaler_priority(annotations: Mapping[str, str]) -> tuple[int, str]:
    """The priority of an autoscaler's interceptor, and why the one that its annotation wants cannot be."""
    annotated = annotations.get(EVICTION_PRIORITY)
    if annotated is None:
        return _AUTOSCALER_PRIORITY, ""
    low, high = _REPLICASET_PRIORITY + 1, _HIGHEST_PRIORITY
    wanted = (
        int(annotated)
        if annotated.isascii() and annotated.isdigit() and len(annotated) <= len(str(high))
        else 0
    )
    if low <= wanted <= high and wanted != CONTROLLER_PRIORITY:
        return wanted, ""
    return _AUTOSCALER_PRIORITY, (
        f"{EVICTION_PRIORITY}: {annotated[:20]!r} cannot be: it takes a number from {low} to {high} other "
        f"than {CONTROLLER_PRIORITY}, which is that of {DEPLOYMENT_INTERCEPTOR}; below {low} "
        f"{REPLICASET_INTERCEPTOR} would remove pods before they are replaced. {_AUTOSCALER_PRIORITY} is used"
    )


def responders(annotations: Mapping[str, str]) -> dict[str, int]:
    """The same for Kubernetes' own API: names there, and priorities."""
    return {
        responder: int(annotations[_key(name)].partition("/")[0])
        for name, responder in OWN_RESPONDERS.items()
        if _key(name) in annotations
    }


def _key(interceptor: str) -> str:
    return f"{PREFIXES[0]}/priority_{interceptor}"


_NAMES = (name for one in WORKLOADS for name, _ in one.interceptors.values())
REGISTRATIONS = tuple(sorted({*map(_key, _NAMES), _key(AUTOSCALER_INTERCEPTOR)}))
"""The annotations of pods by which workloads register our interceptors."""


def registration_change(
    annotations: Mapping[str, str], wanted: Mapping[str, str], *, opted_in: bool
) -> dict[str, str | None]:
    """What to change about a pod's annotations, as a merge patch has it; empty where nothing is.

    What the pod's author has registered stays: an interceptor of the same name, another one with the role of
    the controller, or annotations of the older prefix, which ours would hide.
    """
    if not opted_in:
        if REGISTERED not in annotations:
            return {}
        return {key: None for key in annotations if key in REGISTRATIONS or key == REGISTERED}
    given = registering(annotations)
    others = {key: value for key, value in given.items() if key not in wanted}
    if REGISTERED not in annotations and (given.keys() & wanted.keys() or _has_controller(others)):
        return {}
    if any(key.startswith(f"{PREFIXES[1]}/") for key in others):
        return {}
    stale = [key for key in annotations if key in REGISTRATIONS and key not in wanted]
    change: dict[str, str | None] = dict.fromkeys(stale) if REGISTERED in annotations else {}
    wanted = {**wanted, REGISTERED: "true"} if wanted else {}
    return change | {key: value for key, value in wanted.items() if annotations.get(key) != value}


def _has_controller(annotations: Mapping[str, str]) -> bool:
    return any(value.partition("/")[2] == CONTROLLER for value in annotations.values())
