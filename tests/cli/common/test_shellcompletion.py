"""What a shell offers: names of the kind that is typed, and of no other."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from vacate.cli.common import shellcompletion
from vacate.cli.main import cli

NAMES = {
    "pod": ["web-1", "web-2"],
    "node": ["node-1", "node-2"],
    "nodemaintenance": ["kernel"],
    "namespace": ["default", "shop"],
    "deployment": ["web"],
    "statefulset": ["db"],
}


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose objects have these names."""

    async def names(_ctx: click.Context, singular: str) -> list[str]:
        return NAMES[singular]

    monkeypatch.setattr(shellcompletion, "_names", names)


def offered(line: str) -> list[str]:
    """What could stand in place of the last word, which may be empty."""
    *words, last = [*shlex.split(line), *([""] if line.endswith(" ") else [])]
    found = ShellComplete(cli, {}, "vacate", "_VACATE_COMPLETE").get_completions(words, last)
    return [one.value for one in found]


TYPES = ["deployment/", "statefulset/", "replicaset/", "job/"]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("drain ", ["node-1", "node-2"]),
        ("drain node-1 ", ["node-2"]),
        ("drain node/", ["node/node-1", "node/node-2"]),
        ("drain nodemaintenance/", ["nodemaintenance/kernel"]),
        ("drain --cancel ", ["kernel"]),
        ("drain --follow nm/", ["nm/kernel"]),
        ("drains ", ["kernel"]),
        ("uncordon ", ["node-1", "node-2"]),
        ("uncordon nodemaintenance/", []),
        ("plan no", ["node-1", "node-2"]),
        ("fence node-2", ["node-2"]),
        ("evict ", ["web-1", "web-2", *TYPES]),
        ("evict dep", ["deployment/"]),
        ("evict deploy/", ["deploy/web"]),
        ("evict statefulsets/", ["statefulsets/db"]),
        ("evict node/", []),
        ("explain node/", ["node/node-1", "node/node-2"]),
        ("explain nodemaintenance.vacate.dev/", ["nodemaintenance.vacate.dev/kernel"]),
        ("explain web-2", ["web-2"]),
        ("cancel pod/web", ["pod/web-1", "pod/web-2"]),
        ("cancel drain/", []),
        ("status ", ["web-1", "web-2"]),
        ("retry ", ["web-1", "web-2", "node/", "drain/"]),
        ("retry drain/", ["drain/kernel"]),
        ("retry node/node-1", ["node/node-1"]),
        ("delete ", ["pod", "node", "web-1", "web-2"]),
        ("delete node ", ["node-1", "node-2"]),
        ("delete pod web-1 ", ["web-2"]),
        ("evict -n ", ["default", "shop"]),
    ],
)
def test_what_is_offered_is_what_the_command_takes(line: str, wanted: list[str]) -> None:
    assert offered(line) == wanted


@pytest.mark.process
def test_bash_leaves_no_space_after_a_type() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    script = CliRunner().invoke(cli, ["completion", "bash"]).output
    stub = """
vacate() { :; }
env() { printf 'plain,%s\\n' "${found[@]}"; }
compopt() { printf "compopt %s %s\\n" "$@"; }
COMP_WORDS=(vacate explain x) COMP_CWORD=2
found=(deployment/); _vacate_completion vacate; echo "${COMPREPLY[@]}"; COMPREPLY=()
found=(web-1); _vacate_completion vacate; echo "${COMPREPLY[@]}"
"""
    ran = subprocess.run([bash, "-c", script + stub], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.splitlines() == ["compopt -o nospace", "deployment/", "web-1"], ran.stderr
