"""Divides among workers what pytest does for each test file of a fresh checkout: it rewrites the asserts.

The workers of pytest-xdist collect the same files in the same order at the same time, so that each of them
would rewrite each file. Here each begins with a share of its own, and finds the others' shares done.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key, get_cache_dir


def rewrite_share(config: pytest.Config) -> None:
    """Rewrite the share of this worker, if it is one."""
    worker: dict[str, str] | None = getattr(config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    number = int(worker["workerid"].removeprefix("gw"))
    rewrite(share(config.args, number, int(worker["workercount"])), config)


def share(arguments: Sequence[str], number: int, count: int) -> list[Path]:
    """Of the test files below these paths, every so many-th from that one on."""
    places = [Path(argument.split("::")[0]) for argument in arguments]
    files = {file for place in places for file in ([place] if place.is_file() else place.rglob("test_*.py"))}
    return sorted(files)[number::count]


def rewrite(files: Iterable[Path], config: pytest.Config) -> None:
    """Write what pytest reads when it imports them, where that is missing or older than the file."""
    for file in files:
        kept = get_cache_dir(file) / f"{file.stem}{PYC_TAIL}"
        if kept.exists() and kept.stat().st_mtime >= file.stat().st_mtime:
            continue
        kept.parent.mkdir(parents=True, exist_ok=True)
        source, code = _rewrite_test(file, config)
        _write_pyc(config.stash[assertstate_key], code, source, kept)
