"""Pods that must be near others, or must not: required pod affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vacate.api.objects import dig
from vacate.api.selectors.labels import Selector, selector_of
from vacate.api.types import Pod
from vacate.kube.scheduling.clusterview import ClusterView

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

Domain = tuple[str, str]
"""A topology key and one value of it."""


@dataclass(frozen=True, slots=True)
class _Term:
    key: str
    selector: Selector
    namespaces: tuple[str, ...] | None
    exact: tuple[tuple[str, str], ...]
    unlike: tuple[tuple[str, str], ...]

    def selects(self, pod: Pod) -> bool:
        if self.namespaces is not None and pod.metadata.namespace not in self.namespaces:
            return False
        labels = pod.metadata.labels
        return (
            self.selector.matches(labels)
            and all(labels.get(key) == value for key, value in self.exact)
            and all(labels.get(key) != value for key, value in self.unlike)
        )


@dataclass(slots=True)
class Neighbours:
    """Where the pods are that the newcomer must be with or must avoid."""

    wanted: list[str] = field(default_factory=list)
    near: dict[Domain, int] = field(default_factory=dict)
    avoided: list[str] = field(default_factory=list)
    away: dict[Domain, int] = field(default_factory=dict)
    guarded: dict[Domain, int] = field(default_factory=dict)
    alone: bool = False


def neighbours(pod: Pod, view: ClusterView) -> Neighbours:
    """Look once over the cluster's pods, and only where a rule asks for it."""
    near = _terms(pod, "podAffinity", view)
    away = _terms(pod, "podAntiAffinity", view)
    found = Neighbours([term.key for term in near], avoided=[term.key for term in away])
    if near or away:
        for node, other in view.tenants():
            if near and all(term.selects(other) for term in near):
                _mark(found.near, near, node.labels)
            _mark(found.away, [term for term in away if term.selects(other)], node.labels)
    # The first of a group that wants to be with itself would otherwise never find a place.
    found.alone = not found.near and all(term.selects(pod) for term in near)
    _mark_guards(found, pod, view)
    return found


def _mark_guards(found: Neighbours, pod: Pod, view: ClusterView) -> None:
    for uid, guard in view.guarded.items():
        labels = view.nodes[view.places[uid]].labels
        terms = _terms(guard, "podAntiAffinity", view)
        _mark(found.guarded, [term for term in terms if term.selects(pod)], labels)


def broken_affinity(found: Neighbours, labels: Mapping[str, str]) -> str | None:
    """Why the pod may not go where these labels are, or None."""
    if not _near_enough(found, labels):
        return AFFINITY
    if any(found.away.get((key, labels.get(key, ""))) for key in found.avoided):
        return ANTI_AFFINITY
    if any(labels.get(key) == value for key, value in found.guarded):
        return EXISTING_ANTI_AFFINITY
    return None


def _near_enough(found: Neighbours, labels: Mapping[str, str]) -> bool:
    if any(key not in labels for key in found.wanted):
        return False
    return found.alone or all(found.near.get((key, labels[key])) for key in found.wanted)


def _mark(counts: dict[Domain, int], terms: Sequence[_Term], labels: Mapping[str, str]) -> None:
    for term in terms:
        if term.key in labels:
            domain = (term.key, labels[term.key])
            counts[domain] = counts.get(domain, 0) + 1


def _terms(pod: Pod, which: str, view: ClusterView) -> list[_Term]:
    stated = dig(pod.spec.affinity, which, _REQUIRED) or ()
    return [_term(one, pod, view) for one in stated]


def _term(stated: Mapping[str, Any], pod: Pod, view: ClusterView) -> _Term:
    return _Term(
        stated.get("topologyKey", ""),
        selector_of(stated.get("labelSelector")),
        _namespaces(stated, pod, view),
        _shared(stated.get("matchLabelKeys"), pod),
        _shared(stated.get("mismatchLabelKeys"), pod),
    )


def _shared(keys: Any, pod: Pod) -> tuple[tuple[str, str], ...]:
    return tuple((key, pod.metadata.labels[key]) for key in keys or () if key in pod.metadata.labels)


def _namespaces(stated: Mapping[str, Any], pod: Pod, view: ClusterView) -> tuple[str, ...] | None:
    named = tuple(stated.get("namespaces") or ())
    chosen = stated.get("namespaceSelector")
    if chosen is None:
        return named or (pod.metadata.namespace,)
    if not chosen.get("matchLabels") and not chosen.get("matchExpressions"):
        return None
    selector = selector_of(chosen)
    return (*named, *(name for name in sorted(view.namespaces) if selector.matches(view.namespaces[name])))
