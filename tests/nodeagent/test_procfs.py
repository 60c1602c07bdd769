"""Processes in the middle of an exec: no marker shows whose they are, so they must not be taken for gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from vacate.nodeagent.runtime.supervisor import procfs
from vacate.nodeagent.runtime.supervisor.containers import Container

pytestmark = pytest.mark.unit

ORDINARY, KERNEL_THREAD = 0x00400000, 0x00200000


def process(
    proc: Path, *, state: str = "R", flags: int = ORDINARY, end: int = 4096, environ: bytes = b""
) -> None:
    """One process, with the fields of its stat that matter; the others as they are for `sleep`."""
    fields = ["1"] * 50
    fields[0], fields[6], fields[48] = state, str(flags), str(end)
    folder = proc / "4711"
    folder.mkdir(exist_ok=True)
    (folder / "stat").write_text(f"4711 (a) name) {' '.join(fields)}\n")
    (folder / "environ").write_bytes(environ)


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(procfs, "PROC", str(tmp_path))
    return tmp_path


def test_a_process_whose_environment_is_nowhere_is_in_the_middle_of_an_exec(proc: Path) -> None:
    process(proc, end=0)
    assert procfs.executing()


def test_others_are_not(proc: Path) -> None:
    assert not procfs.executing()
    process(proc, environ=b"A=1\0")
    assert not procfs.executing()


@pytest.mark.parametrize(
    "fields",
    [{"flags": KERNEL_THREAD, "end": 0}, {"state": "Z", "end": 0}, {"end": 4096}],
    ids=["kernel thread", "zombie", "environment cleared"],
)
def test_what_has_no_environment_for_good_puts_nothing_off(proc: Path, fields: dict[str, object]) -> None:
    process(proc, **fields)  # type: ignore[arg-type]
    assert not procfs.executing()


def test_an_exec_that_ends_before_it_is_asked_for_hides_no_process(
    proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its container has not ended: the process has the marker again."""
    record = {"id": "c", "pid": 1, "start": 0, "cgroup": "", "exit": None}
    container = Container(record, "/home", child=True)
    container.main_gone = True
    killed: list[int] = []
    monkeypatch.setattr(procfs, "kill", killed.extend)
    ask = procfs.executing

    def executing() -> bool:
        process(proc, environ=f"{procfs.MARKER}={container.marker}\0".encode())
        return ask()

    monkeypatch.setattr(procfs, "executing", executing)
    process(proc, end=0)
    assert not any(container.emptied() for _ in range(20))
    assert set(killed) == {4711}


def test_on_this_machine_the_fields_are_where_they_are_read() -> None:
    assert not procfs._is_executing(1)
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    assert int(fields[procfs._ENVIRONMENT_END]) > int(fields[procfs._ENVIRONMENT_END - 1]) > 0
