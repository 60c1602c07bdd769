"""Every kind of Vacate's own has all its parts: `vacate.api.kinds` says which these are."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import vacate.crds
from vacate.api import kinds
from vacate.api.kinds import Kind
from vacate.crds.catalogue import DECLARATIONS, STRATEGIES, declaration_of
from vacate.crds.customresource import CustomResource
from vacate.features import KNOWN_GATES

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
CRDS = Path(next(iter(vacate.crds.__path__)))
NOT_A_KIND = {"schema", "__pycache__"}
each = pytest.mark.parametrize("declaration", DECLARATIONS, ids=lambda one: str(one.kind.kind))


def test_every_custom_kind_is_declared_and_no_other() -> None:
    custom = {one for one in vars(kinds).values() if isinstance(one, Kind) and one.custom}
    assert {one.kind for one in DECLARATIONS} == custom
    assert len(DECLARATIONS) == len(custom)


def test_every_folder_is_a_declared_kind() -> None:
    folders = {path.name for path in CRDS.iterdir() if path.is_dir()} - NOT_A_KIND
    assert folders == {one.kind.singular for one in DECLARATIONS}


@each
def test_its_folder_declares_it(declaration: CustomResource) -> None:
    kind = declaration.kind
    declared = vars(importlib.import_module(f"vacate.crds.{kind.singular}"))[kind.singular.upper()]
    assert declared is declaration_of(kind) is declaration
    assert declaration.struct.__module__ == f"vacate.api.types.{kind.singular}"
    assert declaration.struct.__name__ == kind.kind


@each
def test_it_is_admitted_by_its_own_strategy(declaration: CustomResource) -> None:
    assert STRATEGIES[declaration.kind].kind == declaration.kind


@each
def test_it_has_a_gate_and_a_status(declaration: CustomResource) -> None:
    assert declaration.kind.gate in KNOWN_GATES
    assert [sub.name for sub in declaration.kind.subresources] == ["status"]


@each
def test_it_is_documented(declaration: CustomResource) -> None:
    page = f"{declaration.kind.singular}.md"
    text = (ROOT / "docs/reference" / page).read_text()
    assert "<!-- fields -->" in text
    assert "<!-- end of fields -->" in text
    for index in ("docs/README.md", "docs/reference/api.md", "docs/reference/deploy.md"):
        assert page in (ROOT / index).read_text(), f"{index} has no link to {page}"
