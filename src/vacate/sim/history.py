"""What must have held at every revision, checked afterwards by replaying a server's log from the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import orjson

from vacate.api.objects import Obj, dig
from vacate.api.selectors.labels import selector_of
from vacate.api.untyped import has_condition
from vacate.embedded.store.log import Record

EVICTED = "EvictionByEvictionAPI"
BUDGETS = "poddisruptionbudgets.policy"
_Place = tuple[str, str]  # namespace and name


@dataclass(slots=True)
class Snapshot:
    """The pods and budgets of one revision, and what the record before and after it says."""

    revision: int = 0
    pods: dict[_Place, Obj] = field(default_factory=dict)
    budgets: dict[_Place, Obj] = field(default_factory=dict)

    def apply(self, record: Record) -> None:
        """Step to the record's revision."""
        self.revision = record.revision
        table = {"pods": self.pods, BUDGETS: self.budgets}.get(record.resource)
        if table is None:
            return
        place = (record.namespace, record.name)
        if record.deleted:
            table.pop(place, None)
        else:
            table[place] = orjson.loads(record.value)


def is_healthy(pod: Obj) -> bool:
    """Ready, and not terminating: what a disruption budget counts."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    return has_condition(pod, "Ready")


class BudgetHistory:
    """Follows a server's writes, and says which evictions left a budget with too few healthy pods.

    Only budgets with an absolute `minAvailable` are checked: they need no arithmetic but a count. A pod that
    was lost otherwise is not charged to evictions before the disruption controller has counted it: nobody who
    goes by the budget can know of it.
    """

    def __init__(self) -> None:
        self._moment = Snapshot()
        self._uncounted: dict[_Place, list[_Place]] = {}  # by budget, the pods that were lost, in their order

    def apply(self, record: Record) -> Iterator[str]:
        """Step to the record's revision: what goes against a budget there. To be read to its end."""
        moment, place = self._moment, (record.namespace, record.name)
        before = moment.pods.get(place) if record.resource == "pods" else None
        moment.apply(record)
        if place in moment.budgets and record.resource == BUDGETS:
            self._count(place, moment.budgets[place])
        if before is None:
            return
        evicted = _leaves_by_eviction(before, record)
        for budget in _budgets_of(moment, record.namespace, before):
            if evicted:
                yield from self._breach(budget, record)
            else:
                self._follow(budget, place, before)

    def _follow(self, budget: Obj, place: _Place, before: Obj) -> None:
        lost = self._uncounted.setdefault(_place(budget), [])
        after = self._moment.pods.get(place)
        if after is not None and is_healthy(after):
            lost[:] = [one for one in lost if one != place]
        elif is_healthy(before):
            lost.append(place)

    def _count(self, place: _Place, budget: Obj) -> None:
        """The budget was written: what it still counts as healthy, beside what was evicted, is uncounted."""
        status = budget.get("status") or {}
        evicted = [
            name
            for name in status.get("disruptedPods") or {}
            if not _is_healthy(self._moment, (place[0], name))
        ]
        more = status.get("currentHealthy", 0) - len(_healthy(self._moment, budget)) - len(evicted)
        lost = self._uncounted.setdefault(place, [])
        del lost[: max(0, len(lost) - max(0, more))]

    def _breach(self, budget: Obj, record: Record) -> Iterator[str]:
        wanted = budget["spec"].get("minAvailable")
        if not isinstance(wanted, int):
            return
        left, uncounted = _healthy(self._moment, budget), self._uncounted.get(_place(budget), [])
        if len(left) + len(uncounted) < wanted:
            yield (
                f"revision {record.revision}: the eviction of {record.name} left {len(left)} healthy pods, "
                f"budget {budget['metadata']['name']} wants {wanted}"
            )


def budget_breaches(records: Iterable[Record]) -> Iterator[str]:
    """Every eviction of a healthy pod that left fewer healthy ones than its budget's `minAvailable`."""
    history = BudgetHistory()
    for record in records:
        yield from history.apply(record)


def _leaves_by_eviction(before: Obj, record: Record) -> bool:
    after = orjson.loads(record.value)
    leaves = record.deleted or bool(after["metadata"].get("deletionTimestamp"))
    return is_healthy(before) and leaves and _is_evicted(after)


def _is_evicted(pod: Obj) -> bool:
    return any(one.get("reason") == EVICTED for one in dig(pod, "status", "conditions") or ())


def _budgets_of(moment: Snapshot, namespace: str, pod: Obj) -> Iterator[Obj]:
    labels = pod["metadata"].get("labels") or {}
    for (place, _), budget in moment.budgets.items():
        wanted = dig(budget, "spec", "selector")
        if place == namespace and wanted is not None and selector_of(wanted).matches(labels):
            yield budget


def _healthy(moment: Snapshot, budget: Obj) -> list[_Place]:
    """The healthy pods that the budget selects."""
    selector, namespace = selector_of(budget["spec"]["selector"]), _place(budget)[0]
    return [
        place
        for place, pod in moment.pods.items()
        if place[0] == namespace and selector.matches(pod["metadata"].get("labels") or {}) and is_healthy(pod)
    ]


def _is_healthy(moment: Snapshot, place: _Place) -> bool:
    pod = moment.pods.get(place)
    return pod is not None and is_healthy(pod)


def _place(obj: Obj) -> _Place:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def health(records: Iterable[Record], namespace: str, label: str, value: str) -> Iterator[tuple[int, int]]:
    """For every revision that touches a pod with the label: the revision, and how many are healthy then."""
    moment = Snapshot()
    for record in records:
        moment.apply(record)
        if record.resource == "pods" and record.namespace == namespace:
            pods = [pod for (place, _), pod in moment.pods.items() if place == namespace]
            mine = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(label) == value]
            yield record.revision, sum(map(is_healthy, mine))


def shared_addresses(records: Iterable[Record]) -> Iterator[str]:
    """Two pods that were alive with one address at one revision."""
    moment = Snapshot()
    for record in records:
        moment.apply(record)
        if record.resource != "pods" or record.deleted:
            continue
        address = dig(moment.pods[record.namespace, record.name], "status", "podIP")
        if not address:
            continue
        owners = [name for (_, name), pod in moment.pods.items() if dig(pod, "status", "podIP") == address]
        if len(owners) > 1:
            yield f"revision {record.revision}: {address} belongs to {', '.join(owners)}"
