"""How the command line ends when something is in the way: what is printed, and the exit code."""

from __future__ import annotations

import errno
import io
import re
from collections.abc import Callable

import click

from vacate.cli.common import terminal
from vacate.errors import ConfigErrors, VacateError

FAILED, USAGE, INTERRUPTED = 1, 2, 130
NOT_EMBEDDED = "this needs the embedded cluster, which is not installed here: pip install 'vacate[embedded]'"
"""The distribution vacate-embedded is absent, as in Vacate's image."""


def run_command_line(run: Callable[[], object]) -> int:
    """Run the command; its exit code. Whatever it raises is printed on standard error, safely."""
    try:
        code = run()
    except click.ClickException as error:
        return _usage(error)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (click.Abort, KeyboardInterrupt):
        terminal.echo("Interrupted.", err=True)
        return INTERRUPTED
    except ConfigErrors as error:
        for problem in error.problems:
            terminal.error(problem)
        return FAILED
    except VacateError as error:
        terminal.error(error)
        return FAILED
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("vacate."):
            terminal.trace(error)
        else:
            terminal.error(NOT_EMBEDDED)
        return FAILED
    except OSError as error:
        if error.errno == errno.EPIPE:  # as behind `| head`
            terminal.discard_output()
        else:
            terminal.trace(error)
        return FAILED
    except Exception as error:
        terminal.trace(error)
        return FAILED
    return code if isinstance(code, int) else 0


def _usage(error: click.ClickException) -> int:
    shown = io.StringIO()
    error.show(shown)
    # Every error begins in the same way, so that a program can look for it.
    lines = shown.getvalue().removesuffix("\n").split("\n")
    terminal.echo_lines([re.sub("^Error: ", "error: ", line) for line in lines], err=True)
    return error.exit_code
