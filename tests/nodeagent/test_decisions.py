"""The agent's pure decisions: what starts and stops next, backoff, grace, probes, status, what is adopted."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import msgspec
import pytest

from vacate.api.objects import Obj
from vacate.kube.patches import pod_status_patch
from vacate.nodeagent.addresses import AddressPool
from vacate.nodeagent.containers.probes import ProbeState, next_state
from vacate.nodeagent.decisions import plan
from vacate.nodeagent.environment import expand
from vacate.nodeagent.lifecycle.hooks import HttpGet
from vacate.nodeagent.lifecycle.stages import ASKED, HOOK, KILL, TERM, ContainerTermination, next_step
from vacate.nodeagent.model import Exit, PodProgress, Run, RunningContainer
from vacate.nodeagent.recovery import adopt_runs, adopt_status
from vacate.nodeagent.runtime.protocol import ContainerError, ContainerState
from vacate.nodeagent.status import Addresses, status_of
from vacate.nodeagent.view import AgentContainer, AgentPod, Probe
from vacate.testing import pod

pytestmark = pytest.mark.unit

T0 = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def at(seconds: float) -> dt.datetime:
    return T0 + dt.timedelta(seconds=seconds)


def agent_pod(
    *,
    init: tuple[str, ...] = (),
    sidecar: bool = False,
    deleting: bool = False,
    status: Obj | None = None,
    **spec: Any,
) -> AgentPod:
    obj = pod("web", node="n", stored=True, spec=spec)
    always = {"restartPolicy": "Always"} if sidecar else {}
    obj["spec"]["initContainers"] = [{"name": one} | always for one in init]
    if deleting:
        obj["metadata"] |= {"deletionTimestamp": at(30).isoformat(), "deletionGracePeriodSeconds": 30}
    obj["status"] = status or {}
    return msgspec.convert(obj, AgentPod)


def progress(**runs: Run) -> PodProgress:
    made = PodProgress("u", T0)
    for name, run in runs.items():
        made.of(name).run = run
    return made


def run(code: int | None = 0, *, ended: float = 1.0, failures: int = 0, attempt: int = 0) -> Run:
    return Run(f"r{attempt}", attempt, T0, failures, Exit(code, at(ended)))


RUNNING = Run("r", 0, T0)


@pytest.mark.parametrize(
    ("policy", "code", "again", "phase"),
    [
        ("Always", 0, True, ""),
        ("Always", 1, True, ""),
        ("OnFailure", 0, False, "Succeeded"),
        ("OnFailure", 1, True, ""),
        ("OnFailure", None, True, ""),
        ("Never", 0, False, "Succeeded"),
        ("Never", 1, False, "Failed"),
        ("Never", None, False, "Failed"),
    ],
)
def test_the_restart_policy(policy: str, code: int | None, again: bool, phase: str) -> None:
    made = plan(agent_pod(restartPolicy=policy), progress(main=run(code)), at(1))
    assert (made.start, made.phase) == (["main"] if again else [], phase)


@pytest.mark.parametrize(("failures", "seconds"), [(0, 0), (1, 10), (2, 20), (5, 160), (6, 300), (90, 300)])
def test_the_backoff_doubles_up_to_five_minutes(failures: int, seconds: float) -> None:
    state = progress(main=run(1, failures=failures))
    early = plan(agent_pod(), state, at(1 + seconds - 0.5))
    assert plan(agent_pod(), state, at(1 + seconds)).start == ["main"]
    if seconds:
        assert (early.start, early.again) == ([], at(1 + seconds))


def test_a_long_healthy_run_ends_a_row_of_failures() -> None:
    assert plan(agent_pod(), progress(main=run(1, failures=9, ended=601)), at(601)).start == ["main"]


def test_a_clock_that_was_set_back_keeps_nothing_down_for_longer_than_a_backoff() -> None:
    state = progress(main=run(1, failures=1, ended=86400))
    assert plan(agent_pod(), state, at(0)).start == ["main"]


def test_init_containers_come_one_after_the_other() -> None:
    wanted = agent_pod(init=("a", "b"))
    assert plan(wanted, progress(), T0).start == ["a"]
    assert plan(wanted, progress(a=RUNNING), T0).start == []
    assert plan(wanted, progress(a=run(0)), T0).start == ["b"]
    assert plan(wanted, progress(a=run(0), b=run(0)), T0).start == ["main"]
    # After a restart of the agent their records may be gone; what ran does not run again.
    assert plan(wanted, progress(main=RUNNING), T0).start == []
    never = agent_pod(init=("a",), restartPolicy="Never")
    assert plan(never, progress(a=run(1)), T0).phase == "Failed"


def test_a_sidecar_does_not_run_again_once_the_pod_has_ended() -> None:
    wanted = agent_pod(init=("side",), restartPolicy="Never", sidecar=True)
    assert plan(wanted, progress(side=run(1), main=RUNNING), at(1)).start == ["side"]
    ending = plan(wanted, progress(side=RUNNING, main=run(0)), at(1))
    assert (ending.start, ending.stop, ending.phase) == ([], ["side"], "Succeeded")
    ended = plan(wanted, progress(side=run(0), main=run(0)), at(1))
    assert (ended.start, ended.stop, ended.phase) == ([], [], "Succeeded")


def test_a_pod_that_is_deleted_or_over_starts_nothing() -> None:
    assert plan(agent_pod(deleting=True), progress(main=RUNNING), T0).stop == ["main"]
    assert plan(agent_pod(deleting=True), progress(), T0).start == []
    over = agent_pod(status={"phase": "Failed"})
    assert plan(over, progress(main=RUNNING), T0).stop == ["main"]
    assert plan(over, progress(), T0).start == []


def test_a_grace_is_shortened_never_lengthened_and_leaves_two_seconds() -> None:
    one = ContainerTermination(100.0, 30.0, stage=TERM, since=111.0)
    assert not one.shorten(60.0, 101.0)
    assert one.shorten(5.0, 110.0)
    assert one.deadline == 115.0
    assert not one.shorten(4.5, 114.0)  # shorter, and yet later than what is left
    assert one.deadline == one.term_at == 115.0
    for since, kill in ((111.0, 115.0), (114.5, 116.5), (115.0, 117.0)):
        one.since = since
        assert next_step(one, 115.0, hook_over=True) == (KILL, kill)


@pytest.mark.parametrize(
    ("given", "stage", "hook_over", "expected"),
    [
        ({"hook": True}, ASKED, False, (HOOK, 105.0)),
        ({}, ASKED, False, (TERM, 105.0)),
        ({"hook": True, "grace": 0.0}, ASKED, False, (TERM, 105.0)),
        ({"hook": True}, HOOK, True, (TERM, 105.0)),
        ({"hook": True}, HOOK, False, (TERM, 130.0)),
        ({"hook": True, "within": True}, HOOK, False, (TERM, 128.0)),  # what follows SIGTERM is within, too
        ({"hook": True, "within": True, "grace": 2.0}, HOOK, False, (TERM, 101.0)),
        ({"within": True}, TERM, False, (KILL, 130.0)),
        ({}, KILL, False, (KILL, math.inf)),
    ],
)
def test_what_is_next_for_a_termination(
    given: dict[str, Any], stage: str, hook_over: bool, expected: tuple[str, float]
) -> None:
    one = ContainerTermination(began=100.0, **{"grace": 30.0, **given}, stage=stage)
    assert next_step(one, 105.0, hook_over=hook_over) == expected


def test_a_probe_turns_only_at_its_threshold() -> None:
    probe = Probe(failure_threshold=2, success_threshold=2)
    state, seen = ProbeState(None), []
    for result in (True, True, False, True, False, False, True):
        state = next_state(state, probe, succeeded=result)
        seen.append(state.healthy)
    assert seen == [None, True, True, True, True, False, False]


def test_a_lost_run_is_unknown_in_the_status() -> None:
    wanted = agent_pod(restartPolicy="Never")
    status = status_of(wanted, progress(main=run(None)), Addresses("1.1.1.1", "2.2.2.2"), at(2), "Failed")
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert (status["phase"], ended["exitCode"], ended["reason"]) == ("Failed", 137, "ContainerStatusUnknown")


def test_a_written_status_differs_in_nothing() -> None:
    where = Addresses("1.1.1.1", "2.2.2.2")
    status = status_of(agent_pod(), progress(main=RUNNING), where, at(2))
    stored = agent_pod(
        status=status | {"conditions": [*status["conditions"], {"type": "Mine", "status": "True"}]}
    )
    assert (
        pod_status_patch(stored.status, status_of(stored, progress(main=RUNNING), where, at(9)), "u") is None
    )
    changed = pod_status_patch(stored.status, status_of(stored, progress(main=run(1)), where, at(9)), "u")
    assert changed is not None
    assert changed["metadata"] == {"uid": "u"}
    assert "Mine" not in str(changed)


def test_records_come_before_the_status_and_a_run_without_either_is_lost() -> None:
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    reported = {"name": "main", "restartCount": 2, "state": running}
    known = agent_pod(status={"containerStatuses": [reported]})
    lost = PodProgress("u", T0)
    adopt_status(known, lost, at(5))
    assert lost.of("main").run == Run("", 2, T0, 0, Exit(None, at(5)))
    labels = {"container": "main", "attempt": "3", "failures": "1"}
    states = [ContainerState("u.main.3", labels, T0, exit=Exit(4, at(3)))]
    kept = adopt_runs("u", states, T0)
    adopt_status(known, kept, at(5))
    assert kept.of("main").run == Run("u.main.3", 3, T0, 1, Exit(4, at(3)))


def test_hostile_statuses_are_read_without_harm() -> None:
    for reported in (None, 7, "x", [None], {"name": "main", "state": {"terminated": {"exitCode": "x"}}}):
        known = agent_pod(status={"containerStatuses": [reported], "conditions": [None, 3]})
        state = PodProgress("u", T0)
        adopt_status(known, state, T0)
        status_of(known, state, Addresses("1.1.1.1", "2.2.2.2"), T0)


def test_loopback_addresses_are_each_pods_own_and_stay() -> None:
    pool = AddressPool("10.0.0.1", loopback=True)
    first = pool.take("a")
    assert first.startswith("127.")
    assert pool.take("a") == first
    assert pool.take("b", first) != first
    assert pool.take("c", "10.9.9.9").startswith("127.")
    assert AddressPool("10.0.0.1", loopback=True).take("a", first) == first
    assert AddressPool("10.0.0.1", loopback=False).take("a", first) == "10.0.0.1"


def test_references_expand_once_and_only_to_known_names() -> None:
    env = {"A": "1", "B": "$(A)"}
    assert expand("$(A) $(B) $$(A) $(C) $A $(", env) == "1 $(A) $(A) $(C) $A $("


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "\x00", "a\x7f"])
def test_no_header_can_be_smuggled_in(value: str) -> None:
    target = RunningContainer("c", AgentContainer("main"), {}, "127.0.0.1")
    with pytest.raises(ContainerError, match="forbidden characters"):
        HttpGet({"port": 80}, target, [("X-Reason", value)])
    with pytest.raises(ContainerError, match="forbidden characters"):
        HttpGet({"port": 80}, target, [(f"X-{value}", "fine")])
    assert b"\r\nX: y" not in HttpGet({"port": 80, "path": f"/{value}"}, target).request
