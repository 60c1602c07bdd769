"""Checks of the command line of `vacate drain`, before anything is read or changed."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.core import ParameterSource

from vacate.api.objects import Obj
from vacate.api.selectors.labels import match_expressions
from vacate.cli.common.parameters import drain_name, is_drain, node_name
from vacate.errors import BadRequest

_OF_A_NEW_DRAIN = (
    "ignore_daemonsets", "evict_daemonsets", "delete_emptydir_data", "force", "pod_selector", "detach",
    "max_nodes", "topology_key", "order", "deadline", "on_deadline", "cordon", "reason", "dialect", "plan",
    "yes",
)  # fmt: skip
_DRAIN = "nodemaintenance/"


def pod_selector(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[Obj]:
    """The requirements of a label selector."""
    if value is None:
        return []
    if not value.strip():
        # As an unset variable of a shell gives it: it would evict every pod.
        raise click.BadParameter("it is empty; write labels such as app=web, or leave it out for all pods")
    try:
        return match_expressions(value)
    except BadRequest as error:
        raise click.BadParameter(f"{error}; write labels such as app=web,tier!=cache") from None


def drain_choice(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """The name of a drain; empty where it is that of the nodes that are named, None where none is meant."""
    return drain_name(value) if value else value


def node_or_drain(text: str) -> str:
    """A node, or what is printed for a drain: with --follow and --cancel it may stand before the option."""
    return f"{_DRAIN}{drain_name(text)}" if is_drain(text) else node_name(text)


def named_before(
    nodes: tuple[str, ...], follow: str | None, cancel: str | None
) -> tuple[tuple[str, ...], str | None, str | None]:
    """The same, with a drain that stands among the nodes as the name of the option without one."""
    drains = [one.removeprefix(_DRAIN) for one in nodes if one.startswith(_DRAIN)]
    if not drains:
        return nodes, follow, cancel
    if len(nodes) > 1 or {follow, cancel} != {"", None}:
        raise click.UsageError(
            f"{_DRAIN}{drains[0]} is a drain, for --follow or --cancel alone; to begin one, name nodes"
        )
    return (), drains[0] if follow is not None else None, drains[0] if cancel is not None else None


def check_drain_choice(nodes: Sequence[str], selector: str, follow: str | None, cancel: str | None) -> None:
    """Refuse a command line that does not say what to drain, follow or cancel, or says it twice."""
    existing = [one for one in (follow, cancel) if one is not None]
    by_nodes = [one for one in existing if not one]
    if len(existing) > 1 or (selector and (nodes or existing)) or (nodes and len(by_nodes) < len(existing)):
        raise click.UsageError("name nodes, or use one of -l, --follow and --cancel, not several of these")
    if by_nodes and not nodes:
        raise click.UsageError(
            "which drain? Name it, as in --cancel drain-node-1, or its node before the option"
        )
    if not (nodes or selector or existing):
        raise click.UsageError("name nodes, or use one of -l, --follow and --cancel")


def refuse_for_existing(ctx: click.Context, *, cancels: bool) -> None:
    """Refuse options that only a new drain can have, where one is followed or cancelled."""
    how = "--cancel" if cancels else "--follow"
    if ctx.params["dry_run"] != "none" and not cancels:
        raise click.UsageError(f"--dry-run has no meaning with {how}: that changes nothing anyway")
    names = (*_OF_A_NEW_DRAIN, "timeout") if cancels else _OF_A_NEW_DRAIN
    for param in ctx.command.params:
        given = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if given and param.name in names:
            raise click.UsageError(f"{param.opts[0]} is for a new drain; it has no meaning with {how}")
