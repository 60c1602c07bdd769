"""The cost of pods as processes: idle, start and memory, beside their limits and a bare fork and exec.

    python -m bench.process_node

Starts are given in elapsed and in CPU time. On a machine that is busy with other work only CPU time means
anything, and its ratio decides the exit code; on an idle machine the elapsed ratio is the one to quote.
"""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.nodes.agents import AgentCluster, agent_place, ready
from support.nodes.containers import processes_of, spec
from vacate.api.kinds import PODS
from vacate.nodeagent.runtime.process import ProcessRuntime

PODS_AT_ONCE = 100
IDLE_SECONDS = 20.0
STARTS = 50
MAX_IDLE_PERCENT = 1.0
MAX_TIMES_FORK = 20.0


@dataclass(frozen=True)
class Start:
    """What one start takes in milliseconds: until it is answered, and of CPU, with the end of the process."""

    elapsed: float
    cpu: float


def fork_exec() -> Start:
    """The bare thing, from a small process like the supervisor's."""
    program = (
        "import os,time\n"
        "def one():\n"
        " t=time.perf_counter(); r,w=os.pipe2(os.O_CLOEXEC); p=os.fork()\n"
        " if p==0: os.execv('/bin/true',['true'])\n"
        " os.close(w); os.read(r,1); d=time.perf_counter()-t; os.close(r); os.waitpid(p,0); return d\n"
        f"b=sum(os.times()[:4]); d=sorted(one() for _ in range({STARTS}))[{STARTS // 2}]\n"
        f"print(d*1000, (sum(os.times()[:4])-b)/{STARTS}*1000)\n"
    )
    with os.popen(f'{sys.executable} -I -S -c "{program}"') as output:
        return Start(*map(float, output.read().split()))


async def runtime_start(folder: Path, *, views: bool) -> Start:
    """Of one container, by the agent's side and the supervisor."""
    runtime = ProcessRuntime(folder / "runtime", use_views=views)
    await runtime.open(lambda _: None)
    (supervisor,) = [pid for pid in processes_of(folder) if _is_supervisor(pid)]
    before = time.process_time() + _cpu(supervisor, children=True)
    taken = []
    for number in range(STARTS):
        wanted = spec(folder, "exec true", f"c{number}")
        begin = time.perf_counter()
        await runtime.start(wanted)
        taken.append(time.perf_counter() - begin)
        await runtime.wait(wanted.id)
        await runtime.remove(wanted.id)
    cpu = (time.process_time() + _cpu(supervisor, children=True) - before) / STARTS
    await runtime.aclose()
    return Start(statistics.median(taken) * 1000, cpu * 1000)


async def pod_start_ms(place: AgentCluster) -> float:
    """From the request that creates the pod to its first line of output, API server included."""
    taken = []
    for number in range(STARTS):
        begin = time.perf_counter()
        made = await place.create(f"start-{number}", "echo on; exec sleep 1000")
        logs = place.settings.pods_folder / made["metadata"]["uid"] / "logs" / "main" / "0.log"
        while not logs.exists() or not logs.stat().st_size:  # noqa: ASYNC110  a file tells nobody
            await asyncio.sleep(0.0005)
        taken.append(time.perf_counter() - begin)
        await place.client.delete(PODS, f"start-{number}", "default")
        await place.gone(f"start-{number}")
    return statistics.median(taken) * 1000


async def idle(place: AgentCluster) -> tuple[float, float, float]:
    """Percent of a core of the agent with the API server in it, of the supervisor; KiB for each pod."""
    names = [f"idle-{number}" for number in range(PODS_AT_ONCE)]
    (supervisor,) = [pid for pid in processes_of(place.folder) if _is_supervisor(pid)]
    before = _rss(supervisor) + _rss(os.getpid())
    for name in names:
        await place.create(name, "exec sleep 100000", terminationGracePeriodSeconds=1)
    for name in names:
        await place.until(name, ready)
    after = _rss(supervisor) + _rss(os.getpid())
    await asyncio.sleep(1)
    cpu, other = time.process_time(), _cpu(supervisor)
    await asyncio.sleep(IDLE_SECONDS)
    cpu, other = time.process_time() - cpu, _cpu(supervisor) - other
    await asyncio.gather(*(place.client.delete(PODS, name, "default") for name in names))
    for name in names:
        await place.gone(name)
    return 100 * cpu / IDLE_SECONDS, 100 * other / IDLE_SECONDS, (after - before) / PODS_AT_ONCE


def _is_supervisor(pid: int) -> bool:
    return b"supervisor.main" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _rss(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1024


def _cpu(pid: int, *, children: bool = False) -> float:
    """Seconds of CPU of a process; also of those of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if children else 13])) / os.sysconf("SC_CLK_TCK")


async def measure(folder: Path) -> int:
    bare = fork_exec()
    plain = await runtime_start(folder / "plain", views=False)
    viewed = await runtime_start(folder / "viewed", views=True)
    async with agent_place(folder / "agent") as place:
        whole = await pod_start_ms(place)
        agent, supervisor, memory = await idle(place)
    print(f"load of the machine                  {os.getloadavg()[0]:8.1f}, {os.cpu_count()} cores")
    for name, one in (
        ("bare fork and exec", bare),
        ("start of a container", plain),
        ("  with a view of its own", viewed),
    ):
        times = f"{one.elapsed / bare.elapsed:5.1f} times elapsed, {one.cpu / bare.cpu:5.1f} times CPU"
        print(f"{name:36} {one.elapsed:8.2f} ms {one.cpu:8.2f} ms CPU {times} (limit {MAX_TIMES_FORK:.0f})")
    print(
        f"pod created to its first output      {whole:8.2f} ms, API server and scheduling of tasks included"
    )
    print(f"idle, {PODS_AT_ONCE} pods: agent and API server {agent:8.2f} % of a core")
    print(f"idle, {PODS_AT_ONCE} pods: supervisor           {supervisor:8.2f} % of a core")
    print(f"memory for each pod                  {memory:8.0f} KiB beside the container's own")
    return int(
        agent + supervisor > MAX_IDLE_PERCENT or max(plain.cpu, viewed.cpu) > MAX_TIMES_FORK * bare.cpu
    )


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("plain", "viewed", "agent"):
            (Path(folder) / name).mkdir()
        return asyncio.run(measure(Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
