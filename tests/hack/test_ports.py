"""Ports of the laboratory: nobody else is given one that is reserved."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hack.kubelab import ports
from hack.kubelab.ports import kernel_range, release_ports, reserve_ports
from hack.kubelab.release import KubeError

REPO = Path(__file__).parents[2]
HOLD = """
import sys
from pathlib import Path
from hack.kubelab import ports
ports.FIRST, ports.LAST = int(sys.argv[2]), int(sys.argv[3])
print(*ports.reserve_ports(5, locks=Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def ten(monkeypatch: pytest.MonkeyPatch) -> Iterator[range]:
    """Ten ports to choose from, which nobody else uses meanwhile."""
    kept: list[int] = []
    while len(kept) < 10:
        release_ports(kept)
        (first,) = kept = reserve_ports(1)
        kept += [port for port in range(first + 1, first + 10) if ports.reserve(port, ports.LOCKS)]
    monkeypatch.setattr(ports, "FIRST", first)
    monkeypatch.setattr(ports, "LAST", first + 9)
    monkeypatch.setattr(ports, "_held", {})
    yield range(first, first + 10)
    release_ports(range(first, first + 10))
    monkeypatch.undo()
    release_ports(kept)


@pytest.mark.unit
def test_the_kernel_gives_none_of_them_by_itself() -> None:
    low, high = kernel_range()
    found = reserve_ports(5)
    release_ports(found)
    assert len(set(found)) == 5
    assert not [port for port in found if low <= port <= high]


@pytest.mark.process
def test_processes_share_no_port_and_a_dead_one_holds_none(ten: range, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path), str(ten[0]), str(ten[-1])]
    with subprocess.Popen(
        command, cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        theirs = {int(one) for one in other.stdout.readline().split()}
        ours = set(reserve_ports(10 - len(theirs), locks=tmp_path))
        assert theirs | ours == set(ten)
        with pytest.raises(KubeError, match="1 free ports are needed"):
            reserve_ports(1, locks=tmp_path)
        other.kill()
    assert set(reserve_ports(5, locks=tmp_path)) == theirs


@pytest.mark.unit
def test_a_port_that_is_listened_on_is_passed_over(ten: range, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", ten[3])):
        assert set(reserve_ports(9, locks=tmp_path)) == set(ten) - {ten[3]}
