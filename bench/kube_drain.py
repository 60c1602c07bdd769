"""A node of a real control plane drained by a NodeMaintenance, beside `kubectl drain` in the same run.

    python -m bench.kube_drain [--small]

Both commands are processes of their own, from their start until the last pod is gone. What Vacate's own parts
(command, manager, webhook) ask the API server is taken from its audit log, Events, leases and watches apart.
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from importlib.resources import files
from pathlib import Path

import orjson
from bench.evictionrequest_flow import NAMESPACE, connected
from bench.kube import alive, gone, make_pods
from bench.kube_cluster import Kube, cluster, managed

NODES, ROUNDS, PODS_OF_A_NODE = 2, 3, 50
MIN_RATIO, MAX_CALLS, MAX_WRITES = 5.0, 5.0, 3.0
BUSY_LOAD = 4.0  # from there on times say nothing: kubectl waits by the clock, all others for the processor
OF_PODS = ("pods", "evictionrequests", "subjectaccessreviews")
REST_SECONDS = 30.0
OWN = ("vacate/cli", "vacate/vacate-manager", "vacate/webhook")  # and not the simulated kubelets
_READS = ("get", "list", "watch")


def by_kubectl(kube: Kube, node: str) -> None:
    kube.run("drain", node, "--force", "--ignore-daemonsets")


def by_vacate(kube: Kube, node: str) -> None:
    command = [sys.executable, "-m", "vacate", "drain", node, "--force", "--ignore-daemonsets"]
    done = subprocess.run(
        [*command, "--kubeconfig", str(kube.kubeconfig)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"vacate drain: {done.stdout}{done.stderr}")


async def seconds(kube: Kube, node: str, label: str, count: int, *, vacate: bool) -> float:
    """From the command's start until all pods are gone."""
    async with connected(kube.kubeconfig) as api:
        await make_pods(api, label, count, [node])
        began = time.perf_counter()
        running = asyncio.to_thread(by_vacate if vacate else by_kubectl, kube, node)
        await asyncio.gather(running, gone(api, label))
        assert await alive(api, label) == []
        return time.perf_counter() - began


def calls(log: Path, since: int) -> Counter[str]:
    """By part, verb and resource: what was answered since that place of the log."""
    found: Counter[str] = Counter()
    for line in log.read_bytes()[since:].splitlines():
        event = orjson.loads(line)
        about, agent = event.get("objectRef"), event.get("userAgent", "")
        if about is None or event["stage"] != "ResponseComplete" or not agent.startswith(OWN):
            continue
        if event["verb"] == "watch" or about["resource"] in ("events", "leases"):
            continue
        resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        found[f"{agent.removeprefix('vacate/'):<16} {event['verb']:<7} {resource}"] += 1
    return found


def is_write(call: str) -> bool:
    """A SubjectAccessReview is posted, and writes nothing."""
    _, verb, resource = call.split()
    return verb not in _READS and resource != "subjectaccessreviews"


def report(found: Counter[str], count: int) -> None:
    of_pods = Counter({one: n for one, n in found.items() if one.split()[2].split("/")[0] in OF_PODS})
    writes = sum(n for one, n in of_pods.items() if is_write(one))
    calls_of_pods = sum(of_pods.values())
    webhook = sum(n for one, n in of_pods.items() if one.startswith("webhook "))
    others = sum(found.values()) - calls_of_pods
    for one, n in sorted(found.items()):
        print(f"  {one:<60} {n:>5}  {n / count:.2f}")
    print(
        f"{calls_of_pods / count:.2f} calls for each pod, {webhook / count:.2f} of them by the webhook, "
        f"{writes / count:.2f} writes; and {others} calls for the node and its maintenance"
    )
    assert calls_of_pods <= MAX_CALLS * count
    assert writes <= MAX_WRITES * count


def measure(kube: Kube, node: str, count: int) -> None:
    ratios = []
    for number in range(ROUNDS):
        theirs = asyncio.run(seconds(kube, node, f"theirs-{number}", count, vacate=False))
        kube.run("uncordon", node)
        with managed(kube):
            since = kube.audit_log.stat().st_size
            ours = asyncio.run(seconds(kube, node, f"ours-{number}", count, vacate=True))
            found = calls(kube.audit_log, since)
            if number == ROUNDS - 1:
                time.sleep(2.0)  # what comes after the last pod belongs to the drain
                found = calls(kube.audit_log, since)
                at_rest = kube.audit_log.stat().st_size
                time.sleep(REST_SECONDS)
                idle = calls(kube.audit_log, at_rest)
                print(f"at rest for {REST_SECONDS:.0f} s: {dict(idle) or 'nothing'}", flush=True)
                assert not idle
            kube.run("delete", "nodemaintenances", "--all")
        ratios.append(theirs / ours)
        print(
            f"{count} pods gone: {ours:.1f} s, kubectl drain {theirs:.1f} s   x {theirs / ours:.1f}",
            flush=True,
        )
    report(found, count)
    print(f"median x {statistics.median(ratios):.1f}")
    if os.getloadavg()[1] > BUSY_LOAD:
        print("this machine is busy with other work: the times say nothing")
    elif count >= PODS_OF_A_NODE:
        assert statistics.median(ratios) >= MIN_RATIO


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--small", action="store_true", help="a quick run with ten pods, which shows no ratio"
    )
    options = parser.parse_args()
    # As pip does when it installs: a checkout whose environment forbids that would compile at each start.
    compileall.compile_dir(str(files("vacate")), quiet=1)
    print("load of this machine before:", *(f"{one:.1f}" for one in os.getloadavg()), flush=True)
    with cluster(NODES, webhook=True, audit=True) as kube:
        kube.run("create", "namespace", NAMESPACE)
        nodes = kube.run("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()
        measure(kube, nodes[0], 10 if options.small else PODS_OF_A_NODE)
    print("load of this machine after:", *(f"{one:.1f}" for one in os.getloadavg()))


if __name__ == "__main__":
    main()
