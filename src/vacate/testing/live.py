"""A cluster that really runs, for tests of synchronous interceptors and of whole programs; time is real.

with running_cluster(tmp_path / "cluster") as cluster, cluster.program(back_up):
    cluster.pod("db", back_up)
    with cluster.requester() as requester:
        assert requester.wait(requester.request("db")).pod_ended
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig
from vacate.client.client import Client
from vacate.clock import SystemClock
from vacate.errors import NotFound
from vacate.eviction.dialects.base import Dialect
from vacate.sdk import EVICTION_REQUEST, Interceptor, serve_interceptors
from vacate.sdk.connection import connected, find_cluster
from vacate.sdk.sync import Requester
from vacate.testing.builders import pod as build_pod
from vacate.testing.kinds import placed

T = TypeVar("T")

_CLOCK = SystemClock()
_POLL_SECONDS = 0.02
_STOP_SECONDS = 60.0


class LiveCluster:
    """The cluster of a kubeconfig. What a test does in it is called as in a SimulatedCluster, and blocks."""

    def __init__(self, kubeconfig: str | Path) -> None:
        self.kubeconfig = Path(kubeconfig)

    def create(self, *objects: Obj) -> None:
        """Create objects of any kind that the embedded cluster serves, in this order."""

        async def ask(client: Client) -> None:
            for obj in objects:
                kind, namespace = placed(obj)
                await client.create(kind, obj, namespace)

        self._call(ask)

    def pod(self, name: str = "web", *interceptors: Interceptor | str, **overrides: Any) -> Obj:
        """A running pod with `app=<name>` that names these interceptors, in the order of their turns.

        The overrides are those of `vacate.testing.pod`.
        """
        names = [one if isinstance(one, str) else one.name for one in interceptors]
        return self.run_pod(build_pod(name, **{"labels": {"app": name}, "interceptors": names, **overrides}))

    def run_pod(self, pod: Obj, timeout: float = 60.0) -> Obj:
        """Create a pod, and return it when it runs; TimeoutError where it does not in time."""
        name, (kind, namespace) = pod["metadata"]["name"], placed(pod)

        async def ask(client: Client) -> Obj:
            await client.create(kind, pod, namespace)
            async with asyncio.timeout(timeout):
                while dig(found := await client.get(kind, name, namespace), "status", "phase") != "Running":
                    await _CLOCK.sleep(_POLL_SECONDS)
            return found

        return self._call(ask)

    def find_pod(self, name: str, namespace: str = "default") -> Obj:
        """The pod; empty where it is gone."""

        async def ask(client: Client) -> Obj:
            try:
                return await client.get(PODS, name, namespace)
            except NotFound:
                return {}

        return self._call(ask)

    def requester(self, name: str = "drain.example.com", *, dialect: Dialect = EVICTION_REQUEST) -> Requester:
        """A blocking requester of that name, by either API, for a `with` block."""
        return Requester(name, kubeconfig=self.kubeconfig, dialect=dialect)

    @contextlib.contextmanager
    def program(self, *interceptors: Interceptor, health_port: int | None = None) -> Iterator[None]:
        """Serve the interceptors for the length of the block, on an event loop in a thread of its own.

        An error that ended them before is raised at the end.
        """
        loop = asyncio.new_event_loop()
        task = loop.create_task(self._serve(interceptors, health_port))
        thread = threading.Thread(target=_run, args=(loop, task), name="interceptors", daemon=True)
        thread.start()
        try:
            yield
        finally:
            loop.call_soon_threadsafe(task.cancel)
            thread.join(_STOP_SECONDS)
            if thread.is_alive():
                raise TimeoutError(f"the interceptors did not stop within {_STOP_SECONDS:g} s")
            loop.close()
        if not task.cancelled():
            task.result()

    def until(self, condition: Callable[[], T], timeout: float = 60.0) -> T:
        """Ask until the answer counts as true, and return it; TimeoutError where it does not in time."""
        ends, pause = _CLOCK.monotonic() + timeout, threading.Event()
        while not (answer := condition()):
            if _CLOCK.monotonic() > ends:
                raise TimeoutError(f"still {answer!r} after {timeout:g} s")
            pause.wait(_POLL_SECONDS)
        return answer

    def _call(self, ask: Callable[[Client], Awaitable[T]]) -> T:
        async def main() -> T:
            async with connected(find_cluster(self.kubeconfig), user_agent="vacate-testing") as client:
                return await ask(client)

        return asyncio.run(main())

    async def _serve(self, interceptors: Sequence[Interceptor], health_port: int | None) -> None:
        async with connected(find_cluster(self.kubeconfig)) as client:
            await serve_interceptors(client, interceptors, health_port=health_port)


def _run(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    """Until the task is over, whatever ends it: that is for the thread of the test to say."""
    loop.run_until_complete(asyncio.wait([task]))
