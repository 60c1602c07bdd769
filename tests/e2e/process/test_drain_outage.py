"""A followed drain while the API server is away: it is reported once, and once when it is over."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from hack.kubelab.ports import reserve_port

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import Lab
from support.processes.screens import Shown, run
from support.waiting import until

pytestmark = pytest.mark.process

LOST, BACK = "The connection is lost, trying again", "The connection is back."


class Following(threading.Thread):
    """A command that follows, and all that it has shown so far."""

    def __init__(self, kubeconfig: Path, *options: str, terminal: tuple[int, int] | None = None) -> None:
        super().__init__(daemon=True)
        self.text = ""
        self.shown: Shown | None = None
        self._kubeconfig, self._options, self._terminal = str(kubeconfig), options, terminal
        self.start()

    def run(self) -> None:
        self.shown = run(
            "drain", "--follow", "drain-node-1", *self._options,
            variables={"KUBECONFIG": self._kubeconfig}, terminal=self._terminal,
            stop_when=self._note, seconds=240.0,
        )  # fmt: skip

    def _note(self, text: str) -> bool:
        self.text = text
        return BACK in text


@pytest.mark.thorough
def test_an_outage_is_reported_on_a_terminal_in_a_pipe_and_as_an_event(tmp_path: Path) -> None:
    folder = tmp_path / "dir"
    port = reserve_port()  # nobody else gets it between the two
    with running_cluster(folder, "--nodes", "2", *FAST_PODS, port=port) as running:
        lab = Lab(running)
        lab.pod("held", "backup.example.com", nodeName="node-1")
        assert lab.vacate("drain", "node-1", "--force", "--detach").code == 0
        config = running.kubeconfig
        pipe, events = Following(config), Following(config, "-o", "json")
        screen = Following(config, terminal=(100, 24))
        everywhere = (pipe, events, screen)
        until(lambda: all("node-1" in one.text and "Draining" in one.text for one in everywhere))
        running.kill()
        until(lambda: all(LOST in one.text for one in everywhere))
    with running_cluster(folder, "--nodes", "2", *FAST_PODS, port=port):
        until(lambda: all(BACK in one.text for one in everywhere))
        for one in everywhere:
            one.join(60.0)
    for one in everywhere:
        assert one.shown is not None
        assert one.shown.code == 130, one.text  # detached by Ctrl-C, after the outage
    assert pipe.shown is not None
    assert (pipe.shown.text.count(LOST), pipe.shown.text.count(BACK)) == (1, 1)
    assert events.shown is not None
    lines = [json.loads(line) for line in events.shown.text.splitlines() if line.startswith("{")]
    connection_events = [one for one in lines if one["type"] == "connection"]
    assert [one["state"] for one in connection_events] == ["Lost", "Restored"]
    assert connection_events[0]["maintenance"] == "drain-node-1"
    assert connection_events[0]["message"].startswith(LOST)
