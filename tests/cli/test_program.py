"""The same program by itself and as a plugin of kubectl."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from vacate.cli.common.program import path_export, program_name
from vacate.cli.main import cli

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("/usr/bin/vacate", "vacate"),
        ("vacate", "vacate"),
        ("/x/vacate/__main__.py", "vacate"),
        ("/usr/bin/kubectl-vacate", "kubectl vacate"),
        ("kubectl-vacate", "kubectl vacate"),
        ("", "vacate"),
    ],
)
def test_how_it_was_called(called: str, name: str) -> None:
    assert program_name(called) == name


def test_without_arguments_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/opt/kubectl-vacate", "status"])
    assert program_name() == "kubectl vacate"


@pytest.mark.parametrize("command", ["evict", "status", "cancel", "explain"])
def test_every_command_has_help_and_the_common_flags(command: str) -> None:
    done = CliRunner().invoke(cli, [command, "--help"], prog_name="kubectl vacate")
    assert done.exit_code == 0
    assert done.output.startswith(f"Usage: kubectl vacate {command} ")
    assert all(flag in done.output for flag in ("--kubeconfig", "--context", "-n, --namespace"))


def test_a_program_that_the_shell_does_not_find(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "my clone" / "vacate"
    own.parent.mkdir()
    own.touch(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert path_export(str(own)) == f"export PATH='{own.parent}':$PATH"
    assert path_export("/x/vacate/__main__.py") == ""
    monkeypatch.setenv("PATH", str(own.parent))
    assert path_export(str(own)) == ""
