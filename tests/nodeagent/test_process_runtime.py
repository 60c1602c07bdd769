"""The process runtime with real processes: how they start, end, escape, and outlive the agent."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.effort import THOROUGH
from support.nodes.containers import ENV, clean, exit_code, logged, opened, processes_of, spec
from vacate.nodeagent.runtime.process import ProcessRuntime
from vacate.nodeagent.runtime.protocol import (
    Bind,
    ContainerError,
    ContainerSpec,
    ContainerState,
    Held,
    StartGivenUp,
)
from vacate.nodeagent.runtime.supervisor import children, procfs

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=3)]

ROOT = os.geteuid() == 0
STARTS = 1001 if THOROUGH else 61
CGROUPS = [pytest.param(True, id="cgroup"), pytest.param(False, id="no-cgroup")]
# A child that left session and group and lost its parent: only cgroup, marker or sub-reaper find it.
ESCAPE = (
    "setsid sh -c 'sleep 1000 & echo escaped $!; touch escaped' & until [ -e escaped ]; do sleep 0.02; done; "
)


@pytest.fixture
async def folder(tmp_path: Path) -> AsyncIterator[Path]:
    yield tmp_path
    await clean(tmp_path)


async def test_exit_codes_and_output(folder: Path) -> None:
    async with opened(folder) as (runtime, _):
        await runtime.start(spec(folder, "echo out; echo err >&2; pwd; exit 7"))
        ended = await runtime.wait("c")
        assert exit_code(ended) == 7
        assert (folder / "c.log").read_text() == f"out\nerr\n{folder}/c.d\n"
        await runtime.remove("c")


@pytest.mark.thorough
@pytest.mark.parametrize("use_cgroups", CGROUPS)
async def test_an_ignored_sigterm_is_followed_by_a_sigkill_to_everything(
    folder: Path, use_cgroups: bool
) -> None:
    async with opened(folder, use_cgroups=use_cgroups) as (runtime, _):
        await runtime.start(
            spec(folder, "trap 'echo refused' TERM; " + ESCAPE + "while :; do sleep 0.05; done")
        )
        await logged(folder, "escaped")
        await runtime.signal("c", signal.SIGTERM)
        await logged(folder, "refused")
        await runtime.signal("c", signal.SIGKILL)
        ended = await runtime.wait("c")
        assert exit_code(ended) == 137
        escaped = int((folder / "c.log").read_text().split("escaped ")[1].split()[0])
        assert not procfs.start_time(escaped)
        await runtime.remove("c")


async def test_a_container_of_the_same_name_in_another_runtime_lives_on(folder: Path) -> None:
    async with (
        opened(folder / "one", use_cgroups=False) as (first, _),
        opened(folder / "two", use_cgroups=False) as (second, _),
    ):
        for name, runtime in (("one", first), ("two", second)):
            await runtime.start(spec(folder / name, "echo on; exec sleep 1000"))
            await logged(folder / name, "on")
        await first.signal("c", signal.SIGKILL)
        await first.wait("c")
        await second.signal("c", signal.SIGTERM)
        assert exit_code(await second.wait("c")) == 143
        await first.remove("c")
        await second.remove("c")


@pytest.mark.parametrize("use_cgroups", CGROUPS)
async def test_the_end_of_the_first_process_is_the_end_of_all(folder: Path, use_cgroups: bool) -> None:
    async with opened(folder, use_cgroups=use_cgroups) as (runtime, _):
        await runtime.start(spec(folder, ESCAPE + "exit 3"))
        ended = await runtime.wait("c")
        assert exit_code(ended) == 3
        escaped = int((folder / "c.log").read_text().split("escaped ")[1].split()[0])
        assert not procfs.start_time(escaped)
        await runtime.remove("c")


async def test_a_program_that_is_missing_says_so_and_leaves_nothing(folder: Path) -> None:
    async with opened(folder) as (runtime, _):
        path = {"PATH": "/usr/bin:/bin"}  # a folder that this user may not search would be another error
        bad = ContainerSpec("c", ["no-such-program"], path, folder, folder / "c.log")
        with pytest.raises(ContainerError, match="program: no-such-program: No such file"):
            await runtime.start(bad)
        with pytest.raises(ContainerError, match=r"folder: .*/nowhere: No such file"):
            await runtime.start(
                ContainerSpec("c", ["true"], ENV, folder, folder / "c.log", cwd=f"{folder}/nowhere")
            )
    async with opened(folder) as (_, found):
        assert found == []


async def test_orphans_are_reaped_and_no_zombie_stays(folder: Path) -> None:
    async with opened(folder) as (runtime, _):
        await runtime.start(
            spec(folder, "for i in 1 2 3; do (setsid sleep 0.01 &); done; echo on; exec sleep 1000")
        )
        await logged(folder, "on")
        supervisor = next(pid for pid in processes_of(folder) if b"supervisor" in _cmdline(pid))
        while _zombies_of(supervisor):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await runtime.signal("c", signal.SIGKILL)
        await runtime.wait("c")
        await runtime.remove("c")


async def test_a_command_beside_it_has_an_exit_code_output_and_a_limit(folder: Path) -> None:
    async with opened(folder) as (runtime, _):
        await runtime.start(spec(folder, "exec sleep 1000"))
        done = await runtime.exec("c", ["sh", "-c", "echo done; exit 4"], ENV, 60.0)
        assert (done.code, done.output, done.timed_out) == (4, "done\n", False)
        late = await runtime.exec("c", ["sh", "-c", "sleep 1000 & sleep 1000"], ENV, 0.1)
        assert late.timed_out
        with pytest.raises(ContainerError, match="program"):
            await runtime.exec("c", ["no-such-program"], ENV, 60.0)
        await runtime.signal("c", signal.SIGKILL)
        await runtime.wait("c")
        await runtime.remove("c")


async def test_an_agent_that_comes_back_finds_what_runs_and_what_ended_meanwhile(folder: Path) -> None:
    async with opened(folder) as (runtime, _):
        await runtime.start(spec(folder, "exec sleep 1000", "stays", labels={"pod": "a"}))
        await runtime.start(spec(folder, "sleep 0.3; exit 5", "ends"))
    async with opened(folder) as (runtime, found):
        assert {one.id: dict(one.labels) for one in found} == {"stays": {"pod": "a"}, "ends": {}}
        ended = await runtime.wait("ends")
        assert exit_code(ended) == 5
        before = processes_of(folder)
        await runtime.start(spec(folder, "exec sleep 1000", "stays"))  # known: not started again
        assert processes_of(folder) == before
        await runtime.signal("stays", signal.SIGKILL)
        await runtime.wait("stays")
        for name in ("stays", "ends"):
            await runtime.remove(name)


@pytest.mark.parametrize("seconds", [3600.0, 0.2])
async def test_a_lock_outlives_the_agent_and_the_last_container_until_its_time_is_over(
    folder: Path, seconds: float
) -> None:
    reader, lock = os.pipe()
    async with opened(folder) as (runtime, _):
        await runtime.start(spec(folder, "echo on; exec sleep 1002"))
        await logged(folder, "on")
        await runtime.hold(lock, seconds)
        began = time.monotonic()
    (container,) = (pid for pid in processes_of(folder) if b"1002" in _cmdline(pid))
    os.kill(container, signal.SIGTERM)
    record = folder / "runtime/containers/c.json"
    while not json.loads(record.read_text()).get("exit"):  # noqa: ASYNC110  a file tells nobody
        await asyncio.sleep(0.01)
    if seconds < 1.0:  # no agent came back: it is closed, and the supervisor ends
        assert await asyncio.to_thread(os.read, reader, 1) == b""
        await clean(folder)
    async with opened(folder) as (runtime, found):
        assert [exit_code(one) for one in found] == [143]
        held = await runtime.holds()
        assert (held is not None) == (seconds > 1.0)
    reopened = time.monotonic()
    async with opened(folder) as (runtime, _):  # the agent before this one may have seen nothing
        assert await runtime.holds() == held
        if held is not None:
            assert held.left_at is not None
            assert began <= held.left_at <= reopened
            await runtime.hold(os.dup(reader), seconds)
            assert await runtime.holds() == Held()
        await runtime.remove("c")
        await runtime.release()
    os.close(reader)


async def test_an_agent_that_listens_left_when_it_last_reported_that(folder: Path) -> None:
    """One that is stopped, and killed then, has not heard anything since."""
    reader, lock = os.pipe()
    async with opened(folder) as (runtime, _):
        await runtime.hold(lock, 3600.0)
        assert await runtime.holds(listening=True) == Held()
        listened = time.monotonic()
    async with opened(folder) as (runtime, _):
        held = await runtime.holds()
        assert held is not None
        assert held.left_at is not None
        assert held.left_at <= listened
        await runtime.release()
    os.close(reader)


@pytest.mark.parametrize("use_cgroups", CGROUPS)
async def test_when_the_supervisor_is_killed_containers_run_on_without_an_exit_code(
    folder: Path, use_cgroups: bool
) -> None:
    async with opened(folder, use_cgroups=use_cgroups) as (runtime, _):
        await runtime.start(spec(folder, "exec sleep 1000", "stays"))
        await runtime.start(spec(folder, "exec sleep 1001", "killed"))
        supervisor = next(pid for pid in processes_of(folder) if b"supervisor" in _cmdline(pid))
        (other,) = (pid for pid in processes_of(folder) if b"1001" in _cmdline(pid))
        os.kill(supervisor, signal.SIGKILL)
        os.kill(other, signal.SIGKILL)
        while procfs.start_time(supervisor):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        async with opened(folder, use_cgroups=use_cgroups) as (_, found):
            assert {one.id for one in found} == {"stays", "killed"}
        lost = await runtime.wait("killed")
        assert exit_code(lost) is None
        await runtime.signal("stays", signal.SIGKILL)
        ended = await runtime.wait("stays")
        assert exit_code(ended) is None
        for name in ("stays", "killed"):
            await runtime.remove(name)


@pytest.mark.skipif(not ROOT, reason="an overlay needs root")
async def test_a_view_honours_mount_paths_and_keeps_changes_to_itself(folder: Path) -> None:
    source = folder / "volume"
    source.mkdir()
    (source / "greeting").write_text("hello")
    binds = [Bind(source, "/somewhere/data"), Bind(source, "/somewhere/fixed", read_only=True)]
    script = (
        "cat /somewhere/data/greeting; echo new > /somewhere/data/made; echo no > /somewhere/fixed/x; "
        "echo mine > /etc/vacate-test; echo on; exec sleep 1000"
    )
    async with opened(folder) as (runtime, _):
        assert runtime.honours_mount_paths
        await runtime.start(spec(folder, script, binds=binds))
        await logged(folder, "on")
        assert "hello" in (folder / "c.log").read_text()
        assert "Read-only" in (folder / "c.log").read_text()
        assert (source / "made").read_text() == "new\n"
        assert not folder.joinpath("/etc/vacate-test").exists()
        seen = await runtime.exec("c", ["cat", "/etc/vacate-test", "/somewhere/data/made"], ENV, 60.0)
        assert seen.output == "mine\nnew\n"
        await runtime.signal("c", signal.SIGKILL)
        await runtime.wait("c")
        await runtime.remove("c")


async def test_a_check_for_views_that_was_too_slow_is_repeated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(folder) as (runtime, _):
        honoured = runtime.honours_mount_paths
    tried = 0
    start = ProcessRuntime.start

    async def slow(self: ProcessRuntime, asked: ContainerSpec) -> ContainerState:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise StartGivenUp("start: it did not get as far as the program within 10 s")
        return await start(self, asked)

    monkeypatch.setattr(ProcessRuntime, "start", slow)
    async with opened(folder) as (runtime, _):
        assert runtime.honours_mount_paths == honoured
    assert tried == 2 * ROOT


def _cmdline(pid: int) -> bytes:
    """Empty for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _zombies_of(parent: int) -> list[str]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, ppid = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state == "Z" and int(ppid) == parent:
            found.append(stat.parent.name)
    return found


