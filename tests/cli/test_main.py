"""The list of commands: quick, and as the commands themselves say it."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from vacate.cli.main import COMMANDS, cli

pytestmark = pytest.mark.unit

_LOADED = """
import sys
from vacate.cli.main import cli
cli(["--help"], standalone_mode=False)
print([name for name in sys.modules if name.startswith("vacate.") and not name.startswith("vacate.cli")])
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    first, _, _ = (command.help or "").partition("\n\n")
    assert COMMANDS[name][1] == " ".join(first.split())


@pytest.mark.process
def test_the_list_loads_no_command() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in COMMANDS)
    assert done.stdout.splitlines()[-1] == "['vacate.errors']"
