"""Fuzz each target for a while with atheris: `python -m hack.fuzz [--seconds N] [TARGET ...]`.

What it finds is kept in `.fuzz/` and printed; it belongs into `tests/robustness/test_readers.py`.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

NAMES = ("times", "json", "protobuf", "patches", "selectors", "quantities", "reviews")
_FOLDER = Path(".fuzz")


def main() -> int:
    """Fuzz the targets one after the other; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m hack.fuzz", description=__doc__)
    parser.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join(NAMES)}; all of them without"
    )
    parser.add_argument("--seconds", type=int, default=30, help="for each target")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(NAMES):
        parser.error(f"there is no target {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    failed = [name for name in options.targets or NAMES if _fuzz(name, options.seconds)]
    print(f"found something in: {', '.join(failed)}" if failed else "nothing found")
    return int(bool(failed))


def _fuzz(name: str, seconds: int) -> int:
    """In a process of its own: the fuzzer ends with the process."""
    corpus = _FOLDER / name
    corpus.mkdir(parents=True, exist_ok=True)
    print(f"{name}: {seconds} s", flush=True)
    code = "import sys; from hack.fuzz.__main__ import run_target; run_target(sys.argv.pop(1))"
    arguments = [f"-max_total_time={seconds}", f"-artifact_prefix={_FOLDER}/{name}-", "-verbosity=0"]
    limits = ["-max_len=4096", "-timeout=10", "-rss_limit_mb=2048", "-close_fd_mask=1"]
    command = [sys.executable, "-c", code, name, *arguments, *limits, str(corpus)]
    return subprocess.run(command, check=False).returncode


def run_target(name: str) -> None:
    """Fuzz one target; does not return."""
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        sys.exit(
            "atheris is not installed: run `make fuzz`; requirements/fuzz.lock names the platforms it has"
        )
    with atheris.instrument_imports(include=["vacate"]):
        targets = importlib.import_module("hack.fuzz.targets")
    for number, seed in enumerate(targets.SEEDS[name]):
        (_FOLDER / name / f"seed-{number}").write_bytes(seed)
    atheris.Setup(sys.argv, targets.TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
