"""The list of commands: quick, and as the commands themselves say it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from vacate.cli.main import COMMANDS, GROUPS, cli, plain_switches

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


def test_help_has_the_commands_in_groups() -> None:
    shown = CliRunner().invoke(cli, ["--help"], prog_name="vacate").output
    titles = [line.rstrip(":") for line in shown.splitlines() if line.rstrip(":") in GROUPS]
    assert titles == list(GROUPS)
    places = [shown.index(f"  {name} ") for name in ("drain", "install", "manager", "up")]
    assert places == sorted(places)


@pytest.mark.process
def test_the_list_loads_no_command() -> None:
    done = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in COMMANDS)
    assert done.stdout.splitlines()[-1] == "['vacate.errors']"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_ends_with_examples_that_can_be_typed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "certificates").mkdir()  # a folder that the user has
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(cli, [name, "--help"], prog_name="vacate")
    assert shown.exit_code == 0
    examples = shown.output.partition("Examples:\n")[2].splitlines()
    typed = [line.strip() for line in examples if line.startswith("    vacate ")]
    assert typed
    for line in typed:
        _, command, *arguments = shlex.split(line.partition(">")[0])
        assert command == name
        found = cli.get_command(click.Context(cli), command)
        assert found is not None
        found.make_context(command, arguments).close()


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("statsu", "Did you mean status?"),
        ("Evcit", "Did you mean evict?"),
        ("describe", "Did you mean explain?"),
        ("xyzzy", "No such command 'xyzzy'.\n"),
    ],
)
def test_what_may_have_been_meant(typed: str, hint: str) -> None:
    refused = CliRunner().invoke(cli, [typed])
    assert refused.exit_code == 2
    assert hint in refused.output


_INTERRUPTED = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from vacate.__main__ import main
main()
"""


@pytest.mark.process
def test_an_interrupt_while_modules_are_loaded_ends_quietly() -> None:
    done = subprocess.run([sys.executable, "-c", _INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("deschedule", "by default all namespaces except kube-system."),
        ("evict", "With --node, all namespaces by default."),
        ("cancel", "Namespace; the context's by default."),
    ],
)
def test_the_help_of_namespace_is_true_for_the_command(command: str, sentence: str) -> None:
    shown = CliRunner().invoke(cli, [command, "--help"])
    assert sentence in " ".join(shown.output.split())


@pytest.mark.parametrize(
    ("name", "typed", "meant"),
    [
        ("delete", "pod db --wait=false", "pod db"),
        ("delete", "pod db --wait=true --force=False", "pod db --wait"),
        ("delete", "--wait=maybe --reason=true db", "--wait=maybe --reason=true db"),
        ("delete", "db -- --wait=false", "db -- --wait=false"),
        ("up", "--evictions=false --nodes=1", "--no-evictions --nodes=1"),
    ],
)  # fmt: skip
def test_switches_may_be_given_as_kubectl_takes_them(name: str, typed: str, meant: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert list(plain_switches(command, typed.split())) == meant.split()
    shown = CliRunner().invoke(cli, ["delete", "--wait=false", "--help"])
    assert shown.exit_code == 0
