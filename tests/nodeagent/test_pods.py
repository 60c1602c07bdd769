"""Pods as real processes: they run, end as the documents say, and are removed only when nothing is left."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.nodes.agents import AgentCluster, agent_place, main_status, ready
from support.nodes.containers import processes_of
from support.nodes.shutdown_agents import eventually
from vacate.api.kinds import EVENTS, PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=2)]

PATIENT = "trap 'echo asked; exit 3' TERM; echo on; while :; do sleep 0.02; done"
STUBBORN = "trap 'echo refused' TERM; echo on; while :; do sleep 0.02; done"
GRACES = (1, 8, 60)
"""A machine that stands still for a whole grace gets a longer one: what is done in it counts, not when."""


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[AgentCluster]:
    async with agent_place(tmp_path) as made:
        yield made


async def test_a_pod_runs_ends_with_its_own_code_and_only_then_goes(place: AgentCluster) -> None:
    made = await place.create("web", PATIENT)
    running = await place.until("web", ready)
    assert running["status"]["phase"] == "Running"
    await place.logged(made, "on")
    last = await place.delete("web")
    assert main_status(last)["state"]["terminated"]["exitCode"] == 3
    assert last["status"]["phase"] == "Failed"
    assert not (place.settings.pods_folder / made["metadata"]["uid"]).exists()
    assert not [pid for pid in processes_of(place.folder) if b"asked" in _cmdline(pid)]


async def test_a_pod_that_refuses_is_killed_at_the_end_of_its_grace(place: AgentCluster) -> None:
    for grace in GRACES:
        made = await place.create("web", STUBBORN, terminationGracePeriodSeconds=grace)
        await place.logged(made, "on")
        last, output = await place.output_until_deleted(made)
        assert main_status(last)["state"]["terminated"]["exitCode"] == 137
        if "refused" in output:
            break
    assert "refused" in output


async def test_a_shorter_grace_overtakes_a_longer_one(place: AgentCluster) -> None:
    made = await place.create("web", STUBBORN, terminationGracePeriodSeconds=3600)
    await place.logged(made, "on")
    await place.client.delete(PODS, "web", "default")
    await place.logged(made, "refused")
    await place.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=1))
    await place.gone("web")


async def test_prestop_runs_before_sigterm_and_a_hanging_one_is_bounded(place: AgentCluster) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook $GREETING > hooked; sleep 1000"]}}}
    script = "trap 'cat hooked; exit 0' TERM; echo on; while :; do sleep 0.02; done"
    container = {"lifecycle": hook, "env": [{"name": "GREETING", "value": "hi"}]}
    for grace in GRACES:
        made = await place.create("web", script, terminationGracePeriodSeconds=grace, container=container)
        await place.logged(made, "on")
        await place.until("web", ready)
        last, output = await place.output_until_deleted(made)
        if "hook hi" in output and main_status(last)["state"]["terminated"]["exitCode"] == 0:
            break
    assert "hook hi" in output
    assert main_status(last)["state"]["terminated"]["exitCode"] == 0


async def test_a_job_ends_with_its_phase_and_is_not_run_again(place: AgentCluster) -> None:
    good = await place.create("good", "echo once", restartPolicy="Never")
    await place.create("bad", "exit 9", restartPolicy="Never")
    await place.until("good", lambda one: one["status"].get("phase") == "Succeeded")
    bad = await place.until("bad", lambda one: one["status"].get("phase") == "Failed")
    assert main_status(bad)["state"]["terminated"]["exitCode"] == 9
    await place.stop_agent()
    await place.start_agent()
    assert await place.logged(good, "once") == "once\n"
    for name in ("good", "bad"):
        await place.client.delete(PODS, name, "default")
        await place.gone(name)


async def test_a_crash_is_restarted_once_at_once_and_then_with_a_backoff(place: AgentCluster) -> None:
    await place.create("web", "echo run; exit 1")
    looping = await place.until(
        "web",
        lambda one: (main_status(one)["state"].get("waiting") or {}).get("reason") == "CrashLoopBackOff",
    )
    assert main_status(looping)["restartCount"] == 1
    assert main_status(looping)["lastState"]["terminated"]["exitCode"] == 1
    await place.client.delete(PODS, "web", "default")
    await place.gone("web")


async def test_init_containers_run_in_order_before_the_others(place: AgentCluster) -> None:
    init: list[Obj] = [
        {
            "name": "one",
            "image": "none",
            "command": ["sh", "-c", "sleep 0.2; echo 1 >> $VACATE_VOLUME_SHARED/o"],
        },
        {"name": "two", "image": "none", "command": ["sh", "-c", "echo 2 >> $VACATE_VOLUME_SHARED/o"]},
    ]
    mounts = [{"name": "shared", "mountPath": "/shared"}]
    for one in init:
        one["volumeMounts"] = mounts
    made = await place.create(
        "web",
        "cat $VACATE_VOLUME_SHARED/o; echo on; exec sleep 1000",
        initContainers=init,
        volumes=[{"name": "shared", "emptyDir": {}}],
        container={"volumeMounts": mounts},
    )
    assert await place.logged(made, "on") == "1\n2\non\n"
    await place.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=1))
    await place.gone("web")


async def test_a_container_without_a_command_says_what_to_do(place: AgentCluster) -> None:
    await place.create("web", "", container={"command": None})
    waiting = await place.until(
        "web", lambda one: bool(main_status(one)["state"].get("waiting", {}).get("message"))
    )
    assert "set command" in main_status(waiting)["state"]["waiting"]["message"]
    await place.client.delete(PODS, "web", "default")
    await place.gone("web")


async def test_a_program_that_is_missing_is_a_start_error(place: AgentCluster) -> None:
    await place.create("web", "", container={"command": ["no-such-program"]}, restartPolicy="Never")
    failed = await place.until("web", lambda one: one["status"].get("phase") == "Failed")
    ended = main_status(failed)["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert "no-such-program" in ended["message"]
    await place.client.delete(PODS, "web", "default")
    await place.gone("web")


async def test_a_failing_liveness_probe_restarts_and_readiness_follows_its_probe(place: AgentCluster) -> None:
    look = {"exec": {"command": ["test", "-e", "fine"]}, "timeoutSeconds": 60}
    probe = {**look, "periodSeconds": 1, "failureThreshold": 1}
    made = await place.create(
        "web",
        "echo run; touch fine; exec sleep 1000",
        terminationGracePeriodSeconds=1,
        container={"readinessProbe": probe, "livenessProbe": {**probe, "initialDelaySeconds": 1}},
    )
    before = main_status(await place.until("web", ready))["restartCount"]
    (place.own_folder(made) / "fine").unlink()
    await place.until("web", lambda one: not ready(one) or main_status(one)["restartCount"] > before)
    await place.until("web", lambda one: main_status(one)["restartCount"] > before and ready(one))
    events = await place.client.list(EVENTS, "default")
    assert {"Unhealthy", "Killing", "Started"} <= {one["reason"] for one in events.items}
    await place.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=1))
    await place.gone("web")


async def test_a_force_deleted_pod_is_ended_before_its_successor_of_the_same_name_starts(
    place: AgentCluster,
) -> None:
    first = await place.create("web", STUBBORN + " # first")
    await place.logged(first, "on")
    await place.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=0))
    second = await place.create("web", "echo on; exec sleep 1000")
    await place.logged(second, "on")
    assert not [pid for pid in processes_of(place.folder) if b"# first" in _cmdline(pid)]
    assert not (place.settings.pods_folder / first["metadata"]["uid"]).exists()
    await place.client.delete(PODS, "web", "default", DeleteOptions(grace_period_seconds=1))
    await place.gone("web")


async def test_fifty_pods_at_once_come_and_go(place: AgentCluster) -> None:
    names = [f"web-{number}" for number in range(50)]
    await asyncio.gather(*(place.create(name, "exec sleep 1000") for name in names))
    for name in names:
        await place.until(name, ready)
    await asyncio.gather(*(place.client.delete(PODS, name, "default") for name in names))
    for name in names:
        await place.gone(name)
    assert not list(place.settings.pods_folder.iterdir())


def _cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


async def test_a_pod_ends_when_its_active_deadline_is_over(place: AgentCluster) -> None:
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "echo hook $KUBE_POD_TERM_REASON >> hooks"]}}}
    script = "trap 'cat hooks; exit 0' TERM; echo on; while :; do sleep 0.02; done"
    made = await place.create("web", script, activeDeadlineSeconds=1, container={"lifecycle": hook})
    ended = await place.until("web", lambda one: one["status"].get("phase") == "Failed")
    assert ended["status"]["reason"] == "DeadlineExceeded"
    assert "DisruptionTarget" not in [one["type"] for one in ended["status"]["conditions"]]
    assert "hook Eviction\n" in await place.logged(made, "hook")
    await place.client.delete(PODS, "web", "default")
    await place.gone("web")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run containers as someone else")
async def test_a_container_runs_as_its_user_below_a_folder_that_only_root_may_enter(
    place: AgentCluster,
) -> None:
    place.settings.folder.parent.chmod(0o700)
    script = (
        "trap 'echo hooked by $(cat hook); exit 0' TERM; touch own && echo runs as $(id -u):$(id -g); "
        "while :; do sleep 0.02; done"
    )
    hook = {"preStop": {"exec": {"command": ["sh", "-c", "id -u > hook"]}}}
    secure = {"runAsUser": 1234, "runAsGroup": 4321}
    made = await place.create("web", script, container={"securityContext": secure, "lifecycle": hook})
    assert "runs as 1234:4321" in await place.logged(made, "runs as")
    _, output = await place.output_until_deleted(made)
    assert output.endswith("hooked by 1234\n")


async def test_an_agent_that_ends_with_its_pods_runs_their_hooks_with_a_reason(tmp_path: Path) -> None:
    wait = "until [ -e go ]; do sleep 0.02; done"
    command = f"echo hook $KUBE_POD_TERM_REASON >> hooks; {wait}; echo done >> hooks"
    hook = {"preStop": {"exec": {"command": ["sh", "-c", command]}}}
    script = "trap 'cp hooks ended; exit 0' TERM; echo on; while :; do sleep 0.02; done"
    async with agent_place(tmp_path / "node", stop_pods=True) as place:
        made = await place.create("web", script, container={"lifecycle": hook})
        await place.create("deaf", "trap '' TERM; echo on; while :; do sleep 0.02; done")
        await place.logged(made, "on")
        await place.until("web", ready)
        await place.until("deaf", ready)
        began = time.monotonic()
        ending = asyncio.create_task(place.stop_agent())
        await eventually((place.own_folder(made) / "hooks").exists)
        place.let_end(made)
        await ending
        assert time.monotonic() - began < 20.0  # also with a pod that has to be killed
        assert (place.own_folder(made) / "ended").read_text() == "hook Eviction\ndone\n"
