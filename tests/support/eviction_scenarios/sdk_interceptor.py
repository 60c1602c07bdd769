"""An interceptor made with the SDK, as users make them."""

from __future__ import annotations

import datetime as dt

from support.eviction_scenarios.behaviour import Action, Behaviour, TimedAction
from support.eviction_scenarios.calls import Calls
from support.eviction_scenarios.raw_interceptor import BehaviourOf
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.interceptors.controller import interceptor_controllers
from vacate.sdk.interceptors.interceptor import Interceptor
from vacate.sdk.values import Cancellation, Condition, Outcome

A_LONG_TIME = 10_000_000.0
TIMEOUT = dt.timedelta(seconds=500)


def sdk_controller(
    name: str, deps: Dependencies, behaviour: BehaviourOf, calls: Calls, dialect: Dialect = EVICTION_REQUEST
) -> Controller:
    """The interceptor as a controller of one process."""

    async def handler(context: EvictionContext) -> Outcome | None:
        with calls.note(context.name, context.request.metadata.uid):
            return await _work(context, behaviour(context.pod.metadata.name))

    apis = (dialect.kind.singular,)
    made = Interceptor(name, handler, progress_within=TIMEOUT, attempts=2, apis=apis)
    return interceptor_controllers(deps, [made])[0]


async def _work(context: EvictionContext, behaviour: Behaviour) -> Outcome | None:
    for act in behaviour:
        await context.clock.sleep(act.after)
        if act.action is Action.DONE:
            return context.finished()
        if act.action is Action.DECLINE:
            return context.declined("nothing to do")
        await _do(context, act)
    return None


async def _do(context: EvictionContext, act: TimedAction) -> None:
    match act.action:
        case Action.BEAT:
            await context.report("still at it", expected_finish=dt.timedelta(minutes=5))
        case Action.NOTE:
            await context.report(
                conditions=[Condition(f"Seen-{context.name.partition('.')[0]}", True, "Seen")]
            )
        case Action.FORBID:
            await context.report(cancellation=Cancellation.FORBID)
        case Action.ALLOW:
            await context.report(cancellation=Cancellation.ALLOW)
        case Action.EVICT:
            await context.evict()
        case Action.DELETE:
            await context.delete(reason="the scenario says so")
        case Action.FAIL:
            raise RuntimeError("the backup failed")
        case _:
            await context.clock.sleep(A_LONG_TIME)
