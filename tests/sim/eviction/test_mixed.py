"""Both APIs for the same pods, under faults: each keeps its rules, and a pod has one request at a time."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from support.effort import SEEDS
from support.eviction_scenarios.runner import run_seed
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.embedded.store.log import Record
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.registry import OWN_DIALECTS
from vacate.sim.invariants.check import breaches
from vacate.sim.invariants.history import RequestHistory
from vacate.testing import pod

UID = "0" * 36
REF = {"name": "web", "uid": UID}
HELD = [f"{EVACUATIONS.group}/instigator_drain.example.com"]
FORBID: dict[str, Any] = {"status": {"evacuationCancellationPolicy": "Forbid"}}


@pytest.mark.sim
@pytest.mark.parametrize("seed", range(max(SEEDS // 10, 1)))
def test_both_apis_keep_their_rules(seed: int) -> None:
    problems = run_seed(seed, mixed=True).breaches
    assert not problems, "\n".join(problems)


@pytest.mark.thorough
@pytest.mark.sim
def test_a_mixed_seed_is_another_history_and_the_same_twice() -> None:
    once = run_seed(2, mixed=True).digest
    assert run_seed(2, mixed=True).digest == once
    assert run_seed(2).digest != once


def evacuation(finalizers: list[str] | None = None, **more: Any) -> Obj:
    meta = {"name": f"{UID}-web", "namespace": "default", "uid": "e"}
    return {
        "kind": EVACUATIONS.kind,
        "metadata": {**meta, "finalizers": HELD if finalizers is None else finalizers},
        "spec": {"podRef": REF},
        **more,
    }


def eviction_request() -> Obj:
    meta = {"name": UID, "namespace": "default", "uid": "r"}
    spec = {"target": {"podRef": REF}, "requesters": [{"name": "drain.example.com"}]}
    return {"kind": EVICTIONREQUESTS.kind, "metadata": meta, "spec": spec}


def ended(reason: str) -> Obj:
    at = "2026-01-01T00:00:00Z"
    found = {"type": "Complete", "status": "True", "reason": reason, "message": "", "lastTransitionTime": at}
    return {"status": {"conditions": [found]}}


def reported(*steps: tuple[float, Obj | None]) -> list[str]:
    """What the invariants say about these writes; None removes the Evacuation."""
    there = pod("web")
    there["metadata"]["uid"] = UID
    resources = {EVACUATIONS.kind: EVACUATIONS.resource, EVICTIONREQUESTS.kind: EVICTIONREQUESTS.resource}
    writes: list[tuple[float, str, Obj, bool]] = [(0.0, PODS.resource, there, False)]
    for at, obj in steps:
        kept = obj or evacuation()
        writes.append((at, resources[kept["kind"]], kept, obj is None))
    records = [
        (at, Record(n, resource, "default", obj["metadata"]["name"], gone, n, orjson.dumps(obj)))
        for n, (at, resource, obj, gone) in enumerate(writes, 2)
    ]
    histories = [RequestHistory(records, dialect) for dialect in OWN_DIALECTS]
    assert EVACUATION in [one.dialect for one in histories]
    return [line.split(": ", 1)[1] for line in breaches(histories, (), ())]


@pytest.mark.unit
def test_a_second_request_by_the_other_api_is_noticed() -> None:
    assert reported((1, evacuation()), (10, eviction_request())) == [
        "an EvictionRequest was created while its Evacuation went on"
    ]
    assert reported((1, eviction_request()), (10, evacuation())) == [
        "an Evacuation was created while its EvictionRequest went on"
    ]
    assert reported((1, evacuation()), (1.2, eviction_request())) == []  # at the same moment
    over = evacuation([], **ended("Cancelled"))
    assert reported((1, evacuation([])), (5, over), (10, eviction_request())) == []


@pytest.mark.unit
def test_what_only_evacuations_must_and_may() -> None:
    assert reported((1, evacuation()), (2, evacuation(**ended("PodTerminated")))) == [
        "the request ended with PodTerminated: that is no reason"
    ]
    assert reported((1, evacuation(**FORBID)), (2, evacuation([], **FORBID))) == []  # instigators may go
    assert reported((1, evacuation(**FORBID)), (2, None)) == [
        "the request was removed although it forbids it and the pod runs"
    ]
