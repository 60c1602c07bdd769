"""EvictionRequests on a real control plane: how near to its limit, and a node beside `kubectl drain`.

    python -m bench.kube [--small] [--no-webhook]

kube-apiserver, etcd, kube-controller-manager and kube-scheduler, simulated nodes, the webhook and the manager
are processes of their own on this machine. The limit is what a bare client reaches with the same writes on 16
connections, in the same run and with the same webhook. Without the webhook the client does its part.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time

import orjson
from bench.evictionrequest_flow import (
    NAMESPACE,
    PODS,
    Writer,
    connected,
    following,
    side_by_side,
)
from bench.kube_cluster import Kube, admitted, cluster, managed

from bench import load
from vacate.api.objects import Obj

NODES = 4
ROUNDS = 3
_LOOK = 0.05


async def make_pods(api: load.Api, label: str, count: int, nodes: list[str]) -> list[Obj]:
    """Running pods, spread over the nodes."""

    async def make(number: int) -> None:
        body = json.loads(load.pod(f"{label}-{number:05}"))
        body["metadata"]["labels"]["batch"] = label
        body["spec"]["nodeName"] = nodes[number % len(nodes)]
        await api.send("POST", PODS, json.dumps(body).encode())

    await side_by_side(range(count), make)
    while True:
        pods = await alive(api, label)
        if sum(pod["status"]["phase"] == "Running" for pod in pods) == count:
            return pods
        await asyncio.sleep(_LOOK)


async def alive(api: load.Api, label: str, *, at_most: int = 0) -> list[Obj]:
    listed = orjson.loads(await api.send("GET", f"{PODS}?labelSelector=batch%3D{label}&limit={at_most}"))
    found: list[Obj] = listed["items"]
    return found


async def gone(api: load.Api, label: str) -> None:
    # One pod is enough to know that not all are gone. Reading all of them twenty times a second took a tenth
    # of the API server's time, which was then missing in what is measured.
    while await alive(api, label, at_most=1):  # noqa: ASYNC110  another process removes them
        await asyncio.sleep(_LOOK)


class Bench:
    """The measurements, on one cluster."""

    def __init__(self, kube: Kube, nodes: list[str], *, webhook: bool) -> None:
        self.kube = kube
        self._nodes = nodes
        self._webhook = webhook

    def writer(self, api: load.Api) -> Writer:
        if self._webhook:
            return Writer(api)  # the administrator, whom the webhook takes for the manager
        return Writer(api, admitted)  # without the webhook anyone may write

    async def bare(self, label: str, count: int) -> float:
        """Requests a second of a client that does every write itself."""
        async with connected(self.kube.kubeconfig) as api:
            pods = await make_pods(api, label, count, self._nodes)
            began = time.perf_counter()
            writer = self.writer(api)
            requests = await side_by_side(pods, writer.until_evicted)
            await gone(api, label)  # a request is not complete as long as its pod exists
            await side_by_side(requests, writer.complete)
            return count / (time.perf_counter() - began)

    async def through(self, label: str, count: int) -> float:
        """Requests a second from the first create to the last completion by the manager."""
        async with connected(self.kube.kubeconfig) as api:
            pods = await make_pods(api, label, count, self._nodes)
            async with following(api) as follower:
                began = time.perf_counter()
                await side_by_side(pods, self.writer(api).ask)
                await follower.wait_for([pod["metadata"]["uid"] for pod in pods])
                return count / (time.perf_counter() - began)

    async def node_by_requests(self, label: str, count: int) -> float:
        """Seconds until the pods of one node are gone."""
        async with connected(self.kube.kubeconfig) as api:
            pods = await make_pods(api, label, count, self._nodes[:1])
            began = time.perf_counter()
            await side_by_side(pods, self.writer(api).ask)
            await gone(api, label)
            return time.perf_counter() - began

    async def node_by_drain(self, label: str, count: int) -> float:
        """The same by `kubectl drain`."""
        node = self._nodes[0]
        async with connected(self.kube.kubeconfig) as api:
            await make_pods(api, label, count, [node])
            began = time.perf_counter()
            await asyncio.to_thread(self.kube.run, "drain", node, "--force", "--ignore-daemonsets")
            await gone(api, label)
            seconds = time.perf_counter() - began
        self.kube.run("uncordon", node)
        return seconds


def measure(bench: Bench, count: int, of_a_node: int) -> None:
    ratios = []
    for number in range(ROUNDS):
        limit = asyncio.run(bench.bare(f"bare-{number}", count))
        with managed(bench.kube):
            rate = asyncio.run(bench.through(f"through-{number}", count))
        ratios.append(rate / limit)
        print(f"requests/s {rate:7,.1f}   bare client {limit:7,.1f}   x {rate / limit:.2f}", flush=True)
    print(f"median x {statistics.median(ratios):.2f}")
    drain = asyncio.run(bench.node_by_drain("drain", of_a_node))
    with managed(bench.kube):
        ours = asyncio.run(bench.node_by_requests("node", of_a_node))
    print(
        f"{of_a_node} pods of one node gone: {ours:.1f} s, kubectl drain {drain:.1f} s   x {drain / ours:.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="a quick run: 40 pods, 10 on the one node")
    parser.add_argument("--webhook", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    count, of_a_node = (40, 10) if options.small else (200, 50)
    print("load of this machine before:", *(f"{one:.1f}" for one in os.getloadavg()), flush=True)
    with cluster(NODES, webhook=options.webhook) as kube:
        kube.run("create", "namespace", NAMESPACE)
        nodes = kube.run("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()
        measure(Bench(kube, nodes, webhook=options.webhook), count, of_a_node)
    print("load of this machine after:", *(f"{one:.1f}" for one in os.getloadavg()))


if __name__ == "__main__":
    main()
