"""Jobs in a cluster."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise
from typing import Any

import pytest

from support.simulated.workloads import condition_of, created, events_of, history, in_world, made, writes
from vacate.api.kinds import JOBS, NAMESPACES, PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types.batch import Job, JobSpec
from vacate.embedded.controllers.job.plan import plan_job
from vacate.embedded.controllers.job.tracking import FINALIZER
from vacate.embedded.controllers.replicaset.replicas import BURST
from vacate.sim.cluster import World
from vacate.testing import job

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=1)]

FAILS: Obj = {"metadata": {"annotations": {"sim.vacate.dev/exit-code": "3"}}}
RUNS: Obj = {"metadata": {"annotations": {"sim.vacate.dev/run-seconds": "never"}}}


async def started(world: World, *, template: Obj | None = None, **spec: Any) -> Obj:
    return await world.client.create(JOBS, job(template=template, spec=spec), "default")


async def until(world: World, kind: str) -> Obj:
    await world.until(lambda: condition_of(found(world), kind) == "True", what=f"condition {kind}")
    return found(world)


def found(world: World) -> Obj:
    return created(world, JOBS, "import")


def phases(world: World) -> list[str]:
    return sorted(one["status"]["phase"] for one in world.objects(PODS))


def conditions(one: Obj) -> list[str]:
    return [condition["type"] for condition in one["status"]["conditions"]]


@pytest.mark.thorough
def test_pods_run_until_enough_have_succeeded() -> None:
    async def body(world: World) -> None:
        stored = await started(world, completions=5, parallelism=2)
        over = await until(world, "Complete")
        assert conditions(over) == ["SuccessCriteriaMet", "Complete"]
        status = over["status"]
        assert (status["succeeded"], status.get("active", 0), status.get("failed", 0)) == (5, 0, 0)
        assert (status["ready"], status["terminating"], status["uncountedTerminatedPods"]) == (0, 0, {})
        assert status["startTime"] < status["completionTime"]
        assert phases(world) == ["Succeeded"] * 5
        one = world.objects(PODS)[0]["metadata"]
        assert one["name"].startswith("import-")
        assert "finalizers" not in one
        uid = stored["metadata"]["uid"]
        assert one["labels"]["batch.kubernetes.io/controller-uid"] == uid
        assert one["labels"]["batch.kubernetes.io/job-name"] == "import"
        assert [(ref["uid"], ref["controller"]) for ref in one["ownerReferences"]] == [(uid, True)]
        assert _most_at_once(world) == 2
        await world.settle(10)
        assert events_of(world, "import", "Completed") == ["Job completed"]
        before = writes(world)
        await world.sim.clock.sleep(900)
        assert writes(world) == before

    in_world(body)


def _most_at_once(world: World) -> int:
    running: set[str] = set()
    most = 0
    for gone, obj in history(world, PODS):
        over = gone or obj["status"]["phase"] in ("Succeeded", "Failed")
        running = running - {obj["metadata"]["uid"]} if over else running | {obj["metadata"]["uid"]}
        most = max(most, len(running))
    return most


@pytest.mark.thorough
def test_pods_that_fail_are_replaced_more_and_more_slowly_up_to_the_limit() -> None:
    async def body(world: World) -> None:
        await started(world, template=FAILS, backoffLimit=2)
        over = await until(world, "Failed")
        assert conditions(over) == ["FailureTarget", "Failed"]
        assert condition_of(over, "Failed", "reason") == "BackoffLimitExceeded"
        assert (over["status"]["failed"], phases(world)) == (3, ["Failed"] * 3)
        assert "completionTime" not in over["status"]
        born = sorted(one["metadata"]["creationTimestamp"] for one in world.objects(PODS))
        seconds = [_seconds(later) - _seconds(earlier) for earlier, later in pairwise(born)]
        assert seconds[0] >= 10
        assert seconds[1] >= 20

    in_world(body)


def _seconds(moment: str) -> int:
    hours, minutes, seconds = moment[11:19].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


def test_a_deadline_ends_pods_that_run() -> None:
    async def body(world: World) -> None:
        await started(world, template=RUNS, activeDeadlineSeconds=30)
        over = await until(world, "Failed")
        assert condition_of(over, "Failed", "reason") == "DeadlineExceeded"
        assert over["status"].get("active", 0) == 0
        await world.until(lambda: world.objects(PODS) == [], what="no pods")

    in_world(body)


def test_a_suspended_job_has_no_pods_until_it_is_resumed() -> None:
    async def body(world: World) -> None:
        await started(world, template=RUNS)
        await world.until(lambda: found(world)["status"].get("ready") == 1)
        await world.client.patch(JOBS, "import", {"spec": {"suspend": True}}, "default")
        await until(world, "Suspended")
        await world.until(lambda: world.objects(PODS) == [], what="no pods")
        assert "startTime" not in found(world)["status"]
        await world.client.patch(JOBS, "import", {"spec": {"suspend": False}}, "default")
        await world.until(lambda: found(world)["status"].get("ready") == 1)
        assert condition_of(found(world), "Suspended") == "False"

    in_world(body)


def test_a_deleted_pod_is_counted_once_and_replaced() -> None:
    async def body(world: World) -> None:
        await started(world, template=RUNS)
        await world.until(lambda: found(world)["status"].get("ready") == 1)
        (one,) = world.objects(PODS)
        assert one["metadata"]["finalizers"] == [FINALIZER]
        await world.client.delete(PODS, one["metadata"]["name"], "default")
        await world.until(lambda: found(world)["status"].get("failed") == 1)
        await world.until(lambda: found(world)["status"].get("ready") == 1)
        await world.until(lambda: len(world.objects(PODS)) == 1)
        assert made(world, PODS) == 2

    in_world(body)


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_pods_go_with_their_job(policy: str) -> None:
    async def body(world: World) -> None:
        await started(world, template=RUNS, parallelism=2, completions=2)
        await world.until(lambda: found(world)["status"].get("ready") == 2)
        await world.client.delete(JOBS, "import", "default", DeleteOptions(propagation_policy=policy))
        await world.until(lambda: world.objects(PODS) == [] and world.find(JOBS, "import", "default") is None)

    in_world(body)


def test_pods_outlive_a_job_by_default_and_lose_its_finalizer() -> None:
    async def body(world: World) -> None:
        await started(world, template=RUNS)
        await world.until(lambda: found(world)["status"].get("ready") == 1)
        await world.client.delete(JOBS, "import", "default")
        await world.until(lambda: world.find(JOBS, "import", "default") is None)
        await world.until(lambda: not any("finalizers" in one["metadata"] for one in world.objects(PODS)))
        (one,) = world.objects(PODS)
        assert "ownerReferences" not in one["metadata"]
        await world.client.delete(PODS, one["metadata"]["name"], "default")
        await world.until(lambda: world.objects(PODS) == [])

    in_world(body)


def test_a_finished_job_goes_when_its_time_is_over() -> None:
    async def body(world: World) -> None:
        await started(world, ttlSecondsAfterFinished=60)
        await until(world, "Complete")
        await world.sim.clock.sleep(50)
        assert world.find(JOBS, "import", "default") is not None
        await world.until(lambda: world.find(JOBS, "import", "default") is None and world.objects(PODS) == [])

    in_world(body)


def test_each_end_is_counted_once_although_the_controllers_crash() -> None:
    async def body(world: World) -> None:
        await started(world, completions=6, parallelism=2)
        for _ in range(8):
            await world.sim.clock.sleep(0.7)
            await world.controllers.crash()
            await world.controllers.start()
        over = await until(world, "Complete")
        assert over["status"]["succeeded"] == 6
        assert (made(world, PODS), phases(world)) == (6, ["Succeeded"] * 6)
        await world.until(lambda: not any("finalizers" in one["metadata"] for one in world.objects(PODS)))

    in_world(body)


def test_pods_that_a_lower_parallelism_leaves_over_are_decommissioned() -> None:
    async def body(world: World) -> None:
        await started(world, template=RUNS, parallelism=3, completions=9)
        await world.until(lambda: len(world.healthy_pods()) == 3)
        await world.client.patch(JOBS, "import", {"spec": {"parallelism": 1}}, "default")
        leaving: set[str] = set()

        def seen() -> bool:
            leaving.update(
                one["metadata"].get("reason", "")
                for one in world.objects(PODS)
                if "deletionTimestamp" in one["metadata"]
            )
            return bool(leaving)

        await world.until(seen)
        assert leaving == {"Decommissioned"}

    in_world(body)


def test_a_namespace_with_a_running_job_can_be_deleted() -> None:
    async def body(world: World) -> None:
        await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
        await world.client.create(JOBS, job(namespace="shop", template=RUNS), "shop")
        await world.until(lambda: len(world.objects(PODS)) == 1)
        await world.client.delete(NAMESPACES, "shop")
        await world.until(lambda: world.find(NAMESPACES, "shop") is None, 300.0)
        assert world.objects(PODS) == []

    in_world(body)


def test_pods_are_made_in_portions() -> None:
    wanted = Job(spec=JobSpec(parallelism=2**31 - 1, completions=None))
    assert plan_job(wanted, [], dt.datetime(2026, 1, 1, tzinfo=dt.UTC)).create == BURST
