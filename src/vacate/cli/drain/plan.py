"""What a drain would do, before anything is changed: the pods in their order, and what will block them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import msgspec
from msgspec.structs import replace as replace_fields

from vacate.api.kinds import NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.options import ListOptions
from vacate.api.types import Node, Pod, PodDisruptionBudget
from vacate.api.types.nodemaintenance import PARALLEL, Blocker, NodeMaintenance
from vacate.cli.common.connection import Cluster
from vacate.cli.common.remedies import no_node
from vacate.errors import ConfigError, Forbidden, NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.maintenance.blockers import from_absent, from_budgets, from_room, from_verdict
from vacate.maintenance.names import dialect_for
from vacate.maintenance.pods import Treatment, Verdict, assess_pod, order_of, selector_from
from vacate.views.budgets import Forecast, Means, covering, would_refuse
from vacate.views.phrases import sentence

T = TypeVar("T")
_READS_AT_ONCE = 8
EVICTED_TREATMENTS = (Treatment.EVICT, Treatment.EVICT_LAST)
EVICTED_WITHIN_BUDGETS = Forecast()


@dataclass(frozen=True, slots=True)
class PlannedPod:
    """A pod of a node, what happens to it, and who prepares that."""

    pod: Pod
    verdict: Verdict
    interceptors: tuple[str, ...] = ()
    budgets: tuple[PodDisruptionBudget, ...] = ()  # those that select it, where they refuse its eviction now
    refusal: str = ""  # in the words of the eviction API
    forecast: Forecast = EVICTED_WITHIN_BUDGETS


async def find_nodes(cluster: Cluster, names: Sequence[str], selector: str) -> list[Node]:
    """The nodes; a ConfigError for one that is not there, or a selector that matches none."""
    if selector:
        found = await cluster.client.list(NODES, options=ListOptions(label_selector=selector), into=Node)
        if not found.items:
            raise ConfigError(f"no node matches {selector!r}; see: kubectl get nodes --show-labels")
        return list(found.items)

    async def read(name: str) -> Node | None:
        with contextlib.suppress(NotFound):
            return await cluster.client.get(NODES, name, into=Node)
        return None

    nodes = await _each(list(dict.fromkeys(names)), read)
    if missing := [name for name, node in nodes.items() if node is None]:
        raise no_node(*missing)
    return [node for node in nodes.values() if node is not None]


async def read_plans(cluster: Cluster, maintenance: NodeMaintenance) -> dict[str, list[PlannedPod]]:
    """By node: what would happen to its pods."""
    return await _each(maintenance.spec.nodes, lambda node: planned_pods(cluster, node, maintenance))


async def _each(nodes: Sequence[str], read: Callable[[str], Awaitable[T]]) -> dict[str, T]:
    """What is read for each node, some side by side."""
    slots = asyncio.Semaphore(_READS_AT_ONCE)

    async def one(node: str) -> T:
        async with slots:
            return await read(node)

    return dict(zip(nodes, await asyncio.gather(*map(one, nodes)), strict=True))


async def planned_pods(cluster: Cluster, node: str, maintenance: NodeMaintenance) -> list[PlannedPod]:
    """The pods of a node in the order in which they would be evicted, those that stay last."""
    spec = maintenance.spec
    found = await cluster.client.list(
        PODS, options=ListOptions(field_selector=f"spec.nodeName={node}"), into=Pod
    )
    selector = selector_from(spec.pods.selector)
    dialect = dialect_for(maintenance)
    made = [_planned(pod, assess_pod(pod, spec.pods, selector), dialect) for pod in found.items]
    by_priority = spec.order != PARALLEL

    def place(one: PlannedPod) -> tuple[bool, tuple[bool, int], str, str]:
        meta = one.pod.metadata
        order = order_of(one.pod, one.verdict, by_priority=by_priority)
        return one.verdict.treatment not in EVICTED_TREATMENTS, order, meta.namespace, meta.name

    return sorted(made, key=place)


def _planned(pod: Pod, verdict: Verdict, dialect: Dialect) -> PlannedPod:
    if verdict.treatment not in EVICTED_TREATMENTS:
        return PlannedPod(pod, verdict)
    registered = dialect.registration(msgspec.to_builtins(pod)).interceptors
    return PlannedPod(pod, verdict, tuple(reversed(registered)))


async def read_budgets(cluster: Cluster) -> list[PodDisruptionBudget]:
    """All budgets, or none for those who may not read them."""
    try:
        return list((await cluster.client.list(PODDISRUPTIONBUDGETS, into=PodDisruptionBudget)).items)
    except Forbidden:
        return []


async def read_room(
    cluster: Cluster, drained: Sequence[str], planned: Sequence[PlannedPod]
) -> dict[str, str]:
    """By UID: the pods that find no room on other nodes, and why; none for those who may not read nodes."""
    # A drain, which should begin soon, needs neither.
    from vacate.cli.common.queries import list_pods  # noqa: PLC0415
    from vacate.maintenance.relocation import without_room  # noqa: PLC0415

    try:
        nodes = (await cluster.client.list(NODES, into=Node)).items
        pods = await list_pods(cluster, "")
    except Forbidden:
        return {}
    going = [one.pod for one in planned if one.verdict.treatment in EVICTED_TREATMENTS]
    return without_room(going, drained, nodes, pods)


async def read_absent(cluster: Cluster) -> frozenset[str]:
    """The interceptors that had turns and never answered; none for those who may not read requests."""
    from vacate.cli.common.queries import list_all_requests  # noqa: PLC0415
    from vacate.views.interceptors import interceptor_summaries  # noqa: PLC0415

    try:
        requests = await list_all_requests(cluster, "")
    except (Forbidden, NotFound):
        return frozenset()
    found = interceptor_summaries((), [one.record for one in requests if one.record is not None])
    return frozenset(one.name for one in found if one.state == "NeverAnswered")


async def with_budgets(
    cluster: Cluster,
    pods: Sequence[PlannedPod],
    budgets: Sequence[PodDisruptionBudget],
    absent: Collection[str] = (),
) -> list[PlannedPod]:
    """The pods with the budgets that refuse them now, and how they would go all the same."""
    slots = asyncio.Semaphore(_READS_AT_ONCE)

    async def read(one: PlannedPod) -> PlannedPod:
        async with slots:
            return await _with_budgets(cluster, one, budgets, absent)

    return list(await asyncio.gather(*map(read, pods)))


async def _with_budgets(
    cluster: Cluster, one: PlannedPod, budgets: Sequence[PodDisruptionBudget], absent: Collection[str]
) -> PlannedPod:
    meta = one.pod.metadata
    if one.verdict.treatment not in EVICTED_TREATMENTS:
        return one
    held = covering(budgets, meta.namespace, meta.labels)
    refusal = would_refuse(one.pod, held) if held else ""
    if not refusal:
        return one
    from vacate.cli.forecasts import forecast  # noqa: PLC0415  as above

    working = one.interceptors if not {*one.interceptors} & {*absent} else ()
    means = await forecast(cluster, one.pod, working, held)
    return replace(one, budgets=held, refusal=refusal, forecast=means)


def foreseen(
    pods: Sequence[PlannedPod],
    crowded: Mapping[str, str],
    absent: Collection[str] = (),
) -> list[Blocker]:
    """What will hold the drain, as far as it can be seen beforehand."""
    found = []
    for one in pods:
        if one.verdict.treatment is Treatment.HOLD:
            found.append(from_verdict(one.pod, one.verdict))
            continue
        found += [from_absent(one.pod, name) for name in one.interceptors if name in absent]
        if one.refusal and one.forecast.means is Means.EVICT:
            held = from_budgets(one.pod, one.budgets, workload=one.forecast.workload)
            found.append(replace_fields(held, message=_budget_refusal(one)))
        if one.pod.metadata.uid in crowded:
            found.append(from_room(one.pod, crowded[one.pod.metadata.uid]))
    return found


def budget_names(one: PlannedPod) -> str:
    """The budgets that refuse the pod, as a blocker names them."""
    return ",".join(budget.metadata.name for budget in one.budgets)


def _budget_refusal(one: PlannedPod) -> str:
    declined = one.forecast.declined if len(one.budgets) == 1 else ""
    why = sentence(one.refusal)
    return f"{why} No replacement would be started first: {declined}" if declined else why
