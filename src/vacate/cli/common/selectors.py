"""The option for label selectors, checked before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from vacate.api.selectors.labels import parse_selector
from vacate.errors import BadRequest

F = TypeVar("F", bound=Callable[..., Any])


def selector_option(help_text: str) -> Callable[[F], F]:
    """Add -l; the command gets it as `selector`, empty where it was not given."""
    return click.option("-l", "--selector", default="", callback=_checked, metavar="LABELS", help=help_text)


def check_choice(pods: Sequence[str], selector: str) -> None:
    """Refuse a command line that names no pods, or names and selects them at once."""
    if bool(pods) == bool(selector):
        raise click.UsageError(
            "name pods or use -l, not both" if pods else "name at least one pod, or select them with -l"
        )


def _checked(ctx: click.Context, param: click.Parameter, value: str) -> str:
    given = ctx.get_parameter_source("selector")
    if given is click.core.ParameterSource.COMMANDLINE and not value.strip():
        # As an unset variable of a shell gives it: it would select everything.
        raise click.BadParameter("it is empty; write labels such as app=web", ctx, param)
    try:
        parse_selector(value)
    except BadRequest as error:
        raise click.BadParameter(f"{error}; write labels such as app=web,tier!=cache", ctx, param) from None
    return value
