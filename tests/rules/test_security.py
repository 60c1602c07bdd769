"""Each claim of the security page is shown by tests, and each defence can be taken away so that one fails."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest
from hack.rules.table import ROOT, SECURITY, load

from rules.test_table import RULES, exists
from vacate.embedded.apiserver.limits import MAX_ENTRIES, MAX_VALUES
from vacate.embedded.apiserver.patch.jsonpatch import MAX_COPIED_BYTES, MAX_OPERATIONS
from vacate.embedded.cluster.local import LISTENER_LIMITS, STORAGE_QUOTA
from vacate.embedded.store.quota import SMALL_GROWTH
from vacate.embedded.store.store import WATCH_CAPACITY
from vacate.embedded.store.watch import MAX_BUFFERED_BYTES
from vacate.wire.json import MAX_DEPTH

pytestmark = pytest.mark.unit

PAGE = (ROOT / "docs/explanation/security.md").read_text()
CLAIMS = load(SECURITY)
SUITE = ROOT / "tests/realcluster/adversary"
TEST = re.compile(r"`(tests/[\w/]+\.py(?:::\w+)+)`")
HOLDS = re.compile(r"held_(by|in_code)\(.+\)|rests_on_kubernetes|permitted")
BLOCK = re.compile(r"\n\s*\n|\n(?=- |\|)")


def blocks() -> Iterator[str]:
    """Paragraphs, items of lists and rows of tables, each as one line; without the heads of tables."""
    section = ""
    for block in BLOCK.split(re.sub(r"(?m)^(#.*)$", r"\n\1\n", PAGE)):
        line = " ".join(block.split())
        if line.startswith("#"):
            section = line.lstrip("# ")
        elif line and not re.fullmatch(r"\|[-|]+\|", line):
            yield f"{section}: {line}" if TEST.search(line) and line.startswith("|") else line


def rows() -> dict[str, list[str]]:
    """The tests of each row of the threat model, by its section and what is wanted."""
    found = [one for one in blocks() if ": | " in one]
    return {one.replace(": | ", ": ", 1).split(" | ")[0]: TEST.findall(one) for one in found}


def prose() -> list[str]:
    heads = ("| wants to |", "| does |", "| what |", "| who |")
    return [one for one in blocks() if ": | " not in one and not one.startswith(heads)]


def function_of(test: str) -> str:
    """A test as the tables of rules name it: without its class and without its parameters."""
    file, *names = test.partition("[")[0].split("::")
    return f"{file}::{names[-1]}"


def test_every_claim_has_a_row_and_every_row_a_claim() -> None:
    left, unknown = "\n".join(prose()), []
    for one in CLAIMS:
        if one.says in rows():
            continue
        before = left
        left = left.replace(one.says, "", 1)
        unknown += [one.says] if left == before else []
    assert unknown == []
    assert re.findall(r".*\w.*", left) == [], (
        "which test shows it? a row in tests/rules/security.toml says so"
    )


def test_every_claim_names_tests_that_exist() -> None:
    assert [one.says for one in CLAIMS if (one.chapter == "context") is bool(one.tests)] == []
    named = [(one.says, test) for one in CLAIMS for test in one.tests]
    named += [(row, test) for row, tests in rows().items() for test in tests]
    assert len(rows()) > 100
    assert [(says, test) for says, test in named if not exists(function_of(test))] == []


@cache
def held_by_policies(file: str) -> frozenset[str]:
    """The tests of the file from which test_removals takes a policy away."""
    functions = [
        one for one in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(one, ast.FunctionDef)
    ]
    return frozenset(
        f"{file}::{one.name}"
        for one in functions
        if any("held_by" in ast.dump(it) for it in one.decorator_list)
    )


def test_every_defence_can_be_taken_away() -> None:
    """Anew where a passage has changed: `python -m hack.rules.check ID`."""
    defences = [one for one in CLAIMS if one.chapter == "defence"]
    assert [one.id for one in defences if one.mutation is None] == []
    found = {one.id: one.mutation.occurrences(ROOT) for one in CLAIMS if one.mutation}
    assert {name: count for name, count in found.items() if count != 1} == {}
    removed = {function_of(test) for one in RULES if one.mutation for test in one.tests}
    ours = {one.says for one in CLAIMS}
    assert [
        row
        for row, tests in rows().items()
        if row not in ours
        and not any(function_of(one) in removed | held_by_policies(one.partition("::")[0]) for one in tests)
    ] == []


def test_a_defence_of_a_row_is_shown_by_a_test_of_the_row() -> None:
    known = rows()
    assert [
        (one.says, test)
        for one in CLAIMS
        if one.says in known
        for test in one.tests
        if function_of(test) not in map(function_of, known[one.says])
    ] == []


def test_the_threat_model_names_every_attack_of_the_suite() -> None:
    made = [f"`{name}`" for name, _ in suite()]
    assert len(made) > 40
    elsewhere = {f"`{test}`" for one in CLAIMS for test in one.tests}
    assert [one for one in made if one not in PAGE and one not in elsewhere] == []


def suite() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The rows of the suite: their place, and what is written there."""
    for file in sorted(SUITE.glob("test_*.py")):
        for one in ast.parse(file.read_text()).body:
            if not isinstance(one, ast.ClassDef):
                continue
            for row in one.body:
                if isinstance(row, ast.FunctionDef | ast.AsyncFunctionDef) and row.name.startswith("test_"):
                    yield f"{file.relative_to(ROOT)}::{one.name}::{row.name}", row


