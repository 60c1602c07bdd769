"""Whatever the order in which requests meet: budgets are not overspent, deletions happen once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.effort import examples
from support.embedded import BUDGET_PATH, POD_PATH, Answer, Embedded, a_budget, a_pod, embedded
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS

pytestmark = pytest.mark.unit

PODS_THERE = 5

# Who comes (a pod's number), how long after the start, and with what: an eviction, a deletion, or a
# disruption controller that writes back a status it may have read long ago.
arrivals = st.lists(
    st.tuples(
        st.sampled_from(["evict", "evict", "evict", "force", "delete", "recount"]),
        st.integers(0, PODS_THERE - 1),
        st.integers(0, 6),
    ),
    min_size=1,
    max_size=12,
)


async def _after(turns: int, what: Callable[[], Awaitable[Answer]]) -> Answer:
    for _ in range(turns):
        await asyncio.sleep(0)
    return await what()


def _eviction(server: Embedded, number: int, **options: Any) -> Callable[[], Awaitable[Answer]]:
    name = f"p{number}"
    body = {"metadata": {"name": name}, "deleteOptions": options}
    return lambda: server.ask("POST", f"{POD_PATH}/{name}/eviction", body)


def _recount(server: Embedded, turns: int) -> Callable[[], Awaitable[Answer]]:
    """Read the budget, think for a while, and write it back with one disruption more."""

    async def act() -> Answer:
        budget = (await server.ask("GET", f"{BUDGET_PATH}/b")).body
        for _ in range(turns):
            await asyncio.sleep(0)
        budget["status"]["disruptionsAllowed"] += 1
        return await server.ask("PUT", f"{BUDGET_PATH}/b/status", budget)

    return act


def _action(server: Embedded, what: str, number: int, turns: int) -> Callable[[], Awaitable[Answer]]:
    if what == "evict":
        return _eviction(server, number)
    if what == "force":
        return _eviction(server, number, gracePeriodSeconds=0)
    if what == "delete":
        return lambda: server.ask("DELETE", f"{POD_PATH}/p{number}")
    return _recount(server, turns)


@settings(deadline=None, max_examples=examples(60))
@given(allowed=st.integers(0, 3), slow=st.integers(0, 4), coming=arrivals)
def test_no_interleaving_overspends(allowed: int, slow: int, coming: list[tuple[str, int, int]]) -> None:
    asyncio.run(_check(allowed, slow, coming))


async def _check(allowed: int, slow: int, coming: list[tuple[str, int, int]]) -> None:
    async with embedded(slow=slow) as server:
        await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=allowed))
        for number in range(PODS_THERE):
            await server.seed(PODS, a_pod(f"p{number}"))
        answers = await asyncio.gather(
            *(_after(turns, _action(server, what, number, turns)) for what, number, turns in coming)
        )
        codes = [answer.code for answer in answers]
        assert set(codes) <= {200, 201, 404, 409, 429}
        for (what, _, _), answer in zip(coming, answers, strict=True):
            assert answer.code != 409 or what == "recount"
        granted = sum(
            what == "recount" and code == 200 for (what, _, _), code in zip(coming, codes, strict=True)
        )
        budget = server.stored(PODDISRUPTIONBUDGETS, "b")
        assert budget is not None
        spent = len(budget["status"].get("disruptedPods", {}))
        # Every disruption that was ever there is either left or was spent by exactly one pod.
        assert budget["status"]["disruptionsAllowed"] == allowed + granted - spent
        assert budget["status"]["disruptionsAllowed"] >= 0
        _check_pods(server, coming, codes, budget["status"].get("disruptedPods", {}))


def _check_pods(
    server: Embedded, coming: list[tuple[str, int, int]], codes: list[int], disrupted: dict[str, str]
) -> None:
    for number in range(PODS_THERE):
        name = f"p{number}"
        mine = [(what, code) for (what, who, _), code in zip(coming, codes, strict=True) if who == number]
        gone = any(code in {200, 201} for what, code in mine if what != "recount")
        pod = server.stored(PODS, name)
        assert (pod is None or "deletionTimestamp" in pod["metadata"]) is gone
        if name in disrupted:
            assert gone
