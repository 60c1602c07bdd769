"""Backs a database up before its pod is evicted."""

import asyncio
from datetime import timedelta

from vacate.sdk import Declined, EvictionContext, interceptor, run_interceptors


@interceptor("backup.example.com", label_selector="app=db")
async def back_up(context: EvictionContext) -> Declined | None:
    if "ephemeral" in context.pod.metadata.labels:
        return context.declined("it has no data")
    await context.report("Backing up", expected_finish=timedelta(seconds=2))
    await asyncio.sleep(2)  # in place of the work
    return None


if __name__ == "__main__":
    # In the namespace of the pod that it runs in, for which its Role is.
    run_interceptors(back_up, namespace="", health_port=8080)
