"""By what the workload controllers find objects in their caches; a name means the same to all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from vacate.api.selectors.labels import Selector
from vacate.api.types import HorizontalPodAutoscaler, ObjectMeta, Pod, PodDisruptionBudget
from vacate.cache.reader import Reader
from vacate.kube.budgets import selects
from vacate.kube.minreplicas import scales

CONTROLLER = "controller"
NODE = "node"
LABEL = "label"
SCALED = "scaled"
SELECTED = "selected"


class HasMetadata(Protocol):
    """Any object that is cached."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its name, owner, labels and so on."""
        ...


def orphans_of(namespace: str) -> str:
    """The value under which objects without a controller are found."""
    return f"orphans/{namespace}"


def by_controller(obj: HasMetadata) -> Iterable[str]:
    """The uid of the controller, or that there is none."""
    ref = obj.metadata.controller
    return (ref.uid if ref else orphans_of(obj.metadata.namespace),)


def by_node(pod: Pod) -> Iterable[str]:
    """The name of the node, for pods that have one."""
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def by_label(pod: Pod) -> Iterable[str]:
    """Each label, within the namespace."""
    return [_label(pod.metadata.namespace, *pair) for pair in pod.metadata.labels.items()]


def _label(namespace: str, key: str, value: str) -> str:
    return f"{namespace}/{key}={value}"


def selected(pods: Reader[Pod], namespace: str, selector: Selector) -> list[Pod]:
    """The pods that a selector means; one exact label is enough to look at few of them."""
    for requirement in selector.requirements:
        value = selector.exact(requirement.key)
        if value is not None:
            found = pods.by_index(LABEL, _label(namespace, requirement.key, value))
            break
    else:
        found = pods.list(namespace)
    return [pod for pod in found if selector.matches(pod.metadata.labels)]


def by_selected_label(budget: PodDisruptionBudget) -> Iterable[str]:
    """One label that the pods of a budget must have; where its selector names none, the namespace."""
    written, namespace = budget.spec.selector, budget.metadata.namespace
    if written is None:
        return ()
    return (next((_label(namespace, *pair) for pair in written.match_labels.items()), namespace),)


def budgets_of(
    budgets: Reader[PodDisruptionBudget], namespace: str, labels: Mapping[str, str]
) -> list[PodDisruptionBudget]:
    """The budgets of the namespace that select a pod with these labels; few of the others are looked at."""
    places = [namespace, *(_label(namespace, *pair) for pair in labels.items())]
    return [one for place in places for one in budgets.by_index(SELECTED, place) if selects(one, labels)]


def by_scaled_deployment(autoscaler: HorizontalPodAutoscaler) -> Iterable[str]:
    """The Deployment that the autoscaler scales."""
    name = autoscaler.spec.scale_target_ref.name
    return (f"{autoscaler.metadata.namespace}/{name}",) if scales(autoscaler, name) else ()


def autoscalers_of(
    autoscalers: Reader[HorizontalPodAutoscaler], namespace: str, name: str
) -> list[HorizontalPodAutoscaler]:
    """Those that scale the Deployment of that name, which may not be known yet."""
    return autoscalers.by_index(SCALED, f"{namespace}/{name}")


CONTROLLED: Mapping[str, Any] = {CONTROLLER: by_controller}
PLACED: Mapping[str, Any] = {NODE: by_node}
LABELLED: Mapping[str, Any] = {LABEL: by_label}
SCALING: Mapping[str, Any] = {SCALED: by_scaled_deployment}
SELECTING: Mapping[str, Any] = {SELECTED: by_selected_label}
