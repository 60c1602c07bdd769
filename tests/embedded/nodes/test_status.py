"""What the node writes about a pod, and that it writes only differences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.simulated.pods import T0, at, deleted, simulated_pod
from vacate.api.objects import Obj
from vacate.embedded.nodes.adoption import adopt
from vacate.embedded.nodes.podlifecycle import PodLifecycle, advance, arrive
from vacate.embedded.nodes.podstatus import Addresses, status_of
from vacate.embedded.nodes.projections import SimulatedPod
from vacate.embedded.nodes.timings import NEVER, PodTimings, timings_for
from vacate.kube.patches import pod_status_patch
from vacate.testing import pod

pytestmark = pytest.mark.unit

WHERE = Addresses(pod="10.0.0.7", host="172.16.0.2")


def reported(lifecycle: PodLifecycle, view: SimulatedPod, now: float) -> Obj:
    return status_of(lifecycle, view, WHERE, at(now))


def conditions(status: Obj) -> dict[str, str]:
    return {one["type"]: one["status"] for one in status["conditions"]}


def test_a_pod_that_is_being_created() -> None:
    view = simulated_pod()
    status = reported(arrive(view, PodTimings(start=9), T0), view, 0)
    assert status["phase"] == "Pending"
    assert status["startTime"] == "2026-01-01T00:00:00Z"
    assert "podIP" not in status
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert conditions(status) == {
        "PodReadyToStartContainers": "False",
        "Initialized": "True",
        "Ready": "False",
        "ContainersReady": "False",
        "PodScheduled": "True",
    }
    ready = status["conditions"][2]
    assert ready["reason"] == "ContainersNotReady"
    assert ready["message"] == "containers with unready status: [main]"


def test_a_pod_that_runs_and_is_ready() -> None:
    view = simulated_pod(metadata={"generation": 1})
    timings = PodTimings(start=2)
    status = reported(advance(arrive(view, timings, T0), view, timings, at(3)), view, 3)
    assert status["phase"] == "Running"
    assert status["podIPs"] == [{"ip": "10.0.0.7"}]
    assert status["hostIP"] == "172.16.0.2"
    assert status["observedGeneration"] == 1
    main = status["containerStatuses"][0]
    assert main["state"] == {"running": {"startedAt": "2026-01-01T00:00:02Z"}}
    assert (main["ready"], main["started"], main["restartCount"]) == (True, True, 0)
    assert set(conditions(status).values()) == {"True"}


def test_init_containers_keep_a_pod_uninitialized_until_it_starts() -> None:
    view = simulated_pod(
        spec={
            "initContainers": [
                {"name": "prepare", "image": "i"},
                {"name": "side", "image": "s", "restartPolicy": "Always"},
            ]
        }
    )
    timings = PodTimings(start=2)
    lifecycle = arrive(view, timings, T0)
    before = reported(lifecycle, view, 0)
    assert conditions(before)["Initialized"] == "False"
    assert before["conditions"][1]["message"] == "containers with incomplete status: [prepare side]"
    after = reported(advance(lifecycle, view, timings, at(2)), view, 2)
    prepare, side = after["initContainerStatuses"]
    assert prepare["state"]["terminated"]["reason"] == "Completed"
    assert "running" in side["state"]
    assert conditions(after)["Initialized"] == "True"


def test_a_pod_in_back_off_names_its_wait() -> None:
    view = simulated_pod()
    timings = PodTimings(start=0, run=1, exit_code=2)
    status = reported(advance(arrive(view, timings, T0), view, timings, at(5)), view, 5)
    main = status["containerStatuses"][0]
    assert status["phase"] == "Running"
    assert main["restartCount"] == 1
    assert main["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": "back-off 10s restarting failed container=main pod=web_default(uid-web)",
    }
    assert main["lastState"]["terminated"]["exitCode"] == 2


@pytest.mark.parametrize(
    ("code", "phase", "reason"), [(0, "Succeeded", "PodCompleted"), (2, "Failed", "PodFailed")]
)
def test_a_pod_that_has_ended(code: int, phase: str, reason: str) -> None:
    view = simulated_pod(spec={"restartPolicy": "Never"})
    timings = PodTimings(start=1, run=4, exit_code=code)
    status = reported(advance(arrive(view, timings, T0), view, timings, at(9)), view, 9)
    assert status["phase"] == phase
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == code
    assert ended["finishedAt"] == "2026-01-01T00:00:05Z"
    assert [one.get("reason") for one in status["conditions"][2:4]] == [reason, reason]


def test_a_pod_that_has_ended_says_what_its_annotation_says() -> None:
    body = pod("web", node="node-1", stored=True, spec={"restartPolicy": "Never"})
    body["metadata"]["annotations"] = {"sim.vacate.dev/termination-message": "done " * 1000}
    view, timings = simulated_pod(body), PodTimings(start=1, run=4)
    running = reported(advance(arrive(view, timings, T0), view, timings, at(2)), view, 2)
    assert "done" not in str(running["containerStatuses"])
    status = reported(advance(arrive(view, timings, T0), view, timings, at(9)), view, 9)
    assert len(status["containerStatuses"][0]["state"]["terminated"]["message"]) == 4096


def test_readiness_gates_hold_a_pod_back() -> None:
    gates = {"readinessGates": [{"conditionType": "example.com/lb"}]}
    view = simulated_pod(spec=gates)
    timings = PodTimings(start=0)
    lifecycle = advance(arrive(view, timings, T0), view, timings, at(1))
    ready = reported(lifecycle, view, 1)["conditions"][2]
    assert ready["status"] == "False"
    assert (
        ready["message"] == 'corresponding condition of pod readiness gate "example.com/lb" does not exist.'
    )
    open_gate = {"conditions": [{"type": "example.com/lb", "status": "True"}]}
    assert conditions(reported(lifecycle, simulated_pod(spec=gates, status=open_gate), 1))["Ready"] == "True"


def test_a_condition_that_stays_keeps_its_time() -> None:
    since = "2025-12-31T00:00:00Z"
    old = {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": since}]}
    view = simulated_pod(status=old)
    made = {one["type"]: one for one in reported(arrive(view, PodTimings(), T0), view, 0)["conditions"]}
    assert made["PodScheduled"]["lastTransitionTime"] == since
    assert made["Ready"]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_a_patch_holds_differences_only_and_the_uid() -> None:
    view = simulated_pod()
    timings = PodTimings(start=1, ready=5)
    lifecycle = advance(arrive(view, timings, T0), view, timings, at(2))
    before = reported(lifecycle, view, 2)
    seen = simulated_pod(status=before)
    assert pod_status_patch(seen.status, reported(lifecycle, seen, 3), "uid-web") is None
    patch = pod_status_patch(seen.status, reported(lifecycle, seen, 6), "uid-web")
    assert patch is not None
    assert patch["metadata"] == {"uid": "uid-web"}
    assert sorted(patch["status"]) == ["conditions", "containerStatuses"]
    assert [one["type"] for one in patch["status"]["conditions"]] == ["Ready", "ContainersReady"]
    # A merge keeps what it does not name, so the old reason and message must be taken away by name.
    assert patch["status"]["conditions"][0]["reason"] is None
    assert patch["status"]["conditions"][0]["message"] is None


def test_foreign_conditions_are_never_part_of_a_patch() -> None:
    foreign = {"type": "DisruptionTarget", "status": "True"}
    view = simulated_pod(status={"conditions": [foreign]})
    patch = pod_status_patch(view.status, reported(arrive(view, PodTimings(), T0), view, 0), "u")
    assert patch is not None
    assert "DisruptionTarget" not in [one["type"] for one in patch["status"]["conditions"]]


POLICIES = st.sampled_from(["Always", "OnFailure", "Never"])


TIMINGS = st.builds(
    PodTimings,
    start=st.integers(0, 50),
    ready=st.integers(0, 50),
    run=st.sampled_from([NEVER, 5, 700]),
    exit_code=st.integers(0, 1),
)


@given(POLICIES, st.integers(0, 2000), TIMINGS)
def test_a_restarted_node_reads_the_life_that_it_wrote(policy: str, now: int, timings: PodTimings) -> None:
    view = simulated_pod(spec={"restartPolicy": policy})
    lifecycle = advance(arrive(view, timings, T0), view, timings, at(now))
    seen = simulated_pod(spec={"restartPolicy": policy}, status=reported(lifecycle, view, now))
    again = advance(adopt(seen, timings, at(now)), seen, timings, at(now))
    if lifecycle.running or lifecycle.ended or lifecycle.last is None:
        assert reported(again, seen, now) == seen.status
    else:  # the back-off is forgotten, so it runs at once
        assert again.running
        assert again.restarts == lifecycle.restarts + 1


def test_a_termination_begins_anew_after_a_restart() -> None:
    timings = PodTimings(stop=NEVER)
    obj = pod("web", node="node-1", stored=True)
    lifecycle = advance(arrive(simulated_pod(obj), timings, T0), simulated_pod(obj), timings, at(50))
    status = reported(lifecycle, simulated_pod(obj), 50)
    gone = deleted(obj | {"status": status}, 30)
    before = advance(lifecycle, gone, timings, at(100))
    assert before.kill_at == at(130)
    after = advance(adopt(gone, timings, at(120)), gone, timings, at(120))
    assert after.kill_at == at(150)


def test_containers_die_with_the_machine() -> None:
    timings = PodTimings(stop=NEVER)
    obj = pod("web", node="node-1", stored=True)
    lifecycle = advance(arrive(simulated_pod(obj), timings, T0), simulated_pod(obj), timings, at(50))
    seen = simulated_pod(obj | {"status": reported(lifecycle, simulated_pod(obj), 50)})
    again = advance(adopt(seen, timings, at(90), survived=lambda _: False), seen, timings, at(90))
    assert (again.running, again.restarts, again.began) == (True, 1, at(90))
    gone = deleted(obj | {"status": seen.status}, 30)
    assert advance(adopt(gone, timings, at(90), survived=lambda _: False), gone, timings, at(90)).ended


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, PodTimings()),
        ({"sim.vacate.dev/start-seconds": "2.5"}, PodTimings(start=2.5)),
        ({"sim.vacate.dev/ready-seconds": "never"}, PodTimings(ready=NEVER)),
        ({"sim.vacate.dev/exit-code": "3"}, PodTimings(exit_code=3)),
        ({"sim.vacate.dev/run-seconds": "60"}, PodTimings(run=60)),
        ({"sim.vacate.dev/start-seconds": "-1"}, PodTimings()),
        ({"sim.vacate.dev/start-seconds": "nan"}, PodTimings()),
        ({"sim.vacate.dev/start-seconds": "inf"}, PodTimings()),
        ({"sim.vacate.dev/stop-seconds": "soon"}, PodTimings()),
        ({"sim.vacate.dev/exit-code": "256"}, PodTimings()),
        ({"sim.vacate.dev/exit-code": "²"}, PodTimings()),
        ({"unrelated": "x"}, PodTimings()),
    ],
)
def test_annotations_override_the_defaults(annotations: dict[str, str], expected: PodTimings) -> None:
    assert timings_for(annotations, PodTimings()) == expected


@given(st.text(max_size=12))
def test_no_annotation_breaks_the_node(text: str) -> None:
    keys = ("start-seconds", "ready-seconds", "stop-seconds", "run-seconds", "exit-code")
    timings = timings_for({f"sim.vacate.dev/{key}": text for key in keys}, PodTimings())
    view = simulated_pod()
    advance(arrive(view, timings, T0), view, timings, at(1))
