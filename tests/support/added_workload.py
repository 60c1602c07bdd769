"""A program with a further kind of workload, Jobs: one row, which stands there before all else is read.

    python -m support.added_workload

What is made of the table when modules are loaded, such as roles and policies, has the row, too.
"""

from __future__ import annotations

from vacate.admission.pods import workloads
from vacate.admission.pods.workloads import WorkloadKind
from vacate.api.kinds import JOBS, PODS
from vacate.api.objects import Obj
from vacate.api.types import Job
from vacate.api.workloads import OPT_IN
from vacate.eviction.registration import PREFIXES

NAME = "move.jobs.example.com"


def add_row() -> None:
    """The row, and the names that the module makes of its rows."""
    row = WorkloadKind({JOBS: Job}, {"StatefulSetInterceptor": (NAME, "10000/controller")})
    workloads.WORKLOADS = (*workloads.WORKLOADS, row)  # type: ignore[assignment]
    workloads.REGISTRATIONS = (*workloads.REGISTRATIONS, f"{PREFIXES[0]}/priority_{NAME}")


def job() -> Obj:
    spec = {"containers": [{"name": "main", "image": "registry.k8s.io/pause"}], "restartPolicy": "Never"}
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "report"}}
    return {**made, "spec": {"completions": 2, "parallelism": 1, "template": {"spec": spec}}}


def main() -> None:
    add_row()
    from support.simulated.clusters import in_world
    from vacate.eviction.registration import resolve
    from vacate.install.manifests.podwebhooks import workload_pods
    from vacate.install.settings import Settings
    from vacate.sim.cluster import World

    def registered(world: World) -> list[tuple[str, ...]]:
        return [resolve(one).interceptors for one in world.objects(PODS, "default")]

    async def opt_in(world: World, choice: str) -> None:
        await world.client.patch(JOBS, "report", {"metadata": {"annotations": {OPT_IN: choice}}}, "default")

    async def body(world: World) -> None:
        await world.client.create(JOBS, job(), "default")
        await world.until(lambda: registered(world) == [()])
        await opt_in(world, "true")
        await world.until(lambda: registered(world) == [(NAME,)])
        print("registered after its workload was opted in")
        await world.client.patch(JOBS, "report", {"spec": {"parallelism": 2}}, "default")
        await world.until(lambda: registered(world) == [(NAME,), (NAME,)])
        print("registered when it is created")
        await opt_in(world, "false")
        await world.until(lambda: registered(world) == [(), ()])
        print("no longer registered")

    in_world(body, nodes=0)
    (condition,) = workload_pods(Settings())["matchConditions"]
    print(condition["expression"])


if __name__ == "__main__":
    main()
