"""The same program by itself and as a plugin of kubectl."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from vacate.cli.common.program import program_name
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
