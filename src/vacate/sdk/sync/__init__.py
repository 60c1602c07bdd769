"""The SDK for plain functions and scripts: the same words, and calls that return when they are done.

from vacate.sdk.sync import Requester

with Requester("drain.example.com") as requester:
    requester.request("web-1", "default", reason="the node is replaced")
    print(requester.wait("web-1", "default").message)

from vacate.sdk.sync import interceptor, run_interceptors

@interceptor("backup.example.com", label_selector="app=db")
def back_up(context):                  # runs in a thread of its own
    context.report("Backing up")
    for part in parts:
        context.check()                # raises TurnLost when the turn is over
        copy(part)

run_interceptors(back_up)
"""

from __future__ import annotations

from vacate.sdk.interceptors.program import run_interceptors
from vacate.sdk.sync.interceptors import EvictionContext, SyncHandler, interceptor, threaded
from vacate.sdk.sync.requesters import Requester, SustainedRequest

__all__ = [
    "EvictionContext",
    "Requester",
    "SustainedRequest",
    "SyncHandler",
    "interceptor",
    "run_interceptors",
    "threaded",
]
