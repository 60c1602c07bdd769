"""How many pods may go at once where there is no surge."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from vacate.api.types import Deployment, Pod
from vacate.interceptors.decision import Wait
from vacate.interceptors.deployment.decision import WaitState
from vacate.interceptors.deployment.interceptor import decide_batch
from vacate.kube.evictionbatches import MAX_UNAVAILABLE, STRATEGY, goes_in_batches, unavailable_limit
from vacate.sdk.values import Declined, Finished

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def web(replicas: int = 4, unavailable: Any = 2, surge: Any = 0, **more: Any) -> Deployment:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    meta = {"name": "web", "uid": "u", "generation": 1, "annotations": {STRATEGY: MAX_UNAVAILABLE}}
    status = {"observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas}
    spec = {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}, **more}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, Deployment)


def pods(*uids: str, unready: str = "") -> list[Pod]:
    made = []
    for uid in uids:
        ready = {"type": "Ready", "status": "False" if uid in unready else "True"}
        made.append(msgspec.convert({"metadata": {"uid": uid}, "status": {"conditions": [ready]}}, Pod))
    return made


@pytest.mark.parametrize(
    ("handed_over", "unready", "may"),
    [
        ("", "", True),
        ("b", "", True),
        ("bc", "", False),
        ("", "bc", False),
        ("b", "c", False),
        ("a", "", True),
    ],
)
def test_no_more_pods_go_than_may_be_unavailable(handed_over: str, unready: str, may: bool) -> None:
    decision = decide_batch(web(), "a", pods(*"abcd", unready=unready), set(handed_over), WaitState(), NOW)
    assert isinstance(decision, Finished if may else Wait)


@pytest.mark.parametrize(
    ("max_unavailable", "replicas", "limit"), [("50%", 5, 2), ("10%", 4, 1), (3, 9, 3), ("x", 4, 1)]
)
def test_the_limit_is_rounded_down_and_never_nothing(max_unavailable: Any, replicas: int, limit: int) -> None:
    assert unavailable_limit(web(replicas, max_unavailable)) == limit


def test_only_by_opt_in_and_only_without_a_surge() -> None:
    assert goes_in_batches(web())
    assert not goes_in_batches(web(surge=1))
    assert not goes_in_batches(web(replicas=0))
    assert not goes_in_batches(
        msgspec.structs.replace(web(), metadata=msgspec.convert({}, type(web().metadata)))
    )


def test_what_does_not_change_within_the_progress_deadline_is_declined() -> None:
    held_up = pods(*"abcd", unready="bcd")
    since = WaitState(unchanged_since=NOW - dt.timedelta(seconds=600))
    assert isinstance(decide_batch(web(), "a", held_up, (), since, NOW), Declined)
    later = web(progressDeadlineSeconds=700)
    assert isinstance(decide_batch(later, "a", held_up, (), since, NOW), Wait)
