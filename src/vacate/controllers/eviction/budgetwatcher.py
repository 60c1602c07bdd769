"""Disruption budgets that open: who waits for them tries at once, the oldest first, as many as allowed."""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable

from vacate.api.selectors.labels import Selector, selector_of
from vacate.api.times import EARLIEST
from vacate.api.types import (
    Deployment,
    LabelSelector,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    StatefulSet,
    condition,
)
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import DELETE_PREPARED
from vacate.cache.indexes import budgets_of
from vacate.cache.reader import Reader
from vacate.controllers.eviction.attempts import EvictionAttempts, failures, key_of, place_of
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.turn_conditions import is_prepared
from vacate.eviction.retryorder import Waiting, first_in_line
from vacate.kube.budgets import allowed, lets_unready_go
from vacate.runtime.podrequests import request_for
from vacate.runtime.reconcile import Key

Workload = StatefulSet | Deployment | ReplicaSet

_RECENT = 256  # changes that are remembered, for evictions that are under way meanwhile


class BudgetWatcher:
    """Follows budgets and wakes requests."""

    def __init__(
        self,
        dialect: Dialect,
        attempts: EvictionAttempts,
        requests: Reader[EvictionRequest],
        pods: Reader[Pod],
        budgets: Reader[PodDisruptionBudget],
        enqueue: Callable[[Key], None],
    ) -> None:
        self._dialect = dialect
        self._attempts = attempts
        self._requests = requests
        self._pods = pods
        self._budgets = budgets
        self._enqueue = enqueue
        self.changes = 0  # so far, that may let pods be evicted: of budgets, and of pods under request
        self._recent: deque[tuple[int, str, list[Selector]]] = deque(maxlen=_RECENT)
        self._begun: set[str] = set()  # namespaces that were looked at since the start

    def on_pod(self, old: Pod | None, new: Pod | None) -> None:
        """A pod's labels changed, or it is not ready any more: its budget may let its request go now."""
        if old is None or new is None:
            return
        if old.metadata.labels == new.metadata.labels and (is_unready(old) or not is_unready(new)):
            return
        meta = new.metadata
        found = request_for(self._dialect, self._requests, meta.namespace, meta.name, meta.uid)
        if found is None or self._dialect.settled(found):
            return
        self._remember(meta.namespace, [selector_of(LabelSelector(match_labels=meta.labels))])
        if not self._attempts.waits(key := key_of(found)):
            return
        holding = budgets_of(self._budgets, meta.namespace, meta.labels)
        if not holding or (len(holding) == 1 and (allowed(holding[0]) or _lets_go(holding[0], new))):
            self._wake(key)

    def on_budget(self, old: PodDisruptionBudget | None, new: PodDisruptionBudget | None) -> None:
        """A budget changed: wake whom that lets go."""
        affected = _affected(old, new)
        namespace = (old or new or PodDisruptionBudget()).metadata.namespace
        if not affected:
            return
        self._remember(namespace, affected)
        self._wake_all(self._let_go(namespace, affected))

    def on_workload(self, old: Workload | None, new: Workload | None) -> None:
        """The owner of a workload lets prepared pods go past their own budgets: who waits tries at once."""
        if new is None or not _lets_prepared_go(new) or (old is not None and _lets_prepared_go(old)):
            return
        for one in self._attempts.waiting(new.metadata.namespace):
            request = self._requests.get(one.namespace, one.name)
            if request is not None and is_prepared(request):
                self._wake(Key(one.namespace, one.name))

    def on_refusal(self, request: EvictionRequest, since: int) -> None:
        """An eviction was refused that was sent after so many changes.

        A budget may have opened after the server refused and before its answer was here. That change found
        nobody in line, and there may be no other for long.
        """
        namespace = request.metadata.namespace
        affected = [
            selector
            for number, where, selectors in self._recent
            if number > since and where == namespace
            for selector in selectors
        ]
        if affected:
            self._wake_all(self._let_go(namespace, affected))
        if self._attempts.waits_for_others(key_of(request)):
            self.pass_on(request)

    def begin(self, namespace: str, now: dt.datetime) -> None:
        """Once for a namespace after the start: a budget that allows evictions by now has opened meanwhile.

        Whom no budget holds is not meant: all who are refused for other reasons would try at once.
        """
        if namespace in self._begun:
            return
        self._begun.add(namespace)
        for request in self._requests.list(namespace):
            if failures(request) and not self._dialect.settled(request):
                self._attempts.next_of(request, now)  # which puts it in line
        budgets = self._budgets.list(namespace)
        opened = [selector_of(one.spec.selector) for one in budgets if allowed(one) or lets_unready_go(one)]
        _, lines = self._divided(namespace, opened)
        for budget, line in lines:
            self._wake_all(self._first_of(line, budget, allowed(budget)))

    def pass_on(self, request: EvictionRequest) -> None:
        """Something else than its budget holds a request that was let go: the next in line tries instead.

        Nothing would wake that one otherwise, as the budget stays open and does not change.
        """
        place = place_of(request)
        labels = self._labels(place)
        holding = [] if labels is None else budgets_of(self._budgets, place.namespace, labels)
        if len(holding) != 1 or not allowed(holding[0]):
            return
        _, lines = self._divided(place.namespace, [selector_of(holding[0].spec.selector)])
        for budget, line in lines:
            if budget.metadata.name == holding[0].metadata.name:
                # Those whom something else refused as well try again soon by themselves.
                after = [one for one in line if one > place and not self._waits_for_others(one)]
                self._wake_all(first_in_line(after, 1))

    def _waits_for_others(self, one: Waiting) -> bool:
        return self._attempts.waits_for_others(Key(one.namespace, one.name))

    def _remember(self, namespace: str, affected: list[Selector]) -> None:
        self.changes += 1
        self._recent.append((self.changes, namespace, affected))

    def counts(self, request: EvictionRequest) -> bool:
        """Whether any budget counts the pod of the request."""
        labels = self._labels(Waiting(EARLIEST, request.metadata.namespace, request.metadata.name))
        return labels is not None and bool(budgets_of(self._budgets, request.metadata.namespace, labels))

    def _wake_all(self, chosen: list[Waiting]) -> None:
        for one in chosen:
            self._wake(Key(one.namespace, one.name))

    def _wake(self, key: Key) -> None:
        self._attempts.wake(key)
        self._enqueue(key)

    def _let_go(self, namespace: str, affected: list[Selector]) -> list[Waiting]:
        """Those whom no budget holds any more, and of those whom one budget holds as many as it allows."""
        free, lines = self._divided(namespace, affected)
        found = sorted(free)
        for budget, line in lines:
            # Which pods are unhealthy only the server knows: all that wait may try once.
            number = len(line) if _always_allows(budget) else allowed(budget)
            found += self._first_of(line, budget, number)
        return found

    def _first_of(self, line: list[Waiting], budget: PodDisruptionBudget, number: int) -> list[Waiting]:
        """So many, and beside them all whose pods are not ready, where those are no disruption."""
        unready = {one for one in line if (pod := self._pod(one)) is not None and _lets_go(budget, pod)}
        return [*sorted(unready), *first_in_line([one for one in line if one not in unready], number)]

    def _divided(
        self, namespace: str, affected: list[Selector]
    ) -> tuple[list[Waiting], list[tuple[PodDisruptionBudget, list[Waiting]]]]:
        """Of those who wait: whom no budget holds, and by budget whom one holds.

        Where several hold a pod, its eviction is refused in any case.
        """
        candidates = [
            (one, labels)
            for one in self._attempts.waiting(namespace)
            if (labels := self._labels(one)) is not None and any(each.matches(labels) for each in affected)
        ]
        free: list[Waiting] = []
        lines: dict[str, tuple[PodDisruptionBudget, list[Waiting]]] = {}
        for one, labels in candidates:
            holding = budgets_of(self._budgets, namespace, labels)
            if not holding:
                free.append(one)
            elif len(holding) == 1:
                lines.setdefault(holding[0].metadata.name, (holding[0], []))[1].append(one)
        return free, list(lines.values())

    def _labels(self, one: Waiting) -> dict[str, str] | None:
        pod = self._pod(one)
        return None if pod is None else pod.metadata.labels

    def _pod(self, one: Waiting) -> Pod | None:
        request = self._requests.get(one.namespace, one.name)
        pod = self._pods.get(one.namespace, request.pod_name) if request else None
        if pod is None or request is None or pod.metadata.uid != request.pod_uid:
            return None
        return pod


