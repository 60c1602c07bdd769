"""What the pages of `vacate web` cost: 1,000 nodes, 10,000 pods, 500 open requests, 50 drains.

python -m bench.web [NODES [PODS [REQUESTS]]]
python -m hack.weblab.session -- python -m bench.web     # with a real browser beside it

An embedded API server, which also makes the changes, and the program of the pages are processes of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
import resource
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from vacate.api.identity import MASTERS, service_account_user
from vacate.api.kinds import EVICTIONREQUESTS, NODEMAINTENANCES, NODES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.cluster.local import LocalCluster, LocalSettings
from vacate.testing.builders import node, pod
from vacate.wire.message import Peer

FIRST_PAINT_SECONDS, CHANGE_SECONDS = 2.0, 1.0
RATE, BURST_SECONDS, BURSTS = 1000, 10.0, 4
PAGES = (
    "/drains",
    "/blockers",
    "/nodes",
    "/nodes/node-0",
    "/requests",
    "/pods/default/p-0",
    "/interceptors",
    "/fencing",
)
_DRAINED, _BUDGETS = 50, 20
_BATCH = 50
_INTERCEPTOR = "backup.example.com"
_CONTROLLER = service_account_user("kube-system", "evictionrequest-controller")


# ---------- the process of the API server ----------


class _Cluster(LocalCluster):
    """One whose server can be reached without sockets."""

    server: ApiServer

    async def _listen(self, server: ApiServer) -> None:
        self.server = server
        await super()._listen(server)

    def client(self, name: str) -> Client:
        """With all rights."""
        return Client(InProcessTransport(self.server, Peer(name, (MASTERS,))))


async def _serve(folder: Path, nodes: int, pods: int, requests: int) -> None:
    cluster = _Cluster(LocalSettings(folder, port=0, nodes=0, controllers=False, evictions=False))
    await cluster.start()
    try:
        admin, controller = cluster.client("admin"), cluster.client(_CONTROLLER)
        await _fill(admin, controller, nodes, pods, requests)
        print(cluster.folder.kubeconfig, flush=True)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        while line := (await reader.readline()).decode().split():
            print(await _asked(line, admin, controller, pods), flush=True)
    finally:
        await cluster.stop()


async def _asked(line: Sequence[str], admin: Client, controller: Client, pods: int) -> str:
    """`mark TEXT`: one change that the page of drains shows. `burst SECONDS`: of pods and requests."""
    if line[0] == "mark":
        began = time.monotonic()
        await admin.patch(NODEMAINTENANCES, "drain-0", {"spec": {"reason": line[1]}})
        return str(began)
    open_ = (await admin.list(EVICTIONREQUESTS, "default")).items
    began, done = time.monotonic(), 0
    while (spent := time.monotonic() - began) < float(line[1]):
        if done > spent * RATE:
            await asyncio.sleep(done / RATE - spent)
            continue
        await asyncio.gather(
            *(_change(place, open_, admin, controller, pods) for place in range(done, done + _BATCH))
        )
        done += _BATCH
    return str(done / (time.monotonic() - began))


async def _change(place: int, open_: Sequence[Obj], admin: Client, controller: Client, pods: int) -> None:
    if place % 2:
        name = open_[place // 2 % len(open_)]["metadata"]["name"]
        status = {"status": {"message": f"change {place} of many"}}
        await controller.patch(EVICTIONREQUESTS, name, status, "default", subresource="status")
    else:
        labels = {"metadata": {"labels": {"tick": str(place)}}}
        await admin.patch(PODS, f"p-{place % pods}", labels, "default")


async def _fill(admin: Client, controller: Client, nodes: int, pods: int, requests: int) -> None:
    for number in range(nodes):
        await admin.create(NODES, node(f"node-{number}", labels={"pool": f"pool-{number % 10}"}))
    for number in range(_BUDGETS):
        await _budget(admin, f"budget-{number}")
    for number in range(pods):
        labels = {"app": f"app-{number % _BUDGETS}"}
        interceptors = [_INTERCEPTOR] if number % 4 == 1 else []
        one = pod(f"p-{number}", node=f"node-{number % nodes}", labels=labels, interceptors=interceptors)
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": f"app-{number % _BUDGETS}",
            "uid": "u",
        }
        one["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        made = await admin.create(PODS, one, "default")
        if number < requests:
            await _request(admin, controller, made, number)
    for first in range(0, min(_DRAINED * 10, nodes), 10):
        await _drain(admin, first)


async def _budget(admin: Client, name: str) -> None:
    obj = {
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": "100%", "selector": {"matchLabels": {"app": name.replace("budget", "app")}}},
    }  # fmt: skip
    made = await admin.create(PODDISRUPTIONBUDGETS, obj, "default")
    status = {
        "expectedPods": 500,
        "desiredHealthy": 500,
        "currentHealthy": 500,
        "disruptionsAllowed": 0,
        "observedGeneration": 1,
    }
    await admin.update(PODDISRUPTIONBUDGETS, {**made, "status": status}, subresource="status")


async def _request(admin: Client, controller: Client, target: Obj, number: int) -> None:
    meta = target["metadata"]
    obj = {
        "apiVersion": EVICTIONREQUESTS.api_version, "kind": EVICTIONREQUESTS.kind,
        "metadata": {"name": meta["uid"], "namespace": "default", "labels": meta["labels"]},
        "spec": {
            "type": "Soft", "target": {"podRef": {"name": meta["name"], "uid": meta["uid"]}},
            "requesters": [{"name": f"drain-{number % _DRAINED}.nodemaintenance.vacate.dev"}],
        },
    }  # fmt: skip
    made = await admin.create(EVICTIONREQUESTS, obj, "default")
    intercepting = number % 4 == 1
    reasons = {"Progressing": "Intercepting" if intercepting else "Blocked"}
    status: Obj = {"message": "Cannot evict pod as it would violate the pod's disruption budget."}
    if intercepting:
        reasons["InterceptorAssigned"] = "FirstInterceptor"
        status = {
            "activeInterceptorName": _INTERCEPTOR,
            "activeInterceptorCompleted": False,
            "heartbeatTime": _now(),
        }
    status["conditions"] = [
        {"type": type_, "reason": reason, "status": "True", "message": "m", "lastTransitionTime": _now()}
        for type_, reason in reasons.items()
    ]
    await controller.update(EVICTIONREQUESTS, {**made, "status": status}, subresource="status")


async def _drain(admin: Client, first: int) -> None:
    """Ten nodes, two of them under way; every fifth drain has a blocker that needs a person."""
    names = [f"node-{number}" for number in range(first, first + 10)]
    obj = {
        "apiVersion": NODEMAINTENANCES.api_version, "kind": NODEMAINTENANCES.kind,
        "metadata": {"name": f"drain-{first // 10}"},
        "spec": {"nodes": names, "reason": "Kernel", "maxNodes": 2},
    }  # fmt: skip
    made = await admin.create(NODEMAINTENANCES, obj)
    rows = [
        {
            "name": name,
            "phase": "Draining" if place < 2 else "Pending",
            "podsTotal": 10,
            "podsEvicted": 3,
            "startTime": _now(),
        }
        for place, name in enumerate(names)
    ]
    blockers = []
    if first % 50 == 0:
        rows[0]["phase"] = "Blocked"
        blockers = [{
            "node": names[0], "namespace": "default", "pod": f"p-{first}", "kind": "DisruptionBudget",
            "name": f"budget-{first // 50 % _BUDGETS}", "since": _now(), "resolution": "Manual",
            "message": "allows none", "remedy": "add replicas",
        }]  # fmt: skip
    status = {
        "phase": "Blocked" if blockers else "Draining", "nodesTotal": 10, "podsTotal": 20,
        "podsEvicted": 6, "percent": 3,
        "nodes": rows, "blockers": blockers, "blockersTotal": len(blockers),
    }  # fmt: skip
    await admin.update(NODEMAINTENANCES, {**made, "status": status}, subresource="status")


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---------- the measurement ----------


@dataclass
class _Program:
    """A process that is measured."""

    process: asyncio.subprocess.Process

    @property
    def mib(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 2**20

    @property
    def seconds(self) -> float:
        """Of processor time."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    async def line(self) -> str:
        assert self.process.stdout is not None
        return (await self.process.stdout.readline()).decode().strip()

    async def ask(self, text: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n".encode())
        return await self.line()


@contextlib.asynccontextmanager
async def _running(*words: str) -> AsyncIterator[_Program]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield _Program(process)
    finally:
        process.terminate()
        await process.wait()


def _say(line: str) -> None:
    print(line, flush=True)


async def _measure(nodes: int, pods: int, requests: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        async with _running("bench.web", "--serve", folder, *map(str, (nodes, pods, requests))) as cluster:
            kubeconfig = await cluster.line()
            _say(
                f"{nodes} nodes, {pods} pods, {requests} requests: {time.monotonic() - began:.0f} s to write"
            )
            async with (
                _running(
                    "vacate", "web", "--no-browser", "--port", "0", "--kubeconfig", kubeconfig
                ) as program,
                aiohttp.ClientSession(
                    cookie_jar=aiohttp.CookieJar(unsafe=True), read_bufsize=2**22
                ) as browser,
            ):
                address = (await program.line()).removeprefix("Open ")
                return await _pages(cluster, program, browser, address)


async def _pages(cluster: _Program, program: _Program, browser: aiohttp.ClientSession, address: str) -> int:
    base = address.partition("/?")[0]
    began, spent = time.monotonic(), program.seconds
    worst, text = await _read(browser, address)
    while "Reading the cluster" in text:
        _, text = await _read(browser, f"{base}/drains")
    whole, spent = time.monotonic() - began, program.seconds - spent
    _say(f"the first page, right after the start: {worst:.2f} s; with all of the cluster: {whole:.2f} s")
    _say(f"  {spent:.2f} s of processor time, {len(text) >> 10} KiB")
    for path in PAGES:
        spent = program.seconds
        found = [await _read(browser, f"{base}{path}") for _ in range(5)]
        spent = (program.seconds - spent) / len(found)
        took = statistics.median(one for one, _ in found)
        worst = max(worst, took)
        size = len(found[0][1]) >> 10
        _say(f"{path:<20} {took * 1000:6.0f} ms, {spent * 1000:4.0f} ms of processor time {size:6} KiB")
    late = []
    async with _following(browser, base, "/drains") as stream:
        for number in range(10):
            stream.want(f"change-{number}")
            began = float(await cluster.ask(f"mark change-{number}"))
            await stream.found()
            late.append(time.monotonic() - began)
            await asyncio.sleep(0.7)
    middle = statistics.median(late)
    _say(f"a change is sent after {middle:.2f} s, at most {max(late):.2f} s; limit {CHANGE_SECONDS:g} s")
    for number in range(BURSTS):
        spent = program.seconds
        async with (
            _following(browser, base, "/requests") as stream,
            _following(browser, base, "/drains") as drains,
        ):
            rate = float(await cluster.ask(f"burst {BURST_SECONDS:g}"))
            drains.want(f"burst-{number}")
            began = float(await cluster.ask(f"mark burst-{number}"))
            await drains.found()
            after = time.monotonic() - began
        spent = program.seconds - spent
        _say(f"{rate:6.0f} changes/s for {BURST_SECONDS:g} s: {stream.messages} messages")
        each = f"{1e6 * spent / rate / BURST_SECONDS:.0f} µs for each change"
        _say(f"  the last one after {after:.2f} s; {spent:.1f} s of processor time, {each}")
        _say(f"  {program.mib:.0f} MiB")
    async with _following(browser, base, "/drains") as drains:
        _say(f"  {await _at_once(cluster, program, drains)}")
    if os.environ.get("VACATE_WEB_LAB"):
        await _in_a_browser(cluster, program, browser, base)
    return int(worst > FIRST_PAINT_SECONDS or middle > CHANGE_SECONDS)


async def _at_once(cluster: _Program, program: _Program, drains: _Stream) -> str:
    """More changes than the API server makes beside the program: they wait while that is stopped."""
    program.process.send_signal(signal.SIGSTOP)
    try:
        count = float(await cluster.ask(f"burst {BURST_SECONDS:g}")) * BURST_SECONDS
        mark = f"at-once-{time.monotonic_ns()}"  # another one each time
        drains.want(mark)
        await cluster.ask(f"mark {mark}")
    finally:
        spent, began = program.seconds, time.monotonic()
        program.process.send_signal(signal.SIGCONT)
    await drains.found()
    took, spent = time.monotonic() - began, program.seconds - spent
    return (
        f"{count:.0f} changes at once: the last one is sent after {took:.2f} s, that is "
        f"{count / took:.0f} changes/s; {spent:.1f} s of processor time"
    )


async def _read(browser: aiohttp.ClientSession, address: str) -> tuple[float, str]:
    """The seconds until it is there, and the page."""
    began = time.monotonic()
    async with browser.get(address) as answer:
        text = await answer.text()
        assert answer.status == 200, text
    return time.monotonic() - began, text


class _Stream:
    """The differences of a page, as a tab reads them."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.messages = self.size = 0
        self.task = asyncio.create_task(self._read(answer))
        self._wanted = b""
        self._found = asyncio.Event()

    def want(self, text: str) -> None:
        """From now on look out for this text."""
        self._wanted = text.encode()
        self._found.clear()

    async def found(self) -> None:
        """Return when it was there."""
        await asyncio.wait_for(self._found.wait(), 60)

    async def _read(self, answer: aiohttp.ClientResponse) -> None:
        async for line in answer.content:
            if line.startswith(b"data: "):
                self.messages, self.size = self.messages + 1, self.size + len(line)
                if self._wanted and self._wanted in line:
                    self._found.set()


@contextlib.asynccontextmanager
async def _following(browser: aiohttp.ClientSession, base: str, path: str) -> AsyncIterator[_Stream]:
    async with browser.get(f"{base}{path}") as page:
        tab = (await page.text()).partition('data-tab="')[2].partition('"')[0]
    never = aiohttp.ClientTimeout(total=None)
    async with browser.get(f"{base}/events", params={"at": path, "tab": tab}, timeout=never) as answer:
        stream = _Stream(answer)
        try:
            yield stream
        finally:
            stream.task.cancel()


_FRAMES = """() => { window.longest = 0; let before = performance.now();
  const look = (now) => { longest = Math.max(longest, now - before); before = now;
    requestAnimationFrame(look) };
  requestAnimationFrame(look) }"""


async def _in_a_browser(
    cluster: _Program, program: _Program, browser: aiohttp.ClientSession, base: str
) -> None:
    """When a page is first painted, and for how long at most it does not move while much changes."""
    from hack.weblab.session import BROWSER, LAB  # noqa: PLC0415  with its own path
    from playwright.async_api import async_playwright  # noqa: PLC0415

    root = Path(os.environ[LAB]) / "root"
    libraries = [*root.glob("usr/lib/*-linux-gnu"), *root.glob("usr/lib/*-linux-gnu/pulseaudio")]
    environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, libraries))}
    cookies = [{"name": one.key, "value": one.value, "url": base} for one in browser.cookie_jar]
    async with async_playwright() as driver:
        chromium = await driver.chromium.launch(
            executable_path=str(root / BROWSER), args=["--no-sandbox"], env=environment
        )
        context = await chromium.new_context(viewport={"width": 1280, "height": 800})
        await context.add_cookies(cookies)
        page = await context.new_page()
        for path in PAGES:
            await page.goto(f"{base}{path}")
            painted = await page.evaluate(
                "() => new Promise(done => new PerformanceObserver((list, self) => { self.disconnect(); "
                "done(list.getEntriesByName('first-contentful-paint')[0].startTime) })"
                ".observe({type: 'paint', buffered: true}))"
            )
            _say(f"{path:<20} painted after {painted / 1000:.2f} s; limit {FIRST_PAINT_SECONDS:g} s")
        for path in ("/requests", "/drains"):
            await page.goto(f"{base}{path}")
            await page.evaluate(_FRAMES)
            async with _following(browser, base, "/drains") as drains:
                shown = await _at_once(cluster, program, drains)
            longest = await page.evaluate("longest")
            _say(f"{path}: {shown}")
            _say(f"  the longest time between two frames is {longest:.0f} ms")
        await chromium.close()


def main() -> int:
    """Print what it costs beside the limits; 1 where it is more."""
    if sys.argv[1:2] == ["--serve"]:
        asyncio.run(_serve(Path(sys.argv[2]), *map(int, sys.argv[3:])))
        return 0
    given = [int(one) for one in sys.argv[1:]]
    nodes, pods, requests = (*given, *(1000, 10_000, 500)[len(given) :])
    return asyncio.run(_measure(nodes, pods, requests))


if __name__ == "__main__":
    sys.exit(main())
