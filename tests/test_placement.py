"""The tables that say where a change goes name places that exist, and agree with each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src/vacate"
PLACE = re.compile(r"`([\w.<>/-]+(?:/|\.(?:py|md|toml|txt)))`")
COMMAND = re.compile(r"`python -m ([\w.]+)`")


def table(document: str, title: str) -> list[list[str]]:
    """The cells of the rows below a heading, without the head."""
    section = (ROOT / document).read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


PLACES = dict(table("ARCHITECTURE.md", "Where to put a change"))
TEN = table("docs/design/0005-layout.md", "Ten changes, and where each of them goes")


@pytest.mark.parametrize("change", PLACES)
def test_every_place_exists(change: str) -> None:
    named = PLACE.findall(PLACES[change])
    assert named
    missing = [one for one in named if not any(found(base, one) for base in (PACKAGE, ROOT))]
    missing += [
        one for one in COMMAND.findall(PLACES[change]) if not found(ROOT, f"{one.replace('.', '/')}*")
    ]
    assert not missing


def found(base: Path, place: str) -> bool:
    """Whether there is such a file or folder; `<group>` stands for any name."""
    return any(base.glob(re.sub(r"<\w+>", "*", place.rstrip("/"))))


def test_the_ten_changes_are_ten() -> None:
    assert len(TEN) == 10


@pytest.mark.parametrize(("row", "places"), [(row, places) for _, row, places in TEN])
def test_the_ten_changes_have_rows_that_name_their_places(row: str, places: str) -> None:
    named = set(PLACE.findall(places)) | set(COMMAND.findall(places))
    assert named
    assert named <= set(PLACE.findall(PLACES[row])) | set(COMMAND.findall(PLACES[row]))
