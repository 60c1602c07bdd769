"""A fence agent as a process, on the event loop that programs use: it takes nothing down with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from vacate.fenceagents.agent import AgentResult, FenceAgent
from vacate.fencing.agentprotocol import PowerState
from vacate.fencing.agents import read_answer
from vacate.runtime.loop import loop_factory

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=2)]

AT_ONCE, CALLS = 4, 10


@pytest.fixture(params=[loop_factory(), None], ids=["of programs", "of the standard library"])
def factory(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop] | None:
    found: Callable[[], asyncio.AbstractEventLoop] | None = request.param
    return found


def agent(folder: Path, text: str) -> FenceAgent:
    program = folder / "fence_test"
    program.write_text(text)
    program.chmod(0o755)
    return FenceAgent(str(program), {"passwd": "s" * 30_000}, 60.0)


def files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("#!/bin/sh\nexit 2\n", AgentResult(2, "")),
        ("#!/bin/sh\nkill -9 $$\n", AgentResult(-9, "")),
        ("#!/bin/sh\nexec 0<&-\necho printed\nexit 1\n", AgentResult(1, "printed\n")),
        ("#!/bin/sh\nwc -c\n", AgentResult(0, f"{len('action=off') + len('passwd=') + 30_000 + 2}\n")),
    ],
    ids=["ends at once", "is killed", "closes its input", "reads"],
)
def test_an_agent_that_ends_at_any_moment_harms_no_other(
    tmp_path: Path, text: str, result: AgentResult, factory: Callable[[], asyncio.AbstractEventLoop] | None
) -> None:
    """Its pipes are closed once: a second time the number could be that of another file."""
    made = agent(tmp_path, text)

    async def call_again_and_again() -> list[AgentResult]:
        return [await made.call("off") for _ in range(CALLS)]

    async def work() -> None:
        await made.call("off")  # the first one may leave open what watches children
        before = files()
        found = await asyncio.gather(*(call_again_and_again() for _ in range(AT_ONCE)))
        assert {one for results in found for one in results} == {result}
        assert files() <= before

    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(work())


def test_a_program_that_cannot_be_started_is_an_answer(
    tmp_path: Path, factory: Callable[[], asyncio.AbstractEventLoop] | None
) -> None:
    made = agent(tmp_path, "#!/nonexistent/interpreter\n")

    async def work() -> None:
        before = files()
        for _ in range(3):
            off, status = await made.off(), await made.status()
            assert (off.ok, status.ok, status.state) == (False, False, PowerState.UNKNOWN)
            assert "fence_test cannot be started: No such file or directory" in off.message
            assert off.message == status.message
        assert files() <= before + 1  # what watches children

    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(work())


def test_what_an_agent_prints_steers_no_terminal(tmp_path: Path) -> None:
    printed = r"\033[31mred\033]0;title\007 \000 \342\200\256 x\r\nlogin failed"
    made = agent(tmp_path, f"#!/bin/sh\nprintf '{printed}'\nexit 1\n")
    found = asyncio.run(made.off())
    assert (found.ok, found.message) == (False, "[31mred ]0;title x login failed")
    answer = {"node": "n", "uid": "u", "state": "off", "message": "\033[31m off \u202e x\n"}
    assert read_answer(json.dumps(answer).encode(), "n", "u").message == "[31m off x"
