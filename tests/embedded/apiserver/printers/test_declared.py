"""Tables of Vacate's own kinds: every column of their definitions is filled."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.api.objects import Obj
from vacate.crds.catalogue import DECLARATIONS
from vacate.crds.customresource import CustomResource
from vacate.crds.fencingpolicy import FENCINGPOLICY
from vacate.embedded.apiserver.printers.registry import _STEP, printer_of_declaration

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def shown(declaration: CustomResource, obj: Obj) -> dict[str, Any]:
    printer = printer_of_declaration(declaration)
    names = [column.name for column in printer.columns]
    return dict(zip(names, printer.cells(obj, NOW), strict=True))


@pytest.mark.parametrize("status", ["True", "False"])
def test_a_fence_that_failed_is_shown(status: str) -> None:
    others = [{"type": "Fencing", "status": "Unknown"}, {"type": "Failing", "status": status}]
    cells = shown(
        FENCINGPOLICY,
        {
            "metadata": {"name": "rack", "creationTimestamp": "2026-03-01T11:59:00Z"},
            "spec": {"approval": "Manual"},
            "status": {"nodesUnreachable": 2, "nodesFenced": 1, "message": "so", "conditions": others},
        },
    )
    assert cells == {
        "Name": "rack",
        "Unreachable": 2,
        "Fenced": 1,
        "Failing": status,
        "Approval": "Manual",
        "Message": "so",
        "Age": "60s",
    }


@pytest.mark.parametrize("conditions", [None, [], [{"type": "Fencing", "status": "True"}], "nonsense", [7]])
def test_what_is_not_there_is_left_empty(conditions: Any) -> None:
    assert (
        shown(FENCINGPOLICY, {"metadata": {"name": "rack"}, "status": {"conditions": conditions}})["Failing"]
        is None
    )


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda one: str(one.kind.kind))
def test_every_path_is_understood(declaration: CustomResource) -> None:
    for column in declaration.columns:
        assert "".join(found[0] for found in _STEP.finditer(column.json_path)) == column.json_path