def is_unready(pod: Pod) -> bool:
    """Whether the pod says that it is not ready; caches keep no more of its condition."""
    found = condition(pod.status.conditions, "Ready") if pod.status.conditions else None
    return found is not None and found.status == "False"


def _lets_go(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Whether the pod is not ready, and its eviction no disruption therefore."""
    return is_unready(pod) and lets_unready_go(budget)


def _lets_prepared_go(workload: Workload) -> bool:
    return workload.metadata.annotations.get(DELETE_PREPARED) == "true"


def _always_allows(budget: PodDisruptionBudget | None) -> bool:
    """Whether the budget lets unhealthy pods go whatever it allows otherwise."""
    return budget is not None and budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"


def _affected(old: PodDisruptionBudget | None, new: PodDisruptionBudget | None) -> list[Selector]:
    """Whose pods may be better off: those that a budget let go, and those of one that opened."""
    before = old.spec.selector if old else None
    after = new.spec.selector if new else None
    found: list[LabelSelector | None] = []
    if old is not None and (new is None or before != after):
        found.append(before)
    opened = allowed(new) > allowed(old) or (lets_unready_go(new) and not lets_unready_go(old))
    opened = opened or (_always_allows(new) and not _always_allows(old))
    if new is not None and (opened or before != after):
        found.append(after)
    return [selector_of(one) for one in found]
