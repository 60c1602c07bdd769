"""Links between documents lead somewhere, and documents and names use the words of Kubernetes."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from vacate.features import KNOWN_GATES

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
ANCHOR = re.compile(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")


def test_links_lead_somewhere() -> None:
    broken = [
        f"{document.relative_to(ROOT)}: {link}"
        for document in DOCUMENTS
        for link in LINK.findall(document.read_text())
        if not (document.parent / link).exists()
    ]
    assert broken == []


def test_anchors_are_headings() -> None:
    missing = [
        f"{document.relative_to(ROOT)}: {link}#{anchor}"
        for document in DOCUMENTS
        for link, anchor in ANCHOR.findall(document.read_text())
        if anchor not in _headings(document.parent / link if link else document)
    ]
    assert missing == []


@cache
def _headings(document: Path) -> set[str]:
    """The anchors that a page has: its headings in lower case, with hyphens for spaces, without signs."""
    prose = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def test_there_are_documents() -> None:
    assert len(DOCUMENTS) > 10


def test_the_reference_lists_every_feature_gate_with_its_default() -> None:
    table = (ROOT / "docs/reference/cli.md").read_text().partition("### Feature gates\n")[2]
    listed = re.findall(r"^\| `(\w+)` \| (true|false) \|", table.partition("\n### ")[0], re.MULTILINE)
    assert dict(listed) == {name: str(default).lower() for name, default in KNOWN_GATES.items()}


ATTACK = re.compile(r"`(tests/[\w/]+\.py)::(?:Test\w+::)?(test_\w+)`")


def test_every_guarantee_names_tests_that_exist() -> None:
    page = (ROOT / "docs/explanation/pod-safety.md").read_text()
    table = page.partition("\n## Each guarantee and its tests\n")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 30
    assert [row for row in rows if not ATTACK.search(row)] == []
    assert _missing(rows) == []


def _missing(rows: list[str]) -> list[str]:
    """Tests that rows name, and that no file has."""
    named = [(file, test) for row in rows for file, test in ATTACK.findall(row)]
    return [
        f"{file}::{test}"
        for file, test in named
        if not re.search(rf"def {test}\(", (ROOT / file).read_text() if (ROOT / file).exists() else "")
    ]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


# Metaphors, and people without a role: readers search for the words of Kubernetes instead.
NO_WORDS = frozenset(
    _words(
        "asker askers chronicle climate dice everybody happenings hiccup hiccups insist insistence insisting "
        "keeper keepers nobody papers somebody weather whoever wish wished wishes"
    )
)
# A name says what was printed, logged, answered or reported: output, log, response, message. In tests too.
NO_NAMES_ANYWHERE = frozenset(_words("said told"))
# Ordinary words in a sentence, but no names. Validation finds errors.
NO_NAMES = (
    NO_WORDS
    | NO_NAMES_ANYWHERE
    | frozenset(
        _words(
            "departure desk fate fault faults judge judges ledger overstay patience pulse scene story "
            "surroundings town"
        )
    )
)
ALLOWED = {
    ("src/vacate/sim/", "fault"): "a simulation injects faults",
    ("src/vacate/sim/", "faults"): "a simulation injects faults",
}
OLD_LIMIT = re.compile(r"_?(LONGEST|MOST|SHORTEST|FEWEST)_")
CODE = re.compile(r"```.*?```|`[^`]*`|<[^>]*>", re.DOTALL)
NAME_FIELDS = ("name", "id", "arg", "attr")
SOURCES = sorted((ROOT / "src").rglob("*.py"))
OTHER_SOURCES = [
    path
    for folder in ("tests", "hack", "bench", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def test_names_use_the_words_of_kubernetes() -> None:
    found = []
    for path in SOURCES:
        where = str(path.relative_to(ROOT))
        old = NO_NAMES - {word for folder, word in ALLOWED if where.startswith(folder)}
        if _may_contain(path, old) or OLD_LIMIT.search(path.read_text()):
            found += [f"{where}: {name}" for name in _read(path)[0] if _is_old(name, old)]
    assert found == []


def test_names_in_tests_and_tools_say_what_they_hold() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in OTHER_SOURCES
        if _may_contain(path, NO_NAMES_ANYWHERE)
        for name in _read(path)[0]
        if NO_NAMES_ANYWHERE.intersection(_words(name))
    ]
    assert found == []


def _is_old(name: str, old: frozenset[str]) -> bool:
    return bool(OLD_LIMIT.match(name) or old.intersection(_words(_apart(name))))


def _apart(text: str) -> str:
    """With the words of names apart that are written as camelCase."""
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", text)


def test_texts_use_the_words_of_kubernetes() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in SOURCES
        if _may_contain(path, NO_WORDS)
        for line, text in _read(path)[1]
        if NO_WORDS.intersection(_words(text))
    ]
    for document in DOCUMENTS:
        prose = CODE.sub("", document.read_text())
        found += [f"{document.relative_to(ROOT)}: {word}" for word in NO_WORDS.intersection(_words(prose))]
    assert found == []


def _may_contain(path: Path, words: frozenset[str]) -> bool:
    """Whether one of the words is in the file at all, or in its name: to parse all of them takes seconds."""
    text = f"{path.stem}\n{path.read_text()}"
    return not words.isdisjoint(_words(text)) or not words.isdisjoint(_words(_apart(text)))


@cache
def _read(path: Path) -> tuple[set[str], list[tuple[int, str]]]:
    """All names; and what users can read: texts, and the docstrings of commands, which are their help."""
    is_help = path.is_relative_to(ROOT / "src/vacate/cli")
    names, texts, docstrings = {path.stem}, [], set()
    for node in ast.walk(ast.parse(path.read_text())):  # a statement comes before what is in it
        if isinstance(node, ast.Expr) and not is_help:
            docstrings.add(node.value)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and node not in docstrings:
                texts.append((node.lineno, node.value))
        else:
            names |= {name for field in NAME_FIELDS if isinstance(name := getattr(node, field, None), str)}
    return names, texts
