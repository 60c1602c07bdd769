"""A fence with an agent as a process: whatever fails or is unclear releases nothing."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.embedded import ADMIN, Embedded, embedded
from vacate.api.kinds import LEASES, NODES
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import ConfigError, FencingFailed
from vacate.fenceagents.agent import AgentResult, FenceAgent, find_program
from vacate.fenceagents.fence import Fencing
from vacate.fencing.limits import FencingLimits
from vacate.fencing.marks import BEGUN, BOOT_ID, FENCED

pytestmark = pytest.mark.process

OUT = "node.kubernetes.io/out-of-service"
OTHER_TAINT = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
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
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        for name, ready in (("n1", "Unknown"), ("n2", "True"), ("n3", "True")):
            status = {"conditions": [{"type": "Ready", "status": ready}]}
            spec = {"taints": [OTHER_TAINT]} if ready == "Unknown" else {}
            meta = {"name": name, "uid": f"u-{name}"}
            await one.seed(NODES, {"metadata": meta, "spec": spec, "status": status})
        yield one


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    (tmp_path / "mode").write_text("works")
    (tmp_path / "power").write_text("on\n")
    (tmp_path / "fence_test").write_text(AGENT)
    (tmp_path / "fence_test").chmod(0o755)
    return tmp_path


def fencing(server: Embedded, machine: Path, timeout: float = 60.0) -> Fencing:
    agent = FenceAgent(find_program(str(machine / "fence_test")), {"passwd": "s3cret"}, timeout)
    client = Client(InProcessTransport(server.server, ADMIN))
    return Fencing(client, server.clock, agent, FencingLimits(), "alice")


def node(server: Embedded, name: str = "n1") -> Obj:
    found = server.stored(NODES, name)
    assert found is not None
    return found


def released(server: Embedded) -> bool:
    return any(one["key"] == OUT for one in node(server)["spec"].get("taints") or [])


async def fence_in_vain(server: Embedded, machine: Path) -> int:
    """A fence whose agent is given up; the process that it has left.

    A machine that stands still gives up an agent before it has begun: then the next one has longer.
    """
    child = machine / "child"
    for seconds in (1, 8, 60):
        with pytest.raises(FencingFailed, match=f"no answer within {seconds} s"):
            await fencing(server, machine, timeout=seconds).fence("n1", retry=True)
        if child.exists() and (found := child.read_text()):
            return int(found)
    raise AssertionError("the agent never got as far as its child")


def runs(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().split()[2] != "Z"


async def test_off_and_read_back_releases_and_leaves_other_taints(server: Embedded, machine: Path) -> None:
    await fencing(server, machine).fence("n1")
    assert released(server)
    assert node(server)["spec"]["taints"][0]["key"] == OTHER_TAINT["key"]
    assert node(server)["metadata"]["annotations"] == {FENCED: "alice at 2026-03-01T12:00:00Z"}
    # Nothing on the command line, and the state was read in a call of its own.
    assert (machine / "calls").read_text() == "off \nstatus \n"
    await fencing(server, machine).unfence("n1")
    assert not released(server)
    assert (machine / "power").read_text() == "on\n"
    assert not node(server)["metadata"].get("annotations")


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("refuses", r"failed \(login failed with \*\*\*\), and its status afterwards is on"),
        ("lies", "action off succeeded, and its status afterwards is on"),
        ("breaks", "action off failed"),
        ("mute", "status afterwards is unknown"),
    ],
)
async def test_an_agent_that_fails_lies_or_is_mute_releases_nothing(
    server: Embedded, machine: Path, mode: str, message: str
) -> None:
    (machine / "mode").write_text(mode)
    with pytest.raises(FencingFailed, match=f"{message}.*Nothing was released"):
        await fencing(server, machine).fence("n1")
    assert not released(server)
    # The next one learns that a fence was begun, and may go on knowingly.
    with pytest.raises(FencingFailed, match=r"begun by alice at .* and its end is not known"):
        await fencing(server, machine).fence("n1")
    (machine / "mode").write_text("works")
    await fencing(server, machine).fence("n1", retry=True)
    assert released(server)


async def test_an_agent_that_cannot_be_started_releases_nothing(server: Embedded, machine: Path) -> None:
    (machine / "fence_test").write_text("#!/nonexistent/interpreter\n")
    with pytest.raises(FencingFailed, match=r"failed \(.*fence_test cannot be started: No such file"):
        await fencing(server, machine).fence("n1")
    assert not released(server)


async def test_an_agent_that_hangs_is_killed_with_its_children(server: Embedded, machine: Path) -> None:
    (machine / "mode").write_text("hangs")
    assert not runs(await fence_in_vain(server, machine))
    assert not released(server)


@pytest.mark.parametrize("mode", ["floods", "forks"])
async def test_an_agent_that_prints_without_end_or_leaves_a_child_is_ended_whole(
    server: Embedded, machine: Path, mode: str
) -> None:
    """What it prints is read, and only the end of it is kept; a child that holds the output is killed too."""
    (machine / "mode").write_text(mode)
    tracemalloc.start()
    try:
        child = await fence_in_vain(server, machine)
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024
    finally:
        tracemalloc.stop()
    assert not runs(child)
    assert not released(server)


async def test_a_node_that_reports_meanwhile_is_not_released(server: Embedded, machine: Path) -> None:
    """The agent has switched off another machine, or the network healed in the middle."""
    made = fencing(server, machine)
    lease = {"metadata": {"name": "n1", "namespace": "kube-node-lease", "uid": "u"}, "spec": {}}
    await server.seed(LEASES, lease)

    class Renewing(FenceAgent):
        async def call(self, action: str) -> AgentResult:
            change = {"spec": {"renewTime": "2026-03-01T12:00:01.000000Z"}}
            await made.client.patch(LEASES, "n1", change, "kube-node-lease")
            return await FenceAgent.call(self, action)

    agent = Renewing(made.agent.program, made.agent.options, 60.0)
    with pytest.raises(FencingFailed, match=r"has reported while it was fenced.*Nothing was released"):
        await replace(made, agent=agent).fence("n1")
    assert not released(server)


async def test_a_node_that_says_that_it_is_not_ready_meanwhile_is_not_released(
    server: Embedded, machine: Path
) -> None:
    """Its agent is alive and reports, although it has no Lease here: the machine that is off is another."""
    made = fencing(server, machine)

    class Reporting(FenceAgent):
        async def call(self, action: str) -> AgentResult:
            status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
            await made.client.patch(NODES, "n1", status, subresource="status")
            return await FenceAgent.call(self, action)

    agent = Reporting(made.agent.program, made.agent.options, 60.0)
    with pytest.raises(FencingFailed, match=r"reports again \(Ready=False\).*Nothing was released"):
        await replace(made, agent=agent).fence("n1")
    assert not released(server)


async def test_of_two_who_fence_one_loses(server: Embedded, machine: Path) -> None:
    made = fencing(server, machine)
    seen = await made.check("n1")
    await made.client.patch(NODES, "n1", {"metadata": {"annotations": {BEGUN: "bob at noon"}}})
    with pytest.raises(FencingFailed, match="another fence has begun"):
        await made.begin(seen)
    with pytest.raises(FencingFailed, match="begun by bob at noon"):
        await made.fence("n1")
    assert not (machine / "calls").exists()


async def test_nodes_that_report_are_never_touched(server: Embedded, machine: Path) -> None:
    with pytest.raises(FencingFailed, match="still reports"):
        await fencing(server, machine).fence("n2")
    with pytest.raises(FencingFailed, match="was not fenced by vacate fence"):
        await fencing(server, machine).unfence("n2")
    assert not (machine / "calls").exists()


async def test_a_machine_that_stays_off_stays_out_of_service(server: Embedded, machine: Path) -> None:
    await fencing(server, machine).fence("n1")
    (machine / "mode").write_text("stays-off")
    with pytest.raises(FencingFailed, match="It stays out of service"):
        await fencing(server, machine).unfence("n1")
    assert released(server)


async def test_a_node_that_was_cut_off_from_its_storage_is_not_given_it_back_before_a_restart(
    server: Embedded, machine: Path
) -> None:
    made = fencing(server, machine)
    await made.fence("n1")
    await made.client.patch(NODES, "n1", {"metadata": {"annotations": {BOOT_ID: "boot-1"}}})
    for boot in ("boot-1", ""):
        status = {"status": {"nodeInfo": {"bootID": boot}}}
        await made.client.patch(NODES, "n1", status, subresource="status")
        with pytest.raises(FencingFailed, match=r"has not been restarted since.*Nothing was changed"):
            await made.unfence("n1")
        assert released(server)
    assert "on " not in (machine / "calls").read_text()
    status = {"status": {"nodeInfo": {"bootID": "boot-2"}}}
    await made.client.patch(NODES, "n1", status, subresource="status")
    await made.unfence("n1")
    assert not released(server)
    assert not node(server)["metadata"].get("annotations")


def test_programs_that_are_none() -> None:
    for name in ("fence_nowhere_at_all", "rm", "/etc/passwd", "./fence_x", "fence_$(id)"):
        with pytest.raises(ConfigError, match=r"^--agent: "):
            find_program(name)
