"""The option that chooses the API for evictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from vacate.cli.common.connection import Cluster, not_served
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import DIALECT_NAMES, dialect_named

F = TypeVar("F", bound=Callable[..., Any])


def api_option(text: str, default: str = f"{EVICTION_REQUEST.name}, where it is served") -> Callable[[F], F]:
    """`--api`, given to the command as the dialect of that name; None where none is named."""

    def chosen(_: click.Context, __: click.Parameter, name: str | None) -> Dialect | None:
        return dialect_named(name) if name else None

    return click.option(
        "--api",
        "dialect",
        type=click.Choice(DIALECT_NAMES),
        callback=chosen,
        help=f"{text} Default: {default}.",
    )


async def chosen_api(cluster: Cluster, named: Dialect | None) -> Dialect:
    """The API that was named; else what the cluster serves: our own kind before that of Kubernetes."""
    if named is not None:
        if named is not EVICTION_REQUEST and not await cluster.client.serves(named.kind):
            raise not_served(named.kind, named.kind.gate)
        return named
    if not await cluster.client.serves(EVICTION_REQUEST.kind) and await cluster.client.serves(LIFECYCLE.kind):
        return LIFECYCLE
    return EVICTION_REQUEST
