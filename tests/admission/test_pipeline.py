"""The admission pipeline: one order of steps, all errors at once, and what is given stays as it is."""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable

import pytest

from vacate.admission.context import Context, Traits
from vacate.admission.pipeline import (
    admit_create,
    admit_update,
    generated_base,
    generated_name,
    recheck_create,
    recheck_update,
    settle_version,
)
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, forbidden, invalid
from vacate.api.identity import User
from vacate.api.kinds import CONFIGMAPS, LEASES, Kind
from vacate.api.objects import Obj
from vacate.errors import Invalid
from vacate.features import FeatureGates

pytestmark = pytest.mark.unit

CTX = Context(User("ann"), dt.datetime(2026, 3, 1, tzinfo=dt.UTC), FeatureGates(), lambda *_: None)
COLOUR, SIZE = invalid("data.colour", "red", "must be blue"), invalid("data.size", 3, "must be even")


class Recording(KindStrategy):
    """Writes into each object which steps it has passed, and finds these errors."""

    def __init__(self, *errors: FieldError, kind: Kind = CONFIGMAPS, unconditional: bool = True) -> None:
        super().__init__(kind)
        self.errors = list(errors)
        self.validated: list[str] = []
        self.traits = Traits(unconditional_update=unconditional)

    def default(self, obj: Obj, ctx: Context) -> None:
        passed(obj, "default")

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        super().prepare_create(obj, ctx)
        passed(obj, "prepare")

    def prepare_update(self, new: Obj, old: Obj, ctx: Context) -> None:
        passed(new, f"prepare {new['metadata']['resourceVersion']}")

    def validate(self, obj: Obj, ctx: Context) -> list[FieldError]:
        self.validated = list(obj["steps"])
        return list(self.errors)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return self.validate(new, ctx)


def passed(obj: Obj, step: str) -> None:
    obj["steps"].append(step)


def complete(obj: Obj) -> None:
    passed(obj, "complete")


def an_object(**meta: str) -> Obj:
    return {"metadata": {"name": "a", "namespace": "d", **meta}, "data": {"size": 3}, "steps": []}


def stored() -> Obj:
    return an_object(resourceVersion="7", uid="u")


def nothing(_: Obj) -> list[FieldError]:
    return []


def restamped(_: Obj) -> list[FieldError]:
    return [forbidden("metadata.annotations", "may not change")]


REFUSALS: dict[str, Callable[[Recording, Obj, Obj], object]] = {
    "create": lambda strategy, given, _: admit_create(strategy, given, CTX, complete),
    "update": lambda strategy, given, old: admit_update(strategy, given, old, CTX, complete),
    "create, again": lambda strategy, given, _: recheck_create(strategy, given, CTX, nothing),
    "update, again": lambda strategy, given, old: recheck_update(strategy, given, old, CTX, nothing),
}


def test_defaults_come_before_preparation_and_that_before_validation() -> None:
    strategy = Recording()
    admitted = admit_create(strategy, an_object(), CTX, complete)
    assert strategy.validated == ["default", "complete", "prepare", "complete"]
    assert admitted["steps"] == strategy.validated


def test_an_update_has_its_version_before_anything_else() -> None:
    strategy = Recording()
    admitted = admit_update(strategy, an_object(), stored(), CTX, complete)
    assert strategy.validated == ["default", "complete", "prepare 7", "complete"]
    assert admitted["metadata"]["resourceVersion"] == "7"


def test_what_was_admitted_is_checked_again_without_preparation() -> None:
    strategy = Recording()
    recheck_create(strategy, an_object(), CTX, nothing)
    assert strategy.validated == ["default"]
    strategy.validated = []
    recheck_update(strategy, an_object(), stored(), CTX, nothing)
    assert strategy.validated == ["default"]


def test_a_check_of_the_caller_sees_the_defaults() -> None:
    def undefaulted(obj: Obj) -> list[FieldError]:
        return [] if obj["steps"] == ["default"] else [COLOUR]

    recheck_create(Recording(), an_object(), CTX, undefaulted)
    recheck_update(Recording(), an_object(), stored(), CTX, undefaulted)


@pytest.mark.parametrize("which", REFUSALS)
def test_a_refusal_has_all_errors_and_changes_nothing(which: str) -> None:
    given, old = an_object(generateName="b-", selfLink="/x"), stored()
    before = copy.deepcopy((given, old))
    with pytest.raises(Invalid) as refusal:
        REFUSALS[which](Recording(COLOUR, SIZE), given, old)
    assert refusal.value.message == f'ConfigMap "a" is invalid: [{COLOUR}, {SIZE}]'
    assert [cause["field"] for cause in refusal.value.details["causes"]] == ["data.colour", "data.size"]
    assert (given, old) == before


@pytest.mark.parametrize("which", REFUSALS)
def test_what_is_given_stays_as_it_is_when_admitted(which: str) -> None:
    given, old = an_object(), stored()
    before = copy.deepcopy((given, old))
    REFUSALS[which](Recording(), given, old)
    assert (given, old) == before


def test_errors_of_the_caller_come_with_those_of_the_strategy() -> None:
    with pytest.raises(Invalid) as refusal:
        recheck_update(Recording(SIZE), an_object(), stored(), CTX, restamped)
    assert [cause["field"] for cause in refusal.value.details["causes"]] == [
        "data.size",
        "metadata.annotations",
    ]


def test_an_admitted_object_shares_nothing_with_the_given_one() -> None:
    given = an_object()
    admit_create(Recording(), given, CTX)["data"]["size"] = 4
    admit_update(Recording(), given, stored(), CTX)["data"]["size"] = 4
    assert given["data"]["size"] == 3


def test_a_new_object_has_no_version() -> None:
    admitted = admit_create(Recording(), an_object(resourceVersion="7", selfLink="/x"), CTX)
    assert admitted["metadata"] == {"name": "a", "namespace": "d"}


@pytest.mark.parametrize("version", [None, "", "0"])
def test_a_kind_that_demands_a_version_refuses_an_update_without_one(version: str | None) -> None:
    given = an_object() if version is None else an_object(resourceVersion=version)
    with pytest.raises(Invalid) as refusal:
        admit_update(Recording(kind=LEASES, unconditional=False), given, stored(), CTX)
    assert refusal.value.message == (
        'leases.coordination.k8s.io "a" is invalid: '
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    )


def test_a_version_that_is_named_stays() -> None:
    new = an_object(resourceVersion="5")
    settle_version(Recording(), new, stored())
    assert new["metadata"]["resourceVersion"] == "5"


@pytest.mark.parametrize(
    ("meta", "base"),
    [({"name": "a", "generateName": "b-"}, ""), ({"generateName": "b-"}, "b-"), ({"name": ""}, ""), ({}, "")],
)
def test_a_name_is_generated_only_where_there_is_none(meta: Obj, base: str) -> None:
    assert generated_base({"metadata": meta}) == base


def test_a_generated_name_is_no_longer_than_a_label() -> None:
    assert generated_name("b-", "xyz12") == "b-xyz12"
    assert generated_name("b" * 80, "xyz12") == "b" * 58 + "xyz12"
