"""Tools that know nothing of interceptors, on an embedded and on a real cluster: they wait, and exit 0."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from support.evictions.drain_queues import ClusterAutoscaler, Karpenter
from support.evictions.namespace import EvictionNamespace, reason, turns
from support.kubectl import Kubectl
from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.eviction.callers import CALLERS
from vacate.sdk import EvictionContext, Interceptor, TurnResult

FIRST, LAST = "first.example.com", "last.example.com"
DONE = TurnResult.COMPLETED


class Preparation:
    """Two interceptors; the first waits until the test lets it go on."""

    def __init__(self, place: EvictionNamespace) -> None:
        self._place = place
        self.began = asyncio.Event()
        self.released = asyncio.Event()
        self.order: list[str] = []

    async def first(self, context: EvictionContext) -> None:
        self.order.append(FIRST)
        await context.report("copied 40 %")
        self.began.set()
        await self.released.wait()

    async def last(self, context: EvictionContext) -> None:
        self.order.append(LAST)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        namespace = self._place.namespace
        both = (
            Interceptor(FIRST, self.first, namespace=namespace),
            Interceptor(LAST, self.last, namespace=namespace),
        )
        async with self._place.serving(*both):
            yield


class Drain:
    """kubectl drain under way."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._heard: list[str] = []

    async def until_printed(self, words: str) -> None:
        """Return when it has printed them as an error: it asks every five seconds."""
        await asyncio.to_thread(self._read_until, words)

    def _read_until(self, words: str) -> None:
        assert self._process.stderr is not None
        while words not in "".join(self._heard):
            line = self._process.stderr.readline()
            assert line, f"it has ended: {self._heard}"
            self._heard.append(line)

    async def result(self) -> tuple[str, str]:
        """What it printed, once it has exited with 0."""
        out, err = await asyncio.to_thread(self._process.communicate, timeout=100)
        err = "".join(self._heard) + err
        assert self._process.returncode == 0, out + err
        return out, err


@contextlib.asynccontextmanager
async def draining(place: EvictionNamespace, kubectl: Kubectl, node: str) -> AsyncIterator[Drain]:
    """kubectl drain, of this test's pods alone. The node takes pods again afterwards."""
    options = f"--pod-selector=app={place.namespace} --force --ignore-daemonsets --timeout=90s"
    process = kubectl.start(f"drain {node} {options}")
    try:
        yield Drain(process)
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        await place.client.patch(NODES, node, {"spec": {"unschedulable": None}})


async def prepared_pod(place: EvictionNamespace) -> Obj:
    return await place.pod("db-0", LAST, FIRST, labels={"app": place.namespace})


async def test_kubectl_drain_waits_for_interceptors_in_order_and_exits_0(
    place: EvictionNamespace, kubectl: Kubectl
) -> None:
    pod, preparation = await prepared_pod(place), Preparation(place)
    async with preparation.serving(), draining(place, kubectl, pod["spec"]["nodeName"]) as drain:
        await preparation.began.wait()
        request = await place.request(pod)
        assert len(request.spec.requesters) == 1
        assert request.spec.requesters[0].name.endswith(".bridge.vacate.dev")
        await drain.until_printed("It says: copied 40 %.")
        await place.stays(pod)
        preparation.released.set()
        out, err = await drain.result()
    assert "drained" in out, err
    assert "error when evicting" in err
    assert "will retry after 5s" in err
    assert f"Intercepting: pod/db-0 is waiting for interceptor {FIRST} (1 of 2), last heartbeat" in err
    assert "It says: copied 40 %." in err
    assert preparation.order == [FIRST, LAST]
    await place.gone(pod)
    ended = await place.until_complete(pod)
    assert turns(ended) == [(FIRST, DONE), (LAST, DONE)]


@pytest.mark.thorough
async def test_an_interrupted_drain_is_withdrawn_and_the_pod_stays(
    place: EvictionNamespace, kubectl: Kubectl
) -> None:
    pod, preparation = await prepared_pod(place), Preparation(place)
    async with preparation.serving():
        async with draining(place, kubectl, pod["spec"]["nodeName"]):
            await preparation.began.wait()
        ended = await place.until_complete(pod)
        assert reason(ended, "Complete") == "Cancelled"
        assert ended.spec.requesters == []
        assert CALLERS not in ended.metadata.annotations
        assert [one.uid for one in ended.metadata.owner_references] == [pod["metadata"]["uid"]]
        await place.stays(pod)


async def test_a_pod_that_returns_under_its_name_is_not_evicted_by_the_old_drain(
    place: EvictionNamespace, kubectl: Kubectl
) -> None:
    pod, preparation = await prepared_pod(place), Preparation(place)
    async with preparation.serving(), draining(place, kubectl, pod["spec"]["nodeName"]) as drain:
        await preparation.began.wait()
        await place.client.delete(PODS, "db-0", place.namespace, DeleteOptions(grace_period_seconds=1))
        await place.gone(pod)
        again = await prepared_pod(place)
        assert again["spec"]["nodeName"] != pod["spec"]["nodeName"]
        out, err = await drain.result()
    assert "drained" in out, err
    await place.stays(again)
    assert not [one for one in await place.requests() if one.metadata.name == again["metadata"]["uid"]]


@pytest.mark.parametrize("made", [Karpenter, ClusterAutoscaler])
async def test_queues_of_autoscalers_wait(
    place: EvictionNamespace, made: Callable[[Any], Karpenter | ClusterAutoscaler]
) -> None:
    pod, preparation = await prepared_pod(place), Preparation(place)
    queue = made(place.client)
    async with preparation.serving():
        evicting = asyncio.create_task(queue.evict(pod))
        await preparation.began.wait()
        heard = len(queue.heard)
        while len(queue.heard) < heard + 2:  # noqa: ASYNC110 - it asks again while the interceptor works
            await asyncio.sleep(0.1)
        await place.stays(pod)
        preparation.released.set()
        await evicting
    await place.gone(pod)
    assert {error.status_code for error in queue.heard} == {429}
    assert all(error.has_cause("EvictionRequest") for error in queue.heard)
    assert all(error.retry_after_seconds is None for error in queue.heard)
    assert f"waiting for interceptor {FIRST} (1 of 2)" in queue.messages
    assert preparation.order == [FIRST, LAST]


@pytest.mark.thorough
async def test_an_autoscaler_that_gives_up_is_withdrawn(place: EvictionNamespace) -> None:
    pod, preparation = await prepared_pod(place), Preparation(place)
    async with preparation.serving():
        assert not await ClusterAutoscaler(place.client).evict(pod, at_most=3.0)
        assert reason(await place.until_complete(pod), "Complete") == "Cancelled"
    await place.stays(pod)


async def test_a_server_dry_run_of_a_drain_changes_nothing(
    place: EvictionNamespace, kubectl: Kubectl
) -> None:
    pod = await prepared_pod(place)
    node, selector = pod["spec"]["nodeName"], f"--pod-selector=app={place.namespace}"
    done = await asyncio.to_thread(
        kubectl, f"drain {node} {selector} --force --ignore-daemonsets --dry-run=server"
    )
    done.printed("evicting pod", "drained (server dry run)")
    assert await place.requests() == []
    await place.stays(pod)