async def test_many_starts_and_stops_leak_nothing(folder: Path) -> None:
    async with opened(folder, use_views=False) as (runtime, _):
        supervisor = next(pid for pid in processes_of(folder) if b"supervisor" in _cmdline(pid))

        async def once(number: int) -> None:
            await runtime.start(spec(folder, ESCAPE + "exec sleep 1000", f"c{number}"))
            await runtime.signal(f"c{number}", signal.SIGKILL)
            assert exit_code(await runtime.wait(f"c{number}")) == 137
            await runtime.remove(f"c{number}")

        await once(0)
        before = len(list(Path(f"/proc/{supervisor}/fd").iterdir()))  # noqa: ASYNC240
        for number in range(1, STARTS, 10):
            await asyncio.gather(*(once(one) for one in range(number, number + 10)))
        assert len(list(Path(f"/proc/{supervisor}/fd").iterdir())) == before  # noqa: ASYNC240
        assert not _zombies_of(supervisor)
        assert not [one for one in (folder / "runtime/containers").iterdir() if one.suffix == ".json"]
        assert not runtime.cgroup or not Path(runtime.cgroup).exists()  # noqa: ASYNC240


async def test_a_flood_of_output_is_cut_and_the_program_writes_on(folder: Path) -> None:
    async with opened(folder) as (runtime, _):
        wait = "while test -s ../c.log; do sleep 0.05; done; echo later; exec sleep 1000"
        await runtime.start(spec(folder, f"head -c 12000000 /dev/zero; echo; echo on; {wait}"))
        log = folder / "c.log"
        await logged(folder, "later")
        assert log.with_name("c.log.1").read_bytes().endswith(b"\non\n")
        assert log.with_name("c.log.1").stat().st_size <= 10 * 1024 * 1024
        await runtime.signal("c", signal.SIGKILL)
        await runtime.wait("c")
        await runtime.remove("c")


