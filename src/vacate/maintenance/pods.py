"""Which pods of a node are evicted, which stay, and which hold the drain: the rules of kubectl drain."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import Enum

import msgspec

from vacate.api.selectors.labels import EVERYTHING, NOTHING, Selector, selector_of
from vacate.api.types import Pod
from vacate.api.types.labelselector import LabelSelectorSpec
from vacate.api.types.nodemaintenance import EVICT, IGNORE, PARALLEL, PRIORITY, PodRules
from vacate.errors import ApiError
from vacate.kube.scheduling.taints import tolerated
from vacate.maintenance.names import MIRROR, TAINT


class Treatment(Enum):
    """What happens to a pod."""

    EVICT = "evict"
    EVICT_LAST = "evict last"  # a DaemonSet pod: after all others, and removed by deletion
    STAY = "stay"
    HOLD = "hold"  # it may not be evicted, and the node is not drained as long as it is there


@dataclass(frozen=True, slots=True)
class Verdict:
    """What happens to a pod, and why it stays or holds."""

    treatment: Treatment
    kind: str = ""
    message: str = ""
    remedy: str = ""


EVICTED = Verdict(Treatment.EVICT)
LAST = Verdict(Treatment.EVICT_LAST)


def assess_pod(pod: Pod, rules: PodRules, selector: Selector) -> Verdict:
    """What happens to one pod of a node."""
    if not selector.matches(pod.metadata.labels):
        return Verdict(Treatment.STAY, "NotSelected", "it does not match the pod selector")
    if MIRROR in pod.metadata.annotations:
        return Verdict(Treatment.STAY, "StaticPod", "only its node can terminate a static pod")
    if pod.terminal and not pod.terminating:
        return Verdict(Treatment.STAY, "Finished", "it has finished")
    owner = pod.metadata.controller
    if owner is not None and owner.kind == "DaemonSet":
        return _daemon_pod(pod, owner.name, rules.daemon_set_pods)
    if pod.terminating:
        return EVICTED  # at anyone's request: it is awaited
    found: list[Verdict] = []
    if owner is None:
        found.append(
            _by_policy(
                rules.unmanaged_pods,
                "UnmanagedPod",
                "no controller manages the pod, and nothing re-creates it",
                "evict it for good with pods.unmanagedPods: Evict (--force), or move it yourself",
            )
        )
    if any(volume.empty_dir is not None for volume in pod.spec.volumes):
        found.append(
            _by_policy(
                rules.local_data_pods,
                "LocalData",
                "the pod has emptyDir volumes, whose data would be lost",
                "accept that with pods.localDataPods: Evict (--delete-emptydir-data)",
            )
        )
    order = (Treatment.HOLD, Treatment.STAY)
    return next((one for wanted in order for one in found if one.treatment is wanted), EVICTED)


def pods_left(pods: Iterable[Pod], rules: PodRules) -> list[Pod]:
    """Those of a node's pods that keep it from being drained."""
    selector = selector_from(rules.selector)
    return [pod for pod in pods if assess_pod(pod, rules, selector).treatment is not Treatment.STAY]


def _daemon_pod(pod: Pod, owner: str, policy: str) -> Verdict:
    if policy == EVICT:
        if tolerated(pod.spec.tolerations, TAINT):
            why = f"DaemonSet {owner} tolerates all taints and would return at once"
            return Verdict(Treatment.STAY, "ToleratesTaint", why)
        return LAST
    return _by_policy(
        policy,
        "DaemonSetPod",
        f"DaemonSet {owner} manages the pod and would re-create it on the cordoned node",
        "leave such pods with pods.daemonSetPods: Ignore (--ignore-daemonsets), or remove them with Evict",
    )


def _by_policy(policy: str, kind: str, message: str, remedy: str) -> Verdict:
    if policy == EVICT:
        return EVICTED
    treatment = Treatment.STAY if policy == IGNORE else Treatment.HOLD
    return Verdict(treatment, kind, message, remedy)


def in_wave(
    pods: Iterable[tuple[Pod, Verdict]], order: str, stuck: Container[str] = frozenset()
) -> list[Pod]:
    """The pods whose turn it is, of those that are evicted: lowest priority first, DaemonSet pods last.

    Pods that are stuck, by UID, hold those of higher priority only where the order is strict. They always
    hold DaemonSet pods, whose network and storage they may need to end.
    """
    going = [
        (pod, order_of(pod, verdict, by_priority=order != PARALLEL))
        for pod, verdict in pods
        if verdict.treatment in _EVICTED_TREATMENTS
    ]
    if not going:
        return []
    first = min(rank for _, rank in going)
    if order == PRIORITY:
        alike = [(pod, rank) for pod, rank in going if rank[0] == first[0]]
        moving = [rank for pod, rank in alike if pod.metadata.uid not in stuck]
        first = min(moving, default=max(rank for _, rank in alike))
    return [pod for pod, rank in going if rank <= first]


_EVICTED_TREATMENTS = (Treatment.EVICT, Treatment.EVICT_LAST)


def order_of(pod: Pod, verdict: Verdict, *, by_priority: bool) -> tuple[bool, int]:
    """Where the pod stands in the order of a drain; equal ranks go together."""
    last = verdict.treatment is Treatment.EVICT_LAST
    return last, (pod.spec.priority or 0) if by_priority else 0


def selector_from(spec: LabelSelectorSpec | None, *, default: Selector = EVERYTHING) -> Selector:
    """The selector of a spec; one that cannot be understood selects nothing."""
    if spec is None:
        return default
    try:
        return selector_of(msgspec.to_builtins(spec))
    except ApiError:
        return NOTHING
