"""An interceptor made with the SDK, as users make them."""

from __future__ import annotations

import datetime as dt

from support.eviction_scenarios.behaviour import Act, Behaviour, Deed
from support.eviction_scenarios.calls import Calls
from support.eviction_scenarios.wild import BehaviourOf
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Deps
from vacate.sdk.interceptors.context import EvictionContext
from vacate.sdk.interceptors.controller import interceptor_controllers
from vacate.sdk.interceptors.interceptor import Interceptor
from vacate.sdk.values import Cancellation, Condition, Outcome

A_LONG_TIME = 10_000_000.0
PATIENCE = dt.timedelta(seconds=500)


def tame_controller(name: str, deps: Deps, behaviour: BehaviourOf, calls: Calls) -> Controller:
    """The interceptor as a controller of one process."""

    async def handler(leave: EvictionContext) -> Outcome | None:
        with calls.note(leave.name, leave.request.metadata.uid):
            return await _work(leave, behaviour(leave.pod.metadata.name))

    made = Interceptor(name, handler, progress_within=PATIENCE, attempts=2)
    return interceptor_controllers(deps, [made])[0]


async def _work(leave: EvictionContext, behaviour: Behaviour) -> Outcome | None:
    for act in behaviour:
        await leave.clock.sleep(act.after)
        if act.deed is Deed.DONE:
            return leave.finished()
        if act.deed is Deed.DECLINE:
            return leave.declined("nothing to do")
        await _do(leave, act)
    return None


async def _do(leave: EvictionContext, act: Act) -> None:
    match act.deed:
        case Deed.BEAT:
            await leave.report("still at it", expected_finish=dt.timedelta(minutes=5))
        case Deed.NOTE:
            await leave.report(conditions=[Condition(f"Seen-{leave.name.partition('.')[0]}", True, "Seen")])
        case Deed.FORBID:
            await leave.report(cancellation=Cancellation.FORBID)
        case Deed.ALLOW:
            await leave.report(cancellation=Cancellation.ALLOW)
        case Deed.EVICT:
            await leave.evict()
        case Deed.DELETE:
            await leave.delete(reason="it was told to")
        case Deed.FAIL:
            raise RuntimeError("the backup failed")
        case _:
            await leave.clock.sleep(A_LONG_TIME)
