"""Look up the locked dependencies: does the registry have them, unyanked, and is no vulnerability known?

    python -m hack.audit [--strict] PIP_AUDIT LOCK…

The registry marks the releases that were yanked. Vulnerabilities are known to the databases of PyPI and OSV.
Where neither can be reached this says so and what was left out, and with --strict it fails. Where one can be
reached, every dependency must be found in it and have no known vulnerability.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SERVICES = ("pypi", "osv")
_SECONDS = 300


@dataclass(frozen=True)
class Looked:
    """What one database answered about one lock file."""

    known: int  # dependencies that were found in it
    unknown: tuple[str, ...]
    vulnerable: tuple[str, ...]


def read_report(report: Any) -> Looked:
    """The report of pip-audit, as JSON."""
    unknown, vulnerable, known = [], [], 0
    for one in report["dependencies"]:
        if "skip_reason" in one:
            unknown.append(f"{one['name']}: {one['skip_reason']}")
            continue
        known += 1
        for vulnerability in one["vulns"]:
            fixed = ", ".join(vulnerability.get("fix_versions") or ()) or "no release"
            vulnerable.append(f"{one['name']} {one['version']}: {vulnerability['id']}, fixed in {fixed}")
    return Looked(known, tuple(unknown), tuple(vulnerable))


def complaints(found: Sequence[Looked]) -> list[str] | None:
    """What is wrong; None where no database could answer."""
    answered = [one for one in found if one.known]
    if not answered:
        return None
    best = min(answered, key=lambda one: len(one.unknown))
    return [*dict.fromkeys(line for one in answered for line in one.vulnerable), *best.unknown]


def main(arguments: Sequence[str]) -> int:
    strict = "--strict" in arguments
    program, *locks = [one for one in arguments if one != "--strict"]
    wrong, left_out = [], []
    for lock in locks:
        wrong += [f"{lock}: {line}" for line in _yanked(lock)]
        found = complaints([one for service in SERVICES if (one := _looked(program, service, lock))])
        if found is None:
            left_out.append(lock)
        else:
            wrong += [f"{lock}: {line}" for line in found]
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    if left_out:
        print(
            f"left out: known vulnerabilities of {', '.join(left_out)}: neither of the databases "
            f"({', '.join(SERVICES)}) can be reached. Looked at: that the registry has files with the locked "
            "hashes for this platform, and that none of them is yanked."
        )
    elif not wrong:
        print(f"no known vulnerability, nothing yanked: {', '.join(locks)}")
    return 1 if wrong or (strict and left_out) else 0


def _yanked(lock: str) -> list[str]:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps",
               "--disable-pip-version-check", "--require-hashes", "-r", lock]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode:
        return [f"cannot be installed by its hashes: {done.stderr.strip()[-300:]}"]
    return [line.strip() for line in done.stderr.splitlines() if "yanked" in line]


def _looked(program: str, service: str, lock: str) -> Looked | None:
    command = [program, "--vulnerability-service", service, "--requirement", lock, "--require-hashes",
               "--disable-pip", "--format", "json", "--progress-spinner", "off",
               "--timeout", "10"]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
        return read_report(json.loads(done.stdout))
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return None  # it could not reach the database, and printed a traceback


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
