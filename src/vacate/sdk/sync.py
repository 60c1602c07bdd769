"""The SDK for plain functions and scripts: the same words, and calls that return when they are done.

from vacate.sdk.sync import Requester

with Requester("drain.example.com") as requester:
    requester.ask("web-1", "default", because="the node is replaced")
    print(requester.wait("web-1", "default").message)

from vacate.sdk.sync import interceptor, run_interceptors

@interceptor("backup.example.com", label_selector="app=db")
def back_up(leave):                  # runs in a thread of its own
    leave.report("Backing up")
    for part in parts:
        leave.check()                # raises TurnLost when the pod is no longer to leave
        copy(part)

run_interceptors(back_up)
"""

from __future__ import annotations

from vacate.sdk.program import run_interceptors
from vacate.sdk.sync_interceptor import PlainHandler, PlainLeave, interceptor, threaded
from vacate.sdk.sync_requester import PlainInsistence, Requester

__all__ = [
    "PlainHandler",
    "PlainInsistence",
    "PlainLeave",
    "Requester",
    "interceptor",
    "run_interceptors",
    "threaded",
]
