"""Requests the eviction of a pod and waits for the result: python evict.py POD NAMESPACE."""

import sys

from vacate.sdk.sync import Requester

pod, namespace = sys.argv[1:3]

with Requester("example.vacate.dev") as requester:
    request = requester.request(pod, namespace, reason="to show how it is done")
    print(f"requested the eviction of pod {pod}", flush=True)
    result = requester.wait(request)
    for turn in result.history:
        print(f"{turn.interceptor}: {turn.result}", flush=True)
    print(f"pod {pod} is gone" if result.pod_ended else f"pod {pod} stays: {result.message}", flush=True)