def test_every_attack_says_what_holds_it() -> None:
    """By its decorators: see tests/support/realcluster/adversary.py."""
    known = {one.id for one in (*RULES, *CLAIMS) if one.mutation}
    without, unknown = [], []
    for name, row in suite():
        marks = [ast.unparse(one) for one in row.decorator_list]
        marks = [one for one in marks if not one.startswith("pytest.")]
        without += [name] if len(marks) != 1 or not HOLDS.fullmatch(marks[0]) else []
        ids = re.findall("'(.*?)'", marks[0]) if marks and marks[0].startswith("held_in_code") else []
        unknown += [(name, one) for one in ids if one not in known]
    assert without == []
    assert unknown == []


def mebibytes(number: int | None) -> str:
    return f"{(number or 0) // 1024 // 1024} MiB"


LIMITS = {
    "body of a request": mebibytes(LISTENER_LIMITS.body_bytes),
    "request line, each header": f"{LISTENER_LIMITS.header_bytes // 1024} KiB",
    "number of headers": f"{LISTENER_LIMITS.headers}",
    "nesting of an object": f"{MAX_DEPTH} levels",
    "entries of one list or map; values in one object": f"{MAX_ENTRIES:,}; {MAX_VALUES:,}",
    "operations of a JSON patch; bytes that they copy": f"{MAX_OPERATIONS:,}; {mebibytes(MAX_COPIED_BYTES)}",
    "connections": f"{LISTENER_LIMITS.connections:,}",
    "concurrent requests; their bodies together": (
        f"{LISTENER_LIMITS.requests:,}; {mebibytes(LISTENER_LIMITS.all_body_bytes)}"
    ),
    "all objects together": mebibytes(STORAGE_QUOTA),
    "TLS handshake": f"{LISTENER_LIMITS.handshake_seconds:.0f} s",
    "idle connection, slow headers": f"{LISTENER_LIMITS.idle_seconds:.0f} s",
    "body that does not arrive": f"{LISTENER_LIMITS.body_seconds:.0f} s",
    "client that does not read its response": f"{LISTENER_LIMITS.stalled_seconds:.0f} s",
    "watcher that falls behind": f"{WATCH_CAPACITY:,} events or {mebibytes(MAX_BUFFERED_BYTES)}",
}


@pytest.mark.parametrize("what", LIMITS)
def test_limits_are_those_of_the_server(what: str) -> None:
    (row,) = [one for one in blocks() if one.startswith(f"| {what} | ")]
    assert row.startswith(f"| {what} | {LIMITS[what]}")


def test_every_limit_is_looked_at() -> None:
    table = PAGE.partition("| what | limit | beyond it |")[2].partition("\n\n")[0]
    assert [line.split(" | ")[0].strip("| ") for line in table.splitlines() if " | " in line] == list(LIMITS)
    assert f"more than {SMALL_GROWTH // 1024} KiB" in table


def test_ids_are_not_those_of_rules() -> None:
    ids = [one.id for one in (*RULES, *CLAIMS) if one.id]
    assert len(ids) == len(set(ids))
