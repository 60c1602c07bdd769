"""Reading and checking what comes with a DELETE."""

from __future__ import annotations

from typing import Any

import pytest

from vacate.api.options import DeleteOptions
from vacate.embedded.apiserver.deletion.options import check_options, options_from_body, options_from_query
from vacate.errors import BadRequest, Invalid

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("body", "options"),
    [
        (None, DeleteOptions()),
        ({}, DeleteOptions()),
        ({"kind": "DeleteOptions", "apiVersion": "v1", "unknown": 1}, DeleteOptions()),
        ({"gracePeriodSeconds": 0}, DeleteOptions(grace_period_seconds=0)),
        ({"gracePeriodSeconds": None}, DeleteOptions()),
        ({"orphanDependents": False}, DeleteOptions(orphan_dependents=False)),
        ({"propagationPolicy": "Orphan"}, DeleteOptions(propagation_policy="Orphan")),
        ({"dryRun": ["All"]}, DeleteOptions(dry_run=("All",))),
        (
            {"preconditions": {"uid": "u", "resourceVersion": "5"}},
            DeleteOptions(uid="u", resource_version="5"),
        ),
        ({"preconditions": {"uid": ""}}, DeleteOptions(uid="")),
        ({"ignoreStoreReadErrorWithClusterBreakingPotential": True}, DeleteOptions(unsafe=True)),
    ],
)
def test_bodies(body: Any, options: DeleteOptions) -> None:
    assert options_from_body(body) == options


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"gracePeriodSeconds": "3"}, "gracePeriodSeconds: expected a 64-bit integer, got a string"),
        ({"gracePeriodSeconds": True}, "gracePeriodSeconds: expected a 64-bit integer, got a boolean"),
        ({"gracePeriodSeconds": 1.5}, "gracePeriodSeconds: expected a 64-bit integer, got 1.5"),
        ({"preconditions": {"uid": 3}}, "preconditions.uid: expected a string, got 3"),
        ({"preconditions": []}, "preconditions: expected an object, got a list"),
        ({"dryRun": "All"}, "dryRun: expected a list, got a string"),
        ({"dryRun": [1]}, "dryRun[0]: expected a string, got 1"),
    ],
)
def test_fields_of_a_wrong_type(body: Any, message: str) -> None:
    with pytest.raises(BadRequest) as refused:
        options_from_body(body)
    assert refused.value.message == message


@pytest.mark.parametrize("body", [[], "x", 3, True])
def test_bodies_that_are_no_object(body: Any) -> None:
    with pytest.raises(BadRequest):
        options_from_body(body)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ({}, DeleteOptions()),
        ({"gracePeriodSeconds": ["0"]}, DeleteOptions(grace_period_seconds=0)),
        ({"gracePeriodSeconds": ["-2", "9"]}, DeleteOptions(grace_period_seconds=-2)),
        ({"orphanDependents": ["false"]}, DeleteOptions(orphan_dependents=False)),
        ({"orphanDependents": ["0"]}, DeleteOptions(orphan_dependents=False)),
        ({"orphanDependents": [""]}, DeleteOptions(orphan_dependents=True)),
        ({"orphanDependents": ["yes"]}, DeleteOptions(orphan_dependents=True)),
        ({"propagationPolicy": ["Foreground"]}, DeleteOptions(propagation_policy="Foreground")),
        ({"dryRun": ["All", "All"]}, DeleteOptions(dry_run=("All", "All"))),
        ({"uid": ["u"]}, DeleteOptions(uid="u")),
        ({"uid": [""], "resourceVersion": ["5"]}, DeleteOptions(resource_version="5")),
    ],
)
def test_queries(query: dict[str, list[str]], options: DeleteOptions) -> None:
    assert options_from_query(query) == options


def test_a_query_with_a_grace_that_is_no_number() -> None:
    with pytest.raises(BadRequest) as refused:
        options_from_query({"gracePeriodSeconds": ["soon"]})
    assert refused.value.message == 'expected a 64-bit integer, got "soon"'


_START = 'DeleteOptions.meta.k8s.io "" is invalid: '


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            DeleteOptions(propagation_policy="Sideways"),
            (
                'propagationPolicy: Unsupported value: "Sideways": supported values: '
                '"Foreground", "Background", "Orphan", "nil"'
            ),
        ),
        (
            DeleteOptions(propagation_policy="Orphan", orphan_dependents=True),
            (
                'propagationPolicy: Invalid value: "Orphan": '
                "orphanDependents and deletionPropagation cannot be both set"
            ),
        ),
        (
            DeleteOptions(dry_run=("Some",)),
            'dryRun: Unsupported value: ["Some"]: supported values: "All"',
        ),
        (
            DeleteOptions(propagation_policy="", orphan_dependents=False, dry_run=("All", "")),
            (
                '[propagationPolicy: Invalid value: "": '
                "orphanDependents and deletionPropagation cannot be both set, "
                'propagationPolicy: Unsupported value: "": supported values: '
                '"Foreground", "Background", "Orphan", "nil", '
                'dryRun: Unsupported value: ["All",""]: supported values: "All"]'
            ),
        ),
    ],
)
def test_options_that_are_refused(options: DeleteOptions, message: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_options(options)
    assert refused.value.message == _START + message
    assert refused.value.details["kind"] == "DeleteOptions"
    assert refused.value.details["group"] == "meta.k8s.io"


def test_options_that_are_fine() -> None:
    check_options(DeleteOptions(grace_period_seconds=-1, propagation_policy="Orphan", dry_run=("All", "All")))
    check_options(DeleteOptions(orphan_dependents=True))
