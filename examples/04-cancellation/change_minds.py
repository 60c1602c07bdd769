"""Requests the eviction of two pods, and cancels it: python change_minds.py NAMESPACE."""

import sys

from vacate.sdk import CancellationForbidden
from vacate.sdk.sync import Requester

namespace = sys.argv[1]

with Requester("example.vacate.dev") as requester:
    for pod, message in (("chat", "Users finish their talk"), ("ledger", "Closing the books")):
        request = requester.request(pod, namespace)
        for now in requester.follow(request):
            if now.status.message == message:  # the interceptor is at work
                break
        try:
            if requester.withdraw(request):
                print(f"requester: the eviction of {pod} is cancelled", flush=True)
        except CancellationForbidden as error:
            print(f"requester: {error}", flush=True)
        result = requester.wait(request)
        print(f"{pod}: {result.message}", flush=True)
