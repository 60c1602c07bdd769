"""The shortest test of interceptors: one pod that names them is evicted in a simulated cluster.

from vacate.testing import simulate_eviction

def test_the_database_is_backed_up() -> None:
    eviction = simulate_eviction(back_up, labels={"app": "db"})
    assert eviction.result is TurnResult.COMPLETED
    assert eviction.messages == ("Backing up",)
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from vacate.api.objects import Obj
from vacate.api.selectors.labels import parse_selector
from vacate.errors import ConfigError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import dialect_named
from vacate.sdk import EVICTION_REQUEST, Interceptor
from vacate.sdk.arguments import checked_span
from vacate.sdk.interceptors.program import check_interceptors
from vacate.sim.process import Process
from vacate.testing.builders import naming_interceptors
from vacate.testing.builders import pod as build_pod
from vacate.testing.cluster import DAY, SimulatedCluster, check_simulated
from vacate.testing.evictions import SimulatedEviction
from vacate.testing.simulation import simulate

_NO_LABELS: Mapping[str, str] = {}


def simulate_eviction(
    *interceptors: Interceptor,
    labels: Mapping[str, str] = _NO_LABELS,
    pod: Obj | None = None,
    objects: Sequence[Obj] = (),
    dialect: Dialect = EVICTION_REQUEST,
    cancel_after: dt.timedelta | None = None,
    restart_after: dt.timedelta | None = None,
    deadline_seconds: int | None = None,
    within: dt.timedelta = DAY,
    seed: int = 0,
) -> SimulatedEviction:
    """Evict a pod that names these interceptors, the first of them with the first turn; what came of it.

    `labels` are the pod's, or `pod` is the whole of it. `objects` are created before it, such as a budget
    over it. `dialect` is the API of the request. `cancel_after` withdraws the request at that time after it
    was made, `restart_after` crashes and starts the program of the interceptors. TimeoutError where the
    request is not over `within` that (virtual) time. ConfigError where an interceptor does not serve the pod.
    The same seed gives the same run.
    """
    check_interceptors(interceptors)
    check_simulated(*interceptors)
    for what, span in (("cancel_after", cancel_after), ("restart_after", restart_after), ("within", within)):
        checked_span(what, span)
    _check_api(interceptors, dialect)
    given = build_pod("pod-1", labels=labels) if pod is None else pod
    _check_selected(interceptors, given)
    made = naming_interceptors(given, [dialect.participant(one.name) for one in interceptors], dialect)

    async def body(cluster: SimulatedCluster) -> SimulatedEviction:
        await cluster.create(*objects)
        name, namespace = made["metadata"]["name"], made["metadata"].get("namespace", "default")
        await cluster.run_pod(made)
        program = await cluster.program(*interceptors)
        async with cluster.after(restart_after, lambda: _restart(program)):
            return await cluster.evict(
                name,
                namespace,
                requester=cluster.requester("test.vacate.dev", dialect=dialect),
                deadline_seconds=deadline_seconds,
                cancel_after=cancel_after,
                within=within,
            )

    return simulate(body, seed, feature_gates=_gates(interceptors), limit=within + DAY)


def _check_api(interceptors: Sequence[Interceptor], dialect: Dialect) -> None:
    api = dialect.name
    for one in interceptors:
        if api not in one.apis:
            raise ConfigError(f"{one.name} does not serve the API {api}: add it to its apis")


def _check_selected(interceptors: Sequence[Interceptor], pod: Obj) -> None:
    """One that leaves the pod to others of its name would never respond: nobody else is there."""
    where = pod["metadata"].get("namespace", "default")
    labels = pod["metadata"].get("labels") or {}
    for name in dict.fromkeys(one.name for one in interceptors):
        named = [one for one in interceptors if one.name == name]
        if not any(
            one.namespace in ("", where) and parse_selector(one.label_selector).matches(labels)
            for one in named
        ):
            shown = ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "no labels"
            what = f"the pod {pod['metadata']['name']} in namespace {where} has {shown}"
            served = "; ".join(one.described for one in named)
            raise ConfigError(f"{what}, and would get no response: {served}")


def _gates(interceptors: Sequence[Interceptor]) -> str:
    """Open for each API that an interceptor serves."""
    apis = {api for one in interceptors for api in one.apis}
    return ",".join(f"{dialect_named(api).kind.gate}=true" for api in sorted(apis))


async def _restart(program: Process) -> None:
    await program.crash()
    await program.start()
