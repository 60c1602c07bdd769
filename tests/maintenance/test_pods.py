"""Which pods a drain evicts, leaves and refuses: the table of kubectl drain."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.api.selectors.labels import EVERYTHING, parse_selector
from vacate.api.types import ObjectMeta, OwnerReference, Pod, Toleration
from vacate.api.types.core import PodSpec, PodStatus, Volume
from vacate.api.types.nodemaintenance import EVICT, IGNORE, PARALLEL, PRIORITY, STRICT_PRIORITY, PodRules
from vacate.maintenance.pods import Treatment, assess_pod, in_wave

pytestmark = pytest.mark.unit

EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

EV, LAST, STAY, HOLD = Treatment.EVICT, Treatment.EVICT_LAST, Treatment.STAY, Treatment.HOLD
REFUSING, IGNORING = (
    PodRules(),
    PodRules(daemon_set_pods=IGNORE, unmanaged_pods=IGNORE, local_data_pods=IGNORE),
)
EVICTING = PodRules(daemon_set_pods=EVICT, unmanaged_pods=EVICT, local_data_pods=EVICT)


def a_pod(owner: str = "ReplicaSet", *, priority: int = 0, name: str = "p", **parts: Any) -> Pod:
    owners = [OwnerReference(kind=owner, name="o", uid="u", controller=True)] if owner else []
    meta: dict[str, Any] = {"name": name, "uid": name, "labels": {"app": "web"}, "owner_references": owners}
    meta |= parts.pop("meta", {})
    phase = parts.pop("phase", "Running")
    return Pod(
        metadata=ObjectMeta(**meta), spec=PodSpec(priority=priority, **parts), status=PodStatus(phase=phase)
    )


LOCAL: dict[str, Any] = {"volumes": [Volume(empty_dir={})]}
MIRROR: dict[str, Any] = {"meta": {"annotations": {"kubernetes.io/config.mirror": "x"}}}
LEAVING: dict[str, Any] = {"meta": {"deletion_timestamp": EPOCH}}


@pytest.mark.parametrize(
    ("pod", "refusing", "ignoring", "evicting"),
    [
        (a_pod(), EV, EV, EV),
        (a_pod("Job", phase="Succeeded"), STAY, STAY, STAY),
        (a_pod("", phase="Failed"), STAY, STAY, STAY),
        (a_pod("", phase="Failed", **LEAVING), EV, EV, EV),
        (a_pod("", **LEAVING), EV, EV, EV),
        (a_pod(""), HOLD, STAY, EV),
        (a_pod(**LOCAL), HOLD, STAY, EV),
        (a_pod("", **LOCAL), HOLD, STAY, EV),
        (a_pod("", **MIRROR), STAY, STAY, STAY),
        (a_pod("DaemonSet"), HOLD, STAY, LAST),
        (a_pod("DaemonSet", **LOCAL), HOLD, STAY, LAST),
        (a_pod("DaemonSet", tolerations=[Toleration(operator="Exists")]), HOLD, STAY, STAY),
    ],
)
def test_the_table(pod: Pod, refusing: Treatment, ignoring: Treatment, evicting: Treatment) -> None:
    found = [assess_pod(pod, rules, EVERYTHING).treatment for rules in (REFUSING, IGNORING, EVICTING)]
    assert found == [refusing, ignoring, evicting]


def test_what_is_not_selected_stays_and_holds_nothing() -> None:
    assert assess_pod(a_pod(""), REFUSING, parse_selector("app=db")).treatment is STAY


def test_a_refusal_beats_an_ignored_reason() -> None:
    rules = PodRules(unmanaged_pods=IGNORE)
    assert assess_pod(a_pod("", **LOCAL), rules, EVERYTHING).kind == "LocalData"


def test_waves_go_by_priority_and_daemon_pods_come_last() -> None:
    pods = [
        a_pod(name="low"), a_pod(name="low2"), a_pod(name="high", priority=5),
        a_pod("DaemonSet", name="agent", priority=-9),
    ]  # fmt: skip
    assessed = [(pod, assess_pod(pod, EVICTING, EVERYTHING)) for pod in pods]
    waves = []
    while assessed:
        wave = in_wave(assessed, PRIORITY)
        waves.append([pod.metadata.name for pod in wave])
        assessed = [one for one in assessed if one[0] not in wave]
    assert waves == [["low", "low2"], ["high"], ["agent"]]
    both = [(pod, assess_pod(pod, EVICTING, EVERYTHING)) for pod in pods]
    assert [pod.metadata.name for pod in in_wave(both, PARALLEL)] == ["low", "low2", "high"]


@pytest.mark.parametrize(
    ("order", "stuck", "wave"),
    [
        (PRIORITY, [], ["low", "low2"]),
        (PRIORITY, ["low"], ["low", "low2"]),
        (PRIORITY, ["low", "low2"], ["low", "low2", "high"]),
        (PRIORITY, ["low", "low2", "high"], ["low", "low2", "high", "top"]),
        (PRIORITY, ["low", "low2", "high", "top"], ["low", "low2", "high", "top"]),
        (STRICT_PRIORITY, ["low", "low2"], ["low", "low2"]),
        (PARALLEL, ["low"], ["low", "low2", "high", "top"]),
    ],
)
def test_stuck_pods_hold_higher_priorities_only_in_strict_order(
    order: str, stuck: list[str], wave: list[str]
) -> None:
    """DaemonSet pods wait for them in every order: those that are left may need them to end."""
    pods = [
        a_pod(name="low"), a_pod(name="low2"), a_pod(name="high", priority=5), a_pod(name="top", priority=9),
        a_pod("DaemonSet", name="agent", priority=-9),
    ]  # fmt: skip
    assessed = [(pod, assess_pod(pod, EVICTING, EVERYTHING)) for pod in pods]
    uids = {pod.metadata.uid for pod in pods if pod.metadata.name in stuck}
    assert [pod.metadata.name for pod in in_wave(assessed, order, uids)] == wave
