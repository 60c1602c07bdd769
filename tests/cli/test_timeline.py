"""The demo's timeline: who had their turn when."""

from __future__ import annotations

import pytest

from support.simulated.request import SimRequest
from vacate.cli.demo.timeline import PodTimeline, Timeline, bar, steps_of
from views.explanation_inputs import SPENT

pytestmark = pytest.mark.unit


def test_a_whole_course() -> None:
    lines: list[str] = []
    timeline = Timeline(lines.append)
    sim = SimRequest("one.example.com", "two.example.com")
    timeline.on_request(sim.typed, 0.0)
    timeline.on_request(sim.after(seconds=1).controller().typed, 1.0)
    timeline.on_request(sim.responds().typed, 1.5)
    timeline.on_request(sim.responds(activeInterceptorCompleted=True).controller().typed, 3.0)
    timeline.on_request(sim.responds(activeInterceptorCompleted=True).refused(SPENT).typed, 4.0)
    sim.pod_is(metadata={"deletionTimestamp": "2026-03-01T10:00:30Z", "deletionGracePeriodSeconds": 30})
    pod = sim.typed_pod
    assert pod is not None
    timeline.on_pod(pod, 6.0, gone=False)
    timeline.on_request(sim.typed, 6.5)
    timeline.on_pod(pod, 8.0, gone=True)
    timeline.on_pod(pod, 9.0, gone=True)
    pod_timeline = timeline.pods["web-1"]
    assert steps_of(pod_timeline) == [
        "one.example.com 1.0-3.0 s",
        "two.example.com 3.0-4.0 s",
        "waiting for budget web 4.0-6.0 s",
        "terminating 6.0-8.0 s",
    ]
    assert lines == [
        "web-1: interceptor one.example.com has its turn",
        "web-1: interceptor two.example.com has its turn",
        "web-1 is blocked: The disruption budget web needs 3 healthy pods and has 3 currently",
        "web-1 is terminating",
        "web-1 is deleted",
    ]
    assert (timeline.length, timeline.refusals, pod_timeline.gone) == (8.0, {"web-1": 1}, True)
    assert bar(pod_timeline, 8.0, 16) == "  ▒▒▒▒▓▓····████"


def test_pods_that_nobody_asked_do_not_count() -> None:
    timeline = Timeline(lambda _line: None)
    pod = SimRequest().typed_pod
    assert pod is not None
    timeline.on_pod(pod, 1.0, gone=True)
    assert timeline.pods == {}
    assert timeline.length == 0.0


def test_a_strip_without_time() -> None:
    assert bar(PodTimeline("web-1"), 0.0, 4) == "    "
