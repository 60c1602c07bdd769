"""The option that chooses the API for evictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import REQUESTING_NAMES, dialect_named

F = TypeVar("F", bound=Callable[..., Any])


def api_option(text: str, names: Sequence[str] = REQUESTING_NAMES) -> Callable[[F], F]:
    """`--api`, given to the command as the dialect of that name."""

    def chosen(_: click.Context, __: click.Parameter, name: str) -> Dialect:
        return dialect_named(name)

    return click.option(
        "--api",
        "dialect",
        type=click.Choice(names),
        default=EVICTION_REQUEST.name,
        callback=chosen,
        help=f"{text} Default: {EVICTION_REQUEST.name}.",
    )
