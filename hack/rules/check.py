"""No rule and no defence without a test that fails when it is removed.

    python -m hack.rules.check                 every rule
    python -m hack.rules.check first-turn …    these
    python -m hack.rules.check --workers 2     side by side

For each rule its mutation is applied to a copy of the sources and its tests run against the copy. They must
fail, and for the right reason: a copy that cannot even be imported proves nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hack.rules.table import ROOT, SECURITY, Rule, load

_TESTS_FAILED = 1
_TIMEOUT_SECONDS = 600
_TIMED_OUT = 124


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a rule."""

    rule: Rule
    killed: bool
    message: str = ""


def check(rule: Rule) -> Result:
    """Whether the rule's tests notice that the rule is gone."""
    mutation = rule.mutation
    if mutation is None:
        return Result(rule, killed=False, message="no mutation")
    if mutation.occurrences(ROOT) != 1:
        return Result(
            rule, killed=False, message=f"the passage to change does not occur once in {mutation.file}"
        )
    with _copy() as copy:
        mutation.apply(copy)
        code, output = _run(rule, copy)
    return Result(rule, killed=code == _TESTS_FAILED, message=_tail(code, output))


@contextmanager
def _copy() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rules-") as folder:
        copy = Path(folder)
        shutil.copytree(ROOT / "src", copy / "src")  # compiled files too: times are kept, so they stay valid
        yield copy


def _run(rule: Rule, copy: Path) -> tuple[int, str]:
    environment = os.environ | {
        "PYTHONPATH": str(copy / "src"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(copy / "hypothesis"),
        "VACATE_THOROUGH": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    try:
        done = subprocess.run(
            [*command, *rule.tests],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        # A test that hangs says nothing about its rule, and must not keep the others from being checked.
        return _TIMED_OUT, f"its tests did not end within {_TIMEOUT_SECONDS} s"
    return done.returncode, done.stdout + done.stderr


def _tail(code: int, output: str) -> str:
    if code == _TESTS_FAILED:
        return ""
    if code == 0:
        return "its tests pass without it"
    return f"pytest ended with {code}:\n" + "\n".join(output.splitlines()[-15:])


def main(arguments: list[str] | None = None) -> int:
    """Check the rules that were named, or all; the exit code says whether each was killed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rules", nargs="*", help="ids of rules; all where none is named")
    parser.add_argument("--workers", type=int, default=1, help="how many to check side by side")
    options = parser.parse_args(arguments)
    known = [*(rule for rule in load() if not rule.later), *(one for one in load(SECURITY) if one.mutation)]
    chosen = [rule for rule in known if not options.rules or rule.id in options.rules]
    with ThreadPoolExecutor(options.workers) as pool:
        killed = sum(_report(result) for result in pool.map(check, chosen))
    print(f"{len(chosen)} rules, {killed} killed")
    return 0 if chosen and killed == len(chosen) else 1


def _report(result: Result) -> bool:
    if not result.killed:
        print(f"{result.rule.id}: {result.message}", flush=True)
    return result.killed


if __name__ == "__main__":
    sys.exit(main())
