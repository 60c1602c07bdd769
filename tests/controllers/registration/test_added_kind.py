"""A further kind of workload is one row: its pods are registered, early and late, and reach the webhook."""

from __future__ import annotations

import pytest

from support.simulated.clusters import in_world
from vacate.admission.pods import newpods, workloads
from vacate.admission.pods.workloads import REGISTRATIONS, WORKLOADS, WorkloadKind
from vacate.api.kinds import JOBS, PODS
from vacate.api.objects import Obj
from vacate.api.policyrules import rule
from vacate.api.types import Job
from vacate.api.workloads import OPT_IN
from vacate.controllers.registration import controller
from vacate.embedded.bootstrap import controllerroles
from vacate.eviction.registration import PREFIXES, resolve
from vacate.install.manifests import podwebhooks
from vacate.install.settings import Settings
from vacate.sim.cluster import World

NAME = "move.jobs.example.com"
KINDS = (*WORKLOADS, WorkloadKind({JOBS: Job}, {"StatefulSetInterceptor": (NAME, "10000/controller")}))


@pytest.fixture(autouse=True)
def row(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (workloads, newpods, podwebhooks, controller):
        monkeypatch.setattr(module, "WORKLOADS", KINDS)
    # Made of the table when they are loaded.
    monkeypatch.setattr(workloads, "REGISTRATIONS", (*REGISTRATIONS, f"{PREFIXES[0]}/priority_{NAME}"))
    rights = (*controllerroles._EVICTION_RULES, rule("list watch", JOBS.group, JOBS.plural))
    monkeypatch.setattr(controllerroles, "_EVICTION_RULES", rights)


def job() -> Obj:
    spec = {"containers": [{"name": "main", "image": "registry.k8s.io/pause"}], "restartPolicy": "Never"}
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "report"}}
    return {**made, "spec": {"completions": 2, "parallelism": 1, "template": {"spec": spec}}}


def registered(world: World) -> list[tuple[str, ...]]:
    return [resolve(one).interceptors for one in world.objects(PODS, "default")]


@pytest.mark.sim
def test_pods_are_registered_when_they_are_created_and_when_their_workload_opts_in_later() -> None:
    async def body(world: World) -> None:
        await world.client.create(JOBS, job(), "default")
        await world.until(lambda: registered(world) == [()])
        await _opt_in(world, "true")
        await world.until(lambda: registered(world) == [(NAME,)])
        await world.client.patch(JOBS, "report", {"spec": {"parallelism": 2}}, "default")
        await world.until(lambda: registered(world) == [(NAME,), (NAME,)])
        await _opt_in(world, "false")
        await world.until(lambda: registered(world) == [(), ()])

    in_world(body, nodes=0)


@pytest.mark.unit
def test_its_pods_reach_the_webhook() -> None:
    (condition,) = podwebhooks.workload_pods(Settings())["matchConditions"]
    assert "['ReplicaSet', 'StatefulSet', 'Job']" in condition["expression"]


async def _opt_in(world: World, choice: str) -> None:
    await world.client.patch(JOBS, "report", {"metadata": {"annotations": {OPT_IN: choice}}}, "default")
