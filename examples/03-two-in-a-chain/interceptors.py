"""Two interceptors of a pod: first its traffic goes elsewhere, then its logs are archived."""

import asyncio

from vacate.sdk import EvictionContext, Finished, interceptor, run_interceptors


@interceptor("traffic.example.com", label_selector="app=shop")
async def move_traffic(context: EvictionContext) -> Finished:
    for share in (100, 50, 0):
        await context.report(f"{share} % of the traffic still comes here")
        print(f"traffic: {share} %", flush=True)
        await asyncio.sleep(0.3)  # in place of the work
    return context.finished("no traffic any more")


@interceptor("archive.example.com", label_selector="app=shop")
async def keep_logs(context: EvictionContext) -> None:
    print("archive: the logs are kept", flush=True)
    await context.evict()
    print("archive: the pod is evicted", flush=True)


run_interceptors(move_traffic, keep_logs)
