"""What EvictionRequests cost: requests a second, writes, hand-overs; memory and start of a manager.

    python -m bench.evictionrequest [--small] [--requests N] [--stock N] [--only flow|stock]

The embedded server, the manager and the interceptors (by the SDK) are processes of their own, over HTTPS. The
limit beside each figure is what a bare client reaches in the same run with the same writes on 16 connections.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import orjson
from bench.evictionrequest_flow import (
    NAMESPACE,
    PODS,
    Follower,
    Writer,
    connected,
    following,
    side_by_side,
)
from bench.evictionrequest_processes import Started, manager, server, started, sum_of
from bench.evictionrequest_stock import fill

from bench import load
from vacate.api.objects import Obj

INTERCEPTORS = (0, 1, 3)
WARM_UP = 40
ALONE = 60  # requests that go one after the other, to see what a hand-over takes at rest
_READS = ('verb="get"', 'verb="list"', 'verb="watch"')
_ASIDE = ('resource="events"', 'resource="leases"')


@dataclass(frozen=True)
class Row:
    """What was seen with a number of interceptors."""

    interceptors: int
    rate: float
    writes: float  # for each request
    events: float  # likewise
    cpu: dict[str, float]  # seconds of each process, likewise
    busy: list[float]  # seconds of hand-overs while as many requests as can be are on their way
    alone: list[float]  # likewise, one request at a time


def names(count: int) -> list[str]:
    return [f"{'abcdefgh'[number]}.bench.example.com" for number in range(count)]


async def make_pods(api: load.Api, label: str, count: int, interceptors: int) -> list[Obj]:
    """Pods that wait for a node: an eviction removes them at once, so that no node is measured."""

    async def make(number: int) -> Obj:
        body = json.loads(load.pod(f"{label}-{number:05}"))
        del body["spec"]["nodeName"]
        if interceptors:
            body["spec"]["evictionInterceptors"] = [{"name": one} for one in names(interceptors)]
        made: Obj = orjson.loads(await api.send("POST", PODS, json.dumps(body).encode()))
        return made

    return await side_by_side(range(count), make)


async def timed(api: load.Api, follower: Follower, pods: list[Obj]) -> float:
    """Requests a second from the first create to the last completion."""
    began = time.perf_counter()
    await side_by_side(pods, Writer(api).ask)
    await follower.wait_for([pod["metadata"]["uid"] for pod in pods])
    return len(pods) / (time.perf_counter() - began)


async def written(api: load.Api) -> tuple[float, float]:
    """Writes that the server has answered: those that count, and Events."""
    metrics = (await api.send("GET", "/metrics")).decode()
    lines = [line for line in metrics.splitlines() if not any(read in line for read in _READS)]
    writes = "\n".join(lines)
    name = "apiserver_request_total"
    aside = [sum_of(writes, name, one) for one in _ASIDE]
    return sum_of(writes, name) - sum(aside), aside[0]


Cast = dict[str, Started]
"""Who takes part, by name."""


def spent(cast: Cast) -> dict[str, float]:
    return {name: one.cpu() for name, one in cast.items()}


async def through_the_process(kubeconfig: Path, interceptors: int, count: int, cast: Cast) -> Row:
    async with connected(kubeconfig) as api:
        label = f"through-{interceptors}"
        pods = await make_pods(api, label, WARM_UP + count + ALONE, interceptors)
        async with following(api) as follower:
            await timed(api, follower, pods[:WARM_UP])
            follower.hand_overs.clear()
            before, used = await written(api), spent(cast)
            rate = await timed(api, follower, pods[WARM_UP:-ALONE])
            after, cpu = await written(api), spent(cast)
            writes, events = ((now - then) / count for now, then in zip(after, before, strict=True))
            busy, follower.hand_overs = follower.hand_overs, []
            if interceptors > 1:
                for pod in pods[-ALONE:]:
                    await timed(api, follower, [pod])
        each = {name: (cpu[name] - used[name]) / count for name in cast}
        return Row(interceptors, rate, writes, events, each, busy, follower.hand_overs)


async def bare(kubeconfig: Path, interceptors: int, count: int) -> float:
    """Requests a second of a client that does all the writes itself."""
    async with connected(kubeconfig) as api:
        pods = await make_pods(api, f"bare-{interceptors}", count, interceptors)
        began = time.perf_counter()
        await side_by_side(pods, Writer(api).whole)
        return count / (time.perf_counter() - began)


async def plain(kubeconfig: Path, count: int) -> float:
    """Evictions a second by a client that knows nothing of requests."""
    async with connected(kubeconfig) as api:
        pods = await make_pods(api, "plain", count, 0)
        began = time.perf_counter()
        await side_by_side(pods, Writer(api).evict)
        return count / (time.perf_counter() - began)


async def prepare(kubeconfig: Path) -> None:
    async with connected(kubeconfig) as api:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await api.send("POST", "/api/v1/namespaces", json.dumps(namespace).encode())


def flow(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as (serving, kubeconfig):
        asyncio.run(prepare(kubeconfig))
        print(f"plain evictions/s {asyncio.run(plain(kubeconfig, count)):10,.0f}", flush=True)
        for number in INTERCEPTORS:
            limit = asyncio.run(bare(kubeconfig, number, count))
            with ExitStack() as stack:
                managing = stack.enter_context(manager(kubeconfig))
                managing.wait_ready()
                cast = {"server": serving, "manager": managing.started}
                if number:
                    command = ("-m", "bench.evictionrequest_interceptors", str(kubeconfig), *names(number))
                    cast["interceptors"] = stack.enter_context(started(*command))
                row = asyncio.run(through_the_process(kubeconfig, number, count, cast))
            show(row, limit)


def show(row: Row, limit: float) -> None:
    print(
        f"{row.interceptors} interceptors: requests/s {row.rate:7,.0f}   bare client {limit:7,.0f}   "
        f"x {row.rate / limit:.2f}   writes each {row.writes:.2f}, events {row.events:.2f}"
    )
    print("  CPU each:", ", ".join(f"{name} {cpu * 1e3:.2f} ms" for name, cpu in row.cpu.items()))
    for what, seconds in (("all at once", row.busy), ("one at a time", row.alone)):
        if len(seconds) > 1:
            middle, late = statistics.median(seconds), statistics.quantiles(seconds, n=100)[98]
            print(f"  hand-over, {what}: median {middle * 1e3:.1f} ms, 99 of 100 below {late * 1e3:.1f} ms")
    print(end="", flush=True)


def stock(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(fill(Path(folder), count))
        with server(Path(folder)) as (_, kubeconfig):
            for attempt in ("start", "restart"):
                with manager(kubeconfig) as one:
                    ready = one.wait_ready()
                    idle = one.wait_idle()
                    if not one.leads:
                        raise SystemExit("the manager lost its lease while it started")
                    process = one.started
                    print(
                        f"{attempt} with {count:,} open requests and {count:,} pods: "
                        f"ready after {ready:.1f} s, all looked at after {idle:.1f} s, "
                        f"{process.cpu():.1f} s of CPU; "
                        f"{process.memory('VmRSS'):,.0f} MiB, at most {process.memory('VmHWM'):,.0f} MiB",
                        flush=True,
                    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--stock", type=int, default=150_000)
    parser.add_argument("--small", action="store_true", help="a quick run: 200 requests, a stock of 2,000")
    parser.add_argument("--only", choices=("flow", "stock"))
    options = parser.parse_args()
    print("load of this machine before:", *(f"{one:.1f}" for one in os.getloadavg()))
    if options.only != "stock":
        flow(200 if options.small else options.requests)
    if options.only != "flow":
        stock(2000 if options.small else options.stock)
    print("load of this machine after:", *(f"{one:.1f}" for one in os.getloadavg()))


if __name__ == "__main__":
    main()
