"""The `vacate` command. Each subcommand is loaded when it is called, so that help stays quick."""

from __future__ import annotations

import gc
import importlib
import logging
import sys
from collections.abc import Mapping

import click

from vacate import __version__
from vacate.cli.program import program_name
from vacate.errors import VacateError

_COMMANDS: Mapping[str, str] = {
    "up": "vacate.cli.up:up",
    "manager": "vacate.cli.manager:manager",
    "install": "vacate.cli.install:install",
    "uninstall": "vacate.cli.install:uninstall",
    "webhook": "vacate.cli.webhook:webhook",
    "demo": "vacate.cli.demo:demo",
    "evict": "vacate.cli.evict:evict",
    "status": "vacate.cli.status:status",
    "cancel": "vacate.cli.cancel:cancel",
    "explain": "vacate.cli.explain:explain",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules that are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand, in the order of the table."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the subcommand's module."""
        target = _COMMANDS.get(cmd_name)
        if target is None:
            return None
        module, _, attribute = target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="vacate")
def cli() -> None:
    """Vacate: a control plane for how Kubernetes pods leave."""


def main() -> None:
    """Run the command line; a refusal is one line on standard error and exit code 1."""
    # Objects of a cluster are many, live long and form few cycles: the usual collections look through them
    # in vain, and through the modules of each start.
    gc.set_threshold(50_000, 20, 50)
    # Commands say themselves what went wrong; only those that ask for a log get one.
    logging.getLogger("vacate").addHandler(logging.NullHandler())
    try:
        cli(prog_name=program_name())
    except VacateError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
