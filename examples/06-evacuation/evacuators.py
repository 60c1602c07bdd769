"""Two evacuators of a pod: one knows the application, the other is the fallback. Both serve both APIs."""

import asyncio

from vacate.sdk import EvictionContext, Finished, interceptor, run_interceptors

BOTH = ("evictionrequest", "evacuation")


@interceptor("handover.example.com", label_selector="app=orders", apis=BOTH)
async def hand_over(context: EvictionContext) -> Finished:
    # From here on the handover cannot be undone: instigators may go, and the evacuation goes on.
    await context.report("Orders are handed over", cancellation="Forbid")
    print(f"handover: asked by an {context.request.kind.kind}", flush=True)
    await asyncio.sleep(0.5)  # in place of the work
    return context.finished("every order is handed over")


@interceptor("fallback.example.com", label_selector="app=orders", apis=BOTH)
async def fall_back(context: EvictionContext) -> Finished:
    print("fallback: nothing is left to do", flush=True)
    return context.finished("nothing was left to do")


run_interceptors(hand_over, fall_back)
