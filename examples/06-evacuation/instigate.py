"""Evacuates a pod, in the names of two instigators: python instigate.py POD NAMESPACE."""

import sys

from vacate.sdk import EVACUATION
from vacate.sdk.sync import Requester

pod, namespace = sys.argv[1:3]

with (
    Requester("maintenance.example.com", dialect=EVACUATION) as maintenance,
    Requester("descheduler.example.com", dialect=EVACUATION) as descheduler,
):
    maintenance.request(pod, namespace, reason="the node is replaced")
    evacuation = descheduler.request(pod, namespace)
    for finalizer in evacuation.metadata.finalizers:
        print(f"finalizer: {finalizer}", flush=True)
    result = maintenance.wait(evacuation)
    for turn in result.history:
        print(f"{turn.interceptor}: {turn.result}", flush=True)
    print(f"pod {pod} is gone" if result.pod_ended else f"pod {pod} stays: {result.message}", flush=True)
