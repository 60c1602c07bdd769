"""The tutorial and the guide about evictions show what is printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from e2e.docs.test_documents import follow, surroundings, work_folder
from support.documents import Command, differences, run_all

pytestmark = pytest.mark.kubectl

__all__ = ["surroundings"]

DOCS = Path(__file__).parents[3] / "docs"
# What differs from run to run beside what `support.documents` knows.
_VARIES = (
    (re.compile(r"\b(\d+[smh]\d*[sm]? ago|just now)"), "AGO"),
    (re.compile(r"\b\d{2}:\d{2}:\d{2} UTC \(in \w+\)"), "MOMENT"),
)


@pytest.fixture
def around(surroundings: dict[str, str]) -> dict[str, str]:
    """The user's shell, with the commands that `make setup` installs."""
    return {**surroundings, "PATH": f"{Path(sys.executable).parent}:{surroundings['PATH']}"}


def settled(text: str) -> str:
    for pattern, stands_for in _VARIES:
        text = pattern.sub(stands_for, text)
    return text


@pytest.mark.thorough
def test_the_tutorial_shows_what_is_printed(tmp_path: Path, around: dict[str, str]) -> None:
    printed = follow(DOCS / "tutorial/first-interceptor.md", work_folder(tmp_path), around)
    wrong = []
    for command, output in printed:
        shown = tuple(settled(line) for line in command.shown or ())
        if lines := differences(Command(command.text, shown), settled(output)):
            wrong.append((command.text, lines, output))
    assert wrong == []
    assert len(printed) > 15


@pytest.mark.thorough
def test_the_guide_can_be_followed(tmp_path: Path, around: dict[str, str]) -> None:
    printed = follow(DOCS / "how-to/evict-and-watch.md", work_folder(tmp_path), around)
    assert len(printed) > 10


def test_kubectl_finds_the_plugin(tmp_path: Path, around: dict[str, str]) -> None:
    show, wrong = run_all(
        [
            Command("kubectl vacate explain --help"),
            Command("kubectl vacate status -A -n default 2>&1 || true"),
        ],
        tmp_path,
        around,
    )
    assert show.startswith("Usage: kubectl vacate explain ")
    assert "Try 'kubectl vacate status --help' for help." in wrong