async def test_a_full_disk_refuses_the_start_and_harms_nothing_else(folder: Path) -> None:
    async with opened(folder) as (runtime, _):
        await runtime.start(spec(folder, "exec sleep 1000", "before"))
        full = ContainerSpec("c", ["true"], ENV, folder, Path("/dev/full") / "log")
        with pytest.raises(ContainerError, match="log: Not a directory"):
            await runtime.start(full)
        records = folder / "runtime/containers"
        blocked = records / "blocked.json"
        blocked.symlink_to("/dev/full")  # every write to the record fails, as on a full disk
        with pytest.raises(ContainerError, match="record: No space left"):
            await runtime.start(spec(folder, "echo never", "blocked"))
        assert not (folder / "blocked.log").exists()
        await runtime.signal("before", signal.SIGKILL)
        await runtime.wait("before")
        await runtime.remove("before")


def test_a_start_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process: a log that is a pipe without a reader makes the child wait for ever."""
    monkeypatch.setattr(children, "MAX_START", 0.2)
    os.mkfifo(tmp_path / "stuck")
    (tmp_path / "records").mkdir()
    plan = {"id": "c", "argv": ["true"], "env": ENV, "cwd": str(tmp_path), "log": str(tmp_path / "stuck")}
    with pytest.raises(children.StartError, match="did not get as far as the program") as given_up:
        children.start_container(plan, str(tmp_path / "records"), "boot", 0.0)
    assert given_up.value.step == children.GIVEN_UP
    assert os.waitpid(-1, 0)[1] == signal.SIGKILL


async def test_containers_of_a_throw_away_runtime_end_with_its_connection(folder: Path) -> None:
    """However its program ends, SIGKILL too: the supervisor sees the connection close."""
    async with opened(folder, ends_with_agent=True) as (runtime, _):
        await runtime.start(spec(folder, "trap '' TERM; " + ESCAPE + "while :; do sleep 0.05; done"))
        await logged(folder, "escaped")
