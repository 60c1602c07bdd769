"""The definition with no webhook beside it: what it refuses, and what is open then, as the docs say."""

from __future__ import annotations

import copy
import os
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_asyncio

from support.arms.arm import MERGE_PATCH, Answer, Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.realcluster.crd_open import DOCUMENTED, NO_RIGHT, OPEN, Open, documented
from support.realcluster.crd_steps import (
    CREATIONS,
    SPECS,
    STATUSES,
    Case,
    at,
    condition,
    merged,
    named,
    request,
)
from support.realcluster.definitions import asking, installed
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.crds.catalogue import declaration_of
from vacate.crds.definition import definition
from vacate.embedded.registry.customresources import rules_of

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("labs"),
    pytest.mark.asyncio(loop_scope="module"),
]

COLLECTION = KIND.collection_path("default")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def alone() -> AsyncIterator[KubeArm]:
    """A real server that has the definition, and someone who may write requests and not delete pods."""
    arm = KubeArm(Path(os.environ[KUBECONFIG]))
    try:
        async with installed(arm, definition(), asking(NO_RIGHT.name)):
            yield arm
    finally:
        await arm.aclose()


async def take(arm: KubeArm, case: Case) -> tuple[Answer, Obj]:
    """Create the request, take the steps before, and then the one in question; what it was before that."""
    made = (await arm.call("POST", COLLECTION, body=request(**case.spec))).ok(201)
    path = KIND.object_path(made["metadata"]["name"], "default")
    for step in case.before:
        made = (await patch(arm, path, step)).ok()
    return await patch(arm, path, case.step), made


async def patch(arm: KubeArm, path: str, step: Obj) -> Answer:
    where = f"{path}/status" if "status" in step else path
    return await arm.call("PATCH", where, body=step, content_type=MERGE_PATCH)


@pytest.mark.parametrize("case", CREATIONS, ids=lambda case: case.title)
async def test_new_requests(alone: KubeArm, case: Case) -> None:
    wanted = request(**case.spec)
    wanted["metadata"] |= case.step.get("metadata", {})
    answer = await alone.call("POST", COLLECTION, body=wanted)
    check_answer(answer, case, 201)
    assert embedded_errors(wanted, None) == sorted(answer.field_errors)


@pytest.mark.parametrize("case", [*SPECS, *STATUSES], ids=lambda case: case.title)
async def test_steps(alone: KubeArm, case: Case) -> None:
    answer, before = await take(alone, case)
    check_answer(answer, case, 200)
    assert embedded_errors(merged(before, case.step), before) == sorted(answer.field_errors)


def check_answer(answer: Answer, case: Case, code: int) -> None:
    if not case.field_errors:
        answer.ok(code)
        return
    assert (answer.code, answer.reason) == (422, "Invalid"), answer
    assert case.agrees(answer.field_errors), answer.field_errors


A_STATUS: dict[str, tuple[Any, ...]] = {
    "message": ("", "hello"),
    "activeInterceptorName": (None, "a.example.com", "b.example.com", "c.example.com", "x.example.com"),
    "activeInterceptorCompleted": (None, False, True),
    "heartbeatTime": (None, *(at(seconds) for seconds in (-3600, -1791, -1789, -60, 0))),
    "evictionRequestCancellationPolicy": (None, "Allow", "Forbid"),
    "podEvictionStatus": (None, *({"failedAPIEvictionCounter": count} for count in range(3))),
    "conditions": (
        None,
        [condition("Admitted"), condition("Mine")],
        [condition("Mine", "False", "No way")],
        [condition("not a name")],
        *([condition("Complete", reason=reason)] for reason in ("Cancelled", "PodDeleted", "Because")),
        [condition("Complete", "False", "Cancelled")],
    ),
}
A_SPEC: dict[str, tuple[Any, ...]] = {
    "requesters": (None, [], named("a.b"), named("a.b", "c.d"), named("Not_A_Name", "a.b")),
    "interceptors": (None, named("b.example.com", "a.example.com"), named("a.example.com")),
    "heartbeatDeadlineSeconds": (600, 1800),
    "target": ({"podRef": {"name": "other"}},),
}


async def test_random_steps(alone: KubeArm) -> None:
    """Requests on random ways: at each step both servers name the same errors, or none."""
    random = Random(1)
    refused = 0
    for _ in range(25):
        listed = named(*("a.example.com", "b.example.com", "c.example.com")[: random.randrange(4)])
        made = (await alone.call("POST", COLLECTION, body=request(interceptors=listed))).ok(201)
        path = KIND.object_path(made["metadata"]["name"], "default")
        for _ in range(12):
            part, values = ("status", A_STATUS) if random.random() < 0.8 else ("spec", A_SPEC)
            fields = random.sample(sorted(values), random.randrange(1, 4))
            step = {part: {field: random.choice(values[field]) for field in fields}}
            answer = await patch(alone, path, step)
            assert embedded_errors(merged(made, step), made) == sorted(answer.field_errors), (made, step)
            refused += answer.failed
            made = made if answer.failed else answer.ok()
    assert 50 < refused < 275, "steps of both sorts"


def embedded_errors(new: Obj, old: Obj | None) -> list[str]:
    """What the embedded server says."""
    new = copy.deepcopy(new)
    declaration_of(KIND).structure.prune(new)
    declaration_of(KIND).structure.fill_defaults(new)
    found = declaration_of(KIND).structure.field_errors({**new, "metadata": {}})
    return sorted(map(str, found or rules_of(KIND).field_errors(new, old)))


@pytest.mark.parametrize("row", OPEN, ids=lambda row: row.title)
async def test_what_is_open(alone: KubeArm, row: Open) -> None:
    answer = await row.attempt(alone)
    assert not answer.failed, answer


async def test_the_open_rows_are_those_of_the_docs() -> None:
    assert documented() == {row.title: row.held_by_policies for row in OPEN}, DOCUMENTED
