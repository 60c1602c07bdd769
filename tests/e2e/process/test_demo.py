"""`vacate demo`: watched through a pipe, on a terminal, and interrupted."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import IO

import pytest

from support.nodes.containers import processes_of
from support.processes.cluster import environment
from support.waiting import until
from vacate.nodeagent.runtime.process import ProcessRuntime

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]


def start(folder: Path, output: int | IO[bytes], *options: str, **more: str) -> subprocess.Popen[bytes]:
    """The demo, with its temporary folder below the given one."""
    folder.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "vacate", "demo", *options],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**environment(), "TMPDIR": str(folder), **more},
        start_new_session=True,
    )


def check_alert(screen: str) -> None:
    """What the lines tell is what the timeline shows and the summary counts."""
    drained = re.search(r"^  (node-\d) was drained of (\d+) pods in (\S+) s$", screen, re.MULTILINE)
    assert drained
    node, count, seconds = drained.groups()
    assert f"nodemaintenance/drain-{node} created" in screen
    assert f"nodemaintenance/drain-{node} deleted: {node} is schedulable again" in screen
    ready = re.search(rf"All 12 pods are ready; (\d+) of them run on {node}", screen)
    assert ready
    gone = set(re.findall(r"^(\S+) is deleted", screen, re.MULTILINE))
    assert count == ready[1] == str(len(gone))
    turns = set(re.findall(r"^([a-z]+)-\S+: interceptor (\S+) has its turn", screen, re.MULTILINE))
    assert turns == {
        ("cart", "checkpoint.example.com"),
        ("db", "replicate.example.com"),
        ("db", "backup.example.com"),
    }
    blocked = set(re.findall(r"^(web-\S+) is blocked: The disruption budget web", screen, re.MULTILINE))
    assert blocked < gone
    refused = re.search(r"^  (\d+) evictions? refused by a disruption budget", screen, re.MULTILINE)
    assert refused
    assert int(refused[1]) >= len(blocked) >= 1
    check_timeline(screen[screen.index("Timeline, ") : screen.index("Summary")], gone)
    lowest = re.search(
        r"^  (\d+) of (\d+) web pods ready at least; the budget demands (\d+)$", screen, re.MULTILINE
    )
    assert lowest
    assert int(lowest[3]) <= int(lowest[1]) < int(lowest[2])
    assert float(seconds) > 0
    assert "Traceback" not in screen
    assert "vacate drain NODE --dry-run" in screen[screen.index("Try next") :]


def check_timeline(shown: str, gone: set[str]) -> None:
    """Every pod has its line; the two turns of a database follow each other, and its end comes last."""
    assert all(pod in shown for pod in gone)
    chain = re.search(
        r"replicate\.example\.com (\S+)-(\S+) s.*?backup\.example\.com (\S+)-(\S+) s"
        r".*?terminating (\S+)-(\S+) s",
        shown,
        re.DOTALL,
    )
    assert chain
    moments = [float(moment) for moment in chain.groups()]
    assert moments == sorted(moments)


@pytest.mark.thorough
def test_the_demo_through_a_pipe_and_on_a_terminal(tmp_path: Path) -> None:
    """Both at once: each spends its time waiting for simulated pods."""
    ours, theirs = pty.openpty()
    with (
        start(tmp_path / "piped", subprocess.PIPE) as piped,
        start(tmp_path / "terminal", theirs, TERM="xterm-256color") as terminal,
    ):
        os.close(theirs)
        shown = read_terminal(ours)
        out, _ = piped.communicate(timeout=220)
        assert (piped.returncode, terminal.wait(60)) == (0, 0)
    check_alert(out.decode())
    assert "\x1b" not in out.decode()
    check_alert(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r\n", "\n"))
    assert "\x1b[" in shown
    assert "Pods by node" in shown
    assert re.search(r"Drain of .*100%.*Drained", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))
    assert list((tmp_path / "piped").iterdir()) == []
    assert list((tmp_path / "terminal").iterdir()) == []


@pytest.mark.thorough
def test_an_interrupted_demo_cleans_up(tmp_path: Path) -> None:
    with start(tmp_path / "tmp", subprocess.PIPE) as demo:
        assert demo.stdout is not None
        assert b"Starting a throw-away cluster" in demo.stdout.readline()
        assert b"Deploying web" in demo.stdout.readline()
        assert list((tmp_path / "tmp").iterdir())
        demo.send_signal(signal.SIGINT)
        rest, _ = demo.communicate(timeout=60)
    assert demo.returncode == 0
    assert b"Traceback" not in rest
    assert b"Summary" not in rest
    assert list((tmp_path / "tmp").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(demo.pid, 0)


@pytest.mark.thorough
def test_real_processes_log_who_ended_them_when_and_why(tmp_path: Path) -> None:
    with start(tmp_path / "tmp", subprocess.PIPE, "--runtime", "process") as demo:
        out, _ = demo.communicate(timeout=220)
    screen = out.decode()
    assert demo.returncode == 0, screen
    logged = re.findall(r"^  (\S+) +\| \S+T(\S+)Z terminated by ([^:]+): (.+)$", screen, re.MULTILINE)
    assert {(cause, reason) for _, _, cause, reason in logged} == {
        ("a user", "resolve issue 354961"),
        ("a rollout", "Update"),
        ("an eviction", "Eviction"),
        ("a taint", "IntolerableTaint"),
        ("a scale-down", "Decommissioned"),
    }
    rows = re.findall(r"^  (\S+)  (\d\d:\d\d:\d\d) +(\S+ \S+)  +(.+)$", screen, re.MULTILINE)
    assert sorted(rows) == sorted(logged)
    assert len(rows) == screen.count("serving version") == screen.count("Z stopped")
    assert screen.count("not coming back") == 2
    assert "\x1b" not in screen
    assert list((tmp_path / "tmp").iterdir()) == []
    until(lambda: not processes_of(tmp_path))


@pytest.mark.thorough
def test_an_interrupted_demo_on_a_narrow_terminal_leaves_no_process_and_no_cgroup(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    with start(tmp_path / "tmp", theirs, "--runtime", "process", TERM="xterm-256color", COLUMNS="40") as demo:
        os.close(theirs)
        shown = b""
        while b"1. $ vacate delete pod" not in shown:
            shown += os.read(ours, 65536)
        folders = list((tmp_path / "tmp").glob("*/nodes/*/runtime"))
        assert folders
        assert len(processes_of(tmp_path)) > 2
        demo.send_signal(signal.SIGINT)
        shown += read_terminal(ours).encode()
        assert demo.wait(60) == 0
    text = shown.decode().replace("\r\n", "\n")
    assert max(map(len, text.split("\n")[1:])) <= 40  # the first line is that of every demo
    assert "Traceback" not in text
    assert "Try next" not in text
    assert list((tmp_path / "tmp").iterdir()) == []
    until(lambda: not processes_of(tmp_path))
    assert not any(Path(made).exists() for one in folders if (made := ProcessRuntime(one).cgroup))


@pytest.mark.thorough
def test_a_demo_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    with start(tmp_path / "tmp", subprocess.PIPE, "--runtime", "process") as demo:
        assert demo.stdout is not None
        while b"serving version" not in demo.stdout.readline():
            pass
        assert len(processes_of(tmp_path)) > 2
        demo.kill()
    while processes_of(tmp_path):
        time.sleep(0.05)  # no other process learns that they end


def read_terminal(handle: int) -> str:
    """All that is shown until the last program has left the terminal."""
    shown = b""
    try:
        while piece := os.read(handle, 65536):
            shown += piece
    except OSError:  # how Linux tells that nobody has the other side open
        pass
    finally:
        os.close(handle)
    return shown.decode()


def test_the_demo_shows_its_cluster_in_a_browser_until_it_is_interrupted(tmp_path: Path) -> None:
    demo = start(tmp_path / "demo", subprocess.PIPE, "--web")
    try:
        assert demo.stdout is not None
        lines = iter(demo.stdout.readline, b"")
        address = next(line for line in lines if line.startswith(b"Open http://")).split()[1].decode()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(address, timeout=60) as answer:
            assert "Vacate" in answer.read().decode()
        assert any(b"stay until Ctrl-C" in line for line in lines)
        with opener.open(address.partition("?")[0] + "drains", timeout=60) as answer:
            assert "<h1" in answer.read().decode(), "after the drain of the demo"
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=60)
    finally:
        if demo.poll() is None:
            demo.kill()
            demo.communicate()
