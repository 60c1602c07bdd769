"""One interceptor that lets people change their minds, and one that does not once it has begun."""

import asyncio

from vacate.sdk import Cancellation, EvictionContext, interceptor, run_interceptors


@interceptor("polite.example.com", cancellation=Cancellation.ALLOW)
async def notify_users(context: EvictionContext) -> None:
    print("polite: users are told that the chat will close", flush=True)
    await context.report("Users finish their talk")
    try:
        await asyncio.sleep(3600)  # in place of their talk
    except asyncio.CancelledError:
        print(f"polite: users are told that it stays open after all: {context.end_reason}", flush=True)
        raise


@interceptor("strict.example.com", cancellation=Cancellation.FORBID)
async def close_books(context: EvictionContext) -> None:
    print("strict: the books are being closed, which cannot be undone", flush=True)
    await context.report("Closing the books")
    await asyncio.sleep(5)  # in place of the work
    print("strict: the books are closed", flush=True)


run_interceptors(notify_users, close_books)
