"""Constant load on an HTTP service, by many clients side by side; counts failures and measures latencies.

    python -m bench.traffic.load HOST PORT        until its standard input is closed

What was written there names pods; it goes on until each of them has answered, for a minute at most.

Half of the clients keep their connections, half open one for each request. Nothing is ever tried again. A
request has failed if there was no connection, no whole answer with status 200, or none within TIMEOUT
seconds. It prints `ready` once every client has had an answer, and at the end a Report as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Mapping
from dataclasses import asdict, dataclass

CLIENTS = 16
PAUSE = 0.05
"""Seconds between two requests of a client."""
TIMEOUT = 10.0
LAST_SECONDS = 60.0
"""How long the last pods may take to answer: a pod is ready before every kube-proxy knows it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One request: when it ended, how long it took, and who answered or why it failed."""

    at: float
    seconds: float
    served_by: str
    failure: str


@dataclass(frozen=True, slots=True)
class Report:
    """What all clients have seen."""

    requests: int
    failed: int
    failures: Mapping[str, int]  # how many, by what was wrong
    served_by: Mapping[str, int]  # how many, by pod
    outage: float  # the longest time in which no request succeeded, in seconds
    median_ms: float
    p99_ms: float
    max_ms: float


def report(samples: list[Sample]) -> Report:
    """Sum up. Latencies are those of the requests that succeeded."""
    samples = sorted(samples, key=lambda one: one.at)
    well = [one for one in samples if not one.failure]
    took = sorted(one.seconds * 1000 for one in well) or [0.0]
    times = [one.at for one in well]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    return Report(
        requests=len(samples),
        failed=len(samples) - len(well),
        failures=dict(Counter(one.failure for one in samples if one.failure)),
        served_by=dict(Counter(one.served_by for one in well)),
        outage=round(max(gaps, default=0.0), 2),
        median_ms=round(took[len(took) // 2], 1),
        p99_ms=round(took[len(took) * 99 // 100], 1),
        max_ms=round(took[-1], 1),
    )


class Client:
    """Sends one request after the other."""

    def __init__(self, host: str, port: int, *, keeps: bool) -> None:
        self._address = (host, port)
        connection = "keep-alive" if keeps else "close"
        self._request = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: {connection}\r\n\r\n".encode()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.samples: list[Sample] = []
        self.answered = asyncio.Event()

    async def run(self, ending: asyncio.Event) -> None:
        """Until the end; a request that is under way then is finished."""
        while not ending.is_set():
            began = time.monotonic()
            served_by, failure = "", ""
            try:
                async with asyncio.timeout(TIMEOUT):
                    served_by = await self._once()
                self.answered.set()
            except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError) as error:
                failure = type(error).__name__
                self._close()
            ended = time.monotonic()
            self.samples.append(Sample(ended, ended - began, served_by, failure))
            await asyncio.sleep(max(0.0, PAUSE - (ended - began)))
        self._close()

    async def _once(self) -> str:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._address)
        reader, writer = self._streams
        writer.write(self._request)
        status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers["content-length"]))
        if status.split()[1] != "200":
            raise ValueError(status)
        if headers.get("connection") == "close":
            self._close()
        return body.decode()

    def _close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def put_load(host: str, port: int, last: Awaitable[str]) -> Report:
    """Until the last pods are named, and these have answered."""
    ending = asyncio.Event()
    clients = [Client(host, port, keeps=number % 2 == 0) for number in range(CLIENTS)]
    tasks = [asyncio.ensure_future(one.run(ending)) for one in clients]
    for one in clients:
        await one.answered.wait()
    print("ready", flush=True)
    names = set((await last).split())
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LAST_SECONDS):
            while not names <= {sample.served_by for one in clients for sample in one.samples}:  # noqa: ASYNC110
                await asyncio.sleep(PAUSE)
    ending.set()
    await asyncio.gather(*tasks)
    return report([sample for one in clients for sample in one.samples])


async def main() -> None:
    found = await put_load(sys.argv[1], int(sys.argv[2]), asyncio.to_thread(sys.stdin.read))
    print(json.dumps(asdict(found)), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
