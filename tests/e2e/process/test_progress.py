"""Progress on a pseudo-terminal: results stand above the table that is drawn anew, and stay."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import Lab
from support.processes.screens import run

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

BACKUP = "backup.example.com"
ERASED = r"\x1b\[2K(?:\x1b\[1A\x1b\[2K)*"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_cluster(tmp_path_factory.mktemp("progress") / "dir", *FAST_PODS) as running:
        yield Lab(running)


@pytest.mark.parametrize(
    "columns", [40, *(pytest.param(columns, marks=pytest.mark.thorough) for columns in (80, 120))]
)
def test_waiting_on_a_terminal(lab: Lab, columns: int) -> None:
    for seconds in (3, 20, 100):  # longer where the machine stands still, and nothing was evicted meanwhile
        plain, held = f"plain-{columns}-{seconds}", f"held-{columns}-{seconds}"
        lab.pod(plain)
        lab.pod(held, BACKUP)
        shown = run(
            "evict", plain, held, "--timeout", f"{seconds}s",
            variables={"KUBECONFIG": str(lab.cluster.kubeconfig)}, terminal=(columns, 24),
            seconds=seconds + 60.0,
        )  # fmt: skip
        assert shown.code == 4, shown.text
        assert f"pod/{plain} eviction requested\r\n" in shown.text
        ended = re.search(rf"{ERASED}pod/{plain} (evicted|terminated)\r\n", shown.text)
        late = re.search(
            rf"{ERASED}pod/{held} not evicted within {'1m40' if seconds == 100 else seconds}s "
            rf"\(stage Intercepting\); the request continues; see: vacate explain {held} ",
            re.sub("\r\n +", " ", shown.text),  # a sentence is broken between words
        )
        if ended and late:
            break
    assert ended, shown.text
    assert late, shown.text
    assert "Intercepting" in shown.text
    assert BACKUP in shown.plain


@pytest.mark.thorough
def test_the_table_stays_on_a_terminal_of_any_width(lab: Lab) -> None:
    name = "recommendation-service-7f9c4b7d4-abcde"
    lab.pod(name, BACKUP)
    lab.vacate("evict", name)
    lab.until_active(name)
    config = {"KUBECONFIG": str(lab.cluster.kubeconfig)}
    for columns in (40, 80, 200):
        once = run("status", name, variables=config, terminal=(columns, 24))
        assert sum(name in line for line in once.plain.splitlines()) == 1
        live = run(
            "status",
            name,
            "-w",
            variables=config,
            terminal=(columns, 24),
            stop_when=lambda text: name in text,
        )
        assert name in live.plain
        assert live.code == 0


@pytest.mark.parametrize("form", [(), pytest.param(("-o", "json"), marks=pytest.mark.thorough)])
def test_a_server_that_goes_away_while_one_watches(tmp_path: Path, form: tuple[str, ...]) -> None:
    with running_cluster(tmp_path / "dir", *FAST_PODS) as running:
        lab = Lab(running)
        lab.pod("held", BACKUP)
        lab.vacate("evict", "held")
        following = lab.start("status", "-w", *form)
        assert following.stdout is not None
        while "held" not in following.stdout.readline():
            pass
    lines = iter(following.stdout.readline, "")
    lost = next(line for line in lines if "The connection is lost" in line)
    following.send_signal(signal.SIGINT)
    following.communicate(timeout=60)
    assert following.returncode == 0
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ The connection is lost, trying again", lost)
