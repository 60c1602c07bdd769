"""An interceptor without the SDK: reads, patches, and nothing of what the SDK watches over for its users."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from support.eviction_scenarios.behaviour import Action, Behaviour
from support.eviction_scenarios.calls import Calls
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.times import format_exact_time
from vacate.api.types.evictionrequest import FORBID, EvictionRequest
from vacate.errors import ApiError, Conflict, TransportError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome

BehaviourOf = Callable[[str], Behaviour]
"""What to do with the pod of that name."""

_TRIES = 8


class WildInterceptor:
    """Begins a task for each turn that is its own, once in each life."""

    def __init__(
        self, name: str, deps: Dependencies, behaviour: BehaviourOf, calls: Calls, dialect: Dialect
    ) -> None:
        self._name = name
        self._deps = deps
        self._behaviour = behaviour
        self._calls = calls
        self._dialect = dialect
        self.informer = deps.informers.requests(dialect)
        self._begun: dict[str, asyncio.Task[None]] = {}  # by uid of the request

    async def reconcile(self, key: Key) -> Outcome:
        request = self.informer.reader.get(*key)
        if request is not None and self._mine(request) and request.metadata.uid not in self._begun:
            work = self._work(request)
            self._begun[request.metadata.uid] = asyncio.get_running_loop().create_task(work)
        return Done()

    async def close(self) -> None:
        for task in self._begun.values():
            task.cancel()
        if self._begun:
            await asyncio.wait(list(self._begun.values()))

    def _mine(self, request: EvictionRequest) -> bool:
        status = request.status
        return (
            not request.complete
            and status.active_interceptor_name == self._name
            and not status.active_interceptor_completed
        )

    async def _work(self, request: EvictionRequest) -> None:
        ref = request.spec.target.pod_ref
        assert ref is not None
        with self._calls.note(self._name, request.metadata.uid):
            for act in self._behaviour(ref.name):
                await self._deps.clock.sleep(act.after)
                if act.action in (Action.HANG, Action.FAIL):
                    return
                await self._do(act.action, request)

    async def _do(self, action: Action, request: EvictionRequest) -> None:
        """Try a few times; who cannot get through is silent."""
        for _ in range(_TRIES):
            with contextlib.suppress(ApiError, TransportError):
                if await self._once(action, request):
                    return
            await self._deps.clock.sleep(self._deps.entropy.uniform(0.5, 5))

    async def _once(self, action: Action, request: EvictionRequest) -> bool:
        client, meta, ref = self._deps.client, request.metadata, request.spec.target.pod_ref
        dialect = self._dialect
        now = dialect.read(await client.get(dialect.kind, meta.name, meta.namespace, into=dialect.wire))
        if now.metadata.uid != meta.uid or not self._mine(now) or ref is None:
            return True
        if action is Action.EVICT:
            await client.evict(ref.name, meta.namespace, DeleteOptions(uid=ref.uid))
        elif action is Action.DELETE:
            await client.delete(PODS, ref.name, meta.namespace, DeleteOptions(uid=ref.uid))
        else:
            await self._patch(now, self._status(action, now))
        return True

    async def _patch(self, request: EvictionRequest, status: Obj) -> None:
        meta = request.metadata
        guard = {"resourceVersion": meta.resource_version}
        with contextlib.suppress(Conflict):
            change = self._dialect.status_patch({"metadata": guard, "status": status})
            kind = self._dialect.kind
            await self._deps.client.patch(kind, meta.name, change, meta.namespace, subresource="status")
            return
        raise TransportError("somebody was quicker")

    def _status(self, action: Action, request: EvictionRequest) -> Obj:
        if action in (Action.DONE, Action.DECLINE):
            return {"activeInterceptorCompleted": True}
        stored, now = request.status.heartbeat_time, self._deps.clock.now()
        status: Obj = {"heartbeatTime": format_exact_time(max(now, stored or now)), "message": action.value}
        if action is Action.FORBID:
            status["evictionRequestCancellationPolicy"] = FORBID
        elif action is Action.ALLOW:
            status["evictionRequestCancellationPolicy"] = "Allow"
        elif action is Action.NOTE:
            status["conditions"] = self._with_note(request)
        return status

    def _with_note(self, request: EvictionRequest) -> list[Obj]:
        type_ = f"Seen-{self._name.partition('.')[0]}"
        note = {"type": type_, "status": "True", "reason": "Seen", "message": "", "lastTransitionTime": None}
        note["lastTransitionTime"] = format_exact_time(self._deps.clock.now())
        others = [_condition(one) for one in request.status.conditions if one.type != type_]
        return [*others, note]


def _condition(one: Any) -> Obj:
    return {
        "type": one.type,
        "status": one.status,
        "reason": one.reason,
        "message": one.message,
        "lastTransitionTime": format_exact_time(one.last_transition_time),
    }


class RawController(Controller):
    """Takes the tasks along when it stops."""

    def __init__(
        self,
        name: str,
        deps: Dependencies,
        behaviour: BehaviourOf,
        calls: Calls,
        dialect: Dialect = EVICTION_REQUEST,
    ) -> None:
        self._wild = WildInterceptor(name, deps, behaviour, calls, dialect)
        super().__init__(name, self._wild, [Source(self._wild.informer)], deps)

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            await self._wild.close()
