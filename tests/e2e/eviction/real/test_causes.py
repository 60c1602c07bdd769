"""The webhook is away, then every manager, on a real control plane: each command says so, with what helps."""

from __future__ import annotations

import asyncio

import pytest

from support.evictions.namespace import EvictionNamespace
from support.realcluster.evictions import RealCluster

WEBHOOK_AWAY = ("failed calling webhook", "get pods -l app.kubernetes.io/component=webhook")
NO_MANAGER = ("No manager works", "get pods")


@pytest.mark.timeout(240)
async def test_commands_name_a_webhook_and_managers_that_are_away(
    place: EvictionNamespace, real: RealCluster
) -> None:
    app = place.namespace
    pod = await place.pod("p", labels={"app": app})
    drain = (
        "drain",
        pod["spec"]["nodeName"],
        "--force",
        "--ignore-daemonsets",
        "--pod-selector",
        f"app={app}",
    )

    async def shown(*arguments: str) -> str:
        done = await place.vacate(*arguments)
        return " ".join(f"{done.out} {done.err}".split())

    async def each(*commands: tuple[str, ...], expected: tuple[str, ...]) -> None:
        for one in commands:
            text = await shown(*one)
            assert all(part in text for part in expected), (one, text)

    real.webhook.kill()
    try:
        await each((*drain, "--timeout", "10s"), ("evict", "p", "--wait"), expected=WEBHOOK_AWAY)
        await each(("status",), ("explain", "p"), expected=WEBHOOK_AWAY)
    finally:
        real.start_webhook()
    done = await place.vacate("drain", "--follow", f"drain-{pod['spec']['nodeName']}", "--timeout", "60s")
    assert done.code == 0, done
    await place.gone(pod)
    await place.vacate("uncordon", pod["spec"]["nodeName"])

    pod = await place.pod("q", labels={"app": app}, nodeName=pod["spec"]["nodeName"])
    for one in real.managers:
        one.kill()
    try:
        async with asyncio.timeout(60):
            while "No manager works" not in await shown("status"):  # noqa: ASYNC110  by the Lease's times
                await asyncio.sleep(0.5)
        waits = ("evict", "q", "--wait", "--timeout", "10s")
        await each((*drain, "--timeout", "10s"), waits, ("explain", "q"), expected=NO_MANAGER)
    finally:
        real.start_managers()
    done = await place.vacate("drain", "--follow", f"drain-{pod['spec']['nodeName']}", "--timeout", "60s")
    assert done.code == 0, done
    await place.vacate("uncordon", pod["spec"]["nodeName"])
