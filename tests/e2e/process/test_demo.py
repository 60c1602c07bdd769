"""`vacate demo`: watched through a pipe, on a terminal, and interrupted."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from support.cluster_process import environment

pytestmark = pytest.mark.process


def start(folder: Path, output: int | IO[bytes], **more: str) -> subprocess.Popen[bytes]:
    """The demo, with its temporary folder below the given one."""
    folder.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "vacate", "demo"],
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
    assert 0 < float(seconds) < 60
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


def test_the_demo_through_a_pipe_and_on_a_terminal(tmp_path: Path) -> None:
    """Both at once: each spends its time waiting for simulated pods."""
    ours, theirs = pty.openpty()
    with (
        start(tmp_path / "piped", subprocess.PIPE) as piped,
        start(tmp_path / "terminal", theirs, TERM="xterm-256color") as terminal,
    ):
        os.close(theirs)
        shown = read_terminal(ours)
        out, _ = piped.communicate(timeout=60)
        assert (piped.returncode, terminal.wait(60)) == (0, 0)
    check_alert(out.decode())
    assert "\x1b" not in out.decode()
    check_alert(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r\n", "\n"))
    assert "\x1b[" in shown
    assert "Pods by node" in shown
    assert re.search(r"Drain of .*100%.*Drained", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))
    assert list((tmp_path / "piped").iterdir()) == []
    assert list((tmp_path / "terminal").iterdir()) == []


def test_an_interrupted_demo_cleans_up(tmp_path: Path) -> None:
    with start(tmp_path / "tmp", subprocess.PIPE) as demo:
        assert demo.stdout is not None
        assert b"Starting a throw-away cluster" in demo.stdout.readline()
        assert b"Deploying web" in demo.stdout.readline()
        assert list((tmp_path / "tmp").iterdir())
        demo.send_signal(signal.SIGINT)
        rest, _ = demo.communicate(timeout=30)
    assert demo.returncode == 0
    assert b"Traceback" not in rest
    assert b"Summary" not in rest
    assert list((tmp_path / "tmp").iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(demo.pid, 0)


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
