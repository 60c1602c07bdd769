"""Backs a database up before its pod is evicted."""

import asyncio
from datetime import timedelta

from vacate.sdk import EvictionContext, interceptor, run_interceptors


@interceptor("backup.example.com", label_selector="app=db")
async def back_up(context: EvictionContext) -> None:
    pod = context.pod.metadata.name
    await context.report(f"Backing {pod} up", expected_finish=timedelta(seconds=2))
    for part in range(1, 5):
        await asyncio.sleep(0.5)  # in place of the work
        print(f"{pod}: {part} of 4 parts are safe", flush=True)


run_interceptors(back_up)
