"""Walls: imports point only towards lower ranks, and only clock and entropy read time and randomness."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import vacate

pytestmark = pytest.mark.unit

ROOT = Path(vacate.__file__).parent
RANKS: dict[str, float] = {
    "errors": -1,  # below everything
    "clock": 0, "entropy": 0, "metrics": 0, "features": 0,
    "api": 1, "wire": 1,
    "decide": 2,
    "admission": 3, "store": 3, "client": 3, "views": 3,
    "crds": 3.5,
    "cache": 4, "queue": 4, "apiserver": 4,
    "runtime": 5,
    "sdk": 6,
    "controllers": 7, "interceptors": 7, "nodeagent": 7, "workloads": 7, "node": 7,
    "webhook": 8, "dashboard": 8,
    "wiring": 9,
    "install": 9.5,
    "sim": 10,
    "cli": 11,
}  # fmt: skip
PURE = tuple(name for name in ("decide", "admission", "crds", "views") if (ROOT / name).is_dir())
IMPURE_MODULES = {"time", "random", "os", "asyncio", "logging", "uuid", "secrets", "socket", "threading"}
# The two readers of time and randomness, and those that must speak to real time beside them.
TIME_READERS = {
    "clock.py",
    "entropy.py",
    "nodeagent/runtime/supervisor/loop.py",  # a program of its own, which must stay small: no asyncio in it
}
TIME_OR_CHANCE = re.compile(
    r"\btime\.(time|monotonic|perf_counter|sleep)\b|\bdatetime\.(now|utcnow|today)\b|\basyncio\.sleep\((?!0\))"
    r"|\buuid\.?uuid[14]\b|\brandom\.(?!Random\b)\w+\("
)


def sources() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


@cache
def imports_of(path: Path) -> list[str]:
    return list(_imports_of(path))


def _imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_room_has_a_rank() -> None:
    rooms = {room_of(path) for path in sources()} - {"__init__", "__main__", "testing"}
    assert rooms <= set(RANKS)


def test_imports_point_only_towards_lower_ranks() -> None:
    breaches = []
    for path in sources():
        room = room_of(path)
        if room not in RANKS:
            continue
        for target in imports_of(path):
            parts = target.split(".")
            if parts[0] != "vacate" or len(parts) < 2 or parts[1] not in RANKS:
                continue
            if parts[1] != room and RANKS[parts[1]] >= RANKS[room]:
                breaches.append(f"{path.relative_to(ROOT)} (rank {RANKS[room]}) imports {target}")
    assert not breaches, "\n".join(breaches)


def test_product_rooms_never_import_the_testing_kit() -> None:
    breaches = [
        str(path.relative_to(ROOT))
        for path in sources()
        if room_of(path) != "testing" and any(t.startswith("vacate.testing") for t in imports_of(path))
    ]
    assert not breaches


@pytest.mark.parametrize("room", PURE)
def test_pure_rooms_import_nothing_impure(room: str) -> None:
    breaches = [
        f"{path.relative_to(ROOT)} imports {target}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for target in imports_of(path)
        if target.split(".")[0] in IMPURE_MODULES or target.startswith(("vacate.clock", "vacate.entropy"))
    ]
    assert not breaches


def test_pure_rooms_never_await() -> None:
    for room in PURE:
        for path in sorted((ROOT / room).rglob("*.py")):
            tree = ast.parse(path.read_text())
            assert not any(isinstance(n, ast.Await | ast.AsyncFunctionDef) for n in ast.walk(tree)), path


def test_only_clock_and_entropy_read_time_and_chance() -> None:
    breaches = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources()
        if path.relative_to(ROOT).as_posix() not in TIME_READERS
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if TIME_OR_CHANCE.search(line.partition("#")[0])
    ]
    assert not breaches, "\n".join(breaches)


def test_files_stay_small() -> None:
    tables = {"api/kinds.py"}
    long = [
        f"{path.relative_to(ROOT)}: {count} lines"
        for path in sources()
        if (count := len(path.read_text().splitlines())) > 400
        and path.relative_to(ROOT).as_posix() not in tables
    ]
    assert not long, "cut these along a seam:\n" + "\n".join(long)
