"""`vacate completion`: commands, options and values completed by the shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from vacate.cli.common import terminal
from vacate.cli.common.program import NAME

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_VACATE_COMPLETE"
"""Through which the script asks this program what can follow."""

_NAME_FOLLOWS = """\
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace
    fi

"""
"""After a type and its slash, such as `deployment/`, the name is typed without a space."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands in a shell.

    Write it to a file that the shell reads, or load it at once: source <(vacate completion bash).
    """
    found = get_completion_class(shell)
    assert found is not None
    script = found(ctx.find_root().command, {}, NAME, VARIABLE)
    # Not `source()`, which for bash starts a bash to look at its version.
    text = script.source_template % script.source_vars()
    if shell == "bash":  # fish does it by itself
        text = text.replace("    return 0\n", f"{_NAME_FOLLOWS}    return 0\n", 1)
    terminal.echo_document(text)
