"""The definition with no webhook beside it: what it refuses, and what is open then, as the docs say."""

from __future__ import annotations

import copy
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from support.arms.arm import MERGE_PATCH, Answer, Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.realcluster.crd_open import DOCUMENTED, NO_RIGHT, OPEN, Open, documented
from support.realcluster.crd_steps import CREATIONS, IMPORTED, SPECS, STATUSES, Case, request
from support.realcluster.definitions import asking, installed
from vacate.admission.context import Context
from vacate.api.identity import StatusAuthority, User
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import Kind
from vacate.crds.catalogue import declaration_of
from vacate.crds.definition import definition
from vacate.embedded.registry.strategies import strategy_for
from vacate.features import FeatureGates

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
    if case.field_errors:
        assert fields_of_admission(wanted, None, "") >= set(fields_as_admission(case))


@pytest.mark.parametrize("case", [*SPECS, *STATUSES], ids=lambda case: case.title)
async def test_steps(alone: KubeArm, case: Case) -> None:
    answer, before = await take(alone, case)
    check_answer(answer, case, 200)
    subresource = "status" if "status" in case.step else ""
    found = fields_of_admission(merged(before, case.step), before, subresource)
    assert found == set(fields_as_admission(case))


def check_answer(answer: Answer, case: Case, code: int) -> None:
    if not case.field_errors:
        answer.ok(code)
        return
    assert (answer.code, answer.reason) == (422, "Invalid"), answer
    assert case.agrees(answer.field_errors), answer.field_errors


def fields_as_admission(case: Case) -> list[str]:
    """Admission names the field more closely than a rule about a whole list can."""
    closer = {"spec.interceptors: Forbidden": "spec.interceptors[0].name",
              "status.conditions: Forbidden": "status.conditions[0].reason"}  # fmt: skip
    return [
        next(
            (place for start, place in closer.items() if field_error.startswith(start)),
            field_error.partition(": ")[0],
        )
        for field_error in case.field_errors
    ]


def fields_of_admission(new: Obj, old: Obj | None, subresource: str) -> set[str]:
    """The fields in which the webhook's strategy, the same as the embedded server's, sees errors."""
    new = copy.deepcopy(new)
    declaration_of(KIND).structure.prune(new)
    declaration_of(KIND).structure.fill_defaults(new)
    strategy, ctx = strategy_for(KIND), everything_allowed(subresource)
    if old is None:
        return {field_error.path for field_error in strategy.validate(new, ctx)}
    strategy.prepare_update(new, old, ctx)
    return {field_error.path for field_error in strategy.validate_update(new, old, ctx)}


def everything_allowed(subresource: str) -> Context:
    def nothing(_kind: Kind, _namespace: str, _name: str) -> Obj | None:
        return None

    user = User("admin", groups=("system:masters",))
    return Context(
        user,
        IMPORTED,
        FeatureGates(),
        nothing,
        subresource,
        may=lambda _: True,
        authority=StatusAuthority(("admin",)),
    )


def merged(before: Obj, step: Obj) -> Obj:
    """RFC 7396, as the server does it."""
    made = copy.deepcopy(before)
    for key, value in step.items():
        if value is None:
            made.pop(key, None)
        elif isinstance(value, dict):
            inner = made.get(key)
            made[key] = merged(inner if isinstance(inner, dict) else {}, value)
        else:
            made[key] = copy.deepcopy(value)
    return made


@pytest.mark.parametrize("row", OPEN, ids=lambda row: row.title)
async def test_what_is_open(alone: KubeArm, row: Open) -> None:
    answer = await row.attempt(alone)
    assert not answer.failed, answer


async def test_the_open_rows_are_those_of_the_docs() -> None:
    assert documented() == {row.title: row.held_by_policies for row in OPEN}, DOCUMENTED
