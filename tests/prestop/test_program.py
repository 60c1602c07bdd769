"""The wrapper of preStop hooks as a program: a reason is only a value, and the hook always runs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hack.prestop import prestop_program

from support.reason_server import reason_server
from vacate.api.terminationreason import clean_reason
from vacate.wire.message import Request, Response

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=2)]

SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))"
HOSTILE = [
    "two\r\nX-Evil: 1\r\n\r\nGET / HTTP/1.1",
    "a\nPATH=/evil\0LD_PRELOAD=/evil.so",
    "--rm -rf",
    "$(touch evil) `touch evil`; touch evil",
    "$(WHY) ${PATH} %s %n",
    "a\u202eb\u0085c\u2028d",
    "zażółć \U0001f600 " + "x" * 5000,
    "é" * 5000,
    "\ud7ff\ufffe ok",
    " - ",
]


@pytest.fixture(scope="session")
def program() -> Path:
    return prestop_program()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "reason"
    made.mkdir()
    return made


class Ran:
    def __init__(self, code: int | None, out: bytes, err: bytes) -> None:
        self.code, self.out, self.err = code, out.decode(), err.decode()

    @property
    def shown(self) -> tuple[list[str], dict[str, str]]:
        arguments, env = json.loads(self.out)
        return arguments, env


async def run(program: Path, folder: Path, *words: str, **env: str) -> Ran:
    given = {"PATH": os.environ["PATH"], "KEPT": "yes", **env}
    kind, *rest = words
    child = await asyncio.create_subprocess_exec(
        program, kind, f"--from={folder}", *rest, env=given, cwd=folder,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await child.communicate()
    return Ran(child.returncode, out, err)


def show(*arguments: str) -> list[str]:
    return ["--", sys.executable, "-c", SHOW, *arguments]


@pytest.fixture
async def reasons(folder: Path) -> AsyncIterator[list[str]]:
    """The reasons of the service, which answers with the last one."""
    reasons: list[str] = []

    async def handle(request: Request) -> Response:
        assert (request.method, request.path) == ("GET", "/reason")
        assert request.headers["Authorization"] == "Bearer a.b.c"
        return Response(200, reasons[-1].encode(), content_type="text/plain")

    async with reason_server(handle, folder):
        yield reasons


async def test_a_command_gets_the_reason_by_variable_and_by_flag(
    program: Path, folder: Path, reasons: list[str]
) -> None:
    reasons.append("resolve issue 354961")
    ran = await run(
        program, folder, "exec", "--env=WHY", *show("--why=$(WHY)", "$(WHY)", "a $(WHY)"), WHY="old"
    )
    arguments, env = ran.shown
    assert arguments == ["--why=resolve issue 354961", "resolve issue 354961", "a $(WHY)"]
    assert (env["WHY"], env["KEPT"], ran.code, ran.err) == ("resolve issue 354961", "yes", 0, "")


@pytest.mark.thorough
async def test_a_hostile_reason_stays_one_value(program: Path, folder: Path, reasons: list[str]) -> None:
    names: set[str] | None = None
    for hostile in HOSTILE:
        reasons.append(hostile)
        ran = await run(program, folder, "exec", "--env=WHY", *show("$(WHY)", "--why=$(WHY)"))
        arguments, env = ran.shown
        expected = clean_reason(hostile)
        assert arguments == [expected, f"--why={expected}"]
        assert env.pop("WHY", "") == expected
        names = names or set(env)
        assert set(env) == names
        program_text = await run(program, folder, "exec", "--env=WHY", "--", "sh", "-c", ": $(WHY); ls")
        assert "evil" not in program_text.out
    assert not (folder / "evil").exists()


async def test_the_hook_runs_whatever_becomes_of_the_question(program: Path, folder: Path) -> None:
    async def expect(reason: str | None, message: str, seconds: float = 60) -> None:
        ran = await run(program, folder, "exec", "--env=WHY", f"--ask-seconds={seconds}", *show())
        assert (ran.shown[1].get("WHY"), ran.code) == (reason, 0)
        assert message in ran.err

    await expect(None, "runs without a reason")  # no files at all
    (folder / "reason").write_text("from the file\n")
    await expect("from the file", "no such file")

    async def refuse(_: Request) -> Response:
        return Response(401, b"evil")

    async def hang(_: Request) -> Response:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def flood(_: Request) -> Response:
        return Response(200, b"x" * 10_000_000)

    async with reason_server(refuse, folder):
        await expect("from the file", "401")
        (folder / "token").unlink()
        await expect("from the file", "token")
    async with reason_server(hang, folder):
        await expect("from the file", "deadline exceeded", seconds=0.2)
    async with reason_server(refuse, folder, hosts=("other.svc",)):
        await expect("from the file", "certificate")
    await expect("from the file", "refused")  # nobody listens any more
    async with reason_server(flood, folder):
        await expect("x" * 1024, "")
    for nonsense in ("", "http://127.0.0.1:1/reason", "https://[", "\0"):
        (folder / "service").write_text(nonsense)
        await expect("from the file", "the reason cannot be read from Vacate")


async def test_without_a_reason_nothing_is_set(program: Path, folder: Path, reasons: list[str]) -> None:
    reasons.append("")
    (folder / "reason").write_text("stale")
    ran = await run(program, folder, "exec", "--env=WHY", *show("--why=$(WHY)"))
    assert (ran.shown[0], "WHY" in ran.shown[1]) == (["--why="], False)


async def test_exit_codes_are_the_hooks_own(program: Path, folder: Path) -> None:
    assert (await run(program, folder, "exec", "--", "sh", "-c", "exit 7")).code == 7
    missing = await run(program, folder, "exec", "--", "no-such-program")
    assert missing.code == 1
    assert "no-such-program" in missing.err


async def test_a_request_carries_the_header_and_what_the_author_wrote(
    program: Path, folder: Path, reasons: list[str]
) -> None:
    heard: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).decode("utf-8"))
        writer.write(b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    words = ("--header=X-Why", f"--url=http://:{port}/bye?now=1", "--with=X-Why:author", "--with=X-A:b: c")
    async with server:
        for hostile in ["resolve issue", *HOSTILE]:
            reasons.append(hostile)
            ran = await run(program, folder, "get", *words, VACATE_POD_IP="127.0.0.1")
            assert (ran.code, ran.err) == (0, "")  # as for a kubelet, any answer will do
            first, *lines = heard[-1].split("\r\n")
            assert first == "GET /bye?now=1 HTTP/1.1"
            headers = dict(line.split(": ", 1) for line in lines if line)
            assert headers == {
                "Host": f"127.0.0.1:{port}",
                "User-Agent": "vacate-prestop",
                "Accept": "*/*",
                "X-Why": clean_reason(hostile) or "author",
                "X-A": "b: c",
                "Connection": "close",
                "Accept-Encoding": "gzip",
            }
    ran = await run(program, folder, "get", *words, VACATE_POD_IP="127.0.0.1")
    assert ran.code == 1  # nobody listens: the kubelet reports the hook as failed, as it does without us


def test_the_copy_is_whole_and_for_everyone(program: Path, tmp_path: Path) -> None:
    for _ in range(2):  # an init container may run twice
        subprocess.run([program, "install", tmp_path], check=True, timeout=60)
    (copy,) = tmp_path.iterdir()
    assert (copy.name, copy.stat().st_mode & 0o777) == ("vacate-prestop", 0o555)
    assert copy.read_bytes() == program.read_bytes()
