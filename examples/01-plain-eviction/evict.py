"""Asks that a pod leave, and waits until it has: python evict.py POD NAMESPACE."""

import sys

from vacate.sdk.sync import Requester

pod, namespace = sys.argv[1:3]

with Requester("example.vacate.dev") as requester:
    request = requester.request(pod, namespace, reason="to show how it is done")
    print(f"asked that pod {pod} leave", flush=True)
    result = requester.wait(request)
    for turn in result.history:
        print(f"{turn.interceptor}: {turn.result}", flush=True)
    print(f"pod {pod} has left" if result.left else f"pod {pod} stays: {result.message}", flush=True)
