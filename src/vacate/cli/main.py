"""The `vacate` command. Each subcommand is loaded when it is called, so that help stays quick."""

from __future__ import annotations

import gc
import importlib
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from vacate import __version__
from vacate.cli.common.errors import NOT_EMBEDDED, run_command_line
from vacate.cli.common.examples import epilog_of
from vacate.cli.common.program import program_name
from vacate.errors import ConfigError

EMBEDDED = ""
"""The place of commands that vacate-embedded adds, by entry points of this name."""
_ENTRY_POINTS = "vacate.commands"

GROUPS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "Drain nodes and evict pods": {
        "drain": (
            "vacate.cli.drain.command:drain",
            "Drain nodes: cordon them, and evict their pods through interceptors.",
        ),
        "drains": ("vacate.cli.drains:drains", "Show drains and how far they are."),
        "plan": (EMBEDDED, "Plan a drain: would it finish, how long would it take, and what would block it."),
        "evict": ("vacate.cli.evict.command:evict", "Request the eviction of pods."),
        "status": ("vacate.cli.status.command:status", "Show eviction requests and their progress."),
        "explain": (
            "vacate.cli.explain.command:explain",
            "Explain the eviction of a pod, or the state of a node, a workload or a drain.",
        ),
        "web": (
            "vacate.cli.web.command:web",
            "Show drains, requests and what holds them in a browser until Ctrl-C.",
        ),
        "cancel": ("vacate.cli.cancel.command:cancel", "Cancel eviction requests."),
        "retry": ("vacate.cli.push:retry", "Try blocked evictions again at once."),
        "skip": ("vacate.cli.push:skip", "End the turn of an interceptor that does not respond."),
        "uncordon": ("vacate.cli.uncordon:uncordon", "Make nodes schedulable again."),
        "demo": (EMBEDDED, "Drain a node of a throw-away cluster, live, and clean up."),
    },
    "Operate an installation": {
        "install": (
            "vacate.cli.install.command:install",
            "Install Vacate into a cluster, or upgrade it there.",
        ),
        "check": (
            "vacate.cli.check:check",
            "Check the installation: every part, the rights of every account, and yours.",
        ),
        "uninstall": ("vacate.cli.install.command:uninstall", "Remove Vacate from a cluster."),
        "interceptors": (
            "vacate.cli.interceptors:interceptors",
            "Show registered interceptors and whether they answer.",
        ),
        "deschedule": (
            "vacate.cli.deschedule:deschedule",
            "Show pods on nodes where they should not be, and evict them with --evict.",
        ),
        "fence": (
            "vacate.cli.fence:fence",
            "Power an unreachable node off, and release its pods when it is off.",
        ),
        "detach": (
            "vacate.cli.detach:detach",
            "Take an exclusive volume from a node that cannot give it back.",
        ),
        "delete": ("vacate.cli.delete.command:delete", "Delete pods; with --force only if confirmed."),
    },
    "Run a part of it; the installation starts these": {
        "manager": (
            "vacate.cli.manager:manager",
            "Run Vacate's controllers until Ctrl-C or SIGTERM.",
        ),
        "webhook": (
            "vacate.cli.webhook:webhook",
            "Serve the admission webhook for eviction requests and pods until Ctrl-C or SIGTERM.",
        ),
        "certificates": (
            "vacate.cli.certificates:certificates",
            "Issue and renew the webhook's certificate until Ctrl-C or SIGTERM.",
        ),
        "hooks": (
            "vacate.cli.hooks:hooks",
            "Run the interceptor hooks.vacate.dev until Ctrl-C or SIGTERM.",
        ),
        "shutdown-agent": (
            "vacate.cli.shutdown_agent:shutdown_agent",
            "Terminate the pods of a stock kubelet's node in order when its machine shuts down.",
        ),
        "node": ("vacate.cli.node.command:node", "Run pods as local processes until Ctrl-C or SIGTERM."),
    },
    "Develop and try out": {
        "up": (EMBEDDED, "Run the embedded cluster until Ctrl-C."),
        "version": ("vacate.cli.version:version", "Show the versions of this program and of the cluster."),
        "completion": (
            "vacate.cli.completion:completion",
            "Print the script that completes commands in a shell.",
        ),
    },
}
"""What the commands are for; where each is found, and the first sentence of its help."""

COMMANDS: Mapping[str, tuple[str, str]] = {
    name: found for group in GROUPS.values() for name, found in group.items()
}

_OTHER_WORDS: Mapping[str, str] = {
    "get": "status",
    "list": "status",
    "watch": "status",
    "describe": "explain",
    "why": "explain",
    "withdraw": "cancel",
    "start": "up",
    "doctor": "check",
    "verify": "check",
}
"""What others call it."""


_BOOLEANS = {"1": True, "t": True, "T": True, "true": True, "True": True, "TRUE": True}
_BOOLEANS |= {"0": False, "f": False, "F": False, "false": False, "False": False, "FALSE": False}
"""As Go reads them."""


class LazyGroup(click.Group):
    """A group whose commands live in modules that are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the subcommand's module."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = (COMMANDS[cmd_name][0] or _place_of_entry_point(cmd_name)).partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        command.epilog = command.epilog or epilog_of(cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand; of one that is not there, those that may have been meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            import difflib  # noqa: PLC0415  only for commands that do not exist

            word = args[0].lower()
            close = (
                [_OTHER_WORDS[word]] if word in _OTHER_WORDS else difflib.get_close_matches(word, COMMANDS)
            )
            meant = " or ".join(close)
            hint = f" Did you mean {meant}?" if meant else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        name, command, rest = super().resolve_command(ctx, args)
        return name, command, rest if command is None else list(plain_switches(command, rest))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of subcommands, of which none is imported for it."""
        widest = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                rows = [(f"{name:<{widest}}", help_text) for name, (_, help_text) in group.items()]
                formatter.write_dl(rows)


def _place_of_entry_point(name: str) -> str:
    from importlib.metadata import entry_points  # noqa: PLC0415  slow, and for three commands only

    for found in entry_points(group=_ENTRY_POINTS, name=name):
        return found.value
    raise ConfigError(NOT_EMBEDDED)


def plain_switches(command: click.Command, args: Sequence[str]) -> Iterator[str]:
    """The arguments, with switches such as --wait=false, as kubectl takes them, in the form of click."""
    switches = {
        name: one.secondary_opts
        for one in command.params
        if isinstance(one, click.Option) and one.is_flag
        for name in one.opts
    }
    rest = iter(args)
    for arg in rest:
        name, given, value = arg.partition("=")
        if given and name in switches and value in _BOOLEANS:
            yield from [name] if _BOOLEANS[value] else switches[name][:1]
            continue
        yield arg
        if arg == "--":
            yield from rest


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="vacate")
def cli() -> None:
    """Vacate: a control plane for how Kubernetes pods are evicted and terminated."""


def main() -> None:
    """Run the command line; a refusal is one line on standard error and exit code 1."""
    # Objects of a cluster are many, live long and form few cycles: the usual collections look through them
    # in vain, and through the modules of each start.
    gc.set_threshold(50_000, 20, 50)
    # Commands say themselves what went wrong; only those that ask for a log get one.
    logging.getLogger("vacate").addHandler(logging.NullHandler())
    try:
        sys.exit(run_command_line(lambda: cli(prog_name=program_name(), standalone_mode=False)))
    finally:
        gc.freeze()  # else the interpreter looks for cycles in all that was loaded, only to end then
