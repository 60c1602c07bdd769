"""Links between documents lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vacate.features import KNOWN_GATES

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
ANCHOR = re.compile(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    broken = [link for link in LINK.findall(document.read_text()) if not (document.parent / link).exists()]
    assert not broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_anchors_are_headings(document: Path) -> None:
    found = ANCHOR.findall(document.read_text())
    targets = [((document.parent / link) if link else document, anchor) for link, anchor in found]
    assert [(path.name, anchor) for path, anchor in targets if anchor not in _headings(path)] == []


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


SECURITY = (ROOT / "docs/explanation/security.md").read_text()
ATTACK = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_line_of_the_threat_model_names_attacks_that_exist() -> None:
    model = SECURITY.partition("\n## Threat model\n")[2].partition("\n### What remains open\n")[0]
    rows = [
        line for line in model.splitlines() if line.startswith("| ") and not line.startswith("| wants to |")
    ]
    rows = [row for row in rows if not row.startswith("| does |")]
    assert len(rows) > 20
    assert [row for row in rows if not ATTACK.search(row)] == []
    assert _missing(rows) == []


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
