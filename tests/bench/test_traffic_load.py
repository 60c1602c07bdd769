"""The load generator and the application of the traffic measurements, on loopback."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from bench.traffic import load, server
from hack.kubelab.ports import reserve_port

pytestmark = pytest.mark.process

CLIENTS = load.CLIENTS


async def served(name: str, port: int) -> asyncio.subprocess.Process:
    environment = {"POD_NAME": name, "PORT": str(port), "START_SECONDS": "0", "PATH": os.environ["PATH"]}
    script = str(Path(server.__file__))
    process = await asyncio.create_subprocess_exec(sys.executable, script, env=environment)
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.01)
        else:
            writer.close()
            return process


async def answers(clients: list[load.Client], count: int) -> None:
    """Wait until each client has had so many further samples."""
    wanted = {one: len(one.samples) + count for one in clients}
    while any(len(one.samples) < number for one, number in wanted.items()):  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def test_a_server_that_ends_answers_on_open_connections_and_refuses_new_ones() -> None:
    port = reserve_port()
    process = await served("one", port)
    clients = [load.Client("127.0.0.1", port, keeps=number % 2 == 0) for number in range(CLIENTS)]
    ending = asyncio.Event()
    tasks = [asyncio.ensure_future(one.run(ending)) for one in clients]
    await answers(clients, 3)
    assert load.report([sample for one in clients for sample in one.samples]).failed == 0
    process.send_signal(signal.SIGTERM)
    await process.wait()
    await answers(clients, 2)
    ending.set()
    await asyncio.gather(*tasks)
    seen = load.report([sample for one in clients for sample in one.samples])
    # Connections that it had accepted are closed with an answer, never without one (IncompleteReadError).
    assert set(seen.failures) <= {"ConnectionRefusedError", "ConnectionResetError"}
    assert seen.failed >= CLIENTS
    assert seen.requests - seen.failed == seen.served_by["one"] >= 3 * CLIENTS


async def test_half_of_the_clients_keep_their_connections() -> None:
    connections: list[int] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests = 0
        while not reader.at_eof() and await reader.readline():
            head = await reader.readuntil(b"\r\n\r\n")
            requests += 1
            close = b"close" if b"close" in head else b"keep-alive"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: %s\r\n\r\nx" % close)
        connections.append(requests)
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    ending = asyncio.Event()
    clients = [load.Client("127.0.0.1", port, keeps=keeps) for keeps in (True, False)]
    tasks = [asyncio.ensure_future(one.run(ending)) for one in clients]
    await answers(clients, 4)
    ending.set()
    await asyncio.gather(*tasks)
    while sum(connections) < sum(len(one.samples) for one in clients):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    listener.close()
    assert sorted(connections)[:-1] == [1] * len(clients[1].samples)
    assert max(connections) == len(clients[0].samples)


async def test_half_an_answer_is_a_failure() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0)
    client = load.Client("127.0.0.1", listener.sockets[0].getsockname()[1], keeps=True)
    ending = asyncio.Event()
    task = asyncio.ensure_future(client.run(ending))
    await answers([client], 2)
    ending.set()
    await task
    listener.close()
    assert set(load.report(client.samples).failures) == {"IncompleteReadError"}


def test_a_report() -> None:
    samples = [
        load.Sample(10.0, 0.001, "a", ""),
        load.Sample(13.0, 0.5, "", "TimeoutError"),
        load.Sample(14.5, 0.003, "b", ""),
        load.Sample(14.6, 0.002, "b", ""),
    ]
    assert load.report(samples) == load.Report(
        requests=4, failed=1, failures={"TimeoutError": 1}, served_by={"a": 1, "b": 2},
        outage=4.5, median_ms=2.0, p99_ms=3.0, max_ms=3.0,
    )  # fmt: skip
