"""A fence agent as a process: what it prints, how it fails, and what it leaves."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from support.waiting import until
from vacate.errors import ConfigError
from vacate.fenceagents.agent import FenceAgent, find_program
from vacate.fencing.agentprotocol import PowerState

pytestmark = pytest.mark.process

# A machine with a power state in a file, and an agent that can fail in the ways in which real ones do.
AGENT = """#!/bin/sh
dir=$(dirname "$0")
mode=$(cat "$dir/mode")
while IFS= read -r line; do
  case $line in action=*) action=${line#action=};; passwd=*) passwd=${line#passwd=};; esac
done
echo "$action $*" >> "$dir/calls"
case $action in
  off)
    case $mode in
      hangs) sleep 600 & echo $! > "$dir/child"; wait;;
      refuses) echo "login failed with $passwd"; exit 1;;
      lies) exit 0;;
      floods) yes "flood of $passwd" & echo $! > "$dir/child"; wait;;
      forks) sleep 600 & echo $! > "$dir/child";;
      breaks) echo off > "$dir/power"; exit 1;;
    esac
    echo off > "$dir/power";;
  on) [ "$mode" = stays-off ] || echo on > "$dir/power";;
  status)
    [ "$mode" = mute ] && exit 1
    [ "$(cat "$dir/power")" = on ] || exit 2;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    (tmp_path / "mode").write_text("works")
    (tmp_path / "power").write_text("on\n")
    (tmp_path / "fence_test").write_text(AGENT)
    (tmp_path / "fence_test").chmod(0o755)
    return tmp_path


def agent(machine: Path, timeout: float = 60.0) -> FenceAgent:
    return FenceAgent(find_program(str(machine / "fence_test")), {"passwd": "s3cret"}, timeout)


async def call_in_vain(machine: Path) -> int:
    """An agent that is given up; the process that it has left.

    A machine that stands still gives up an agent before it has begun: then the next one has longer.
    """
    child = machine / "child"
    for seconds in (1, 8, 60):
        answer = await agent(machine, timeout=seconds).off()
        assert (answer.ok, answer.message) == (False, f"no answer within {seconds} s")
        if child.exists() and (found := child.read_text()):
            return int(found)
    raise AssertionError("the agent never got as far as its child")


def runs(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().split()[2] != "Z"


async def test_nothing_stands_on_the_command_line_and_the_state_is_read_in_a_call_of_its_own(
    machine: Path,
) -> None:
    off, status = await agent(machine).off(), await agent(machine).status()
    assert (off.ok, status.ok, status.state) == (True, True, PowerState.OFF)
    assert (machine / "calls").read_text() == "off \nstatus \n"
    assert (await agent(machine).on()).ok
    assert (await agent(machine).status()).state is PowerState.ON


@pytest.mark.parametrize(
    ("mode", "ok", "message", "state"),
    [
        ("refuses", False, "login failed with ***", PowerState.ON),
        ("lies", True, "no output", PowerState.ON),
        ("breaks", False, "no output", PowerState.OFF),
        ("mute", True, "no output", PowerState.UNKNOWN),
    ],
)
async def test_an_agent_that_fails_lies_or_is_mute(
    machine: Path, mode: str, ok: bool, message: str, state: PowerState
) -> None:
    (machine / "mode").write_text(mode)
    off = await agent(machine).off()
    assert (off.ok, off.message) == (ok, message)
    assert (await agent(machine).status()).state is state


async def test_an_agent_that_hangs_is_killed_with_its_children(machine: Path) -> None:
    (machine / "mode").write_text("hangs")
    child = await call_in_vain(machine)
    until(lambda: not runs(child))  # it was sent SIGKILL, and dies when it has a processor


@pytest.mark.parametrize("mode", ["floods", "forks"])
async def test_an_agent_that_prints_without_end_or_leaves_a_child_is_ended_whole(
    machine: Path, mode: str
) -> None:
    """What it prints is read, and only the end of it is kept; a child that holds the output is killed too."""
    (machine / "mode").write_text(mode)
    tracemalloc.start()
    try:
        child = await call_in_vain(machine)
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()
    until(lambda: not runs(child))


def test_programs_that_are_none() -> None:
    for name in ("fence_nowhere_at_all", "rm", "/etc/passwd", "./fence_x", "fence_$(id)"):
        with pytest.raises(ConfigError, match=r"^--agent: "):
            find_program(name)
