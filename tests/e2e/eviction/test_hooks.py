"""Hooks on either cluster: a real process, real HTTP, and the account of an installation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.evictions.namespace import EvictionNamespace, turns
from support.processes.hooks import HookService, hook_service, hooks_process
from vacate.eviction.dialects.turn_conditions import failed_type
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR, TARGET
from vacate.sdk import TurnResult


@pytest.fixture
async def service() -> AsyncIterator[HookService]:
    async with hook_service() as running:
        yield running


def allow_list(place: EvictionNamespace, service: HookService) -> dict[str, object]:
    target = {"name": "flush", "url": service.url, "namespaces": [place.namespace], "allowPaths": True}
    return {"targets": [target]}


@pytest.mark.thorough(beyond=1)
@pytest.mark.both_dialects
async def test_a_pod_waits_for_its_hook_across_a_crash(
    place: EvictionNamespace, service: HookService, tmp_path: Path
) -> None:
    pod = await place.pod("db", HOOKS_INTERCEPTOR, annotations={TARGET: "flush/now"})
    with hooks_process(place, tmp_path, allow_list(place, service)) as program:
        await place.ask(pod)
        message = "Hook flush: flushing (40 %)"
        await place.until_request(pod, lambda one: one.status.message == message, "the hook reports")
        await place.stays(pod)
        program.kill()
        program.start()
        before = len(service.calls)

        async def called() -> bool:
            return len(service.calls) > before

        await place.until(called, "it is called again")
        await place.stays(pod)
        service.status = 200
        over = await place.until_complete(pod)
    assert turns(over) == [(HOOKS_INTERCEPTOR, TurnResult.COMPLETED)]
    assert len(service.keys()) == 1
    assert {(one["pod"]["name"], one["pod"]["uid"]) for one in service.calls} == {
        ("db", pod["metadata"]["uid"])
    }
    assert service.calls[0]["request"]["kind"] == place.dialect.kind.kind


@pytest.mark.thorough
async def test_refusals_and_foreign_addresses_are_failures(
    place: EvictionNamespace, service: HookService, tmp_path: Path
) -> None:
    service.status = 403
    refused = await place.pod("refused", HOOKS_INTERCEPTOR, annotations={TARGET: "flush"})
    foreign = await place.pod("foreign", HOOKS_INTERCEPTOR, annotations={TARGET: service.url})
    with hooks_process(place, tmp_path, allow_list(place, service)):
        for pod, why in ((refused, "has refused: HTTP status 403"), (foreign, "names no target")):
            await place.ask(pod)
            over = await place.until_complete(pod)
            assert turns(over) == [(HOOKS_INTERCEPTOR, TurnResult.FAILED)]
            failed = failed_type(HOOKS_INTERCEPTOR)
            assert why in next(one.message for one in over.status.conditions if one.type == failed)
    assert len(service.calls) == 1


@pytest.mark.thorough
async def test_the_hook_learns_of_a_cancelled_request(
    place: EvictionNamespace, service: HookService, tmp_path: Path
) -> None:
    pod = await place.pod("kept", HOOKS_INTERCEPTOR, annotations={TARGET: "flush"})
    with hooks_process(place, tmp_path, allow_list(place, service)):
        await place.requester().request("kept")

        async def called() -> bool:
            return bool(service.calls)

        await place.until(called, "the hook is called")
        await place.requester().withdraw("kept")

        async def cancelled() -> bool:
            return "Cancel" in service.actions()

        await place.until(cancelled, "the hook learns of the cancellation")
        await place.stays(pod)
