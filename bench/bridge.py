"""What the eviction bridge costs a caller, with and without the check whether that caller may evict.

    python -m bench.bridge [--pods 100]

A real control plane, and the webhook as its own account. Two callers evict pods with an interceptor in turn,
each pod once and once more: a service account, whose first eviction of a pod is sent again as a dry run
before its request is made, and an administrator of everything, whose is not. Both get 429; no manager runs.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.kube_cluster import Kube, cluster

from vacate.api.kinds import EVICTIONREQUESTS, NAMESPACES, PODS
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.errors import TooManyRequests
from vacate.eviction.registration import PREFIXES
from vacate.testing import pod

_HERE, _ACCOUNT = "bench", "evictor"


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    try:
        await call()
    except TooManyRequests as error:
        if not error.has_cause("EvictionRequest"):
            raise
    return (time.perf_counter() - began) * 1000


async def measure(kube: Kube, account: Path, count: int) -> dict[str, list[float]]:
    """Milliseconds of each eviction, by what was measured."""
    admin, caller = (
        Client(HttpTransport(load_cluster([path]), SystemClock())) for path in (kube.kubeconfig, account)
    )
    found: dict[str, list[float]] = {}
    try:
        turns = {f"{PREFIXES[0]}/priority_flush.example.com": "10"}
        for number in range(2 * count + 2):
            made = pod(f"p-{number}", namespace=_HERE)
            made["metadata"]["annotations"] = turns
            await admin.create(PODS, made, _HERE)
        for number in range(2 * count + 2):
            name, checked = f"p-{number}", number % 2
            client, title = (caller, "with the check") if checked else (admin, "without")
            first = await _timed(lambda: client.evict(name, _HERE))  # noqa: B023  called at once
            again = await _timed(lambda: client.evict(name, _HERE))  # noqa: B023
            read = await _timed(lambda: client.get(PODS, name, _HERE))  # noqa: B023
            if number > 1:  # connections are open by then
                for key, value in ((f"first attempt, {title}", first), (f"retry, {title}", again)):
                    found.setdefault(key, []).append(value)
                found.setdefault("GET of a pod", []).append(read)
        made_for = len((await admin.list(EVICTIONREQUESTS, _HERE)).items)
        assert made_for == 2 * count + 2, made_for
        return found
    finally:
        await admin.aclose()
        await caller.aclose()


def main() -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=100)
    count = parser.parse_args().pods
    with cluster(1, webhook=True, bridge=True) as kube, tempfile.TemporaryDirectory() as folder:
        kube.run("create", NAMESPACES.singular, _HERE)
        kube.run("create", "serviceaccount", _ACCOUNT, "-n", _HERE)
        kube.run(
            "create", "role", _ACCOUNT, "-n", _HERE, "--verb=create,get", "--resource=pods/eviction,pods"
        )
        account = f"--serviceaccount={_HERE}:{_ACCOUNT}"
        kube.run("create", "rolebinding", _ACCOUNT, "-n", _HERE, f"--role={_ACCOUNT}", account)
        found = asyncio.run(measure(kube, kube.account(Path(folder), _ACCOUNT, _HERE), count))
    for title, values in found.items():
        ordered = sorted(values)
        print(
            f"{title}: median {statistics.median(ordered):.1f} ms, least {ordered[0]:.1f} ms, "
            f"p95 {ordered[len(ordered) * 95 // 100]:.1f} ms ({len(ordered)})"
        )


if __name__ == "__main__":
    main()
