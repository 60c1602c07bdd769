"""What must have held at every revision, checked afterwards by replaying a server's log from the start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import orjson

from vacate.api.objects import Obj, dig
from vacate.api.selectors.labels import selector_of
from vacate.embedded.store.log import Record

EVICTED = "EvictionByEvictionAPI"
_Place = tuple[str, str]  # namespace and name


@dataclass(slots=True)
class Moment:
    """The pods and budgets of one revision, and what the record before and after it says."""

    revision: int = 0
    pods: dict[_Place, Obj] = field(default_factory=dict)
    budgets: dict[_Place, Obj] = field(default_factory=dict)

    def apply(self, record: Record) -> None:
        """Step to the record's revision."""
        self.revision = record.revision
        table = {"pods": self.pods, "poddisruptionbudgets.policy": self.budgets}.get(record.resource)
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
    conditions = dig(pod, "status", "conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


class BudgetHistory:
    """Follows a server's writes, and says which evictions left a budget with too few healthy pods.

    Only budgets with an absolute `minAvailable` are checked: they need no arithmetic but a count.
    """

    def __init__(self) -> None:
        self._moment = Moment()

    def apply(self, record: Record) -> Iterator[str]:
        """Step to the record's revision: what goes against a budget there. To be read to its end."""
        moment = self._moment
        before = moment.pods.get((record.namespace, record.name)) if record.resource == "pods" else None
        moment.apply(record)
        if before is None or not _leaves_by_eviction(before, record):
            return
        for budget in _budgets_of(moment, record.namespace, before):
            yield from _breach(moment, budget, record)


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


def _budgets_of(moment: Moment, namespace: str, pod: Obj) -> Iterator[Obj]:
    labels = pod["metadata"].get("labels") or {}
    for (place, _), budget in moment.budgets.items():
        wanted = dig(budget, "spec", "selector")
        if place == namespace and wanted is not None and selector_of(wanted).matches(labels):
            yield budget


def _breach(moment: Moment, budget: Obj, record: Record) -> Iterator[str]:
    wanted = budget["spec"].get("minAvailable")
    if not isinstance(wanted, int):
        return
    selector = selector_of(budget["spec"]["selector"])
    left = [
        name
        for (namespace, name), pod in moment.pods.items()
        if namespace == record.namespace
        and selector.matches(pod["metadata"].get("labels") or {})
        and is_healthy(pod)
    ]
    if len(left) < wanted:
        name = budget["metadata"]["name"]
        yield (
            f"revision {record.revision}: the eviction of {record.name} left {len(left)} healthy pods, "
            f"budget {name} wants {wanted}"
        )


def health(records: Iterable[Record], namespace: str, label: str, value: str) -> Iterator[tuple[int, int]]:
    """For every revision that touches a pod with the label: the revision, and how many are healthy then."""
    moment = Moment()
    for record in records:
        moment.apply(record)
        if record.resource == "pods" and record.namespace == namespace:
            pods = [pod for (place, _), pod in moment.pods.items() if place == namespace]
            mine = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(label) == value]
            yield record.revision, sum(map(is_healthy, mine))


def shared_addresses(records: Iterable[Record]) -> Iterator[str]:
    """Two pods that were alive with one address at one revision."""
    moment = Moment()
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
