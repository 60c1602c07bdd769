"""The tables of rules: what is promised, who holds it, how to take it away.

`tests/rules/rules.toml` has the rules, `tests/rules/security.toml` what docs/explanation/security.md claims.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
TABLE = ROOT / "tests/rules/rules.toml"
SECURITY = TABLE.with_name("security.toml")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of the product that removes the rule: one passage, which occurs once, becomes another."""

    file: str
    old: str
    new: str

    def occurrences(self, root: Path) -> int:
        path = root / self.file
        return path.read_text().count(self.old) if path.is_file() else 0

    def apply(self, root: Path) -> None:
        path = root / self.file
        path.write_text(path.read_text().replace(self.old, self.new, 1))
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()


@dataclass(frozen=True, slots=True)
class Rule:
    """One promise."""

    id: str
    source: tuple[str, ...]
    says: str
    chapter: str = ""
    tests: tuple[str, ...] = ()
    mutation: Mutation | None = None
    later: str = ""  # why it is not of this stage

    def decisions(self) -> list[int]:
        """The numbers of the decisions that it comes from."""
        named = (source.partition(" ") for source in self.source)
        return [int(number) for kind, _, number in named if kind == "decision"]


def load(path: Path = TABLE) -> list[Rule]:
    """All rules, chapter by chapter."""
    chapters: dict[str, list[dict[str, Any]]] = tomllib.loads(path.read_text())
    return [_rule(chapter, entry) for chapter, entries in chapters.items() for entry in entries]


def _rule(chapter: str, entry: dict[str, Any]) -> Rule:
    known = {"id", "source", "says", "tests", "mutation", "later"}
    if unknown := set(entry) - known:
        raise ValueError(f"{entry.get('id')}: unknown {', '.join(sorted(unknown))}")
    mutation = entry.get("mutation")
    return Rule(
        id=entry.get("id", ""),
        source=tuple(entry.get("source", ())),
        says=" ".join(entry["says"].split()),
        chapter=chapter,
        tests=tuple(entry.get("tests", ())),
        mutation=Mutation(**mutation) if mutation else None,
        later=entry.get("later", ""),
    )
