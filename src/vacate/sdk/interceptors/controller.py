"""Interceptors as controllers: which requests belong to which, and a pool of the turns in progress."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from vacate.api.selectors.labels import parse_selector
from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.informer import Informer
from vacate.errors import ConfigError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import dialect_named
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome
from vacate.sdk.interceptors.interceptor import Interceptor
from vacate.sdk.interceptors.turnrunner import TurnRunner
from vacate.sdk.turnstate import is_newer, is_terminating, is_turn_of

log = logging.getLogger(__name__)

RECHECK_AFTER = 1.0
"""Seconds after a turn that was ended from outside until its request is looked at once more."""


class TurnPool:
    """The turns that are being worked on, at most so many at once; the others wait in the order they came."""

    def __init__(self, interceptor: Interceptor, deps: Dependencies) -> None:
        self._interceptor = interceptor
        self._deps = deps
        self._slots = asyncio.Semaphore(interceptor.concurrency)
        self._open: dict[
            Key, tuple[TurnRunner, asyncio.Task[None]]
        ] = {}  # begun or waiting, and not yet over
        # Turns that are over, each with the request as it was when that was seen: caches may be behind.
        self._known: dict[Key, EvictionRequest] = {}
        self.requeue: Callable[[Key], None] = lambda key: None

    def __len__(self) -> int:
        return len(self._open)

    def get(self, key: Key) -> TurnRunner | None:
        """The work on a request, if there is any."""
        found = self._open.get(key)
        return found[0] if found else None

    def begin(self, key: Key, request: EvictionRequest) -> None:
        """Work on the request as soon as a slot is free."""
        work = TurnRunner(self._interceptor, request, self._deps)
        task = asyncio.get_running_loop().create_task(
            self._in_turn(work), name=f"{self._interceptor.name} {key}"
        )
        self._open[key] = (work, task)
        task.add_done_callback(lambda done: self._over(key, work, done))

    def is_old(self, key: Key, request: EvictionRequest | None) -> bool:
        """Whether the request is from before the end of a turn on it, which the cache has yet to learn of."""
        known = self._known.get(key)
        if known is not None and request is not None and not is_newer(request, known):
            return True
        self._known.pop(key, None)
        return False

    async def close(self) -> None:
        """Cancel all handlers and wait until they are gone. Turns are kept, for the next start."""
        tasks = [task for _, task in self._open.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _in_turn(self, work: TurnRunner) -> None:
        async with self._slots:
            if work.status_writer.ended is None:
                await work.run()

    def _over(self, key: Key, work: TurnRunner, task: asyncio.Task[None]) -> None:
        self._open.pop(key, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s: %s: internal error", self._interceptor.name, key, exc_info=error)
        if work.status_writer.ended is not None:
            self._known[key] = work.status_writer.request
            self.requeue(key)  # a new request of the same name may have come meanwhile


class TurnReconciler:
    """Starts work on the requests whose turn it is, and passes later states of a request to its turn."""

    def __init__(self, interceptor: Interceptor, informer: Informer[EvictionRequest], pool: TurnPool) -> None:
        self._name = interceptor.name
        self._pod_uid = interceptor.pod_uid
        self._requests = informer.reader
        self._pool = pool

    async def reconcile(self, key: Key) -> Outcome:
        """Look at one request."""
        request = self._requests.get(key.namespace, key.name)
        work = self._pool.get(key)
        if work is not None:
            # A request that left the cache may have lost its labels only: the server knows.
            work.status_writer.see(request if request is not None else await work.status_writer.read())
        elif not self._pool.is_old(key, request) and _is_open(request, self._name, self._pod_uid):
            self._pool.begin(key, request)
        return Done()


def _is_open(request: EvictionRequest | None, name: str, pod_uid: str) -> TypeGuard[EvictionRequest]:
    if request is None or not is_turn_of(request, name) or is_terminating(request):
        return False
    return not pod_uid or request.pod_uid == pod_uid


class InterceptorController(Controller):
    """A controller that takes its handlers with it when it stops."""

    def __init__(
        self, name: str, reconciler: TurnReconciler, source: Source[Any], deps: Dependencies, pool: TurnPool
    ) -> None:
        super().__init__(name, reconciler, [source], deps)
        self.pool = pool
        pool.requeue = lambda key: self.queue.add_after(key, RECHECK_AFTER)

    async def run(self) -> None:
        """Work until cancelled; handlers are cancelled too, and their turns kept."""
        try:
            await super().run()
        finally:
            await self.pool.close()


def build(
    deps: Dependencies, interceptor: Interceptor, dialect: Dialect = EVICTION_REQUEST
) -> InterceptorController:
    """One interceptor as a controller over the requests of one API, to be run by a Manager."""
    interceptor = _of_api(interceptor, dialect)
    informer = deps.informers.requests(
        dialect,
        namespace=interceptor.namespace,
        label_selector=dialect.requests_of(interceptor.name, interceptor.label_selector),
        field_selector=_name_selector(interceptor.pod_uid, dialect),
    )
    pool = TurnPool(interceptor, deps)
    reconciler = TurnReconciler(interceptor, informer, pool)
    return InterceptorController(interceptor.name, reconciler, Source(informer), deps, pool)


def _of_api(interceptor: Interceptor, dialect: Dialect) -> Interceptor:
    """The interceptor under the name that it has in that API; pods are selected where requests cannot be."""
    named = replace(interceptor, name=dialect.participant(interceptor.name))
    selector = interceptor.label_selector
    if not selector or dialect.requests_of(named.name, selector) == selector:
        return named
    chosen, wanted = parse_selector(selector), interceptor.matches

    def matches(pod: Pod) -> bool:
        return chosen.matches(pod.metadata.labels) and (wanted is None or wanted(pod))

    return replace(named, matches=matches)


def _name_selector(pod_uid: str, dialect: Dialect) -> str:
    """The request of the one pod that is served, where its name follows from the pod's UID alone."""
    by_uid = bool(pod_uid) and dialect.request_name("", pod_uid) == pod_uid
    return f"metadata.name={pod_uid}" if by_uid else ""


def interceptor_controllers(
    deps: Dependencies, interceptors: Sequence[Interceptor]
) -> tuple[InterceptorController, ...]:
    """All interceptors of a program, for a Manager: no threads, and no clock but the injected one."""
    seen: dict[tuple[str, ...], None] = {}
    for one in interceptors:
        selection = (one.name, one.namespace, one.label_selector, one.pod_uid)
        if selection in seen and one.matches is None:
            raise ConfigError(f"interceptor {one.name} is registered twice for the same pods")
        seen[selection] = None
    return tuple(build(deps, one, dialect_named(api)) for one in interceptors for api in one.apis)
