"""The reference of the API, the table of kinds and the conformance cases agree."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from conformance.test_customresources import SAMPLES
from support.arms.kinds import STOCK, STORED
from support.arms.marks import known_deviations
from vacate.api.kinds import Kind
from vacate.embedded.registry.kinds import SERVED_KINDS

pytestmark = pytest.mark.unit

HERE = Path(__file__).parent
REFERENCE = HERE.parents[1] / "docs" / "reference" / "api.md"
TOPICS = "|".join(path.stem.removeprefix("test_") for path in sorted(HERE.glob("test_*.py")))
CASE = re.compile(rf"`({TOPICS})/([a-z_*]+)(?:\[([a-z]+)\])?`")


@cache
def functions(topic: str) -> frozenset[str]:
    """The cases of a topic, read from its file."""
    path = HERE / f"test_{topic}.py"
    tree = ast.parse(path.read_text()) if path.exists() else ast.Module([], [])
    found = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef)]
    return frozenset(node.name.removeprefix("test_") for node in found if node.name.startswith("test_"))


def rows(heading: str) -> list[list[str]]:
    """The rows of the table under a heading."""
    section = REFERENCE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def verbs_with_cases(kind: Kind) -> set[str]:
    """The verbs that the walk through all kinds asks of this one."""
    asked = {verb for verb in kind.verbs if verb in functions("kinds")}
    return asked | ({"delete"} if "deletion_begins" in functions("namespaces") else set())


def test_every_kind_has_its_row() -> None:
    expected = [
        [
            kind.plural,
            kind.api_version,
            kind.kind,
            "namespace" if kind.namespaced else "cluster",
            ", ".join(kind.verbs),
        ]
        for kind in SERVED_KINDS
    ]
    assert [row[:5] for row in rows("Kinds")] == expected


def test_every_subresource_has_its_row() -> None:
    expected = [
        [f"{kind.plural}/{sub.name}", ", ".join(sub.verbs)]
        for kind in SERVED_KINDS
        for sub in kind.subresources
    ]
    assert [[row[0], row[2]] for row in rows("Subresources")] == expected


@pytest.mark.parametrize("heading", ["Kinds", "Subresources", "What requests may say", "Other paths"])
def test_every_row_has_its_case(heading: str) -> None:
    table = rows(heading)
    assert table
    for row in table:
        assert CASE.fullmatch(row[-1]), row


def test_every_case_exists() -> None:
    named = CASE.findall(REFERENCE.read_text())
    assert len(named) > 40
    for topic, function, parameter in named:
        assert function == "*" or function in functions(topic), f"{topic}/{function}"
        assert not parameter or parameter in {kind.plural for kind in STORED}


def test_every_stored_kind_is_asked_by_all_its_verbs() -> None:
    assert set(STORED) == {kind for kind in STOCK if kind.stored}
    for kind in STORED:
        assert verbs_with_cases(kind) == set(kind.verbs)
    for kind in set(SERVED_KINDS) - set(STOCK):
        topic = "customresources" if kind in {sample.kind for sample in SAMPLES} else kind.plural
        topic = topic if kind.custom else "lifecycle"
        assert functions(topic) >= set(kind.verbs)


def test_deviations_are_cases() -> None:
    for case in known_deviations(HERE / "deviations.toml"):
        topic, _, rest = case.partition("/")
        assert rest.partition("[")[0] in functions(topic), case
