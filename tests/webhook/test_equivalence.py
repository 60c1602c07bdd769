"""The webhook says what the embedded server says, but for the rules of the definition: one table for both."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from embedded.registry import cases_evictionrequests, cases_metadata
from embedded.registry.case_types import Broken, BrokenStep, Case, Done, DoneByStep, Refused
from embedded.registry.given import NOW, RUNNING, a, changed, stored
from support.embedded import Answer, Embedded, embedded, namespace
from support.reviews import MUTATE, VALIDATE, Hook, ReviewAnswer, refused_by_definition, review
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import NAMESPACES, PODS
from vacate.api.objects import Obj

pytestmark = pytest.mark.unit

CASES = [
    case
    for case in (*cases_evictionrequests.CASES, *cases_metadata.CASES)
    if case.kind is KIND and getattr(case, "ctx", None) is None
]
CREATIONS = [case for case in CASES if isinstance(case, Broken | Done | Refused)]
STEPS = [case for case in CASES if isinstance(case, BrokenStep | DoneByStep)]
_PATH = KIND.collection_path("shop")
_DECIDED = ("labels", "annotations")


@dataclass
class Pair:
    """Both, and the same world."""

    server: Embedded
    hook: Hook


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with embedded() as server:
        server.clock.moment = NOW
        await server.seed(NAMESPACES, namespace("shop"))
        await server.seed(PODS, copy.deepcopy(RUNNING["web"]))
        yield Pair(server, Hook.beside(server))


def test_there_are_many_cases() -> None:
    assert len(CREATIONS) >= 30
    assert len(STEPS) > 50


@pytest.mark.parametrize("case", CREATIONS, ids=lambda case: case.rule)
async def test_creation(case: Case, pair: Pair) -> None:
    obj = {"apiVersion": KIND.api_version, "kind": KIND.kind, **a(KIND, case.changes)}  # type: ignore[union-attr]
    theirs = await pair.server.ask("POST", _PATH, obj, query={"dryRun": "All"})
    asked = review("CREATE", new=obj)
    ours = await pair.hook.ask(MUTATE, asked)
    _same(theirs, ours, asked["request"]["object"])


@pytest.mark.parametrize("case", STEPS, ids=lambda case: case.rule)
async def test_step(case: BrokenStep | DoneByStep, pair: Pair) -> None:
    old = await _seeded(pair.server, case)
    new = changed(copy.deepcopy(old), case.step)
    path = KIND.object_path(old["metadata"]["name"], "shop", case.subresource)
    theirs = await pair.server.ask("PUT", path, new, query={"dryRun": "All"})
    asked = review("UPDATE", new=new, old=old, subresource=case.subresource)
    _same(theirs, await pair.hook.ask(MUTATE, asked), asked["request"]["object"], case.subresource)
    if case.subresource:
        _same(theirs, await pair.hook.ask(VALIDATE, asked), asked["request"]["object"], case.subresource)


async def _seeded(server: Embedded, case: BrokenStep | DoneByStep) -> Obj:
    old = changed(stored(KIND), case.before)
    del old["metadata"]["resourceVersion"]
    kept = await server.seed(KIND, old)
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, **kept}


def _same(theirs: Answer, ours: ReviewAnswer, sent: Obj, subresource: str = "") -> None:
    if refused_by_definition(KIND, theirs.body):
        assert ours.allowed, ours.body
        return
    if theirs.code >= 400:
        assert ours.refusal == theirs.body
        return
    if subresource:
        assert ours.patch == []
        return
    made = ours.applied(sent)
    assert made["spec"] == theirs.body["spec"]
    for field in _DECIDED:
        assert made["metadata"].get(field) == theirs.body["metadata"].get(field)
