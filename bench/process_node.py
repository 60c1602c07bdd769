"""The cost of pods as processes: idle, start and memory, beside their limits and a bare fork and exec."""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.agents import Place, agent_place, ready
from support.containers import processes_of, spec
from vacate.api.kinds import PODS
from vacate.nodeagent.runtime.process import ProcessRuntime

PODS_AT_ONCE = 100
IDLE_SECONDS = 20.0
STARTS = 50
MAX_IDLE_PERCENT = 1.0
MAX_TIMES_FORK = 20.0


def fork_exec_ms() -> float:
    """The bare thing, from a small process like the supervisor's."""
    program = (
        "import os,time\n"
        "def one():\n"
        " t=time.perf_counter(); r,w=os.pipe2(os.O_CLOEXEC); p=os.fork()\n"
        " if p==0: os.execv('/bin/true',['true'])\n"
        " os.close(w); os.read(r,1); d=time.perf_counter()-t; os.close(r); os.waitpid(p,0); return d\n"
        f"print(sorted(one() for _ in range({STARTS}))[{STARTS // 2}]*1000)\n"
    )
    with os.popen(f'{sys.executable} -I -S -c "{program}"') as output:
        return float(output.read())


async def runtime_start_ms(folder: Path, *, views: bool) -> float:
    runtime = ProcessRuntime(folder / "runtime", use_views=views)
    await runtime.open(lambda _: None)
    taken = []
    for number in range(STARTS):
        wanted = spec(folder, "exec true", f"c{number}")
        begin = time.perf_counter()
        await runtime.start(wanted)
        taken.append(time.perf_counter() - begin)
        await runtime.wait(wanted.id)
        await runtime.remove(wanted.id)
    await runtime.aclose()
    return statistics.median(taken) * 1000


async def pod_start_ms(place: Place) -> float:
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


async def idle(place: Place) -> tuple[float, float, float]:
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


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(folder: Path) -> int:
    bare = fork_exec_ms()
    plain = await runtime_start_ms(folder / "plain", views=False)
    viewed = await runtime_start_ms(folder / "viewed", views=True)
    async with agent_place(folder / "agent") as place:
        whole = await pod_start_ms(place)
        agent, supervisor, memory = await idle(place)
    limit = f"(limit {MAX_TIMES_FORK:.0f})"
    print(f"bare fork and exec                   {bare:8.2f} ms")
    print(f"start of a container                 {plain:8.2f} ms  {plain / bare:5.1f} times {limit}")
    print(f"  with a view of its own             {viewed:8.2f} ms  {viewed / bare:5.1f} times {limit}")
    print(f"pod created to its first output      {whole:8.2f} ms  {whole / bare:5.1f} times, API included")
    print(f"idle, {PODS_AT_ONCE} pods: agent and API server {agent:8.2f} % of a core")
    print(f"idle, {PODS_AT_ONCE} pods: supervisor           {supervisor:8.2f} % of a core")
    print(f"memory for each pod                  {memory:8.0f} KiB beside the container's own")
    return int(agent + supervisor > MAX_IDLE_PERCENT or max(plain, viewed) > MAX_TIMES_FORK * bare)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("plain", "viewed", "agent"):
            (Path(folder) / name).mkdir()
        return asyncio.run(measure(Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
